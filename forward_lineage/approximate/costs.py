"""Whether rounds take longer than adding up all rows of the groups that are read on, in nanoseconds.

Costs choose what is done, and prove nothing: either way gives what is certain. Rounds give way in three cases. The
first takes half of the time that adding up takes. Or the rows read let expect that those to come take all of it. Or
they were expected to take less, and all until then have taken as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from forward_lineage.approximate.group_rows import Group

_FIRST = 0.5
_ROW, _LOOK = 120.0, 400_000.0


class Costs:
    """Counts what rounds take.

    Args:
        adding: says what it takes to add up groups.
        growth: by which factor rows grow from round to round.

    """

    def __init__(self, adding: Callable[[Sequence[Group]], float], growth: float) -> None:
        self._adding, self._growth, self._spent = adding, growth, 0.0

    def are_high(self, groups: Sequence[Group], counts: Sequence[int]) -> bool:
        """Count a round, and tell whether it takes too long if it is the first, or all until then do.

        Args:
            groups: that are read.
            counts: how many rows of each.

        """
        patience = 1.0 if self._spent else _FIRST
        self._spent += _ROW * sum(counts) + _LOOK * len(groups)
        return self._spent > patience * self._adding(groups)

    def will_be_high(self, groups: Sequence[Group], needed: Sequence[float]) -> bool:
        """Tell whether the rounds to come likely take more than adding up.

        Args:
            groups: that were read.
            needed: how many rows each likely needs, with those that were read.

        """
        rows = sum(max(min(most, group.size) - group.read, 0.0) for group, most in zip(groups, needed, strict=True))
        looks = sum(self._looks(most / max(group.read, 1)) for group, most in zip(groups, needed, strict=True))
        return _ROW * rows + _LOOK * looks > self._adding(groups)

    def _looks(self, times: float) -> float:
        """How many rounds it takes to read so many times as many rows, and the one that comes now."""
        return 1 + math.log(max(times, 1.0)) / math.log(self._growth)
