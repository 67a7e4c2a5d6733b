"""Adds up all rows of groups, which then are exact: in the order of the scramble, or by an index where these are few.

What either way and a round take is estimated beforehand, in nanoseconds. So rounds end once adding up would have been
the cheaper way. Estimates may be off: they choose what is done, and all ways give what is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.exact_sums import BATCH, ExactSums
from forward_lineage.approximate.scramble import Index, Numbers, Places, Scramble
from forward_lineage.approximate.selection import Selection, Truths

Counts = npt.NDArray[np.int64]
Nulls = Callable[[str], Truths | None]
#: More cells than these do not stay in the processor's cache.
_MOST_CELLS = 1 << 16
#: Rows of the groups asked for are picked out first, if they are at most this part of all.
_PICKED = 0.5
# Nanoseconds a row.
_ADDED, _COUNTED, _COMPARED, _BY_ARROW, _FOUND, _TAKEN = 2.1, 1.4, 0.2, 7.0, 1.0, 0.4
_INDEXED, _FETCHED, _SPLIT = 2.0, 14.0, 4.0
#: Of few cells so many sums each are kept: an addition waits for the one before to the same sum.
_LANES, _FEW_CELLS = 8, 32


@dataclass(frozen=True)
class Sums:
    """What was added up, for each cell or group.

    Attributes:
        matches: for how many rows the condition holds.
        counts: by column, for how many of these there is a value.
        totals: by column, the sum of these values, without rounding errors.

    """

    matches: Counts
    counts: Mapping[str | None, Counts]
    totals: Mapping[str | None, Sequence[Fraction | int]]


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
        return min(self._of_scan(rows, share), self._of_index(rows, share))

    def _of_scan(self, rows: int, share: float) -> float:
        if self.index is not None and len(self.index.values) > _MOST_CELLS:
            return math.inf
        each = _ADDED * self._parts
        found, compared = 1.0, len(self.chosen.ranges) * _COMPARED
        if self.chosen.rest is not None:
            compared += len(self.chosen.rest.types) * _BY_ARROW
        if self._picks(rows):
            found, compared = rows / self.scramble.rows, compared + len(self.chosen.values) * _COMPARED
        if self.chosen.tried:
            found *= share
        if compared:
            each += _COUNTED * (self._parts != 1) + _TAKEN * ((self.index is not None) + len(self.numbers))
            compared += _FOUND
        return (compared + found * each) * self.scramble.rows

    def _of_index(self, rows: int, share: float) -> float:
        fetched = len(self.chosen.ranges) + (3 * len(self.chosen.rest.types) if self.chosen.rest is not None else 0)
        return rows * (_INDEXED + _FETCHED * (fetched + share * len(self.numbers)) + share * _SPLIT * self._parts)

    @property
    def _parts(self) -> int:
        return sum(len(each.sums.units) for each in self.numbers.values() if each.sums is not None)

    def scans(self, rows: int, share: float) -> bool:
        """Tell whether it takes less to look at all rows in order than at those of some groups."""
        return self._of_scan(rows, share) < self._of_index(rows, share)

    def _picks(self, rows: int) -> bool:
        """Whether a scan first finds the rows with the values of groups that WHERE chooses."""
        return bool(self.chosen.values) and rows <= _PICKED * self.scramble.rows

    # ------------------------------------------------------------ in the order of the scramble

    def scan(self, cells: Sequence[Sequence[int]]) -> Sums:
        """Look at all rows in order; returns the sums of groups.

        Args:
            cells: of each group those of the index that it is made of.

        """
        index = self.index
        found = _Tally(self, len(index.values) if index is not None else 1)
        flat = np.concatenate([np.empty(0, np.int64), *(np.asarray(mine, np.int64) for mine in cells)])
        picks = index is not None and self._picks(int(np.diff(index.starts)[flat].sum()))
        for first in range(0, self.scramble.rows, BATCH):
            rows = slice(first, min(first + BATCH, self.scramble.rows))
            found.add(None if index is None else index.cells[rows], rows, self._holds(rows, picks=picks))
        if index is None:
            return found.sums(lambda each: each)
        starts = np.cumsum([0, *(len(mine) for mine in cells)])

        def by_group(each: Counts) -> Counts:
            return np.asarray(np.diff(np.concatenate([[0], np.cumsum(each[flat])])[starts]), np.int64)

        return found.sums(by_group)

    def _holds(self, rows: slice, *, picks: bool) -> Truths | None:
        """Which rows of a batch are looked at; None: all."""
        holds = self.chosen.holds_between(self.scramble, rows.start, rows.stop)
        if picks:
            for name, kept in self.chosen.values.items():
                codes, values = self.scramble.codes(name)
                mine = _is_one_of(codes[rows], [place for place, each in enumerate(values) if each in kept])
                holds = mine if holds is None else holds & mine
        return holds

    # ------------------------------------------------------------ by an index

    def by_index(self, positions: Sequence[Places]) -> Sums:
        """Look at the rows of groups; returns their sums.

        Args:
            positions: of the rows of each group, at least one.

        """
        flat = np.concatenate(positions).astype(np.intp)  # by which numpy takes fastest
        ends = np.cumsum([each.size for each in positions])
        holds = self.chosen.holds(self.scramble, flat)
        counts: dict[str | None, Counts] = {}
        totals: dict[str | None, Sequence[Fraction | int]] = {}
        for name in self.columns:
            there = self.nulls(name) if name is not None else None
            kept = holds if there is None else there[flat] if holds is None else holds & there[flat]
            counts[name] = _counted_to(ends, kept)
            if name in self.numbers:  # a condition may keep few: only their values are fetched
                values = self.numbers[name].values.take(flat if kept is None else flat[kept])
                totals[name] = self._differences(name, values, np.concatenate([[0], np.cumsum(counts[name])]))
        return Sums(_counted_to(ends, holds), counts, totals)

    def _differences(
        self, name: str | None, values: npt.NDArray[np.number], starts: Counts
    ) -> Sequence[Fraction | int]:
        """The sums of values from each start to the next one."""
        sums = _sums_of(self.numbers[name])
        found = []
        for unit, part in zip(sums.units, sums.parts(values), strict=True):
            whole = part if np.issubdtype(part.dtype, np.integer) else (part * 2.0**-unit).astype(np.int64)
            running = np.concatenate([[0], np.cumsum(whole, dtype=np.int64)])
            found.append(np.diff(running[starts]))
        return _totals(sums, found)


class _Tally:
    """Counts and sums of cells, batch after batch.

    Doubles add up a batch: parts of values are such that none of its sums is rounded. Whole numbers add up batches.
    """

    def __init__(self, of: Adder, cells: int) -> None:
        self._of, self._cells = of, cells
        self._lanes = _LANES if cells <= _FEW_CELLS and of.index is not None else 1
        lanes = np.arange(BATCH if self._lanes > 1 else 0) % self._lanes * cells
        self._lane = lanes.astype(np.uint8)
        self._matches = np.zeros(cells, np.int64)
        self._counts = {name: np.zeros(cells, np.int64) for name in of.columns}
        self._totals = {
            name: [np.zeros(cells, np.int64) for _ in _sums_of(each).units] for name, each in of.numbers.items()
        }

    def add(self, cells: Places | None, rows: slice, holds: Truths | None) -> None:
        """Add rows, whose cells are given, or those of them that `holds` marks."""
        places = None if holds is None else np.flatnonzero(holds)
        if places is not None and not places.size:
            return
        count = rows.stop - rows.start if places is None else places.size
        mine = cells if cells is None or places is None else cells.take(places)
        cell = None if mine is None else self._places_of(mine)
        counted = self._of.index is not None and not self._of.chosen.tried  # the index has
        for name in self._of.columns:
            there = self._of.nulls(name) if name is not None else None
            if there is not None:
                kept = there[rows] if places is None else there[rows].take(places)
                self._counts[name] += self._counted(None if cell is None else cell[kept], int(np.count_nonzero(kept)))
            if name in self._of.numbers:
                values = self._of.numbers[name].values[rows]  # 0 where NULL
                self._add_values(name, cell, values if places is None else values.take(places), counted=counted)
                counted = True
        if not counted:
            self._matches += self._counted(cell, count)

    def _add_values(
        self, name: str | None, cell: Places | None, values: npt.NDArray[np.number], *, counted: bool
    ) -> None:
        """Add values, and how many there are of each cell unless they are counted."""
        numbers = self._of.numbers[name]
        sums = _sums_of(numbers)
        shift = 0 if counted or cell is None else _shift(numbers, self._cells)
        if shift:  # a number above all sums of a batch counts
            both = self._added(cell, np.add(values, 2.0**shift, dtype=np.float64))
            counts = np.rint(both * 2.0**-shift)
            self._matches += counts.astype(np.int64)
            self._totals[name][0] += (both - counts * 2.0**shift).astype(np.int64)
            return
        if not counted:
            self._matches += self._counted(cell, values.size)
        for place, (unit, part) in enumerate(zip(sums.units, sums.parts(values), strict=True)):
            self._totals[name][place] += (self._added(cell, part) * 2.0**-unit).astype(np.int64)

    def _counted(self, cell: Places | None, rows: int) -> Counts:
        if cell is None:
            return np.array([rows])
        return self._together(np.bincount(cell, minlength=self._cells * self._lanes))

    def _added(self, cell: Places | None, values: npt.NDArray[np.number]) -> npt.NDArray[np.float64]:
        if cell is None:
            return np.array(
                [values.sum(dtype=np.int64 if np.issubdtype(values.dtype, np.integer) else None)], np.float64
            )
        return np.asarray(self._together(np.bincount(cell, values, minlength=self._cells * self._lanes)), np.float64)

    def _places_of(self, cell: Places) -> Places:
        """The place of each row's sum."""
        if self._lanes > 1:
            cell = np.add(cell, self._lane[: cell.size], dtype=np.uint8)
        return cell.astype(np.intp)

    def _together(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return sums.reshape(self._lanes, self._cells).sum(axis=0) if self._lanes > 1 else sums

    def sums(self, of_groups: Callable[[Counts], Counts]) -> Sums:
        """Return what was added up, put together by group."""
        index = self._of.index
        if index is not None and not self._of.chosen.tried:
            self._matches = np.diff(index.starts)
        counts, totals = {}, {}
        for name in self._of.columns:
            nulls = self._of.nulls(name) if name is not None else None
            counts[name] = of_groups(self._matches if nulls is None else self._counts[name])
            if name in self._totals:
                sums = _sums_of(self._of.numbers[name])
                totals[name] = _totals(sums, [of_groups(each) for each in self._totals[name]])
        return Sums(of_groups(self._matches), counts, totals)


def _counted_to(ends: Counts, kept: Truths | None) -> Counts:
    """How many rows are kept of those up to each end, from the one before; None: all."""
    running = ends if kept is None else np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[ends]
    return np.asarray(np.diff(running, prepend=0), np.int64)


def _sums_of(numbers: Numbers) -> ExactSums:
    if numbers.sums is None:  # `Feeder.adds_up` has said so
        raise AssertionError("values that are too different in size are not added up")
    return numbers.sums


def _totals(sums: ExactSums, parts: Sequence[Counts]) -> Sequence[Fraction | int]:
    """For each group the sum of its parts."""
    if sums.units == (0,):
        return list(parts[0].tolist())
    return [sums.total(list(each)) for each in zip(*(part.tolist() for part in parts), strict=True)]


def _shift(numbers: Numbers, cells: int) -> int:
    """The power of two that is added to each value, so that a sum says how many there are; 0: there is none.

    Sums of a batch are less than half of it, and it fits a batch of times into a double.
    """
    if not numbers.whole or cells > BATCH // 8:
        return 0
    shift = math.frexp(max(-numbers.low, numbers.high, 1.0))[1] + BATCH.bit_length()
    return shift if shift + BATCH.bit_length() <= 53 else 0


def _is_one_of(codes: Places, kept: Sequence[int]) -> Truths:
    """Tell for each code whether it is one of a few."""
    holds = np.zeros(codes.size, np.bool_)
    for each in kept:
        holds |= codes == codes.dtype.type(each)
    return holds
