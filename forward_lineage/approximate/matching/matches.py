"""The answer of `lineage.matching`: candidates, their histograms, and the rows that these were made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet


@dataclass(frozen=True, eq=False)
class Matches:
    """The candidates whose histograms are closest to a target.

    Attributes:
        rows: the closest first: the candidate under the name of its column, `distance`, `histogram` as a share for each
            bar, `rows_read`, `exact`.
        certified: whether it is sure, with the confidence, that no candidate with enough rows is closer by `error` than
            one in `rows`, and that each histogram is off by less than `error`.
        confidence: the probability of both, at least; 1 if all is exact.
        error: the one asked for, an ℓ₁ distance.
        candidates: how many had enough rows, or may have.
        rounds: how many times a guess was tested.
        rows_read: how many rows were read for this answer.
        blocks_read: in how many blocks of 64 they are.
        interrupted: whether Ctrl-C ended it.
        how: in words: sampled, or counted by linked views.

    """

    rows: list[dict[str, object]]
    certified: bool
    confidence: float
    error: float
    candidates: int
    rounds: int
    rows_read: int
    blocks_read: int
    interrupted: bool
    how: str
    _ids: Callable[[int | None], npt.NDArray[np.int64]]
    _reason: Callable[[], str | None]

    def __repr__(self) -> str:
        said = "certified" if self.certified else "not certified"
        return f"Matches({len(self.rows):,} of {self.candidates:,} candidates, {said}, {self.how})"

    def backward(self, row: int | None = None) -> LineageSet:
        """Return the ids of base rows: those of one histogram, which give it again, or all that were read.

        Args:
            row: the place in `rows`; None: of the whole answer.

        """
        if row is not None and not 0 <= row < len(self.rows):
            raise BadArgumentError(f"row {row} of {len(self.rows)}", instead="Rows are counted from 0.")
        return LineageSet(np.sort(self._ids(row)))

    def stale(self) -> str | None:
        """Return why the answer is void, if the table is not what was read; None: it holds."""
        return self._reason()

    def to_arrow(self) -> pa.Table:
        """Return `rows` as a table; a histogram is a list of bars with their shares."""
        shown = [each | {"histogram": _listed(each["histogram"])} for each in self.rows]
        return pa.Table.from_pylist(shown)


def _listed(histogram: object) -> list[dict[str, object]]:
    assert isinstance(histogram, dict)
    return [{"bar": bar, "share": share} for bar, share in histogram.items()]
