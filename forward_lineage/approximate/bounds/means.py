"""AVG of rows drawn without replacement: of a known number of rows, or of those among them that a condition keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from forward_lineage.approximate.bounds.counts import count_at_most
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.moments import EPSILON, Floats, LowerLimit, Moments


def mean_limits(
    bounder: LowerLimit, sample: Moments, low: Any, high: Any, size: Any, *, delta: Any
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of means, for many samples at once; half of `delta` is for either end.

    Each end is at least as good as what is sure: rows that were not read lie in [low, high]. So an interval of all rows
    is their mean, which no bound of the thesis gives.

    Assumes: what the bounder assumes.
    Source: Macke 2021, eq. 6.12.

    Args:
        bounder: gives the lower limit, and of the mirrored sample the upper one.
        sample: its moments.
        low: no value of the population is less.
        high: no value of the population is greater.
        size: how many values the population has, or more.
        delta: the probability that an interval is wrong, at most.

    Examples:
        >>> from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
        >>> ends = mean_limits(hoeffding_serfling, Moments.of([0.0, 1.0] * 50), 0.0, 1.0, 10_000, delta=0.05)
        >>> [round(float(end), 4) for end in ends]
        [0.3649, 0.6351]

    """
    lower = _lower(bounder, sample, low, high, size, delta=delta / 2)
    upper = low + high - _lower(bounder, sample.mirrored(low + high), low, high, size, delta=delta / 2)
    whole = (sample.count >= size) & (sample.count > 0)
    return np.where(whole, sample.mean, lower), np.where(whole, sample.mean, upper)


def mean_interval(
    bounder: LowerLimit, sample: Moments, low: float, high: float, size: int, *, delta: float
) -> Interval:
    """Return the interval of `mean_limits` for one sample.

    Examples:
        >>> from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
        >>> mean_interval(hoeffding_serfling, Moments.of([1.0, 2.0, 6.0]), 0.0, 10.0, 3, delta=0.05)
        Interval(low=3.0, high=3.0)

    """
    return Interval(*(float(end) for end in mean_limits(bounder, sample, low, high, size, delta=delta)))


def mean_of_part(
    bounder: LowerLimit,
    sample: Moments,
    low: float,
    high: float,
    *,
    read: int,
    rows: int,
    delta: float,
    share: float = 0.99,
) -> Interval:
    """Return an interval of the mean of the rows that a condition keeps; nobody knows how many they are.

    A limit N⁺ of their number takes (1 − share) · δ, the bounder the rest. Let N be their number. Bounders fall with
    the size, so a wrong interval means N > N⁺, or that the bounder is wrong *at N*. The second event does not mention
    N⁺. Given how many rows of the part were seen, they are a sample of that number without replacement. So its
    probability is at most share · δ for each such number, hence in all. The thesis conditions on N ≤ N⁺, and says
    nothing of the number of rows; a bounder promises something for a settled number only.

    Assumes: what the bounder assumes of the rows of the part; and that the rows read were not chosen by an index on
    what the condition asks.
    Source: Macke 2021, Theorem 6.3, with the proof repaired.

    Args:
        bounder: gives the lower limit.
        sample: the rows of the part among those that were read.
        low: no value of the part is less.
        high: no value of the part is greater.
        read: how many rows were read.
        rows: how many there are.
        delta: the probability that the interval is wrong, at most.
        share: of `delta` for the bounder, between 0 and 1.

    Examples:
        >>> from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
        >>> sample = Moments.of([0.0, 1.0] * 50)
        >>> found = mean_of_part(hoeffding_serfling, sample, 0.0, 1.0, read=1_000, rows=100_000, delta=0.05)
        >>> round(found.low, 4), round(found.high, 4)
        (0.3644, 0.6356)

    """
    size = max(count_at_most(int(sample.count), read, rows, (1 - share) * delta), 1)
    return mean_interval(bounder, sample, low, high, size, delta=share * delta)


def _lower(bounder: LowerLimit, sample: Moments, low: Any, high: Any, size: Any, *, delta: Any) -> Floats:
    sure = low + (sample.mean - low) * np.minimum(sample.count / size, 1.0)
    rounding = EPSILON * (sample.count + 1) * np.maximum(np.abs(low), np.abs(high))
    return np.asarray(np.maximum(np.maximum(bounder(sample, low, high, size, delta), sure) - rounding, low))
