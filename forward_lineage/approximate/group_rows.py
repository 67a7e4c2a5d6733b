"""The rows of each group of a query: which there are, which were read, and what they add to its aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.adding_up import Adder, Sums
from forward_lineage.approximate.aggregate_query import Aggregate
from forward_lineage.approximate.drawing import DrawnOrder, ScrambleOrder
from forward_lineage.approximate.estimates import Estimator, Gaps, Series, series_of
from forward_lineage.approximate.scramble import Index, Numbers, Places, Scramble
from forward_lineage.approximate.selection import Selection
from forward_lineage.approximate.stopping import GroupState
from udafs.errors import BadArgumentError

#: So many rows are looked up at once.
_BATCH = 1 << 21


@dataclass
class Group:
    """The rows of one group.

    Attributes:
        key: its values, in the order of GROUP BY.
        cells: of the index that it is made of.
        positions: in the scramble, ascending; None: all.
        size: how many there are.
        order: in which they are read.
        estimators: one for each aggregate.
        series: what was read, by column.
        taken: the positions that were read by chance, in order.
        read: how many these are.
        matches: for how many of all that were read the condition holds.
        tried: whether a condition is tried row by row.
        scanned: whether it was added up by looking at all rows of the scramble.

    """

    key: tuple[object, ...]
    cells: Sequence[int]
    positions: Places | None
    size: int
    order: ScrambleOrder | DrawnOrder
    estimators: list[Estimator] = field(default_factory=list)
    series: dict[str | None, Series] = field(default_factory=dict)
    taken: list[Places] = field(default_factory=list)
    read: int = 0
    matches: int = 0
    tried: bool = False
    scanned: bool = False

    @property
    def whole(self) -> bool:
        """Whether all rows were read."""
        return self.read >= self.size

    def next_positions(self, count: int) -> Places:
        """Return the positions of the next rows."""
        places = self.order.take(count)
        return places if self.positions is None else self.positions[places]

    def all_positions(self) -> Places:
        """Return the positions of all rows."""
        return np.arange(self.size) if self.positions is None else self.positions

    def rows_needed(self, gaps: Sequence[Gaps]) -> float:
        """Return about how many rows it takes until each aggregate is as near as it has to be."""
        both = zip(self.estimators, gaps, strict=True)
        return max((each.rows_needed(mine) for each, mine in both), default=0.0)

    def state(self, *, everywhere: bool) -> GroupState:
        """Return what is known of it.

        Args:
            everywhere: whether it is in the answer even without rows.

        """
        seen = everywhere or self.matches > 0 or (self.size > 0 and not self.tried)
        exists = True if seen else False if self.whole else None
        intervals = tuple(each.interval for each in self.estimators)
        return GroupState(
            self.read, self.whole, exists, tuple(each.rough_estimate() for each in self.estimators), intervals
        )


def _check_indexed(scramble: Scramble, keys: Sequence[str]) -> None:
    unknown = [key for key in keys if key not in scramble.groups]
    if unknown:
        raise BadArgumentError(
            f"{unknown[0]} is not among the groups of the scramble of {scramble.manifest.name}",
            instead=f'Scramble it with groups=["{unknown[0]}", …]: an index then says which groups there are.',
        )


def groups_of(scramble: Scramble, keys: Sequence[str], chosen: Selection, *, fresh: bool) -> list[Group]:
    """Return the groups that there may be, with their rows.

    Args:
        scramble: whose rows they are.
        keys: the columns behind GROUP BY.
        chosen: what WHERE chooses.
        fresh: whether the order of the scramble is still a chance order; else one is drawn.

    Raises:
        BadArgumentError: a key is not among the groups of the scramble.

    """
    _check_indexed(scramble, keys)
    index = index_of(scramble, keys, chosen)
    order = ScrambleOrder if fresh else partial(DrawnOrder, chance=np.random.default_rng())
    if index is None:
        return [Group((), (), None, scramble.rows, order(scramble.rows))]
    cells = _cells(index, keys, chosen)
    found = [(key, mine, _positions(index, mine)) for key, mine in cells.items()]
    return [Group(key, mine, positions, positions.size, order(positions.size)) for key, mine, positions in found]


def index_of(scramble: Scramble, keys: Sequence[str], chosen: Selection) -> Index | None:
    """Return the index whose cells groups are made of; None: there is one group, of all rows."""
    columns = tuple(dict.fromkeys([*keys, *chosen.values]))
    return scramble.index(columns) if columns else None


def _cells(index: Index, keys: Sequence[str], chosen: Selection) -> dict[tuple[object, ...], list[int]]:
    """For each group its cells, those that WHERE chooses; without keys there is one group, whatever is in it."""
    cells: dict[tuple[object, ...], list[int]] = {} if keys else {(): []}
    for cell, values in enumerate(index.values):
        row = dict(zip(index.columns, values, strict=True))
        if all(row[name] in allowed for name, allowed in chosen.values.items()):
            cells.setdefault(tuple(row[key] for key in keys), []).append(cell)
    return cells


def _positions(index: Index, cells: Sequence[int]) -> Places:
    """The positions of some cells, ascending."""
    if len(cells) == 1:
        return index.of(cells[0])
    return np.sort(np.concatenate([np.empty(0, index.positions.dtype), *map(index.of, cells)]))


class Feeder:
    """Adds rows to groups.

    Args:
        scramble: whose rows they are.
        chosen: what WHERE chooses.
        index: whose cells the groups are made of; None: there is one group, of all rows.
        aggregates: what is asked of each group.

    """

    def __init__(
        self, scramble: Scramble, chosen: Selection, index: Index | None, aggregates: Sequence[Aggregate]
    ) -> None:
        self._scramble, self._chosen, self._aggregates = scramble, chosen, aggregates
        columns = series_of(aggregates)
        self._numbers: dict[str | None, Numbers] = {
            name: scramble.numbers(name) for name in columns if name is not None and self._added(name)
        }
        self._adder = Adder(scramble, chosen, index, columns, self._numbers, self._nulls)

    def _added(self, column: str) -> bool:
        return any(each.column == column and each.function != "COUNT" for each in self._aggregates)

    def begin(self, group: Group, delta: float, bounder: str) -> None:
        """Make the estimators of a group."""
        group.tried = self._chosen.tried
        for name in series_of(self._aggregates):
            numbers = self._numbers.get(name) if name is not None else None
            series = Series(numbers.low, numbers.high, numbers.whole) if numbers else Series(0.0, 1.0, whole=True)
            if self._chosen.tried or (name is not None and self._nulls(name) is not None):
                series.kept = []
            group.series[name] = series
        group.estimators = [
            Estimator(each, group.series[each.column], group.size, delta, bounder) for each in self._aggregates
        ]

    def add(self, reads: Iterable[tuple[Group, int]]) -> None:
        """Read rows of groups by chance; of many groups at once, since a call takes longer than a row.

        Args:
            reads: groups, each with how many rows of it are read next.

        """
        batch: list[tuple[Group, Places]] = []
        rows = 0
        for group, count in reads:
            batch.append((group, group.next_positions(count)))
            rows += batch[-1][1].size
            if rows >= _BATCH:
                self._add(batch)
                batch, rows = [], 0
        if batch:
            self._add(batch)

    def _add(self, batch: Sequence[tuple[Group, Places]]) -> None:
        positions = np.concatenate([mine for _, mine in batch])
        ends = np.cumsum([mine.size for _, mine in batch]).tolist()
        parts = [slice(end - mine.size, end) for end, (_, mine) in zip(ends, batch, strict=True)]
        holds = self._chosen.holds(self._scramble, positions)
        for name, example in batch[0][0].series.items():
            numbers = self._numbers.get(name) if name is not None else None
            values = numbers.at(positions) if numbers else np.ones(positions.size)
            kept = None
            if example.kept is not None:
                there = self._nulls(name) if name is not None else None
                both = np.ones(positions.size, np.bool_) if holds is None else holds
                kept = (both if there is None else both & there[positions]).astype(np.float64)
                values = values * kept
            for (group, _), part in zip(batch, parts, strict=True):
                group.series[name].add(values[part], None if kept is None else kept[part])
        for (group, mine), part in zip(batch, parts, strict=True):
            group.matches += mine.size if holds is None else int(np.count_nonzero(holds[part]))
            group.taken.append(mine)
            group.read += mine.size

    def adds_up(self) -> bool:
        """Tell whether `settle` may be called: sums have no rounding errors."""
        return all(each.sums is not None for each in self._numbers.values())

    def adding_takes(self, groups: Sequence[Group]) -> float:
        """Return about how many nanoseconds `settle` takes."""
        return self._adder.nanoseconds(sum(group.size for group in groups), _share(groups))

    def settle(self, groups: Sequence[Group], others: Sequence[Group]) -> None:
        """Add up all rows of groups, which then are exact. A row takes a small part of what it takes in rounds.

        Args:
            groups: that are read on.
            others: that are added up as well if it takes no longer: they may come to matter again.

        """
        if self._adder.scans(sum(group.size for group in groups), _share(groups)):
            all_of_them = [*groups, *others]
            self._settle(all_of_them, self._adder.scan([group.cells for group in all_of_them]))
            for group in all_of_them:
                group.scanned = True
            return
        batch: list[Group] = []
        rows = 0
        for group in groups:
            batch.append(group)
            rows += group.size
            if rows >= _BATCH or group is groups[-1]:
                self._settle(batch, self._adder.by_index([each.all_positions() for each in batch]))
                batch, rows = [], 0

    def _settle(self, groups: Sequence[Group], found: Sums) -> None:
        for place, group in enumerate(groups):
            group.taken, group.read, group.matches = [group.all_positions()], group.size, int(found.matches[place])
            for each in group.estimators:
                name = each.aggregate.column
                total = found.totals[name][place] if name in found.totals else 0
                each.settle(int(found.counts[name][place]), total)

    def _nulls(self, column: str) -> npt.NDArray[np.bool_] | None:
        """Mark the rows that have a value; None: all."""
        if column in self._numbers:
            return self._numbers[column].there
        array = self._scramble.column(column)
        return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _share(groups: Sequence[Group]) -> float:
    """The share of rows for which the condition holds, by those that were read; half, as long as there are none."""
    read = sum(group.read for group in groups)
    return sum(group.matches for group in groups) / read if read else 0.5
