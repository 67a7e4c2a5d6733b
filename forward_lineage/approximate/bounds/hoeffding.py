"""Hoeffding–Serfling: a limit by the range alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from forward_lineage.approximate.bounds.moments import Floats, Moments


def hoeffding_serfling(sample: Moments, low: Any, high: Any, size: Any, delta: Any) -> Floats:
    """Return a lower limit of the mean by the number of rows and the range.

    mean − (high − low) · √( (1 − (m−1)/N) · ln(1/δ) / 2m )

    Assumes: `m` values drawn without replacement, `m` settled beforehand, from `N` values in [low, high].
    Source: Serfling 1974; Bardenet and Maillard 2015, Corollary 2.5; Macke 2021, Algorithm 6.1.

    Args:
        sample: its moments.
        low: no value of the population is less.
        high: no value of the population is greater.
        size: how many values the population has, or more.
        delta: the probability that the mean is below what is returned, at most.

    Examples:
        >>> float(hoeffding_serfling(Moments.of([0.0, 1.0] * 50), 0.0, 1.0, 10_000, 0.05).round(6))
        0.37822

    """
    count = np.maximum(sample.count, 1.0)
    left = np.maximum(1 - (count - 1) / size, 0.0)
    error = (high - low) * np.sqrt(left * np.log(1 / np.asarray(delta)) / (2 * count))
    return np.asarray(np.where(sample.count > 0, sample.mean - error, low))
