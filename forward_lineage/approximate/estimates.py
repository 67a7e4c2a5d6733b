"""The intervals of the aggregates of one group, from the rows of it that were read so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.aggregate_query import Aggregate
from forward_lineage.approximate.bounds.bernstein import bernstein_serfling
from forward_lineage.approximate.bounds.counts import count_interval
from forward_lineage.approximate.bounds.error_budget import decayed
from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.means import mean_interval, mean_of_part
from forward_lineage.approximate.bounds.moments import LowerLimit, Moments
from forward_lineage.approximate.bounds.range_trim import range_trim
from forward_lineage.approximate.bounds.sums import sum_of_part
from forward_lineage.approximate.bounds.wager import Wager

Floats = npt.NDArray[np.float64]
BETTING = "betting"
SETTLED: dict[str, LowerLimit] = {
    "bernstein+rt": range_trim(bernstein_serfling),
    "bernstein": bernstein_serfling,
    "hoeffding+rt": range_trim(hoeffding_serfling),
    "hoeffding": hoeffding_serfling,
}
BOUNDERS = (BETTING, *SETTLED)
_NEAR_WHOLE = 1e-6


@dataclass
class Series:
    """The values of one column that were read of one group, in the order of reading.

    Attributes:
        low: no value of the column is less.
        high: no value is greater.
        values: of each row, 0 where the row does not count.
        kept: 1 for each row that counts: the condition holds, and the value is not NULL; None: all rows count.
        known: how many rows come first that earlier answers were made of; nothing is left to chance about them.

    """

    low: float
    high: float
    values: list[Floats] = field(default_factory=list)
    kept: list[Floats] | None = None
    known: int = 0

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
    _wagered: int = 0

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

    def look(self, number: int) -> None:
        """Narrow the interval, after as many rows as were settled for a look.

        Args:
            number: of the look, from 1; 0: it is the only one.

        """
        values, kept = self.series.all_values(), self.series.all_kept()
        if values.size >= self.size:
            self.interval = self._exact(values, kept)
        elif self.interval is None or self.interval.exact:
            return
        elif self.bounder == BETTING:
            self.interval = self._bet(values, kept, self.interval)
        elif values.size > self.series.known:
            found = self._at_look(values, kept, decayed(self.delta, number) if number else self.delta)
            self.interval = self.interval.narrowed(found)

    def known_value(self) -> float | None:
        """Return the value, if it is one number for sure; of a column of one value, AVG may still turn out NULL."""
        if self.interval is None or not self.interval.exact:
            return None
        never_null = self.aggregate.function == "COUNT" or (self.series.kept is None and self.size > 0)
        return self.interval.low if never_null or self.rough_estimate() is not None else None

    def estimate(self) -> float | None:
        """Return the estimate: what is known, and the mean of the chance rows for each row that was not read.

        It is computed without rounding errors, so that the rows read give the same number again.
        """
        values, kept = self.series.all_values(), self.series.all_kept()
        known, read = self.series.known, values.size - self.series.known
        left = self.size - known
        weight = Fraction(left, read) if read else Fraction(0)
        count = Fraction(_total(kept, known)) + weight * _total(kept, slice(known, None), values.size - known)
        if self.aggregate.function == "COUNT":
            return float(count)
        if not count:
            return None
        total = _sum(values[:known]) + weight * _sum(values[known:])
        return float(total / count if self.aggregate.function == "AVG" else total)

    def rough_estimate(self) -> float | None:
        """Return about the estimate, in less time."""
        values, kept, known = self.series.all_values(), self.series.all_kept(), self.series.known
        if kept is None and self.size and self.interval is not None and self.interval.exact:
            return self.interval.low
        read = values.size - known
        weight = (self.size - known) / read if read else 0.0
        count = _total(kept, known) + weight * _total(kept, slice(known, None), read)
        if self.aggregate.function == "COUNT":
            return float(count)
        total = float(values[:known].sum()) + weight * float(values[known:].sum())
        return None if not count else total / count if self.aggregate.function == "AVG" else total

    # ------------------------------------------------------------ betting

    def _bet(self, values: Floats, kept: Floats | None, before: Interval) -> Interval:
        low, high = self._value_range()
        above, part = self._over(low, values, kept)
        if self._wagers is None:
            self._wagers = self._opened(above, part, high - low)
        begin, width = self._wagered, high - low
        self._wagered = values.size
        if part is None:
            self._wagers[0].add(above[begin:])
            self._wagers[1].add(width - above[begin:])
        else:
            self._wagers[0].add(above[begin:], part[begin:])
            self._wagers[1].add((width - above[begin:]) * part[begin:], part[begin:])
        lower, upper = (wager.limit(self.delta / 2) for wager in self._wagers)
        found = Interval(low + lower, max(high - upper, low + lower))
        if self.aggregate.function != "AVG":
            found = found.scaled(float(self.size))
        if self.aggregate.function == "COUNT":  # a whole number
            found = Interval(math.ceil(found.low - _NEAR_WHOLE), math.floor(found.high + _NEAR_WHOLE))
        return before.narrowed(found)

    def _opened(self, above: Floats, part: Floats | None, width: float) -> tuple[Wager, Wager]:
        """A wager for either end, which know what is known."""
        known = self._wagered = self.series.known
        count = known if part is None else int(part[:known].sum())
        total = float(above[:known].sum())
        return Wager(self.size, known, total, count), Wager(self.size, known, max(width * count - total, 0.0), count)

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
        """The interval of all rows: those that were known before, and those that chance chose from the others."""
        known = self.series.known
        rows, read = self.size - known, values.size - known
        fresh = values[known:] if kept is None else values[known:][kept[known:] > 0]
        before = values[:known] if kept is None else values[:known][kept[:known] > 0]
        bounder, low, high = SETTLED[self.bounder], self.series.low, self.series.high
        sample, function = Moments.of(fresh), self.aggregate.function
        if function == "COUNT":
            return _shifted(count_interval(fresh.size, read, rows, delta), before.size)
        if kept is None:
            mean = mean_interval(bounder, sample, low, high, rows, delta=delta)
            total = _shifted(mean.scaled(float(rows)), float(before.sum()))
            return total if function == "SUM" else total.scaled(1 / self.size)
        if function == "SUM":
            found = sum_of_part(bounder, sample, low, high, read=read, rows=rows, delta=delta)
            return _shifted(found, float(before.sum()))
        if not before.size:
            return mean_of_part(bounder, sample, low, high, read=read, rows=rows, delta=delta)
        mean = mean_of_part(bounder, sample, low, high, read=read, rows=rows, delta=delta / 2)
        return _together(before, count_interval(fresh.size, read, rows, delta / 2), mean)

    def _exact(self, values: Floats, kept: Floats | None) -> Interval | None:
        count = _total(kept, slice(None), values.size)
        if self.aggregate.function == "COUNT":
            return Interval(float(count), float(count))
        if not count:
            return None
        total = _sum(values)
        found = float(total / count if self.aggregate.function == "AVG" else total)
        return Interval(found, found)


def _together(before: Floats, count: Interval, mean: Interval) -> Interval:
    """The mean of some known values and of an uncertain number of others; it is monotone in their number and mean."""
    total = float(before.sum())
    ends = [
        (total + number * value) / (before.size + number)
        for number in (count.low, count.high)
        for value in (mean.low, mean.high)
    ]
    return Interval(min(ends), max(ends))


def _shifted(found: Interval, by: float) -> Interval:
    return Interval(found.low + by, found.high + by)


def _total(kept: Floats | None, rows: slice | int, otherwise: int | None = None) -> int:
    """How many of some rows count; a number stands for so many first ones."""
    if kept is None:
        return rows if isinstance(rows, int) else otherwise or 0
    return int(kept[slice(rows) if isinstance(rows, int) else rows].sum())


def _sum(values: Floats) -> Fraction:
    """The sum without rounding errors."""
    return Fraction(math.fsum(values.tolist())) if not _whole(values) else Fraction(int(values.astype(np.int64).sum()))


def _whole(values: Floats) -> bool:
    return bool(values.size) and bool(np.all(values == np.rint(values))) and float(np.abs(values).sum()) < 2.0**62


def series_of(aggregates: Sequence[Aggregate]) -> list[str | None]:
    """Return the columns that aggregates are of, each once; None stands for the rows themselves."""
    return list(dict.fromkeys(each.column for each in aggregates))
