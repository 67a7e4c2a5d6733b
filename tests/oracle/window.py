"""Window functions, evaluated for each row over its whole partition, and the order they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import TypeVar

from tests.oracle.algebra import Agg, Frame, Over, SortKey, Value
from tests.oracle.expressions import Env, Evaluator, Lineage, NondeterministicError, Values

T = TypeVar("T")


@dataclass(frozen=True)
class Unit:
    """A row inside a SELECT block: the environment that holds its values (or its group), and its lineage so far."""

    env: Env
    lineage: Lineage

    def adding(self, lineage: Lineage) -> Unit:
        return replace(self, lineage=self.lineage | lineage)


class WindowFunctions:
    """Computes the window functions of one SELECT block."""

    def __init__(self, evaluate: Evaluator, control: bool) -> None:
        self._evaluate = evaluate
        self._control = control

    def annotate(self, units: list[Unit], windows: Sequence[Over], *, predicate: bool = False) -> list[Unit]:
        """The units with the values of the windows at hand, and the lineage of their frames added.

        In a predicate (QUALIFY) the frames count under control only.
        """
        added: list[Lineage] = [frozenset()] * len(units)
        values: list[dict[Over, Value]] = [{} for _ in units]
        for over in windows:
            for i, unit in enumerate(units):
                values[i][over], lineage = self._window(over, units, unit)
                added[i] |= lineage
        return [
            replace(
                unit if predicate and not self._control else unit.adding(lineage),
                env=replace(unit.env, windows={**unit.env.windows, **computed}),
            )
            for unit, lineage, computed in zip(units, added, values, strict=True)
        ]

    def _window(self, over: Over, units: list[Unit], unit: Unit) -> tuple[Value, Lineage]:
        own = self._values(over.partition, unit)
        partition = [other for other in units if self._values(over.partition, other) == own]
        keys = [self._values([key.expr for key in over.order], other) for other in partition]
        partition, keys = ordered(partition, keys, over.order)
        at = next(i for i, other in enumerate(partition) if other is unit)
        if isinstance(over.function, Agg):
            frame = [partition[i] for i in self._frame(over, keys, at)]
            value = self._evaluate.aggregate(over.function, [other.env for other in frame])
            between = self._between(over, len(partition), at)
            return value, frozenset().union(*(other.lineage for other in [*frame, *(partition[i] for i in between)]))
        if over.function.name in ("lag", "lead"):
            return self._neighbour(over, partition, keys, at)
        value = ranking(over.function.name, [getattr(arg, "value", None) for arg in over.function.args], keys, at)
        return value, frozenset().union(*(other.lineage for other in partition if self._control))

    def _values(self, exprs: Sequence, unit: Unit) -> Values:  # type: ignore[type-arg]
        return tuple(self._evaluate.value(expr, unit.env) for expr in exprs)

    def _neighbour(self, over: Over, partition: list[Unit], keys: list[Values], at: int) -> tuple[Value, Lineage]:
        check_total(keys)
        argument, offset, *default = over.function.args
        steps = int(getattr(offset, "value", 1))
        there = at - steps if over.function.name == "lag" else at + steps
        passed = [i for i in range(len(partition)) if i != at and min(at, there) <= i <= max(at, there)]
        seen = passed if self._control else [i for i in passed if i == there]
        lineage = frozenset().union(*(partition[i].lineage for i in seen))
        if 0 <= there < len(partition):
            return self._evaluate.value(argument, partition[there].env), lineage
        return (self._evaluate.value(default[0], partition[at].env) if default else None), lineage

    def _between(self, over: Over, rows: int, at: int) -> range:
        """Under control, the positions between a row and a frame of counted rows that does not reach it."""
        frame = over.frame
        if self._control and frame is not None and frame.unit == "ROWS":
            if frame.end is not None and frame.end < 0:
                return range(max(0, at + frame.end), at)
            if frame.start is not None and frame.start > 0:
                return range(at + 1, min(rows, at + frame.start + 1))
        return range(0)

    def _frame(self, over: Over, keys: list[Values], at: int) -> list[int]:
        """Positions of the frame; by default the partition, or with ORDER BY all up to the last peer."""
        frame = over.frame or Frame("RANGE", None, 0 if over.order else None)
        everyone = range(len(keys))
        if frame.unit == "ROWS":
            if frame.start is not None or frame.end is not None:
                check_total(keys)
            low = 0 if frame.start is None else at + frame.start
            high = len(keys) if frame.end is None else at + frame.end
            return [i for i in everyone if low <= i <= high]
        return [
            i
            for i in everyone
            if (frame.start is None or within(over.order, keys, at, frame.start, i) >= 0)
            and (frame.end is None or within(over.order, keys, at, frame.end, i) <= 0)
        ]


def within(order: Sequence[SortKey], keys: list[Values], at: int, offset: int, i: int) -> int:
    """Where row i lies relative to the RANGE bound `offset` away from row `at`: before (-1), on (0) or after it (1)."""
    bound = keys[at]
    if offset and bound[0] is not None:  # NULL plus an offset stays NULL, hence its own peers
        step = -offset if order[0].descending else offset
        bound = (bound[0] + step,)  # type: ignore[operator]
    return compare(order, keys[i], bound)


def check_total(keys: list[Values]) -> None:
    if len(set(keys)) < len(keys):
        raise NondeterministicError("rows are counted within ties")


def ranking(name: str, args: Sequence[Value], keys: list[Values], at: int) -> Value:
    """Value of a ranking function for the row at position `at` of its ordered partition."""
    rank = 1 + keys.index(keys[at])
    match name:
        case "rank":
            return rank
        case "dense_rank":
            return len(set(keys[: at + 1]))
        case "percent_rank":
            return (rank - 1) / (len(keys) - 1) if len(keys) > 1 else 0.0
        case "cume_dist":
            return (rank - 1 + keys.count(keys[at])) / len(keys)
    check_total(keys)
    if name == "row_number":
        return at + 1
    if name == "ntile":
        buckets = int(args[0] or 1)
        size, larger = divmod(len(keys), buckets)  # the first `larger` buckets hold one row more
        return at // (size + 1) + 1 if at < larger * (size + 1) else larger + (at - larger * (size + 1)) // size + 1
    raise TypeError(name)


def compare(order: Sequence[SortKey], left: Values, right: Values) -> int:
    """-1, 0 or 1 as `left` sorts before, with or after `right`; by default NULLs come first when ascending."""
    for key, a, b in zip(order, left, right, strict=True):
        if a == b:
            continue
        if a is None or b is None:
            first = key.nulls == "FIRST" if key.nulls else not key.descending
            return -1 if (a is None) == first else 1
        return -1 if (a < b) != key.descending else 1  # type: ignore[operator]
    return 0


def ordered(rows: list[T], keys: list[Values], order: Sequence[SortKey]) -> tuple[list[T], list[Values]]:
    """Rows and their keys, sorted by the keys; ties stay in the order they came."""
    pairs = sorted(zip(rows, keys, strict=True), key=cmp_to_key(lambda p, q: compare(order, p[1], q[1])))
    return [row for row, _ in pairs], [key for _, key in pairs]
