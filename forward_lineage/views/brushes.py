"""The rows that a brush leaves, by the bars that are chosen in some views; how to find them, and the cost of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forward_lineage.relations.groups import BATCH
from forward_lineage.views.membership import Array, Chosen, Membership, Sparse

#: What things cost, in nanoseconds, measured on one core; only which of them is less matters.
SCANNED = 2.0  # to look up the bar of a row that is next in turn
FETCHED = 4.0  # to fetch the bar of a row that is somewhere
COUNTED = 6.0  # to add a row to a view
CELL = 1.0  # to add up a cell of a cube


@dataclass(frozen=True, eq=False)
class BrushedRows:
    """The rows of a view that are meant: those in a chosen bar, and in none that is left out.

    Attributes:
        chosen: the bars.
        without: bars left out; only a view whose rows are in several bars needs it.

    """

    chosen: Chosen
    without: Chosen | None = None

    def holds(self, membership: Membership, rows: Array | slice) -> Chosen:
        """Tell for each of some rows whether it is meant."""
        found = membership.holds(self.chosen, rows)
        return found if self.without is None else found & ~membership.holds(self.without, rows)


def between(membership: Membership, one: Chosen, other: Chosen) -> BrushedRows:
    """Return the rows that one choice has and the other has not."""
    return BrushedRows(one & ~other, other if isinstance(membership, Sparse) else None)


Brush = Mapping[int, BrushedRows]
"""What is wanted of some views, by number; a row must be wanted in each."""


class Selection:
    """The rows that a brush leaves, found by the cheaper way.

    Args:
        memberships: of all views.
        brush: the views whose rows are wanted; at least one.

    """

    def __init__(self, memberships: Sequence[Membership], brush: Brush) -> None:
        self._memberships, self._brush = memberships, brush
        sizes = {view: int(memberships[view].sizes[wanted.chosen].sum()) for view, wanted in brush.items()}
        self._first = min(sizes, key=lambda view: sizes[view])
        self.most = sizes[self._first]
        rows = memberships[self._first].rows
        tests = len(brush) - (self._plain(self._first))
        by_index, by_scan = self.most * (1 + FETCHED * tests), rows * SCANNED * len(brush)
        self.scans = by_scan < by_index
        left = float(self.most)
        for view in brush:
            left *= sizes[view] / max(rows, 1) if view != self._first else 1.0
        self.find = min(by_index, by_scan)
        self.left = left  # how many rows to expect, if views know nothing of each other

    def cost(self, targets: int) -> float:
        """Return about how many nanoseconds it takes to count the rows in some views."""
        return self.find + self.left * (COUNTED + FETCHED) * targets

    def batches(self) -> Iterator[Array]:
        """Yield the rows."""
        return self._by_scan() if self.scans else self._by_index()

    def _by_index(self) -> Iterator[Array]:
        wanted = self._brush[self._first]
        tests = [view for view in self._brush if view != self._first or not self._plain(view)]
        for rows in self._memberships[self._first].rows_of(wanted.chosen):
            left = rows
            for view in tests:
                left = left[self._brush[view].holds(self._memberships[view], left)]
            if left.size:
                yield left

    def _by_scan(self) -> Iterator[Array]:
        rows = self._memberships[self._first].rows
        for first in range(0, rows, BATCH):
            batch = slice(first, min(first + BATCH, rows))
            found = np.ones(batch.stop - first, np.bool_)
            for view, wanted in self._brush.items():
                found &= wanted.holds(self._memberships[view], batch)
            left = np.flatnonzero(found)
            if left.size:
                yield left + first

    def _plain(self, view: int) -> bool:
        """Whether the rows of the chosen bars are those that are wanted."""
        return self._brush[view].without is None
