"""Empirical Bernstein–Serfling: a limit by the spread of the sample, and less by the range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forward_lineage.approximate.bounds.moments import Floats, Moments

_KAPPA = 7 / 3 + 3 / math.sqrt(2)


def bernstein_serfling(sample: Moments, low: Any, high: Any, size: Any, delta: Any) -> Floats:
    """Return a lower limit of the mean by the sample's deviation.

    mean − σ̂ · √( 2ρ · ln(5/δ) / m ) − κ · (high − low) · ln(5/δ) / m,  κ = 7/3 + 3/√2,
    ρ = 1 − (m−1)/N where m ≤ N/2, else (1 − m/N)(1 + 1/m)

    Assumes: `m` values drawn without replacement, `m` settled beforehand, from `N` values in [low, high].
    Source: Bardenet and Maillard 2015, Theorem 4.3; Macke 2021, Algorithm 6.2.

    Args:
        sample: its moments. Its deviation is that of m values, not of m − 1.
        low: no value of the population is less.
        high: no value of the population is greater.
        size: how many values the population has, or more.
        delta: the probability that the mean is below what is returned, at most.

    Examples:
        >>> float(bernstein_serfling(Moments.of([0.0, 1.0] * 500), 0.0, 1.0, 100_000, 0.05).round(6))
        0.431741

    """
    count = np.maximum(sample.count, 1.0)
    early, late = 1 - (count - 1) / size, (1 - count / size) * (1 + 1 / count)
    rho = np.maximum(np.where(count <= np.asarray(size) / 2, early, late), 0.0)
    terms = np.log(5 / np.asarray(delta)) / count
    error = sample.deviation * np.sqrt(2 * rho * terms) + _KAPPA * (high - low) * terms
    return np.asarray(np.where(sample.count > 0, sample.mean - error, low))
