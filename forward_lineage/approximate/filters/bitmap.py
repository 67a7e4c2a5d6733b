"""An exact bitmap: a bit for each tuple that there could be, wildcards included.

It is small where columns have few values, or nearly every tuple occurs. A value that the column does not have is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.hashing import Hashes, Truths, Tuples
from forward_lineage.approximate.filters.tuples import CodedColumns

#: A larger one would take long to make, however many keys there are.
MOST_CELLS = 1 << 31


@dataclass(frozen=True, eq=False)
class BitmapFilter:
    """The tuples that occur.

    Attributes:
        marked: a bit for each tuple, packed; the last column counts fastest, and 0 stands for its wildcard.
        values: for each column the hashes of its values, ascending.

    """

    marked: npt.NDArray[np.uint8]
    values: Sequence[Hashes]

    @property
    def bits(self) -> int:
        """How many bits it takes, with the hashes of values."""
        return 8 * int(self.marked.size) + 64 * sum(each.size for each in self.values)

    def occurs(self, tuples: Tuples) -> Truths:
        """Tell for each tuple whether it may occur."""
        cell, known = np.zeros(len(tuples), np.int64), np.ones(len(tuples), np.bool_)
        for column, values in enumerate(self.values):
            wanted, given = tuples.hashes[:, column], tuples.given[:, column]
            place = np.searchsorted(values, wanted)
            there = place < values.size
            there[there] = values[place[there]] == wanted[there]
            known &= there | ~given
            cell = cell * (values.size + 1) + np.where(given & there, place + 1, 0)
        return np.asarray(known & ((self.marked[cell >> 3] >> (cell & 7).astype(np.uint8)) & 1).astype(np.bool_))


def bitmap_bits(columns: CodedColumns) -> int:
    """Return how many bits the bitmap of some columns takes."""
    return 8 * -(-columns.cells() // 8) + 64 * sum(each.size for each in columns.hashes)


def bitmap_filter(columns: CodedColumns) -> BitmapFilter:
    """Return the bitmap of the tuples that occur; the columns have at most `MOST_CELLS` cells."""
    orders = [np.argsort(each) for each in columns.hashes]
    rank = [np.empty(each.size, np.int64) for each in orders]
    for each, order in zip(rank, orders, strict=True):
        each[order] = np.arange(order.size)
    marked = np.zeros(-(-columns.cells() // 8), np.uint8)
    for given, rows in columns.projections():
        cell, place = np.zeros(len(rows), np.int64), 0
        for column, kept in enumerate(given):
            cell *= columns.hashes[column].size + 1
            if kept:
                cell += rank[column][rows[:, place]] + 1
                place += 1
        np.bitwise_or.at(marked, cell >> 3, (1 << (cell & 7)).astype(np.uint8))
    return BitmapFilter(marked, [each[order] for each, order in zip(columns.hashes, orders, strict=True)])
