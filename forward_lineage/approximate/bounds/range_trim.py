"""RangeTrim: a lower limit that does not depend on the upper end of the range."""

from __future__ import annotations

from typing import Any

import numpy as np

from forward_lineage.approximate.bounds.moments import Floats, LowerLimit, Moments


def range_trim(bounder: LowerLimit) -> LowerLimit:
    """Return a bounder that puts the greatest value seen in place of the upper end of the range.

    The greatest value is taken out of the sample. The others are a sample without replacement of the
    values of the population that come before it, ties in a fixed order. Those lie in [low, greatest], and their mean is
    at most the population's. So a lower limit of theirs is one of the population's. There are at most N − 1 of them,
    and a bounder's limit only falls with the size.

    Assumes: what the bounder assumes. Values may occur more than once.
    Source: Macke 2021, Algorithm 6.4 and Theorem 6.2, with the order of ties of Appendix A.6.

    Args:
        bounder: any that is valid for every population in a range.

    Examples:
        >>> from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
        >>> sample = Moments.of([0.0, 1.0] * 50)
        >>> float(range_trim(hoeffding_serfling)(sample, 0.0, 1000.0, 10_000, 0.05).round(6))
        0.37255

    """

    def trimmed(sample: Moments, low: Any, _: Any, size: Any, delta: Any) -> Floats:
        rest = sample.without_greatest()
        limit = bounder(rest, low, sample.greatest, np.maximum(np.asarray(size) - 1.0, 1.0), delta)
        return np.where(rest.count > 0, limit, low)

    return trimmed
