"""The tuples that occur in some columns, with every choice of wildcards.   [Macke 2021, §4.1]"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.hashing import Hashes, Tuples, mixed, salted

#: A tuple of so many columns has 1,023 choices of wildcards.
MOST_COLUMNS = 10
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CodedColumns:
    """Columns, each as the numbers of its values.

    Attributes:
        codes: of each row, shape (rows, columns); -1 where NULL, which no question asks for.
        hashes: of the values of each column.

    """

    codes: Codes
    hashes: Sequence[Hashes]

    def distinct(self) -> CodedColumns:
        """Return the same without rows that are there already."""
        return CodedColumns(np.unique(self.codes, axis=0) if len(self.codes) else self.codes, self.hashes)

    def cells(self) -> int:
        """Return how many tuples there could be, with wildcards."""
        found = 1
        for each in self.hashes:
            found *= each.size + 1
        return found

    def projections(self) -> Iterator[tuple[tuple[bool, ...], Codes]]:
        """Yield for each choice of wildcards which columns are given, and the distinct rows of these."""
        for given in product((False, True), repeat=self.codes.shape[1]):
            mine = self.codes[:, list(given)]
            there = mine[(mine >= 0).all(axis=1)]
            yield given, _distinct(there, [each.size for each, kept in zip(self.hashes, given, strict=True) if kept])

    def keys(self) -> Hashes:
        """Return the keys of all tuples that occur, with every choice of wildcards."""
        parts = [self._keys_of(given, rows) for given, rows in self.projections()]
        return np.unique(np.concatenate(parts))

    def _keys_of(self, given: Sequence[bool], rows: Codes) -> Hashes:
        found = np.zeros(len(rows), np.uint64)
        for place, column in enumerate(np.flatnonzero(given).tolist()):
            found += salted(self.hashes[column], column)[rows[:, place]]
        return mixed(found)

    def tuples(self, given: Sequence[bool], rows: Codes) -> Tuples:
        """Return rows of a projection as tuples."""
        hashes = np.zeros((len(rows), len(given)), np.uint64)
        for place, column in enumerate(np.flatnonzero(given).tolist()):
            hashes[:, column] = self.hashes[column][rows[:, place]]
        return Tuples(hashes, np.tile(np.array(given, np.bool_), (len(rows), 1)))

    def all_tuples(self) -> Tuples:
        """Return all tuples that occur, with every choice of wildcards."""
        parts = [self.tuples(given, rows) for given, rows in self.projections()]
        return Tuples(np.concatenate([each.hashes for each in parts]), np.concatenate([each.given for each in parts]))


def _distinct(rows: Codes, sizes: Sequence[int]) -> Codes:
    """Distinct rows; as one number each, where these fit."""
    if not len(rows):
        return rows
    if np.prod([float(size) for size in sizes]) >= 2**62:
        return np.unique(rows, axis=0)
    number = np.zeros(len(rows), np.int64)
    for place, size in enumerate(sizes):
        number = number * size + rows[:, place]
    _, first = np.unique(number, return_index=True)
    return rows[first]
