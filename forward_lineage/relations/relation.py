"""The lineage relation: rows of something made, and the ids of what each was made of.   [Zhang 2007, §3.1]

Carrier:    finite sets of pairs (row, id), both integers 0 … 2^63 − 1.
Operations: restriction (σ) to rows and to ids, projection (π) on either, backward = π_id σ_row, forward = π_row σ_id,
            counts; and those of `algebra`: union, composition, inverse, the empty relation, the identity.
Laws:       docs/relations.md lists them, tests/forward_lineage/relations/test_algebra.py tries each on every form.

A form is a way to hold such a set. All forms give the same answers, and none knows another; `algebra` knows them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet
from udafs.sorted_ids import sorted_distinct

Numbers = npt.NDArray[np.int64]


class LineageRelation(ABC):
    """A set of pairs (row, id), both 0 … 2^63 − 1. Immutable."""

    # ------------------------------------------------------------ the whole

    @property
    @abstractmethod
    def cardinality(self) -> int:
        """The number of pairs, as `len`, which ends at 2^63 − 1."""

    def __len__(self) -> int:
        return self.cardinality

    def __bool__(self) -> bool:
        return self.cardinality > 0

    @abstractmethod
    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,)."""

    @abstractmethod
    def rows(self) -> LineageSet:
        """The projection on the rows: those that have an id."""

    @abstractmethod
    def ids(self) -> LineageSet:
        """The projection on the ids: those that have a row."""

    @abstractmethod
    def counts(self) -> tuple[Numbers, Numbers]:
        """Every row that has an id, ascending, and how many ids it has: two int64 arrays of shape (rows,)."""

    # ------------------------------------------------------------ parts

    @abstractmethod
    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> LineageRelation:
        """The pairs whose row is one of `rows` and whose id is one of `ids`; None restricts nothing."""

    @abstractmethod
    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows."""

    @abstractmethod
    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""

    # ------------------------------------------------------------ the structure

    @abstractmethod
    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew."""

    @abstractmethod
    def assert_consistent(self) -> None:
        """Check every invariant of the form; raises AssertionError."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LineageRelation):
            return NotImplemented
        return self.cardinality == other.cardinality and all(map(np.array_equal, self.pairs(), other.pairs()))

    __hash__ = None  # type: ignore[assignment]


def sorted_pairs(rows: npt.ArrayLike, ids: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    """Pairs sorted by (row, id), each once.

    Args:
        rows: integers, shape (n,), in any order.
        ids: the id of each, shape (n,).

    Raises:
        BadArgumentError: the arrays differ in length, or a number is negative or no 64-bit integer.

    """
    row, base_id = _checked(rows, "row numbers"), _checked(ids, "row ids")
    if row.size != base_id.size:
        raise BadArgumentError(
            f"{row.size} row numbers for {base_id.size} row ids", instead="Give one row number for each row id."
        )
    if not row.size or _ascending(row, base_id):
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


def _ascending(row: Numbers, base_id: Numbers) -> bool:
    """Whether the pairs are strictly ascending by (row, id)."""
    step = np.diff(row)
    return bool(np.all((step > 0) | ((step == 0) & (np.diff(base_id) > 0))))


def _checked(numbers: npt.ArrayLike, what: str) -> Numbers:
    array = np.asarray(numbers)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise BadArgumentError(
            f"{what} are one-dimensional integers, found {array.dtype} of {array.ndim} dimensions",
            instead="Give a flat array of an integer type.",
        )
    if array.size and (int(array.min()) < 0 or int(array.max()) > 2**63 - 1):
        raise BadArgumentError(
            f"{what} are 0 to {2**63 - 1}, found {int(array.min())} to {int(array.max())}",
            instead="Number what is outside this range anew, from 0.",
        )
    return array.astype(np.int64)


def united(sets: Iterable[LineageSet]) -> LineageSet:
    """The union of some sets."""
    whole = LineageSet()
    for each in sets:
        whole = whole | each if whole else each
    return whole
