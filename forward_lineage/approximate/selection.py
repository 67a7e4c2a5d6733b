"""The rows that WHERE chooses of a scramble: cells of an index, ranges of narrow columns, and the rest, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.approximate.aggregate_query import EXACT
from forward_lineage.approximate.scramble import Places, Scramble
from forward_lineage.predicates.reading import Condition, Joined, columns_of, read_condition
from forward_lineage.predicates.typing import Predicate, typed
from forward_lineage.predicates.unsupported import Doubtful
from udafs.errors import NotTracedError

#: A condition on a column of groups that keeps at most so many of its values chooses cells of an index.
_FEW = 8
#: Types whose values are few enough to try all of them.
_NARROW = (pa.int8(), pa.int16())
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Range:
    """A condition that holds for the values from one to another, of a column of whole numbers without NULL.

    Attributes:
        column: its name, in lower case.
        low: the least value for which it holds.
        high: the greatest one.

    """

    column: str
    low: int
    high: int

    def holds(self, values: npt.NDArray[np.integer]) -> Truths:
        """Tell for each of some values whether it holds; an eighth of a nanosecond a row, by comparing in place."""
        limits = np.iinfo(values.dtype)
        if self.high >= limits.max:
            return np.asarray(values >= self.low)
        if self.low <= limits.min:
            return np.asarray(values <= self.high)
        return np.asarray((values >= self.low) & (values <= self.high))


@dataclass(frozen=True)
class Selection:
    """The rows that WHERE chooses.

    Attributes:
        values: by column of groups the values that are kept; indexes know where they are.
        ranges: parts of the condition that are tried by comparing numbers.
        rest: the other part of the condition, tried by Arrow; None: there is none.

    """

    values: Mapping[str, frozenset[object]]
    ranges: tuple[Range, ...]
    rest: Predicate | None

    @property
    def tried(self) -> bool:
        """Whether rows are tried one by one: an index does not know for which of them the condition holds."""
        return bool(self.ranges) or self.rest is not None

    def holds(self, scramble: Scramble, positions: Places) -> Truths | None:
        """Tell for each of some positions whether the condition holds; None: nothing is tried."""
        return self._holds(
            lambda name: numbers_of(scramble, name)[positions],
            lambda name: scramble.columns[name].take(pa.array(positions)),
        )

    def holds_between(self, scramble: Scramble, first: int, last: int) -> Truths | None:
        """Tell the same for the positions from `first` to before `last`."""
        return self._holds(
            lambda name: numbers_of(scramble, name)[first:last],
            lambda name: scramble.columns[name].slice(first, last - first),
        )

    def _holds(
        self, numbers: Callable[[str], npt.NDArray[np.integer]], column: Callable[[str], pa.Array]
    ) -> Truths | None:
        found: Truths | None = None
        for each in self.ranges:
            holds = each.holds(numbers(each.column))
            found = holds if found is None else found & holds
        if self.rest is None:
            return found
        arrays = {name: _plain(column(name.lower()), kind) for name, kind in self.rest.types.items()}
        try:
            holds = np.asarray(self.rest.holds(arrays).to_numpy(zero_copy_only=False), np.bool_)
        except Doubtful as error:
            raise NotTracedError(f"a condition on {error}", instead=EXACT) from None
        return holds if found is None else found & holds


def numbers_of(scramble: Scramble, column: str) -> npt.NDArray[np.integer]:
    """Return a column of whole numbers without NULL; nothing is copied."""
    return np.asarray(scramble.columns[column].to_numpy())


def selection(scramble: Scramble, condition: str | None) -> Selection:
    """Return what a condition chooses of a scramble's rows.

    Raises:
        BadArgumentError: it reads a column that the scramble does not have.
        NotTracedError: it is more than plain comparisons.

    """
    if condition is None:
        return Selection({}, (), None)
    kinds = scramble.manifest.columns
    try:
        read = read_condition(condition)
        parts = read.parts if isinstance(read, Joined) and read.word == "AND" else (read,)
        for name in sorted({name.lower() for name in columns_of(read)}):
            scramble.column(name)
        chosen: dict[str, frozenset[object]] = {}
        ranges: list[Range] = []
        rest: list[Condition] = []
        for part in parts:
            values = _values_kept(scramble, part)
            if values is not None:
                (column,) = {name.lower() for name in columns_of(part)}
                chosen[column] = chosen.get(column, values) & values
            elif (between := _range_kept(scramble, part)) is not None:
                ranges.append(between)
            else:
                rest.append(part)
        left = Joined("AND", tuple(rest)) if len(rest) > 1 else rest[0] if rest else None
        return Selection(chosen, tuple(ranges), None if left is None else typed(left, kinds))
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
    kept = _true_of(predicate, pa.array(values, predicate.types[name]))
    found = frozenset(value for value, holds in zip(values, kept, strict=True) if holds)
    return found if len(found) <= _FEW else None


def _range_kept(scramble: Scramble, part: Condition) -> Range | None:
    """The range of a narrow column for which a part of the condition holds; None: it is not of that kind.

    The condition itself is tried, with every value that the column's type has.
    """
    names = {name.lower() for name in columns_of(part)}
    array = scramble.columns[next(iter(names))]
    if len(names) != 1 or array.type not in _NARROW or array.null_count:
        return None
    limits = np.iinfo(array.type.to_pandas_dtype())
    predicate = typed(part, scramble.manifest.columns)
    (kind,) = predicate.types.values()
    kept = np.flatnonzero(_true_of(predicate, pa.array(np.arange(limits.min, limits.max + 1)).cast(kind)))
    if not kept.size:
        return Range(min(names), 1, 0)
    low, high = int(kept[0]), int(kept[-1])
    return Range(min(names), limits.min + low, limits.min + high) if high - low + 1 == kept.size else None


def _true_of(predicate: Predicate, values: pa.Array) -> Truths:
    """For each value of the only column of a condition whether it holds."""
    (name,) = predicate.types
    return np.asarray(predicate.holds({name: values}).to_numpy(zero_copy_only=False), np.bool_)


def _plain(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in the type of their column: a scramble has dictionaries, and narrow numbers."""
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return plain.cast(kind) if pa.types.is_integer(plain.type) else plain
