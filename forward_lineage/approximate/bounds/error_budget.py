"""How a probability of error is divided: among intervals that must all hold, and among the times they are looked at."""

from __future__ import annotations

import math


def shared(delta: float, intervals: int) -> float:
    """Return the share of each interval, if all are to hold together with probability 1 − `delta`.

    By the union bound; nothing is assumed of how they depend on each other.   [Macke 2021, §6.4.1]

    Args:
        delta: the probability that one is wrong, over 0 and below 1.
        intervals: how many there are, at least one. Count those of groups that may turn out empty, too.

    Examples:
        >>> shared(0.05, 5)
        0.01

    """
    return delta / intervals


def decayed(delta: float, look: int) -> float:
    """Return the share of a look at an interval, from 1; the shares of all looks add up to `delta`.

    Limits of a fixed number of rows hold at that number only. If you look again after more rows, and stop when you
    like what you see, each look needs a share of its own.   [Macke 2021, Algorithm 6.5: 6/π² · δ/k²]

    The union bound is over looks at *given* numbers of rows. So the number of rows of the k-th look must not depend on
    the rows. With active scanning the thesis lets it: a group is read further because its own interval is wide.

    Examples:
        >>> round(decayed(0.05, 1), 6), round(decayed(0.05, 2), 6)
        (0.030396, 0.007599)

    """
    return 6 / math.pi**2 * delta / look**2


def rows_at_look(first: int, look: int, growth: float = 1.5) -> int:
    """Return how many rows are read at a look, which is settled before a row is read.

    Args:
        first: at look 1.
        look: from 1.
        growth: by which factor the rows grow from look to look, over 1.

    Examples:
        >>> [rows_at_look(100, look) for look in (1, 2, 3)]
        [100, 150, 225]

    """
    return math.ceil(first * growth ** (look - 1))
