"""A lineage relation as runs of ids: for small lineage, and for lineage whose BDD would be the larger of the two.

Rows with equal lineage share one set, and a set is a sorted list of runs, first to last id. Scattered ids are runs of
one id, and cost no more than sorted pairs would. A month of a table in date order is a single run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.relation import LineageRelation, Numbers, sorted_pairs
from forward_lineage.relations.run_arrays import first_equal, merged, merged_by, ranges, runs_in
from udafs.lineage_set import LISTABLE, LineageSet
from udafs.sorted_ids import sorted_distinct

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
        begins, ends = runs_in(base_id, row)
        return cls.from_runs(row[begins], base_id[begins], base_id[ends])

    @classmethod
    def from_runs(cls, rows: Numbers, first: Numbers, last: Numbers) -> Self:
        """The relation of some runs of ids, sorted by (row, first); those of a row neither overlap nor touch.

        Rows with equal runs come to share them.

        Args:
            rows: int64, from 0, shape (n,).
            first: first id of each run, shape (n,).
            last: last id of each run, shape (n,).

        """
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        count = np.diff(starts, append=rows.size)
        like = first_equal(starts, count, first, last)
        own = like == np.arange(like.size)
        number = np.cumsum(own) - 1
        kept = ranges(starts[own], count[own])
        set_starts = np.append(0, np.cumsum(count[own]))
        return cls(rows[starts], number[like], set_starts, first[kept], last[kept])

    @classmethod
    def of(cls, relation: LineageRelation) -> RunsRelation:
        """The same relation in this form."""
        return relation if isinstance(relation, RunsRelation) else cls.from_pairs(*relation.pairs())

    @classmethod
    def identity(cls, of: LineageSet) -> Self:
        """Every number of a set with itself."""
        number = np.arange(of.cardinality + 1)
        return cls(of.ids().copy(), number[:-1], number, of.ids().copy(), of.ids().copy())

    @classmethod
    def united(cls, parts: Sequence[RunsRelation]) -> RunsRelation:
        """The pairs of any of the parts, which are at least one."""
        rows = sorted_distinct(np.concatenate([part.row for part in parts]))
        set_of = np.full((len(parts), rows.size), -1)  # in each part
        key, example = np.zeros(rows.size, np.int64), np.empty(0, np.int64)
        for part, numbers in zip(parts, set_of, strict=True):
            numbers[np.searchsorted(rows, part.row)] = part.set_of_row
            # Rows that have the same sets in all parts have the same union: it is made once.
            _, example, key = np.unique(key * (part.sets + 1) + numbers + 1, return_index=True, return_inverse=True)
        listed = []
        for part, numbers in zip(parts, set_of[:, example], strict=True):
            known = np.flatnonzero(numbers >= 0)
            owner, first, last = part._runs_of(numbers[known])
            listed.append((known[owner], first, last))
        owner, first, last = (np.concatenate(columns) for columns in zip(*listed, strict=True))
        return cls._assembled(rows, key, *merged_by(owner, first, last))

    @classmethod
    def stacked(cls, parts: Sequence[tuple[int, RunsRelation]]) -> RunsRelation:
        """Relations of rows that follow each other as one.

        Args:
            parts: at least one: the number that is added to the row numbers of a relation, and the relation. All rows
                of one lie before those of the next.

        """
        before = np.cumsum([0, *(part.sets for _, part in parts)])  # sets of the relations in front of each
        listed = [
            (part.row + shift, part.set_of_row + first_set, part._owner + first_set, part.first, part.last)
            for first_set, (shift, part) in zip(before[:-1], parts, strict=True)
        ]
        return cls._assembled(*(np.concatenate(columns) for columns in zip(*listed, strict=True)))

    @classmethod
    def _assembled(cls, row: Numbers, key: Numbers, owner: Numbers, first: Numbers, last: Numbers) -> RunsRelation:
        """Each row with the runs that its key owns, or left out; runs sorted by (owner, first), every owner a key."""
        sets = cls.from_runs(owner, first, last)
        number_of = np.full(int(key.max(initial=-1)) + 1, -1)
        number_of[sets.row] = sets.set_of_row
        number = number_of[key]
        kept = number >= 0
        return cls(row[kept], number[kept], sets.set_starts, sets.first, sets.last)._in_order()

    def _in_order(self) -> RunsRelation:
        """The same with its sets numbered in the order of their first row."""
        first_at = np.zeros(self.sets, np.int64)
        first_at[self.set_of_row[::-1]] = np.arange(self.row.size)[::-1]  # of equal places the last one written stays
        if np.all(np.diff(first_at) > 0):
            return self
        order = np.argsort(first_at)
        owner, first, last = self._runs_of(order)
        starts = np.searchsorted(owner, np.arange(self.sets + 1))
        return RunsRelation(self.row, np.argsort(order)[self.set_of_row], starts, first, last)

    def _runs_of(self, sets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The runs of some sets, one after the other: place in `sets`, first, last."""
        count = np.diff(self.set_starts)[sets]
        run = ranges(self.set_starts[sets], count)
        return np.repeat(np.arange(sets.size), count), self.first[run], self.last[run]

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

    @property
    def _owner(self) -> Numbers:
        """The number of each run's set."""
        return np.repeat(np.arange(self.sets), np.diff(self.set_starts))

    @property
    def cardinality(self) -> int:
        """The number of pairs, as `len`, which ends at 2^63 − 1."""
        return int(self._set_sizes[self.set_of_row].sum())

    @property
    def id_range(self) -> tuple[int, int] | None:
        """The first and the last id; None where there is no pair."""
        return (int(self.first.min()), int(self.last.max())) if len(self.first) else None

    @property
    def members(self) -> int:
        """How many ids the different sets have together: the pairs, but for rows that share a set."""
        return int(self._set_sizes.sum())

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,)."""
        place, first, last = self._runs_of(self.set_of_row)
        length = last - first + 1
        return np.repeat(self.row[place], length), ranges(first, length)

    def rows(self) -> LineageSet:
        """The projection on the rows: those that have an id."""
        return LineageSet(self.row)

    def ids(self) -> LineageSet:
        """The projection on the ids: those that have a row."""
        return LineageSet.from_intervals(*merged(self.first, self.last))

    def last_row(self) -> int:
        """The largest row that has an id; −1 when there is none."""
        return int(self.row[-1]) if self.row.size else -1

    def counts(self) -> tuple[Numbers, Numbers]:
        """Every row that has an id, ascending, and how many ids it has: two int64 arrays of shape (rows,)."""
        return self.row.copy(), self._set_sizes[self.set_of_row]

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> RunsRelation:
        """The pairs whose row is one of `rows` and whose id is one of `ids`; None restricts nothing."""
        kept = self if rows is None else self._of_rows(rows)
        return kept if ids is None else kept._of_ids(ids)

    def renumbered(self, rows: Numbers) -> RunsRelation:
        """The same with other row numbers, in any order.

        Args:
            rows: the new number of each of `row`, no two alike.

        """
        order = np.argsort(rows)
        return RunsRelation(rows[order], self.set_of_row[order], self.set_starts, self.first, self.last)._in_order()

    def split(self, rows: int, most_runs: int) -> Iterator[tuple[int, RunsRelation]]:
        """Yield relations of rows that follow each other, which have about so many runs each or are of one row.

        Args:
            rows: how many rows there are, those without an id among them; at least one.
            most_runs: of a part; runs of a set that was in a part before do not count.

        Yields:
            how many rows a part is of, and the part, its rows numbered from 0.

        """
        comes = np.flatnonzero(np.diff(np.maximum.accumulate(self.set_of_row), prepend=-1))  # where each set is new
        last_of_part = np.flatnonzero(np.diff((self.set_starts[1:] - 1) // most_runs))
        if not last_of_part.size:
            yield rows, self
            return
        for start, end in pairwise([0, *(self.row[comes[last_of_part]] + 1).tolist(), rows]):
            yield end - start, self._between(start, end)

    def _between(self, start: int, end: int) -> RunsRelation:
        """The relation of the rows from `start` to before `end`, numbered from 0."""
        low, high = np.searchsorted(self.row, [start, end]).tolist()
        before, behind = int(self.set_of_row[:low].max(initial=-1)) + 1, int(self.set_of_row[:high].max(initial=-1)) + 1
        if low < high and int(self.set_of_row[low:high].min()) < before:  # a set that rows before have, too
            part = self._of_rows(LineageSet.from_intervals(np.array([start]), np.array([end - 1])))
            return part.renumbered(part.row - start)
        starts = self.set_starts[before : behind + 1]
        runs = slice(int(starts[0]), int(starts[-1]))
        row, sets = self.row[low:high] - start, self.set_of_row[low:high] - before
        return RunsRelation(row, sets, starts - starts[0], self.first[runs], self.last[runs])

    def _of_rows(self, rows: LineageSet) -> RunsRelation:
        kept = self._places(rows)
        used = sorted_distinct(self.set_of_row[kept])
        owner, first, last = self._runs_of(used)
        return self._assembled(self.row[kept], self.set_of_row[kept], used[owner], first, last)

    def _of_ids(self, ids: LineageSet) -> RunsRelation:
        wanted = (ids if ids.cardinality <= LISTABLE else ids & self.ids()).ids()
        begins, ends = runs_in(wanted)
        begin, end = wanted[begins], wanted[ends]
        # The wanted runs that one of mine meets follow each other.
        low = np.searchsorted(end, self.first)
        count = np.searchsorted(begin, self.last, side="right") - low
        met, run = ranges(low, count), np.repeat(np.arange(self.first.size), count)
        owner = self._owner[run]
        return self._assembled(
            self.row,
            self.set_of_row,
            owner,
            np.maximum(begin[met], self.first[run]),
            np.minimum(end[met], self.last[run]),
        )

    def _places(self, rows: LineageSet) -> Numbers | slice:
        """Where in `row` those of the rows are that have an id."""
        wanted = (rows if rows.cardinality <= self.row.size else rows & self.rows()).ids()
        if _is_one_run(wanted):
            first, end = np.searchsorted(self.row, wanted[0]), np.searchsorted(self.row, wanted[-1], side="right")
            return slice(int(first), int(end))
        at = np.searchsorted(self.row, wanted)
        at, wanted = at[at < self.row.size], wanted[at < self.row.size]
        found: Numbers = at[self.row[at] == wanted]
        return found

    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows."""
        found = sorted_distinct(self.set_of_row[self._places(rows)])
        if _is_one_run(found):
            runs = slice(self.set_starts[found[0]], self.set_starts[found[-1] + 1])
            first, last = self.first[runs], self.last[runs]
        else:
            _, first, last = self._runs_of(found)
        return (
            LineageSet.from_intervals(first, last)
            if found.size == 1
            else LineageSet.from_intervals(*merged(first, last))
        )

    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""
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

    # ------------------------------------------------------------ with another

    def join(self, other: RunsRelation) -> RunsRelation:
        """The composition, through every id of every different set: see `algebra.compose`."""
        mine = np.repeat(np.arange(self.sets), self._set_sizes)
        between = ranges(self.first, self.last - self.first + 1)
        at = np.searchsorted(other.row, between)
        known = at < other.row.size
        known[known] = other.row[at[known]] == between[known]
        # Each of my sets becomes the union of those sets of the other that its members lead to.
        edges = sorted_distinct(mine[known] * other.sets + other.set_of_row[at[known]])
        upper, lower = edges // max(other.sets, 1), edges % max(other.sets, 1)
        place, first, last = other._runs_of(lower)
        return self._assembled(self.row, self.set_of_row, *merged_by(upper[place], first, last))

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew. There is nothing to give back."""

    def assert_consistent(self) -> None:
        """Check every invariant of the form; raises AssertionError."""
        starts, count = self.set_starts[:-1], np.diff(self.set_starts)
        assert np.all(self.row >= 0) and np.all(np.diff(self.row) > 0), "rows ascend from 0"
        assert self.set_of_row.size == self.row.size, "a set for each row"
        known = np.maximum.accumulate(np.append(-1, self.set_of_row))
        assert np.all(self.set_of_row >= 0) and np.all(self.set_of_row <= known[:-1] + 1), "sets in order of first row"
        assert known[-1] == self.sets - 1, "every set is used"
        assert self.set_starts[0] == 0 and self.set_starts[-1] == self.first.size == self.last.size, "runs"
        assert np.all(count > 0) and np.all(self.first >= 0) and np.all(self.first <= self.last), "nothing is empty"
        within = np.isin(np.arange(1, self.first.size), starts, invert=True)
        assert np.all((self.first[1:] - 1 > self.last[:-1])[within]), "runs neither overlap nor touch"
        assert np.all(first_equal(starts, count, self.first, self.last) == np.arange(self.sets)), "sets differ"


def _is_one_run(numbers: Numbers) -> bool:
    """Whether distinct numbers, ascending, have no gaps: then slices do instead of lists of places."""
    return bool(numbers.size) and int(numbers[-1] - numbers[0]) == numbers.size - 1
