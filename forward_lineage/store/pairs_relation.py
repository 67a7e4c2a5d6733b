"""A lineage relation as sorted pairs: for small lineage, and for lineage without any pattern."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.store.relation import Numbers, Relation, sorted_pairs
from udafs.lineage_set import LineageSet

#: The product of two relations is computed pair by pair up to this size (1 GB), beyond it as BDDs.
MOST_JOINED = 1 << 26


class PairsRelation(Relation):
    """Two arrays, sorted by (row, id); a second order, by id, is made at the first forward question."""

    def __init__(self, rows: Numbers, ids: Numbers) -> None:
        """Of pairs that are sorted and distinct already; `from_pairs` takes any."""
        self._rows, self._ids = rows, ids
        self._by_id: tuple[Numbers, Numbers] | None = None

    @classmethod
    def from_pairs(cls, rows: npt.ArrayLike, ids: npt.ArrayLike) -> Self:
        """The relation of some pairs, in any order, repeated or not; raises what `sorted_pairs` raises."""
        return cls(*sorted_pairs(rows, ids))

    def __len__(self) -> int:
        return self._rows.size

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `Relation`."""
        return self._rows, self._ids

    def rows(self) -> LineageSet:
        """See `Relation`."""
        return LineageSet(self._rows)

    def ids(self) -> LineageSet:
        """See `Relation`."""
        return LineageSet(self._ids)

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `Relation`."""
        return _look_up(self._rows, self._ids, rows)

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `Relation`."""
        if self._by_id is None:
            order = np.argsort(self._ids, kind="stable")
            self._by_id = self._ids[order], self._rows[order]
        return _look_up(*self._by_id, ids)

    def compose(self, other: Relation) -> Relation:
        """See `Relation`."""
        from forward_lineage.store.bdd_relation import BddRelation  # noqa: PLC0415 — the two forms know each other

        if isinstance(other, PairsRelation):
            first = np.searchsorted(other._rows, self._ids, side="left")
            count = np.searchsorted(other._rows, self._ids, side="right") - first
            if int(count.sum()) <= MOST_JOINED:
                return PairsRelation.from_pairs(np.repeat(self._rows, count), other._ids[_ranges(first, count)])
        return BddRelation.of(self).compose(other)

    def release(self) -> None:
        """See `Relation`."""
        self._by_id = None


def _ranges(first: Numbers, count: Numbers) -> Numbers:
    """The numbers first[i] … first[i] + count[i] − 1 of each i, one after the other."""
    ends = np.cumsum(count)
    ranges: Numbers = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(first - ends + count, count)
    return ranges


def _look_up(keys: Numbers, values: Numbers, wanted: LineageSet) -> LineageSet:
    """The values whose key is wanted; `keys` are ascending."""
    if not keys.size:
        return LineageSet()
    if len(wanted) > keys.size:
        # Fewer pairs than questions: look each key up instead, so that a vast set need never be listed.
        found = LineageSet(keys) & wanted
        return LineageSet(values[np.isin(keys, found.ids())])
    first = np.searchsorted(keys, wanted.ids(), side="left")
    count = np.searchsorted(keys, wanted.ids(), side="right") - first
    return LineageSet(values[_ranges(first, count)])
