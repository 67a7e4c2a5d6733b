"""The intervals of the aggregates of one group, from the rows of it that were read so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from forward_lineage.approximate.aggregate_query import Aggregate
from forward_lineage.approximate.bounds.bernstein import bernstein_serfling
from forward_lineage.approximate.bounds.counts import count_interval
from forward_lineage.approximate.bounds.error_budget import decayed
from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.means import mean_interval, mean_of_part
from forward_lineage.approximate.bounds.moments import Floats, LowerLimit, Moments
from forward_lineage.approximate.bounds.range_trim import range_trim
from forward_lineage.approximate.bounds.sums import sum_of_part
from forward_lineage.approximate.bounds.wager import Wager

BETTING = "betting"
SETTLED: dict[str, LowerLimit] = {
    "bernstein+rt": range_trim(bernstein_serfling),
    "bernstein": bernstein_serfling,
    "hoeffding+rt": range_trim(hoeffding_serfling),
    "hoeffding": hoeffding_serfling,
}
BOUNDERS = (BETTING, *SETTLED)
_NEAR_WHOLE = 1e-6

Sides = tuple[bool, bool]
"""Of the lower and the upper end of an interval, whether it matters."""
BOTH: Sides = (True, True)


@dataclass
class Series:
    """The values of one column that were read of one group, in the order of reading.

    Attributes:
        low: no value of the column is less.
        high: no value is greater.
        values: of each row, 0 where the row does not count.
        kept: 1 for each row that counts: the condition holds, and the value is not NULL; None: all rows count.

    """

    low: float
    high: float
    values: list[Floats] = field(default_factory=list)
    kept: list[Floats] | None = None

    def all_values(self) -> Floats:
        """Return the values in one array."""
        self.values = [np.concatenate([np.empty(0), *self.values])]
        return self.values[0]

    def all_kept(self) -> Floats | None:
        """Return which rows count, in one array."""
        if self.kept is None:
            return None
        self.kept = [np.concatenate([np.empty(0), *self.kept])]
        return self.kept[0]


@dataclass
class Estimator:
    """Gives the interval of an aggregate of a group; it only ever gets narrower.

    Attributes:
        aggregate: which one.
        series: what was read.
        size: how many rows the group has.
        delta: the probability that the interval is ever wrong, at most.
        bounder: of `BOUNDERS`.
        interval: what holds by now; None: the aggregate is NULL.

    """

    aggregate: Aggregate
    series: Series
    size: int
    delta: float
    bounder: str
    interval: Interval | None = None
    _wagers: tuple[Wager, Wager] | None = field(default=None, repr=False)
    _wagered: list[int] = field(default_factory=lambda: [0, 0], repr=False)
    _added_up: tuple[int, int] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        low, high = self._value_range()
        self.interval = Interval(low, high)
        if self.aggregate.function != "AVG":
            self.interval = self.interval.scaled(float(self.size))
        if self.aggregate.function == "COUNT" and self.series.kept is None:
            self.interval = Interval(float(self.size), float(self.size))

    @property
    def settled(self) -> bool:
        """Whether more rows would change nothing."""
        return self.interval is None or self.interval.exact

    def look(self, number: int, sides: Sides = BOTH) -> None:
        """Narrow the interval, after as many rows as were settled for a look.

        Args:
            number: of the look, from 1; 0: it is the only one.
            sides: which ends matter. Bets look at others later, if ever: they may look at any time.

        """
        if self._added_up is not None:
            return
        values, kept = self.series.all_values(), self.series.all_kept()
        if values.size >= self.size:
            count = _kept(values, kept)
            needless = self.aggregate.function == "COUNT" or not count
            self.interval = self._exact(count, Fraction(0) if needless else _sum(values))
        elif self.interval is None or self.interval.exact:
            return
        elif self.bounder == BETTING:
            self.interval = self._bet(values, kept, self.interval, sides)
        elif values.size:
            found = self._at_look(values, kept, decayed(self.delta, number) if number else self.delta)
            self.interval = self.interval.narrowed(found)

    def settle(self, count: int, total: int) -> None:
        """Say what all rows of the group are, added up elsewhere.

        Args:
            count: how many rows count.
            total: the sum of their values.

        """
        self._added_up = count, total
        self.interval = self._exact(count, Fraction(total))

    def known_value(self) -> float | None:
        """Return the value, if it is one number for sure; of a column of one value, AVG may still turn out NULL."""
        if self.interval is None or not self.interval.exact:
            return None
        never_null = self.aggregate.function == "COUNT" or (self.series.kept is None and self.size > 0)
        return self.interval.low if never_null or self.rough_estimate() is not None else None

    def estimate(self) -> float | None:
        """Return the estimate; each row that was read stands for as many of the group.

        It is computed without rounding errors, so that the rows read give the same number again.
        """
        if self._added_up is not None:
            return self.interval.low if self.interval is not None else None
        values, kept = self.series.all_values(), self.series.all_kept()
        weight = Fraction(self.size, values.size) if values.size else Fraction(0)
        count = _kept(values, kept)
        if self.aggregate.function == "COUNT":
            return float(weight * count)
        if not count:
            return None
        return float(_sum(values) / count if self.aggregate.function == "AVG" else weight * _sum(values))

    def rough_estimate(self) -> float | None:
        """Return about the estimate, in less time."""
        if self._added_up is not None:
            return self.interval.low if self.interval is not None else None
        values, kept = self.series.all_values(), self.series.all_kept()
        if kept is None and self.size and self.interval is not None and self.interval.exact:
            return self.interval.low
        weight = self.size / values.size if values.size else 0.0
        count = _kept(values, kept)
        if self.aggregate.function == "COUNT":
            return weight * count
        total = float(values.sum())
        return None if not count else total / count if self.aggregate.function == "AVG" else weight * total

    # ------------------------------------------------------------ betting

    def _bet(self, values: Floats, kept: Floats | None, before: Interval, sides: Sides) -> Interval:
        low, high = self._value_range()
        if self._wagers is None:
            self._wagers = Wager(self.size), Wager(self.size)
        limits = []
        for side, wager in enumerate(self._wagers):
            if not sides[side]:
                limits.append(-math.inf)
                continue
            begin, self._wagered[side] = self._wagered[side], values.size
            above, part = self._over(low, values[begin:], None if kept is None else kept[begin:])
            if side:
                above = (high - low) - above if part is None else (high - low - above) * part
            wager.add(above, part)
            limits.append(wager.limit(self.delta / 2))
        lower, upper = max(low + limits[0], low), min(high - limits[1], high)
        found = Interval(lower, max(upper, lower))
        if self.aggregate.function != "AVG":
            found = found.scaled(float(self.size))
        if self.aggregate.function == "COUNT":  # a whole number
            found = Interval(math.ceil(found.low - _NEAR_WHOLE), math.floor(found.high + _NEAR_WHOLE))
        return before.narrowed(found)

    def _over(self, low: float, values: Floats, kept: Floats | None) -> tuple[Floats, Floats | None]:
        """By how much the rows are over the low end of what is averaged, and which of them count."""
        function = self.aggregate.function
        if function == "COUNT" and kept is not None:
            return kept, None
        over = np.maximum(values - low, 0.0)
        return (over if kept is None else over * kept, kept) if function == "AVG" else (over, None)

    def _value_range(self) -> tuple[float, float]:
        """The range of what is averaged over the rows of the group."""
        if self.aggregate.function == "COUNT":
            return 0.0, 1.0
        low, high = self.series.low, self.series.high
        dropped = self.aggregate.function == "SUM" and self.series.kept is not None
        return (min(low, 0.0), max(high, 0.0)) if dropped else (low, high)

    # ------------------------------------------------------------ after settled numbers of rows

    def _at_look(self, values: Floats, kept: Floats | None, delta: float) -> Interval:
        read, rows = values.size, self.size
        sample = Moments.of(values if kept is None else values[kept > 0])
        bounder, low, high = SETTLED[self.bounder], self.series.low, self.series.high
        function = self.aggregate.function
        if function == "COUNT":
            return count_interval(int(sample.count), read, rows, delta)
        if kept is None:
            mean = mean_interval(bounder, sample, low, high, rows, delta=delta)
            return mean if function == "AVG" else mean.scaled(float(rows))
        of_part = mean_of_part if function == "AVG" else sum_of_part
        return of_part(bounder, sample, low, high, read=read, rows=rows, delta=delta)

    def _exact(self, count: int, total: Fraction) -> Interval | None:
        if self.aggregate.function == "COUNT":
            return Interval(float(count), float(count))
        if not count:
            return None
        found = float(total / count if self.aggregate.function == "AVG" else total)
        return Interval(found, found)


def _kept(values: Floats, kept: Floats | None) -> int:
    """How many rows count."""
    return values.size if kept is None else int(kept.sum())


def _sum(values: Floats) -> Fraction:
    """The sum without rounding errors."""
    return Fraction(math.fsum(values.tolist())) if not _whole(values) else Fraction(int(values.astype(np.int64).sum()))


def _whole(values: Floats) -> bool:
    return bool(values.size) and bool(np.all(values == np.rint(values))) and float(np.abs(values).sum()) < 2.0**62


def series_of(aggregates: Sequence[Aggregate]) -> list[str | None]:
    """Return the columns that aggregates are of, each once; None stands for the rows themselves."""
    return list(dict.fromkeys(each.column for each in aggregates))
