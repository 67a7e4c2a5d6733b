"""The lineage relation of one result and one base table: the pairs (result row, base id).

Backward tracing restricts the rows and projects on the ids, forward tracing restricts the ids and projects on the rows,
and the relation of a pipeline is the relational product of its steps' relations. [Zhang 2007, §3.1; §4.2 for the BDD]
Two forms give the same answers: one roBDD over the bits of the row and of the id (`BddRelation`), and runs of ids
(`RunsRelation`) where those are smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from udafs.errors import LineageError
from udafs.lineage_set import LineageSet
from udafs.sorted_ids import sorted_distinct

Numbers = npt.NDArray[np.int64]


class LineageRelation(ABC):
    """A set of pairs (row, id), both 0 … 2^63 − 1. Immutable."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of pairs."""

    @abstractmethod
    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,)."""

    @abstractmethod
    def rows(self) -> LineageSet:
        """The rows that have an id."""

    @abstractmethod
    def ids(self) -> LineageSet:
        """The ids that have a row."""

    @abstractmethod
    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows."""

    @abstractmethod
    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""

    @abstractmethod
    def compose(self, other: LineageRelation) -> LineageRelation:
        """The pairs (row, id) with some m such that (row, m) is in this relation and (m, id) in the other."""

    @abstractmethod
    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LineageRelation):
            return NotImplemented
        return len(self) == len(other) and all(map(np.array_equal, self.pairs(), other.pairs()))

    __hash__ = None  # type: ignore[assignment]


def sorted_pairs(rows: npt.ArrayLike, ids: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    """Pairs sorted by (row, id), each once.

    Args:
        rows: integers, shape (n,), in any order.
        ids: the id of each, shape (n,).

    Raises:
        LineageError: the arrays differ in length, or a number is negative or no 64-bit integer.

    """
    row, base_id = _checked(rows, "row numbers"), _checked(ids, "row ids")
    if row.size != base_id.size:
        raise LineageError(f"{row.size} row numbers for {base_id.size} row ids")
    if not row.size:
        return row, base_id
    step = np.diff(row)
    if np.all((step > 0) | ((step == 0) & (np.diff(base_id) > 0))):
        return row, base_id
    id_bits = int(base_id.max()).bit_length()
    if id_bits + int(row.max()).bit_length() <= 63:
        packed = sorted_distinct(row << id_bits | base_id)
        return packed >> id_bits, packed & (1 << id_bits) - 1
    order = np.lexsort((base_id, row))
    row, base_id = row[order], base_id[order]
    new = np.ones(row.size, bool)
    new[1:] = (np.diff(row) != 0) | (np.diff(base_id) != 0)
    return row[new], base_id[new]


def _checked(numbers: npt.ArrayLike, what: str) -> Numbers:
    array = np.asarray(numbers)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise LineageError(f"{what} are one-dimensional integers, found {array.dtype} of {array.ndim} dimensions")
    if array.size and (int(array.min()) < 0 or int(array.max()) > 2**63 - 1):
        raise LineageError(f"{what} are 0 to {2**63 - 1}, found {int(array.min())} to {int(array.max())}")
    return array.astype(np.int64)
