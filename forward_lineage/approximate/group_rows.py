"""The rows of each group of a query: which there are, which were read, and what they add to its aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.approximate.aggregate_query import EXACT, Aggregate
from forward_lineage.approximate.drawing import DrawnOrder, ScrambleOrder
from forward_lineage.approximate.estimates import Estimator, Series, series_of
from forward_lineage.approximate.scramble import Index, Places, Scramble
from forward_lineage.approximate.stopping import GroupState
from forward_lineage.predicates.reading import Condition, Joined, columns_of, read_condition
from forward_lineage.predicates.typing import Predicate, typed
from forward_lineage.predicates.unsupported import Doubtful
from udafs.errors import BadArgumentError, NotTracedError

#: A condition on a column of groups that keeps at most so many of its values chooses cells of an index.
_FEW = 8
#: So many rows are looked up at once.
_BATCH = 1 << 21
_LARGEST = 1 << 53


@dataclass
class Group:
    """The rows of one group.

    Attributes:
        key: its values, in the order of GROUP BY.
        positions: in the scramble, ascending; None: all.
        size: how many there are.
        order: in which they are read.
        estimators: one for each aggregate.
        series: what was read, by column.
        taken: the positions that were read by chance, in order.
        matches: for how many of all that were read the condition holds.
        tried: whether a condition is tried row by row.

    """

    key: tuple[object, ...]
    positions: Places | None
    size: int
    order: ScrambleOrder | DrawnOrder
    estimators: list[Estimator] = field(default_factory=list)
    series: dict[str | None, Series] = field(default_factory=dict)
    taken: list[Places] = field(default_factory=list)
    matches: int = 0
    tried: bool = False

    @property
    def read(self) -> int:
        """How many rows were read by chance."""
        return sum(each.size for each in self.taken)

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


@dataclass(frozen=True)
class Selection:
    """The rows that WHERE chooses.

    Attributes:
        values: by column of groups the values that are kept; indexes know where they are.
        rest: the other part of the condition, tried row by row; None: there is none.
        columns: that the rest reads, by name as the table has it.

    """

    values: Mapping[str, frozenset[object]]
    rest: Predicate | None

    def holds(self, scramble: Scramble, positions: Places) -> npt.NDArray[np.bool_] | None:
        """Tell for each of some positions whether the rest of the condition holds; None: there is none."""
        taken = pa.array(positions)
        return self._holds(scramble, lambda column: column.take(taken))

    def holds_everywhere(self, scramble: Scramble) -> npt.NDArray[np.bool_] | None:
        """Tell the same for all positions."""
        parts = [
            self._holds(scramble, lambda column, first=first: column.slice(first, _BATCH))  # type: ignore[misc]
            for first in range(0, scramble.rows, _BATCH)
        ]
        return None if self.rest is None else np.concatenate([part for part in parts if part is not None])

    def _holds(self, scramble: Scramble, part: Callable[[pa.Array], pa.Array]) -> npt.NDArray[np.bool_] | None:
        if self.rest is None:
            return None
        arrays = {name: _plain(part(scramble.columns[name.lower()]), kind) for name, kind in self.rest.types.items()}
        try:
            found = self.rest.holds(arrays)
        except Doubtful as error:
            raise NotTracedError(f"a condition on {error}", instead=EXACT) from None
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def selection(scramble: Scramble, condition: str | None) -> Selection:
    """Return what a condition chooses of a scramble's rows.

    Raises:
        BadArgumentError: it reads a column that the scramble does not have.
        NotTracedError: it is more than plain comparisons.

    """
    if condition is None:
        return Selection({}, None)
    kinds = scramble.manifest.columns
    try:
        read = read_condition(condition)
        parts = read.parts if isinstance(read, Joined) and read.word == "AND" else (read,)
        for name in sorted({name.lower() for name in columns_of(read)}):
            scramble.column(name)
        chosen: dict[str, frozenset[object]] = {}
        rest: list[Condition] = []
        for part in parts:
            values = _values_kept(scramble, part)
            if values is None:
                rest.append(part)
            else:
                (column,) = {name.lower() for name in columns_of(part)}
                chosen[column] = chosen.get(column, values) & values
        left = Joined("AND", tuple(rest)) if len(rest) > 1 else rest[0] if rest else None
        return Selection(chosen, None if left is None else typed(left, kinds))
    except Doubtful as error:
        raise NotTracedError(f"a condition with {error} in an approximate query", instead=EXACT) from None


def _values_kept(scramble: Scramble, part: Condition) -> frozenset[object] | None:
    """The few values of a column of groups for which a part of the condition holds; None: it is not of that kind."""
    names = {name.lower() for name in columns_of(part)}
    if len(names) != 1 or not names <= set(scramble.groups):
        return None
    predicate = typed(part, scramble.manifest.columns)
    (name,) = predicate.types
    _, values = scramble.codes(name.lower())
    kept = predicate.holds({name: pa.array(values, predicate.types[name])})
    found = frozenset(value for value, holds in zip(values, kept.to_pylist(), strict=True) if holds)
    return found if len(found) <= _FEW else None


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
    columns = tuple(dict.fromkeys([*keys, *chosen.values]))
    order = ScrambleOrder if fresh else DrawnOrder
    if not columns:
        return [Group((), None, scramble.rows, order(scramble.rows))]
    index = scramble.index(columns)
    cells = _cells(index, keys, chosen)
    found = [(key, _positions(index, mine)) for key, mine in cells.items()]
    return [Group(key, positions, positions.size, order(positions.size)) for key, positions in found]


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
        aggregates: what is asked of each group.

    """

    def __init__(self, scramble: Scramble, chosen: Selection, aggregates: Sequence[Aggregate]) -> None:
        self._scramble, self._chosen, self._aggregates = scramble, chosen, aggregates
        self._numbers = {
            name: scramble.numbers(name) for name in series_of(aggregates) if name is not None and self._added(name)
        }

    def _added(self, column: str) -> bool:
        return any(each.column == column and each.function != "COUNT" for each in self._aggregates)

    def begin(self, group: Group, delta: float, bounder: str) -> None:
        """Make the estimators of a group."""
        group.tried = self._chosen.rest is not None
        for name in series_of(self._aggregates):
            numbers = self._numbers.get(name) if name is not None else None
            series = Series(numbers.low, numbers.high) if numbers else Series(0.0, 1.0)
            if self._chosen.rest is not None or (name is not None and self._nulls(name) is not None):
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
                series = group.series[name]
                series.values.append(values[part])
                if series.kept is not None and kept is not None:
                    series.kept.append(kept[part])
        for (group, mine), part in zip(batch, parts, strict=True):
            group.matches += mine.size if holds is None else int(np.count_nonzero(holds[part]))
            group.taken.append(mine)

    def adds_up(self) -> bool:
        """Tell whether `settle` may be called: sums of whole numbers have no rounding errors."""
        most = self._scramble.rows
        return all(each.whole and max(-each.low, each.high) * most < _LARGEST for each in self._numbers.values())

    def settle(self, groups: Iterable[Group]) -> None:
        """Add up all rows of groups, which then are exact. A row takes a tenth of what it takes in rounds."""
        holds = self._chosen.holds_everywhere(self._scramble)
        batch: list[Group] = []
        rows = 0
        for group in groups:
            batch.append(group)
            rows += group.size
            if rows >= _BATCH:
                self._settle(batch, holds)
                batch, rows = [], 0
        if batch:
            self._settle(batch, holds)

    def _settle(self, batch: Sequence[Group], holds: npt.NDArray[np.bool_] | None) -> None:
        mine = [group.all_positions() for group in batch]
        positions = np.concatenate(mine)
        starts = np.cumsum([0, *(each.size for each in mine[:-1])])
        chosen = np.ones(positions.size, np.bool_) if holds is None else holds[positions]
        found: dict[str | None, tuple[list[int], list[int]]] = {}
        for name in batch[0].series:
            there = self._nulls(name) if name is not None else None
            kept = chosen if there is None else chosen & there[positions]
            counts = np.add.reduceat(kept, starts, dtype=np.int64)
            totals = counts
            if name in self._numbers:  # a condition may keep few: only their values are fetched
                values = self._numbers[name].values[positions if kept.all() else positions[kept]]
                sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
                totals = np.diff(sums[np.concatenate([[0], np.cumsum(counts)])])
            found[name] = counts.tolist(), totals.tolist()
        matches = np.add.reduceat(chosen, starts, dtype=np.int64).tolist()
        for place, group in enumerate(batch):
            group.taken, group.matches = [mine[place]], matches[place]
            for each in group.estimators:
                count, total = (made[place] for made in found[each.aggregate.column])
                each.settle(count, total)

    def _nulls(self, column: str) -> npt.NDArray[np.bool_] | None:
        """Mark the rows that have a value; None: all."""
        if column in self._numbers:
            return self._numbers[column].there
        array = self._scramble.column(column)
        return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _plain(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in the type of their column: a scramble has dictionaries, and narrow numbers."""
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return plain.cast(kind) if pa.types.is_integer(plain.type) else plain
