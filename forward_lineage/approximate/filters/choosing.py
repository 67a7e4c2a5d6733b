"""Choose a filter: bitmap or fuse, whichever is smaller; a learned one if it wins on bits and on time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from forward_lineage.approximate.filters.bitmap import MOST_CELLS, bitmap_bits, bitmap_filter
from forward_lineage.approximate.filters.fuse import FuseFilter, bits_for, fuse_filter, width_for
from forward_lineage.approximate.filters.hashing import Truths, Tuples
from forward_lineage.approximate.filters.learned import learned_filter, not_together
from forward_lineage.approximate.filters.tuples import CodedColumns

RATE = 0.01
_TRIED = 20_000
_FEWEST = 200  # of those that do not occur, to learn from


class TupleFilter(Protocol):
    """A filter that says which tuples do not occur."""

    @property
    def bits(self) -> int:
        """How many bits it takes."""

    def occurs(self, tuples: Tuples) -> Truths:
        """Tell for each tuple whether it may occur; all that occur may."""


@dataclass(frozen=True, eq=False)
class FuseOfTuples:
    """A fuse filter of the keys of tuples.

    Attributes:
        keys: the filter.

    """

    keys: FuseFilter

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return self.keys.bits

    def occurs(self, tuples: Tuples) -> Truths:
        """Tell for each tuple whether it may occur."""
        return self.keys.contains(tuples.keys())


def plain_filter(columns: CodedColumns, rate: float = RATE) -> TupleFilter:
    """Return a bitmap or a fuse filter of the tuples that occur, whichever is smaller.

    Args:
        columns: that they are of.
        rate: the greatest part of other tuples that may be found.

    """
    if columns.cells() <= MOST_CELLS and bitmap_bits(columns) <= bits_for(len(columns.codes), width_for(rate)):
        return bitmap_filter(columns)  # without counting tuples: there are more than rows
    keys = columns.keys()
    if columns.cells() <= MOST_CELLS and bitmap_bits(columns) <= bits_for(keys.size, width_for(rate)):
        return bitmap_filter(columns)
    return FuseOfTuples(fuse_filter(keys, width_for(rate)))


@dataclass(frozen=True)
class Comparison:
    """How a learned filter did beside a plain one.

    Attributes:
        bits: of both, the plain one's first.
        seconds: for as many tuples, of both.

    """

    bits: tuple[int, int]
    seconds: tuple[float, float]

    @property
    def won(self) -> bool:
        """Whether the learned one takes fewer bits, and less time."""
        return self.bits[1] < self.bits[0] and self.seconds[1] < self.seconds[0]


def with_learned(columns: CodedColumns, rate: float = RATE) -> tuple[TupleFilter, Comparison | None]:
    """Return a learned filter if it wins on bits and on time, else a plain one; and how they did.

    Where nearly every tuple occurs there are too few others to learn from: then there is no comparison.

    Raises:
        SetupError: scikit-learn is not installed.

    """
    plain, there = plain_filter(columns, rate), columns.all_tuples()
    asked = not_together(columns, there, _TRIED, seed=1) if len(columns.codes) else there[:0]
    if len(asked) < _FEWEST:
        return plain, None
    learned = learned_filter(columns, there, rate)
    found = Comparison((plain.bits, learned.bits), (_seconds(plain, asked), _seconds(learned, asked)))
    return (learned if found.won else plain), found


def _seconds(filter_: TupleFilter, tuples: Tuples) -> float:
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        filter_.occurs(tuples)
        best = min(best, time.perf_counter() - began)
    return float(best)
