"""Match each row that was made again with the row that it replaces: it keeps that row's number.

Any assignment is right, since what is made of a result compares the rows of a number value by value. This one keeps
numbers where a reader would: of the group with the same keys, and of the joined row that was made of the same rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from forward_lineage.relations.relation import Numbers

Names = Sequence[tuple[Hashable, ...]]
"""The names of rows, the most telling one of each row first."""


def matched(old: Names, numbers: Sequence[int], new: Names) -> Numbers:
    """Return for each new row the number of the old one that it replaces; −1: there is none left.

    Args:
        old: names of the rows that went.
        numbers: their numbers.
        new: names of the rows that were made again.

    """
    found = np.full(len(new), -1, np.int64)
    free = set(range(len(old)))
    for level in range(len(new[0]) if new else 0):
        known: dict[Hashable, list[int]] = defaultdict(list)
        for place in sorted(free, reverse=True):
            known[old[place][level]].append(place)
        for place, names in enumerate(new):
            if found[place] < 0 and known.get(names[level]):
                taken = known[names[level]].pop()
                free.remove(taken)
                found[place] = numbers[taken]
    return found
