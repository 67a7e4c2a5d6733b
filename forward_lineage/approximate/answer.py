"""The answer to an approximate query: estimates, intervals, and the rows that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from forward_lineage.approximate.scramble import BLOCK, Places, Scramble
from forward_lineage.row_ids.manifest import Manifest
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet


@dataclass(frozen=True, eq=False)
class ApproximateAnswer:
    """An answer from a part of the rows.

    Attributes:
        sql: what was asked.
        rows: for each group its keys; of each aggregate the estimate, and in ``<name>_low`` and ``<name>_high`` the
            interval; `certified`; `rows_read` and `blocks_read`, of 64 rows.
        certified: whether what was asked for is certain of all groups, with the confidence.
        confidence: the probability that all intervals hold, at least.
        bounder: what bounded them.
        rounds: how often was looked.
        rows_read: how many rows were read for this answer.
        blocks_read: in how many blocks they are.
        interrupted: whether Ctrl-C ended it.
        unseen: keys of groups without a row seen that the condition lets through, and their rows at most.

    """

    sql: str
    rows: list[dict[str, object]]
    certified: bool
    confidence: float
    bounder: str
    rounds: int
    rows_read: int
    blocks_read: int
    interrupted: bool
    unseen: list[tuple[tuple[object, ...], int]]
    _scramble: Scramble
    _positions: Sequence[Places]
    _reason: Callable[[], str | None]

    def __repr__(self) -> str:
        said = "certified" if self.certified else "not certified"
        of = f"{self.rows_read:,} of {self._scramble.rows:,} rows in {self.blocks_read:,} blocks"
        return f"ApproximateAnswer({len(self.rows):,} rows, {said}, read {of}, {self.rounds} rounds)"

    @property
    def manifest(self) -> Manifest:
        """The version of the table that was read."""
        return self._scramble.manifest

    def backward(self, row: int = 0) -> LineageSet:
        """Return the ids of the base rows that chance chose for an estimate. They give it again.

        AVG is the mean of those for which WHERE holds. COUNT and SUM are theirs, times the rows of the group divided by
        the rows read.

        Args:
            row: the place in `rows`.

        """
        if not 0 <= row < len(self._positions):
            raise BadArgumentError(f"row {row} of {len(self._positions)}", instead="Rows are counted from 0.")
        return LineageSet(np.sort(self._scramble.base_ids[self._positions[row]].astype(np.int64)))

    def impact(self, ids: Iterable[int]) -> list[int]:
        """Return the places of those `rows` whose estimates were made of some base rows.

        A row that chance did not choose voids an interval, too, once it has changed; `stale` tells.

        Args:
            ids: of base rows.

        """
        asked = LineageSet(ids)
        return [place for place in range(len(self.rows)) if not asked.isdisjoint(self.backward(place))]

    def stale(self) -> str | None:
        """Return why the intervals are void, if the table is not what was read; None: they hold."""
        return self._reason()

    def to_arrow(self) -> pa.Table:
        """Return `rows` as a table."""
        return pa.Table.from_pylist(self.rows)


def blocks_of(positions: Sequence[Places]) -> int:
    """Return in how many blocks positions are."""
    some = [each for each in positions if each.size]
    seen = np.zeros(max((int(each.max()) for each in some), default=-1) // BLOCK + 1, np.bool_)
    for each in some:
        seen[each // BLOCK] = True
    return int(np.count_nonzero(seen))
