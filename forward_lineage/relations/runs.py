"""A lineage relation as runs of ids: for small lineage, and for lineage whose BDD would be the larger of the two.

Rows with equal lineage share one set, and a set is a sorted list of runs, first to last id. Scattered ids are runs of
one id, and cost no more than sorted pairs would; a month of a table in date order is a single run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.relation import LineageRelation, Numbers, sorted_pairs
from udafs.lineage_set import LineageSet
from udafs.sorted_ids import sorted_distinct

#: A product is computed through this many (row, id) pairs of the first relation at most, beyond it as BDDs.
MOST_JOINED = 1 << 26
#: Up to this many sets a forward question looks its ids up in each of them instead of passing over all runs.
_FEW_SETS = 256


@dataclass(frozen=True, eq=False)
class RunsRelation(LineageRelation):
    """Arrays only; nothing has to be loaded or built before the first question.

    Attributes:
        row: rows that have an id, ascending, shape (rows,).
        set_of_row: number of each row's set, numbered in the order of their first row.
        set_starts: the runs of set s are set_starts[s] … set_starts[s + 1] − 1; shape (sets + 1,).
        first: first id of each run, ascending within a set, the runs of a set neither overlapping nor touching.
        last: last id of each run.

    """

    row: Numbers
    set_of_row: Numbers
    set_starts: Numbers
    first: Numbers
    last: Numbers

    @classmethod
    def from_pairs(cls, rows: npt.ArrayLike, ids: npt.ArrayLike) -> Self:
        """The relation of some pairs, in any order, repeated or not; raises what `sorted_pairs` raises."""
        row, base_id = sorted_pairs(rows, ids)
        begins = np.ones(row.size, bool)
        begins[1:] = (np.diff(row) != 0) | (np.diff(base_id) != 1)
        at = np.flatnonzero(begins)
        return cls._of_runs(row[at], base_id[at], base_id[np.append(at[1:], row.size) - 1] if at.size else at)

    @classmethod
    def _of_runs(cls, row: Numbers, first: Numbers, last: Numbers) -> Self:
        """Of runs sorted by (row, first); rows with equal runs come to share them."""
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        count = np.diff(starts, append=row.size)
        like = _first_equal(starts, count, first, last)
        own = like == np.arange(like.size)
        number = np.cumsum(own) - 1
        kept = ranges(starts[own], count[own])
        set_starts = np.append(0, np.cumsum(count[own]))
        return cls(row[starts], number[like], set_starts, first[kept], last[kept])

    # ------------------------------------------------------------ the whole

    @property
    def sets(self) -> int:
        """Number of different sets."""
        return self.set_starts.size - 1

    @cached_property
    def _set_sizes(self) -> Numbers:
        """Number of ids of each set."""
        total = np.append(0, np.cumsum(self.last - self.first + 1))
        sizes: Numbers = total[self.set_starts[1:]] - total[self.set_starts[:-1]]
        return sizes

    def __len__(self) -> int:
        return int(self._set_sizes[self.set_of_row].sum())

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        count = np.diff(self.set_starts)[self.set_of_row]
        run = ranges(self.set_starts[self.set_of_row], count)
        length = (self.last - self.first + 1)[run]
        return np.repeat(np.repeat(self.row, count), length), ranges(self.first[run], length)

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet(self.row)

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet.from_intervals(*merged(self.first, self.last))

    def release(self) -> None:
        """See `LineageRelation`; there is nothing to give back."""

    # ------------------------------------------------------------ questions

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        wanted = rows if rows.cardinality <= self.row.size else rows & self.rows()
        at = np.searchsorted(self.row, wanted.ids())
        at = at[at < self.row.size]
        found = sorted_distinct(self.set_of_row[at[np.isin(self.row[at], wanted.ids())]])
        run = ranges(self.set_starts[found], np.diff(self.set_starts)[found])
        first, last = self.first[run], self.last[run]
        return (
            LineageSet.from_intervals(first, last)
            if found.size == 1
            else LineageSet.from_intervals(*merged(first, last))
        )

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        wanted = ids if ids.cardinality <= 2 * self.first.size else ids & self.ids()
        if not wanted or not self.first.size:
            return LineageSet()
        hit = self._sets_with(wanted.ids())
        return LineageSet(self.row[hit[self.set_of_row]])

    def _sets_with(self, wanted: Numbers) -> npt.NDArray[np.bool_]:
        """For each set whether it has one of the ids, which are ascending."""
        hit = np.zeros(self.sets, bool)
        if self.sets <= _FEW_SETS and self.sets * wanted.size < self.first.size:
            for number, (start, stop) in enumerate(zip(self.set_starts[:-1], self.set_starts[1:], strict=True)):
                run = np.searchsorted(self.first[start:stop], wanted, side="right") - 1
                hit[number] = np.any((run >= 0) & (self.last[start:stop][run] >= wanted))
            return hit
        # A run has one of the ids if the first of them that is not before the run is not behind it either.
        at = np.searchsorted(wanted, self.first)
        inside = at < wanted.size
        inside[inside] = wanted[at[inside]] <= self.last[inside]
        hit[np.searchsorted(self.set_starts, np.flatnonzero(inside), side="right") - 1] = True
        return hit

    def compose(self, other: LineageRelation) -> LineageRelation:
        """See `LineageRelation`."""
        from forward_lineage.relations.bdd import BddRelation  # noqa: PLC0415 — the two forms know each other

        if not isinstance(other, RunsRelation) or int(self._set_sizes.sum()) > MOST_JOINED:
            return BddRelation.of(self).compose(other)
        mine = np.repeat(np.arange(self.sets), self._set_sizes)
        between = ranges(self.first, self.last - self.first + 1)
        at = np.searchsorted(other.row, between)
        known = at < other.row.size
        known[known] = other.row[at[known]] == between[known]
        # Each of my sets becomes the union of those sets of the other that its members lead to.
        edges = sorted_distinct(mine[known] * other.sets + other.set_of_row[at[known]])
        upper, lower = edges // max(other.sets, 1), edges % max(other.sets, 1)
        count = np.diff(other.set_starts)[lower]
        run = ranges(other.set_starts[lower], count)
        owner, first, last = _merged_by(np.repeat(upper, count), other.first[run], other.last[run])
        return self._with_sets(owner, first, last)

    def _with_sets(self, owner: Numbers, first: Numbers, last: Numbers) -> RunsRelation:
        """My rows with other sets: runs sorted by (owner, first), the owner being the number of one of my sets."""
        number = np.searchsorted(sorted_distinct(owner), np.arange(self.sets))
        left = np.isin(np.arange(self.sets), owner)
        sets = RunsRelation._of_runs(owner, first, last)
        kept = left[self.set_of_row]
        set_of_row = sets.set_of_row[number[self.set_of_row[kept]]]
        return RunsRelation(self.row[kept], set_of_row, sets.set_starts, sets.first, sets.last)


def ranges(first: Numbers, count: Numbers) -> Numbers:
    """The numbers first[i] … first[i] + count[i] − 1 of each i, one after the other."""
    ends = np.cumsum(count)
    listed: Numbers = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(first - ends + count, count)
    return listed


def merged(first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """The same ids as runs that neither overlap nor touch, ascending."""
    _, merged_first, merged_last = _merged_by(np.zeros_like(first), first, last)
    return merged_first, merged_last


def _merged_by(owner: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Runs of each owner merged where they overlap or touch, sorted by (owner, first)."""
    order = np.lexsort((first, owner))
    owner, first, last = owner[order], first[order], last[order]
    # Ranks instead of ids leave room for the owner in front, so that one running maximum serves all owners.
    values, rank = np.unique(last, return_inverse=True)
    reach = np.maximum.accumulate(owner * max(values.size, 1) + rank)
    reached = values[reach % max(values.size, 1)] if values.size else last
    begins = np.ones(first.size, bool)
    begins[1:] = (np.diff(owner) != 0) | (first[1:] - 1 > reached[:-1])
    at = np.flatnonzero(begins)
    return owner[at], first[at], reached[np.append(at[1:], first.size) - 1] if at.size else first


def _first_equal(starts: Numbers, count: Numbers, first: Numbers, last: Numbers) -> Numbers:
    """For each row the first row with the same runs: found by a hash, then compared run by run."""
    if not starts.size:
        return starts
    place = (np.arange(first.size) - np.repeat(starts, count)).astype(np.uint64)
    mixed = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ last.astype(np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(29)) * (place * np.uint64(0xD6E8FEB86659FD92) + np.uint64(0xBF58476D1CE4E5B9))
    _, index, inverse = np.unique(np.add.reduceat(mixed, starts), return_index=True, return_inverse=True)
    like = index[inverse]
    asked = np.flatnonzero((like != np.arange(like.size)) & (count == count[like]))
    mine, theirs = ranges(starts[asked], count[asked]), ranges(starts[like[asked]], count[asked])
    same = (first[mine] == first[theirs]) & (last[mine] == last[theirs])
    ends = np.cumsum(count[asked])
    equal = np.logical_and.reduceat(same, ends - count[asked]) if asked.size else np.zeros(0, bool)
    found = np.arange(like.size)
    found[asked[equal]] = like[asked[equal]]
    return found
