"""When enough rows were read: the stopping conditions ① to ⑥ of FastFrame, and which groups are read on for them.

① a number of rows for each group · ② a width · ③ a relative error · ④ a side of a threshold (HAVING) ·
⑤ the first k groups apart from the others (ORDER BY … LIMIT) · ⑥ all groups apart (ORDER BY)   [Macke 2021, §6.4.2]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from forward_lineage.approximate.aggregate_query import Order, Threshold
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.estimates import BOTH, Ends, Gaps

_NULL = Interval(-math.inf, -math.inf)  # where NULL stands in an order: first of the least


@dataclass(frozen=True)
class GroupState:
    """A group so far.

    Attributes:
        rows: how many rows were read by chance.
        whole: whether all of its rows were read.
        exists: whether it has a row for which the condition holds; None: nobody knows.
        estimates: of each aggregate; None: NULL, or nothing was seen.
        intervals: of each aggregate; None: it is NULL.

    """

    rows: int
    whole: bool
    exists: bool | None
    estimates: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...]


@dataclass(frozen=True)
class Goals:
    """The answer that is wanted.

    Attributes:
        shown: the places of the aggregates whose error counts.
        error: the greatest one; None: any.
        relative: whether it is a part of the true value (③), or the width of the interval (②).
        rows: ①: read so many rows of each group, and no more; None: as many as it takes.
        having: ④.
        order: ⑤ or ⑥, if it is by an aggregate.

    """

    shown: tuple[int, ...]
    error: float | None
    relative: bool
    rows: int | None
    having: tuple[Threshold, ...]
    order: Order | None

    def active(self, groups: Sequence[GroupState]) -> list[bool]:
        """Return for each group whether more of it must be read."""
        if self.rows is not None:
            return [not group.whole and group.rows < self.rows for group in groups]
        return [not group.whole and left for group, left in zip(groups, self._unsure(groups), strict=True)]

    def certified(self, groups: Sequence[GroupState]) -> list[bool]:
        """Return for each group whether what is asked for is certain of it."""
        return [not left for left in self._unsure(groups)]

    def ends(self, groups: Sequence[GroupState]) -> list[list[Ends]]:
        """Return for each group and aggregate which ends of its interval could make the answer certain.

        A group that seems to be over a threshold is over it for sure by its lower end; the upper one says nothing.
        """
        chosen = self.chosen(groups)
        first = set(chosen.wanted)
        count = len(groups[0].estimates) if groups else 0
        return [
            [self._ends(aggregate, group, place in first, chosen.split) for aggregate in range(count)]
            for place, group in enumerate(groups)
        ]

    def _ends(self, aggregate: int, group: GroupState, first: bool, split: float | None) -> Ends:
        estimate = group.estimates[aggregate]
        if estimate is None or self._wanted(aggregate) or (self._ordered(aggregate) and not self._limited):
            return BOTH
        limits = self._limits(aggregate, estimate, first, split)
        if limits is None:
            return BOTH
        return any(over for over, _ in limits), any(not over for over, _ in limits)

    def _limits(
        self, aggregate: int, estimate: float, first: bool, split: float | None
    ) -> list[tuple[bool, float]] | None:
        """The numbers that a value is compared with, each with whether it seems to be over it; None: any number."""
        limits = [(estimate > each.value, each.value) for each in self.having if each.aggregate == aggregate]
        if self._ordered(aggregate) and self.order is not None and self._limited:
            if split is None or not math.isfinite(split):
                return None
            limits.append((first is self.order.descending, split))
        return limits

    def _wanted(self, aggregate: int) -> bool:
        return aggregate in self.shown and self.error is not None

    def _ordered(self, aggregate: int) -> bool:
        return self.order is not None and self.order.aggregate == aggregate

    @property
    def _limited(self) -> bool:
        return self.order is not None and self.order.limit is not None

    def gaps(self, groups: Sequence[GroupState]) -> list[list[Gaps]]:
        """Return for each group and aggregate how far its interval may likely reach from the estimate.

        0 stands where nobody knows.
        """
        chosen = self.chosen(groups)
        first = set(chosen.wanted)
        count = len(groups[0].estimates) if groups else 0
        apart = self._apart(groups)
        return [
            [self._gaps(aggregate, group, place in first, chosen.split, apart.get(place)) for aggregate in range(count)]
            for place, group in enumerate(groups)
        ]

    def _gaps(self, aggregate: int, group: GroupState, first: bool, split: float | None, apart: float | None) -> Gaps:
        estimate = group.estimates[aggregate]
        if estimate is None:
            return 0.0, 0.0
        limits = self._limits(aggregate, estimate, first, split)
        if limits is None:
            return 0.0, 0.0
        both = [apart] if apart is not None and self._ordered(aggregate) else []
        lower, upper = ([abs(estimate - value) for over, value in limits if over is side] for side in (True, False))
        if self._wanted(aggregate) and self.error is not None:
            near, far = _accurate_gaps(estimate, self.error, relative=self.relative)
            lower.append(near if estimate > 0 else far)
            upper.append(far if estimate > 0 else near)
        return min([*both, *lower], default=None), min([*both, *upper], default=None)

    def _apart(self, groups: Sequence[GroupState]) -> dict[int, float]:
        """For ⑥: half of the distance of each group to the nearest other one."""
        if self.order is None or self.order.aggregate is None or self._limited:
            return {}
        known = [(each.estimates[self.order.aggregate], place) for place, each in enumerate(groups)]
        ranked = sorted((estimate, place) for estimate, place in known if estimate is not None)
        steps = [math.inf, *(after[0] - before[0] for before, after in itertools.pairwise(ranked)), math.inf]
        return {place: min(steps[at], steps[at + 1]) / 2 for at, (_, place) in enumerate(ranked)}

    def _unsure(self, groups: Sequence[GroupState]) -> list[bool]:
        chosen = self.chosen(groups)
        wanted = set(chosen.wanted)
        return [
            self._open(group) or place in chosen.open or (place in wanted and self._wide(group))
            for place, group in enumerate(groups)
        ]

    def out(self, group: GroupState) -> bool:
        """Tell whether a group is not in the answer for sure: it has no rows, or HAVING does not hold."""
        return group.exists is False or any(self._side(each, group) is False for each in self.having)

    def chosen(self, groups: Sequence[GroupState]) -> Chosen:
        """Return which groups are in the answer, as far as one can say, and which keep the order from being certain."""
        places = [place for place, group in enumerate(groups) if not self.out(group)]
        if self.order is None or self.order.aggregate is None:
            return Chosen(tuple(places), frozenset())
        aggregate, sign = self.order.aggregate, -1 if self.order.descending else 1
        found = {place: _placed(groups[place], aggregate, sign) for place in places}
        middle = {place: _middle(groups[place], aggregate, sign, found[place]) for place in places}
        ranked = sorted(places, key=lambda place: middle[place])
        if self.order.limit is None:
            return Chosen(tuple(ranked), frozenset(_overlapping(ranked, found)))
        first, others = ranked[: self.order.limit], ranked[self.order.limit :]
        if not others:
            return Chosen(tuple(first), frozenset())
        split = _split(first, others, middle)
        return Chosen(tuple(first), frozenset(_not_apart(first, others, found, split)), sign * split)

    def _open(self, group: GroupState) -> bool:
        """Whether one cannot say if the group is in the answer."""
        return not self.out(group) and (
            group.exists is None or any(self._side(each, group) is None for each in self.having)
        )

    def _wide(self, group: GroupState) -> bool:
        return self.error is not None and any(
            not accurate(group.estimates[place], group.intervals[place], self.error, relative=self.relative)
            for place in self.shown
        )

    def _side(self, threshold: Threshold, group: GroupState) -> bool | None:
        """Whether a comparison holds; None: the value may lie on either side."""
        interval = group.intervals[threshold.aggregate]
        if interval is None:
            return False
        value, low, high = threshold.value, interval.low, interval.high
        holds = {
            ">": (low > value, high > value),
            ">=": (low >= value, high >= value),
            "<": (high < value, low < value),
            "<=": (high <= value, low <= value),
        }[threshold.operator]
        if holds[0] and group.estimates[threshold.aggregate] is None:
            return None  # NULL, perhaps
        return None if holds[0] != holds[1] else holds[0]


@dataclass(frozen=True)
class Chosen:
    """Groups of an answer.

    Attributes:
        wanted: the places of those that are in it as things stand, in order.
        open: the places of those that keep the order, or the choice, from being certain.
        split: the value between those chosen and the others; None: there is none.

    """

    wanted: tuple[int, ...]
    open: frozenset[int]
    split: float | None = None


def accurate(estimate: float | None, interval: Interval | None, error: float, *, relative: bool) -> bool:
    """Tell whether an estimate is as accurate as is asked for, wherever in the interval the truth lies.

    The thesis divides by the ends of the interval. Where they have two signs, or are negative, the quotient is
    negative, and looks small. Here the interval must not reach 0, and distances and ends are taken without their sign.

    Args:
        estimate: what is returned.
        interval: where the truth lies.
        error: the greatest relative error, or the greatest width.
        relative: which of the two.

    Examples:
        >>> accurate(1.0, Interval(-2.0, 3.0), 0.7, relative=True)
        False
        >>> accurate(-1.0, Interval(-1.1, -0.9), 0.2, relative=True)
        True

    """
    if interval is None:
        return True
    if estimate is None:  # nothing was seen: it may be NULL
        return False
    if interval.exact:
        return True
    if not relative:
        return interval.width <= error
    if interval.low <= 0 <= interval.high:
        return False
    return max(abs(end - estimate) / abs(end) for end in (interval.low, interval.high)) <= error


def _accurate_gaps(estimate: float, error: float, *, relative: bool) -> tuple[float, float]:
    """How far the end nearer to 0, and the other one, may be from an accurate estimate."""
    if not relative:
        return error / 2, error / 2
    return error * abs(estimate) / (1 + error), error * abs(estimate) / (1 - error) if error < 1 else math.inf


def _placed(group: GroupState, aggregate: int, sign: int) -> Interval:
    """Where a group may stand in an order; while nothing was seen of it, it may be NULL."""
    found = group.intervals[aggregate] or _NULL
    if group.estimates[aggregate] is None:
        found = Interval(-math.inf, found.high)
    return found if sign > 0 else Interval(-found.high, -found.low)


def _middle(group: GroupState, aggregate: int, sign: int, interval: Interval) -> float:
    estimate = group.estimates[aggregate]
    if estimate is None:
        return interval.low if sign > 0 else interval.high
    return min(max(sign * estimate, interval.low), interval.high)


def _overlapping(ranked: Sequence[int], found: dict[int, Interval]) -> set[int]:
    """Those whose interval meets another's; two that are exact are in order, even if they are equal."""
    met: set[int] = set()
    by_low = sorted(ranked, key=lambda place: (found[place].low, found[place].high))
    running: list[int] = []
    for place in by_low:
        running = [each for each in running if found[each].high >= found[place].low]
        meeting = [each for each in running if not (found[each].exact and found[place].exact)]
        met.update(meeting)
        if meeting:
            met.add(place)
        running.append(place)
    return met


def _split(first: Sequence[int], others: Sequence[int], middle: dict[int, float]) -> float:
    """The middle between the last that is chosen and the first that is not."""
    last, next_one = max(middle[place] for place in first), min(middle[place] for place in others)
    return (last + next_one) / 2 if math.isfinite(last) and math.isfinite(next_one) else next_one


def _not_apart(first: Sequence[int], others: Sequence[int], found: dict[int, Interval], split: float) -> set[int]:
    """Those that cross the middle, unless all that are chosen are apart from the others elsewhere."""
    if max(found[place].high for place in first) <= min(found[place].low for place in others):
        return set()
    crossing = {place for place in first if found[place].high > split and not found[place].exact}
    crossing |= {place for place in others if found[place].low < split and not found[place].exact}
    return crossing or {place for place in (*first, *others) if not found[place].exact}
