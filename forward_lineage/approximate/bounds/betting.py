r"""Betting without replacement: limits of a mean that hold at any time, and need one end of the range each.

Somebody who says that the mean is m says what each next row is worth, given the rows that came before. So one may bet
on more. If the mean is m, the expected wealth stays what it is, however the bets depend on the past. Wealth that was 1
reaches 1/δ at any time with probability at most δ (Ville). Then m is refuted.

Rows are those of a *universe* of known size R, of which a condition keeps a part, p = 1. With y = (x − low)·p ≥ 0 and
u = m − low, "the mean of the part is m" says that Σ (y − u·p) over the universe is 0. So nobody needs to know how large
the part is. Of the i-th row, with Y and P the sums of y and p over the rows before it, and r rows not yet read,

    W = y + (1 − p)·u ≥ 0    has, given the past, the mean    w = ((r + P)·u − Y) / r

and a bet of the share β makes wealth grow by the factor 1 + β·(W/w − 1) ≥ 1 − β. The factor falls as u grows. So a
greater m is refuted only if all lesser ones are, and the limit is where refuting ends. Wealth is spread over bets β =
15/16 · 2⁻ʲ, since nobody knows which one is best. Only `low` is needed: large values make wealth grow, never go.

Source: Waudby-Smith and Ramdas 2020 ("Estimating means of bounded random variables by betting", §5) without a
condition; the martingale of a part of unknown size is derived above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.moments import EPSILON, Floats
from forward_lineage.approximate.bounds.wager import Wager, shares


@dataclass(frozen=True)
class Draws:
    """Rows of a universe in the order in which they were drawn, without replacement.

    Attributes:
        above: y for each row: by how much it is over the low end, 0 of rows that the condition drops. The last axis is
            time; there may be axes for many runs before it.
        part: for each row 1 if the condition keeps it, else 0; None: it keeps all.
        size: of the universe.

    """

    above: Floats
    part: Floats | None
    size: int

    @property
    def drawn(self) -> int:
        """How many rows were drawn."""
        return int(self.above.shape[-1])

    @cached_property
    def spent(self) -> Floats:
        """Y before each row, and after the last one."""
        return _running(self.above)

    @cached_property
    def kept(self) -> Floats:
        """P before each row, and after the last one."""
        if self.part is None:
            return np.arange(self.drawn + 1, dtype=np.float64)
        return _running(self.part)

    @cached_property
    def left(self) -> Floats:
        """The number of rows not yet read, before each row and after the last one."""
        return self.size - np.arange(self.drawn + 1, dtype=np.float64)

    def sure(self) -> float:
        """Return what u is at least, whatever the rows not yet read are; of one run."""
        most = float(self.kept[..., -1] + self.left[-1])
        return float(self.spent[..., -1]) / most if most else 0.0


def factors(draws: Draws, excess: npt.ArrayLike, share: float) -> Floats:
    """Return by which factor wealth grows at each row, if u is said to be `excess`.

    Where the past refutes it for sure the factor is infinite. Where it says that nothing is left, it is 1.

    Args:
        draws: the rows.
        excess: u; of several runs one for each, with a last axis of 1.
        share: β, between 0 and 1.

    Examples:
        >>> factors(Draws(np.array([1.0, 0.0]), None, 4), 0.5, 0.5).tolist()
        [1.5, 0.5]

    """
    u = np.asarray(excess, np.float64)
    left = draws.left[:-1]
    worth = (left + draws.kept[..., :-1]) * u - draws.spent[..., :-1]
    got = draws.above if draws.part is None else draws.above + (1 - draws.part) * u
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1 + share * (got * left / worth - 1)
    nothing = 4 * EPSILON * (draws.drawn + 1) * (left + draws.kept[..., :-1]) * np.abs(u)
    factor = np.where(worth < -nothing, np.inf, factor)
    return np.where(np.abs(worth) <= nothing, 1.0, factor)


def log_wealth(draws: Draws, excess: npt.ArrayLike, share: float) -> Floats:
    """Return the logarithm of the wealth after each row of one bet; for the arguments see `factors`."""
    return np.cumsum(np.log(factors(draws, excess, share)), axis=-1)


def log_wealth_of_all(draws: Draws, excess: npt.ArrayLike) -> Floats:
    """Return the logarithm of the wealth after each row, spread over all `shares`.

    If `excess` is true, its exponential is a martingale that begins at 1.

    Examples:
        >>> log_wealth_of_all(Draws(np.array([1.0, 1.0]), None, 4), 0.5).round(4).tolist()
        [0.4362, 1.2266]

    """
    bets = shares(draws.size)
    wealth = np.full(draws.above.shape, -np.inf)
    for share in bets:
        wealth = np.logaddexp(wealth, log_wealth(draws, excess, float(share)))
    return wealth - math.log(bets.size)


def lower_limit(draws: Draws, delta: float, above: float = 0.0) -> float:
    """Return a number that u is below, at any time, with probability ≤ `delta`.

    Assumes: rows are drawn without replacement from those of the universe. When to stop, and which
    group to read next, may depend on all that was seen.
    Source: see the module.

    Args:
        draws: the rows of one run.
        delta: over 0, below 1.
        above: what was returned earlier in the run; it still holds.

    Examples:
        >>> round(lower_limit(Draws(np.array([0.0, 1.0] * 500), None, 100_000), 0.05), 4)
        0.445

    """
    wager = Wager(draws.size)
    wager.add(draws.above, draws.part)
    return max(above, wager.limit(delta))


def mean_interval(draws: Draws, low: float, high: float, delta: float, known: Interval | None = None) -> Interval:
    """Return an interval of the mean of the rows that the condition keeps, valid at any time.

    Half of `delta` is for either end. The lower end uses `low` only, the upper one `high` only.

    Assumes: what `lower_limit` assumes, and that values lie in [low, high].

    Args:
        draws: the rows of one run, `above` being over `low`.
        low: no value is less.
        high: no value is greater.
        delta: the probability that it is ever wrong, at most.
        known: the interval of earlier in the run.

    Examples:
        >>> found = mean_interval(Draws(np.array([0.0, 1.0] * 500), None, 100_000), 0.0, 1.0, 0.05)
        >>> round(found.low, 4), round(found.high, 4)
        (0.4423, 0.5577)

    """
    before = known or Interval(low, high)
    kept = float(draws.kept[-1])
    if kept and not draws.left[-1]:
        mean = low + float(draws.spent[-1]) / kept
        return Interval(mean, mean)
    lower = low + lower_limit(draws, delta / 2, before.low - low)
    upper = high - lower_limit(mirrored(draws, high - low), delta / 2, high - before.high)
    return Interval(max(lower, low), min(upper, high)) if lower <= upper else before


def mirrored(draws: Draws, width: float) -> Draws:
    """Return the rows with high − x in place of x − low.

    Args:
        draws: rows.
        width: high − low.

    """
    above = width - draws.above if draws.part is None else (width - draws.above) * draws.part
    return replace(draws, above=np.maximum(above, 0.0))


def _running(values: Floats) -> Floats:
    """Sums up to each place, from 0."""
    return np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
