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
from forward_lineage.approximate.bounds.wager import Wager, shares

BETTING = "betting"
SETTLED: dict[str, LowerLimit] = {
    "bernstein+rt": range_trim(bernstein_serfling),
    "bernstein": bernstein_serfling,
    "hoeffding+rt": range_trim(hoeffding_serfling),
    "hoeffding": hoeffding_serfling,
}
BOUNDERS = (BETTING, *SETTLED)
_NEAR_WHOLE = 1e-6

Ends = tuple[bool, bool]
"""Whether the lower and the upper end of an interval matter."""
BOTH: Ends = (True, True)
Gaps = tuple[float | None, float | None]
"""How far the lower and the upper end may be from the estimate; None: it does not matter."""


@dataclass
class Series:
    """The values of one column that were read of one group, in the order of reading.

    Attributes:
        low: no value of the column is less.
        high: no value is greater.
        values: of each row, 0 where the row does not count.
        kept: 1 for each row that counts: the condition holds, and the value is not NULL; None: all rows count.
        whole: whether all values of the column are whole numbers.
        rows: how many rows were read.
        count: how many of these count.
        total: about the sum of their values.
        squares: about the sum of their squares.

    """

    low: float
    high: float
    whole: bool = False
    values: list[Floats] = field(default_factory=list)
    kept: list[Floats] | None = None
    rows: int = 0
    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: Floats, kept: Floats | None) -> None:
        """Add rows that were read."""
        self.values.append(values)
        self.rows += values.size
        if self.kept is not None and kept is not None:
            self.kept.append(kept)
        self.count += values.size if kept is None else int(kept.sum())
        self.total += float(values.sum())
        self.squares += float(np.square(values).sum())  # BLAS would start threads

    def all_values(self) -> Floats:
        """Return the values in one array."""
        return self.values_from(0)

    def all_kept(self) -> Floats | None:
        """Return which rows count, in one array."""
        return self.kept_from(0)

    def values_from(self, part: int) -> Floats:
        """Return the values that were added after some parts."""
        return self.values[part] if len(self.values) == part + 1 else np.concatenate([np.empty(0), *self.values[part:]])

    def kept_from(self, part: int) -> Floats | None:
        """Return which of these count."""
        if self.kept is None:
            return None
        return self.kept[part] if len(self.kept) == part + 1 else np.concatenate([np.empty(0), *self.kept[part:]])


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
    _added_up: bool = field(default=False, repr=False)

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

    def look(self, number: int, ends: Ends = BOTH) -> None:
        """Narrow the interval, after as many rows as were settled for a look.

        Args:
            number: of the look, from 1; 0: it is the only one.
            ends: which ends matter. Bets look at others later, if ever: they may look at any time.

        """
        if self._added_up:
            return
        series = self.series
        if series.rows >= self.size:
            needless = self.aggregate.function == "COUNT" or not series.count
            self.interval = self._exact(series.count, Fraction(0) if needless else _sum(series.all_values()))
        elif self.interval is None or self.interval.exact:
            return
        elif self.bounder == BETTING:
            self.interval = self._bet(self.interval, ends)
        elif series.rows:
            delta = decayed(self.delta, number) if number else self.delta
            self.interval = self.interval.narrowed(self._at_look(series.all_values(), series.all_kept(), delta))

    def narrow(self) -> None:
        """Bring both ends of an interval by bets as near as they get."""
        if self.bounder == BETTING and self.series.rows:
            self.look(1)

    def settle(self, count: int, total: Fraction | int) -> None:
        """Say what all rows of the group are, added up elsewhere.

        Args:
            count: how many rows count.
            total: the sum of their values, without rounding errors.

        """
        self._added_up = True
        self.interval = self._exact(count, total if self.series.whole else Fraction(float(total)))

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
        if self._added_up:
            return self.interval.low if self.interval is not None else None
        count, rows = self.series.count, self.series.rows
        weight = Fraction(self.size, rows) if rows else Fraction(0)
        if self.aggregate.function == "COUNT":
            return float(weight * count)
        if not count:
            return None
        values = self.series.all_values()
        return float(_sum(values) / count if self.aggregate.function == "AVG" else weight * _sum(values))

    def rough_estimate(self) -> float | None:
        """Return about the estimate, in less time."""
        if self._added_up:
            return self.interval.low if self.interval is not None else None
        series = self.series
        if series.kept is None and self.size and self.interval is not None and self.interval.exact:
            return self.interval.low
        weight = self.size / series.rows if series.rows else 0.0
        count, total = series.count, series.total
        if self.aggregate.function == "COUNT":
            return weight * count
        return None if not count else total / count if self.aggregate.function == "AVG" else weight * total

    def rows_needed(self, gaps: Gaps) -> float:
        """Return about how many rows it takes until no end of the interval is farther from the estimate than its gap.

        A bet of the share β gains about βg − β²(v + g²)/2 a row, with the gap and the spread of rows in units of what a
        row is worth. It says what to do, and proves nothing. Gaps may be wider than they seem, so it is rather too few.
        """
        series, function = self.series, self.aggregate.function
        per = series.count if function == "AVG" else series.rows
        if all(gap is None for gap in gaps):
            return 0.0
        if not per:
            return float(self.size)
        total, squares = (series.count, series.count) if function == "COUNT" else (series.total, series.squares)
        mean = total / per
        variance, level = max(squares / per - mean * mean, 0.0), math.log(2 * shares(self.size).size / self.delta)
        low, high = self._value_range()
        needed = 0.0
        for gap, end in zip(gaps, (low, high), strict=True):
            if gap is None:
                continue
            wide = (gap if function == "AVG" else gap / self.size) + math.sqrt(variance / per)
            worth = abs(mean - end) - wide
            if wide <= 0 or worth <= 0:
                needed = math.inf if wide <= 0 else needed
                continue
            won, spread = wide / worth, variance / worth**2 + (wide / worth) ** 2
            share = min(won / spread, 1.0)
            needed = max(needed, level / (share * won - share**2 * spread / 2))
        needed *= series.rows / per
        return needed / (1 + needed / self.size) if math.isfinite(needed) else float(self.size)

    # ------------------------------------------------------------ betting

    def _bet(self, before: Interval, ends: Ends) -> Interval:
        low, high = self._value_range()
        if self._wagers is None:
            whole = self.series.whole or self.aggregate.function == "COUNT"
            self._wagers = Wager(self.size, whole=whole), Wager(self.size, whole=whole)
        limits = [self._limit(side, matters=ends[side]) for side in (0, 1)]
        lower, upper = max(low + limits[0], low), min(high - limits[1], high)
        found = Interval(lower, max(upper, lower))
        if self.aggregate.function != "AVG":
            found = found.scaled(float(self.size))
        if self.aggregate.function == "COUNT":  # a whole number
            found = Interval(math.ceil(found.low - _NEAR_WHOLE), math.floor(found.high + _NEAR_WHOLE))
        return before.narrowed(found)

    def _limit(self, side: int, *, matters: bool) -> float:
        """By how much the average is over the low end (0), or below the high end (1), at least."""
        if not matters or self._wagers is None:
            return -math.inf
        self._feed(side)
        return self._wagers[side].limit(self.delta / 2)

    def _feed(self, side: int) -> None:
        """Give a wager the rows that were read since it was asked."""
        if self._wagers is None or (begin := self._wagered[side]) == len(self.series.values):
            return
        low, high = self._value_range()
        self._wagered[side] = len(self.series.values)
        above, part = self._over(low, self.series.values_from(begin), self.series.kept_from(begin))
        if side:
            above = (high - low) - above if part is None else (high - low - above) * part
        self._wagers[side].add(above, part)

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

    def _exact(self, count: int, total: Fraction | int) -> Interval | None:
        if self.aggregate.function == "COUNT":
            return Interval(float(count), float(count))
        if not count:
            return None
        found = float(total / count if self.aggregate.function == "AVG" else total)
        return Interval(found, found)


def _sum(values: Floats) -> Fraction:
    """The sum without rounding errors."""
    return Fraction(math.fsum(values.tolist())) if not _whole(values) else Fraction(int(values.astype(np.int64).sum()))


def _whole(values: Floats) -> bool:
    return bool(values.size) and bool(np.all(values == np.rint(values))) and float(np.abs(values).sum()) < 2.0**62


def series_of(aggregates: Sequence[Aggregate]) -> list[str | None]:
    """Return the columns that aggregates are of, each once; None stands for the rows themselves."""
    return list(dict.fromkeys(each.column for each in aggregates))
