"""Whether rounds take longer than adding up all rows of the groups that are read on, in nanoseconds.

Costs choose what is done, and prove nothing: either way gives what is certain. Rounds give way in two cases. They have
taken half of the time that adding up takes. Or the rows read so far let expect that those to come take all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from forward_lineage.approximate.group_rows import Group

_PATIENCE = 0.5
_ROW, _LOOK = 60.0, 300_000.0


class Costs:
    """Counts what rounds take.

    Args:
        adding: says what it takes to add up groups.
        growth: by which factor rows grow from round to round.

    """

    def __init__(self, adding: Callable[[Sequence[Group]], float], growth: float) -> None:
        self._adding, self._growth, self._spent = adding, growth, 0.0

    def are_high(self, groups: Sequence[Group], counts: Sequence[int]) -> bool:
        """Count a round, and tell whether all until then have taken half of the time of adding up.

        Args:
            groups: that are read.
            counts: how many rows of each.

        """
        self._spent += _ROW * sum(counts) + _LOOK * len(groups)
        return self._spent > _PATIENCE * self._adding(groups)

    def will_be_high(self, groups: Sequence[Group], gaps: Sequence[Sequence[float | None]], rows: int) -> bool:
        """Tell whether the rounds to come likely take more than adding up.

        Args:
            groups: that were read.
            gaps: for each group and aggregate how far its interval may likely reach from the estimate.
            rows: how many were read of each by now.

        """
        takes, limit = 0.0, self._adding(groups)
        for group, mine in zip(groups, gaps, strict=True):
            needed = max(
                (each.rows_needed(gap) for each, gap in zip(group.estimators, mine, strict=True) if gap is not None),
                default=0.0,
            )
            takes += _ROW * max(needed - group.read, 0.0) + _LOOK * self._looks(min(needed, group.size), rows)
            if takes > limit:
                return True
        return False

    def _looks(self, needed: float, rows: int) -> float:
        """How many rounds it takes from some rows to more of them, and the one that comes now."""
        return 1 + math.log(max(needed / max(rows, 1), 1.0)) / math.log(self._growth)
