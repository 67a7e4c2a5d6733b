"""How many rows of a table are of a kind, by those among the rows that were read."""

from __future__ import annotations

import math

from forward_lineage.approximate.bounds.interval import Interval

_ROUNDING = 1e-9


def count_interval(seen: int, read: int, rows: int, delta: float) -> Interval:
    """Return an interval of COUNT: Hoeffding–Serfling of zeros and ones, and what is sure.

    Assumes: `read` rows drawn without replacement from `rows`, their number settled beforehand. Rows that a scan
    skipped because of an index are not drawn; count the rows of the group instead, which an index knows.
    Source: Macke 2021, Lemma 6.4.

    Args:
        seen: how many of the rows that were read are of the kind.
        read: how many rows were read.
        rows: how many rows there are.
        delta: the probability that the interval is wrong, at most.

    Examples:
        >>> count_interval(300, 1_000, 100_000, 0.05)
        Interval(low=25727, high=34273)
        >>> count_interval(30, 100, 100, 0.05)
        Interval(low=30, high=30)

    """
    if not read:
        return Interval(0, rows)
    error = _error(read, rows, delta / 2)
    low = math.ceil((seen / read - error) * rows - _ROUNDING)
    high = math.floor((seen / read + error) * rows + _ROUNDING)
    return Interval(max(low, seen), min(high, rows - read + seen))


def count_at_most(seen: int, read: int, rows: int, delta: float) -> int:
    """Return a number that COUNT is above with probability ≤ `delta`; the arguments are those of `count_interval`.

    Source: Macke 2021, Theorem 6.3, N⁺.

    Examples:
        >>> count_at_most(300, 1_000, 100_000, 0.05)
        33850

    """
    if not read:
        return rows
    high = math.floor((seen / read + _error(read, rows, delta)) * rows + _ROUNDING)
    return min(high, rows - read + seen)


def _error(read: int, rows: int, delta: float) -> float:
    return math.sqrt(math.log(1 / delta) / (2 * read) * (1 - (read - 1) / rows))
