"""Adds up all rows of groups, which then are exact: in the order of the scramble, or by an index where these are few.

What either way and a round take is estimated beforehand, in nanoseconds. So rounds end once adding up would have been
the cheaper way. Estimates may be off: they choose what is done, and all ways give what is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.scramble import Index, Numbers, Places, Scramble, combination
from forward_lineage.approximate.selection import Selection, Truths

Counts = npt.NDArray[np.int64]
Nulls = Callable[[str], Truths | None]
#: So many rows are looked at in one go: what is computed of them stays in the processor's cache.
_BATCH = 1 << 16
#: More cells than these do not stay there.
_MOST_CELLS = 1 << 16
_ADDED, _COUNTED, _TRIED, _TAKEN, _BY_INDEX = 2.3, 1.4, 0.7, 0.9, 14.0  # nanoseconds a row


@dataclass(frozen=True)
class Sums:
    """What was added up, for each cell or group.

    Attributes:
        matches: for how many rows the condition holds.
        counts: by column, for how many of these there is a value.
        totals: by column, the sum of these values.

    """

    matches: Counts
    counts: Mapping[str | None, Counts]
    totals: Mapping[str | None, Counts]


@dataclass(frozen=True)
class Adder:
    """Adds up rows of a scramble.

    Attributes:
        scramble: whose rows they are.
        chosen: what WHERE chooses.
        index: of the cells that groups are made of; None: there is one group, of all rows.
        columns: that are counted or added up; None stands for the rows themselves.
        numbers: of those whose values are added up.
        nulls: marks the rows that have a value of a column; None: all have one.

    """

    scramble: Scramble
    chosen: Selection
    index: Index | None
    columns: Sequence[str | None]
    numbers: Mapping[str | None, Numbers]
    nulls: Nulls

    def nanoseconds(self, rows: int, share: float) -> float:
        """Return about how long it takes to add up groups.

        Args:
            rows: how many they have.
            share: of rows, for which the condition holds.

        """
        return min(self._of_scan(share), self._of_index(rows, share))

    def _of_scan(self, share: float) -> float:
        if self.index is not None and math.prod(self.index.sizes) > _MOST_CELLS:
            return math.inf
        parts = len(self.index.sizes) if self.index is not None else 0
        each = _ADDED * len(self.numbers) + 0.4 * max(parts - 1, 0)
        if self.chosen.tried:
            each = _TRIED + share * (each + _COUNTED + _TAKEN * (parts + len(self.numbers)))
        if self.chosen.rest is not None:
            each += 10 * _TRIED
        return each * self.scramble.rows

    def _of_index(self, rows: int, share: float) -> float:
        tried = len(self.chosen.ranges) + (4 * len(self.chosen.rest.types) if self.chosen.rest is not None else 0)
        return _BY_INDEX * rows * (1 + tried + share * len(self.numbers))

    def scans(self, rows: int, share: float) -> bool:
        """Tell whether it takes less to look at all rows in order than at those of some groups."""
        return self._of_scan(share) < self._of_index(rows, share)

    # ------------------------------------------------------------ in the order of the scramble

    def scan(self, cells: Sequence[Sequence[int]]) -> Sums:
        """Look at all rows in order; returns the sums of groups.

        Args:
            cells: of each group those of the index that it is made of.

        """
        index = self.index
        sizes = index.sizes if index is not None else ()
        found = _Tally(self, math.prod(sizes))
        codes = [self.scramble.codes(name)[0] for name in (index.columns if index is not None else ())]
        for first in range(0, self.scramble.rows, _BATCH):
            last = min(first + _BATCH, self.scramble.rows)
            found.add([each[first:last] for each in codes], sizes, first, last)
        if index is None:
            return found.sums(lambda each: each)
        numbers = [index.numbers[np.asarray(mine, np.int64)] for mine in cells]
        starts = np.cumsum([0, *(mine.size for mine in numbers)])
        flat = np.concatenate([np.empty(0, np.int64), *numbers])

        def by_group(each: Counts) -> Counts:
            return np.asarray(np.diff(np.concatenate([[0], np.cumsum(each[flat])])[starts]), np.int64)

        return found.sums(by_group)

    # ------------------------------------------------------------ by an index

    def by_index(self, positions: Sequence[Places]) -> Sums:
        """Look at the rows of groups; returns their sums.

        Args:
            positions: of the rows of each group, at least one.

        """
        flat = np.concatenate(positions)
        starts = np.cumsum([0, *(each.size for each in positions[:-1])])
        holds = self.chosen.holds(self.scramble, flat)
        chosen = np.ones(flat.size, np.bool_) if holds is None else holds
        counts, totals = {}, {}
        for name in self.columns:
            there = self.nulls(name) if name is not None else None
            kept = chosen if there is None else chosen & there[flat]
            counts[name] = totals[name] = np.add.reduceat(kept, starts, dtype=np.int64)
            if name in self.numbers:  # a condition may keep few: only their values are fetched
                values = self.numbers[name].values[flat if kept.all() else flat[kept]]
                sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
                totals[name] = np.diff(sums[np.concatenate([[0], np.cumsum(counts[name])])])
        return Sums(np.add.reduceat(chosen, starts, dtype=np.int64), counts, totals)


class _Tally:
    """Counts and sums of cells, batch after batch.

    Doubles add them up. They are whole numbers, of which doubles hold those of a scramble that `adds_up` exactly.
    """

    def __init__(self, of: Adder, cells: int) -> None:
        self._of, self._cells = of, cells
        self._matches = np.zeros(cells, np.int64)
        self._counts = {name: np.zeros(cells, np.int64) for name in of.columns}
        self._totals = {name: np.zeros(cells) for name in of.numbers}

    def add(self, codes: Sequence[Places], sizes: Sequence[int], first: int, last: int) -> None:
        """Add the rows from `first` to before `last`, whose codes are given."""
        holds = self._of.chosen.holds_between(self._of.scramble, first, last)
        places = None if holds is None else np.flatnonzero(holds)
        if places is not None and not places.size:
            return
        mine = list(codes) if places is None else [each[places] for each in codes]
        cell = combination(mine, sizes).astype(np.intp) if mine else None
        if self._of.index is None or places is not None:
            self._matches += self._counted(cell, last - first if places is None else places.size)
        for name in self._of.columns:
            there = self._of.nulls(name) if name is not None else None
            kept = None if there is None else there[first:last] if places is None else there[first:last][places]
            if kept is not None:
                rows = int(np.count_nonzero(kept))
                self._counts[name] += self._counted(None if cell is None else cell[kept], rows)
            if name in self._of.numbers:
                values = self._of.numbers[name].values[first:last]  # 0 where NULL
                self._totals[name] += self._added(cell, values if places is None else values[places])

    def _counted(self, cell: Places | None, rows: int) -> Counts:
        if cell is None:
            return np.array([rows])
        return np.bincount(cell, minlength=self._cells)

    def _added(self, cell: Places | None, values: npt.NDArray[np.number]) -> npt.NDArray[np.float64]:
        if cell is None:
            return np.array([values.sum(dtype=np.int64)], np.float64)
        return np.asarray(np.bincount(cell, values, minlength=self._cells), np.float64)

    def sums(self, of_groups: Callable[[Counts], Counts]) -> Sums:
        """Return what was added up, put together by group."""
        index = self._of.index
        if index is not None and not self._of.chosen.tried:  # the index has counted
            self._matches[index.numbers] = np.diff(index.starts)
        counts, totals = {}, {}
        for name in self._of.columns:
            nulls = self._of.nulls(name) if name is not None else None
            counts[name] = of_groups(self._matches if nulls is None else self._counts[name])
            totals[name] = of_groups(self._totals[name].astype(np.int64)) if name in self._totals else counts[name]
        return Sums(of_groups(self._matches), counts, totals)
