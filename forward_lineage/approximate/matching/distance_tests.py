"""Tests of how far a histogram is from a target, of rows drawn without replacement; pure.   [Macke 2021, §5.3]

A histogram here is of the rows of one candidate. `seen` rows were read in earlier rounds, and chose what is tested.
`fresh` rows are drawn after that. Without replacement they are no sample of all rows, and not independent of those seen
before: they are a sample of the *rest*. The hypothesis is about all rows, so both parts are put together here. Of N
rows n are known, and the share w = n/N of the histogram is no matter of chance any more. The thesis tests fresh rows as
if they were drawn from all.

Where nobody knows N, because a condition is tried row by row, it lies between two limits. The worst of them counts.

P-values are natural logarithms. One that is 0 says nothing; −∞ is certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
CERTAIN = -math.inf


@dataclass(frozen=True)
class Sample:
    """The rows of a candidate.

    Attributes:
        seen: rows read in earlier rounds, by bar.
        fresh: rows read in this round, by bar.
        least: how many rows the candidate has at least, those that were read.
        most: how many at most; both are the same where that is known.

    """

    seen: Counts
    fresh: Counts
    least: int
    most: int

    @property
    def whole(self) -> bool:
        """Whether all rows were read."""
        return int(self.seen.sum() + self.fresh.sum()) >= self.most


def distance(counts: Counts, target: Floats) -> float:
    """Return the ℓ₁ distance of a histogram and a target that adds up to 1; 2 if there are no rows.

    Examples:
        >>> distance(np.array([3, 1]), np.array([0.5, 0.5]))
        0.5

    """
    rows = counts.sum()
    return float(np.abs(counts / rows - target).sum()) if rows else 2.0


def is_near(sample: Sample, target: Floats, bound: float) -> float:
    """Return the P-value of "all rows are `bound` or more away from the target".

    ‖r̄ − r̄*‖₁ is the greatest of v·(r̄ − r̄*) over all signs v, one for each bar. Each is a mean of numbers within ±1, so
    Hoeffding–Serfling holds, and the union bound over the 2ⁿ signs.   [Macke 2021, Theorem 5.1; Serfling 1974]

    The thesis squares what is left to the bound, also where it is negative: a candidate that is too far away then looks
    near. Here that says nothing.
    """
    fresh, seen = int(sample.fresh.sum()), int(sample.seen.sum())
    if sample.whole:
        return CERTAIN if distance(sample.seen + sample.fresh, target) < bound else 0.0
    if not fresh:
        return 0.0
    by_fresh = bound - distance(sample.fresh, target)
    by_seen = bound - distance(sample.seen, target) if seen else 0.0
    margin = min(by_fresh + seen / (rows - seen) * by_seen for rows in (max(sample.least, seen + fresh), sample.most))
    if margin <= 0:
        return 0.0
    left = 1 - (fresh - 1) / max(sample.most - seen, fresh)
    return min(target.size * math.log(2) - fresh * margin**2 / (2 * left), 0.0)


def is_far(sample: Sample, target: Floats, bound: float, signs: Counts) -> float:
    """Return the P-value of "all rows are `bound` or less away from the target".

    Any signs v say that the distance is v·(r̄* − q̄) at least. With signs of ±1 that says how many rows are in the bars
    with +1, which is one number, whatever the number of bars. Signs that were chosen by rows seen before may be tested
    by fresh rows: by Chernoff's bound of a sample without replacement.   [Hoeffding 1963, Theorems 1 and 4]

    The thesis uses Theorem 5.1 here, too, which pays for all 2ⁿ signs.

    Args:
        sample: the rows.
        target: adds up to 1.
        bound: of the distance.
        signs: +1 or −1 for each bar, chosen before the fresh rows were read.

    """
    if bound < 0:
        return CERTAIN
    if sample.whole:
        return CERTAIN if distance(sample.seen + sample.fresh, target) > bound else 0.0
    fresh, seen = int(sample.fresh.sum()), int(sample.seen.sum())
    if not fresh:
        return 0.0
    up = signs > 0
    share = (1 + bound + float(signs @ target)) / 2  # of all rows, at most, if the hypothesis is right
    known = int(sample.seen[up].sum())
    limits = (max(sample.least, seen + fresh), sample.most)
    of_rest = max((share * rows - known) / (rows - seen) for rows in limits)
    return -fresh * divergence(int(sample.fresh[up].sum()) / fresh, of_rest)


def divergence(found: float, most: float) -> float:
    """Return KL of two shares if what was found is more than it may be, else 0.

    Examples:
        >>> divergence(0.5, 0.6), round(divergence(0.6, 0.5), 6), divergence(0.1, -0.2)
        (0.0, 0.020136, inf)

    """
    if found <= most:
        return 0.0
    if most <= 0:
        return math.inf
    other = (1 - found) * math.log((1 - found) / (1 - most)) if found < 1 else 0.0
    return found * math.log(found / most) + other


def is_rare(found: int, read: int, share: float) -> float:
    """Return the P-value of "of all rows the share is at least this", after some rows were read.

    The thesis adds up probabilities of the hypergeometric distribution; this is Chernoff's bound of the sum.

    Args:
        found: how many of the rows that were read are of the candidate.
        read: how many were read.
        share: of a candidate that is not rare.

    """
    return -read * divergence(1 - found / read, 1 - share) if read else 0.0


def all_rejected(tests: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Return which hypotheses Holm's method rejects, so that one that is right is among them with probability ≤ level.

    The thesis tests at δ, though stage 1 may use up δ/3 only.   [Macke 2021, Algorithm 5.1, line 10]

    Args:
        tests: the P-values.
        level: the probability, not as a logarithm.

    """
    order = np.argsort(tests, kind="stable")
    limits = math.log(level) - np.log(np.arange(tests.size, 0, -1))
    passed = np.logical_and.accumulate(tests[order] <= limits)
    found = np.zeros(tests.size, np.bool_)
    found[order[passed]] = True
    return found


def rows_to_reconstruct(bars: int, rows: int, error: float, level: float) -> int:
    """Return how many rows must be read so that a histogram is off by `error` or more with probability ≤ `level`.

    Examples:
        >>> rows_to_reconstruct(24, 10**9, 0.04, 0.01 / 3 / 10), rows_to_reconstruct(24, 1_000, 0.04, 0.01 / 3 / 10)
        (30800, 970)

    """
    many = 2 / error**2 * (bars * math.log(2) + math.log(1 / level))
    return min(math.ceil(many * (1 + 1 / rows) / (1 + many / rows)), rows) if rows else 0
