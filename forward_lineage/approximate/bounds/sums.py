"""SUM, as the product of COUNT and AVG."""

from __future__ import annotations

from forward_lineage.approximate.bounds.counts import count_interval
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.means import mean_of_part
from forward_lineage.approximate.bounds.moments import LowerLimit, Moments


def sum_of_part(
    bounder: LowerLimit, sample: Moments, low: float, high: float, *, read: int, rows: int, delta: float
) -> Interval:
    """Return an interval of the sum over the rows that a condition keeps.

    Half of `delta` is for their number, half for their mean; both signs of either are minded.

    Assumes: what `mean_of_part` assumes, whose arguments these are.
    Source: Macke 2021, §6.4.1, "Computing CIs for SUM", with four products instead of two.

    Examples:
        >>> from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
        >>> sample = Moments.of([-2.0, -1.0] * 50)
        >>> found = sum_of_part(hoeffding_serfling, sample, -2.0, -1.0, read=1_000, rows=100_000, delta=0.05)
        >>> found.low < -15_000 < found.high
        True

    """
    count = count_interval(int(sample.count), read, rows, delta / 2)
    return count.product(mean_of_part(bounder, sample, low, high, read=read, rows=rows, delta=delta / 2))
