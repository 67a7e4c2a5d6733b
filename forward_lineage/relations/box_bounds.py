"""The bounds of one input axis for many boxes: which output axis they move with, and whether they leave gaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.box_rows import BoxTable, Lines
from forward_lineage.relations.relation import Numbers

Flags = npt.NDArray[np.bool_]


class AxisBounds:
    """The bounds of one input axis, for each of some boxes."""

    def __init__(self, relation: BoxTable, row: Numbers, axis: int) -> None:
        self.low, self.high = relation.low.take(row, axis), relation.high.take(row, axis)
        self.along = relation.axis[row, axis]
        self.moves = self.along >= 0
        self.at = np.maximum(self.along, 0)
        self.one_bound = self.moves & ((self.low.scale == 0) != (self.high.scale == 0))
        self.steady = self.low.scale * self.high.divisor == self.high.scale * self.low.divisor

    def touching(self, begin: Numbers, end: Numbers) -> Flags:
        """See the function."""
        return touching(self.low, self.high, begin, end)

    def of_output(self, column: Numbers, of_none: int) -> Numbers:
        """The column of the output axis; of a constant bound some number that changes nothing."""
        if not column.shape[1]:
            return np.full(self.moves.shape, of_none, np.int64)
        found: Numbers = np.where(self.moves, np.take_along_axis(column, self.at[:, None], axis=1)[:, 0], of_none)
        return found

    def period(self, step: Numbers) -> Numbers:
        """After how many steps both bounds have moved by a whole number."""
        found: Numbers = np.lcm(_period(self.low, step), _period(self.high, step))
        return found


def _period(lines: Lines, step: Numbers) -> Numbers:
    found: Numbers = lines.divisor // np.gcd(np.abs(lines.scale * step), lines.divisor)
    return found


def touching(low: Lines, high: Lines, begin: Numbers, end: Numbers) -> Flags:
    """Whether the intervals of neighbours from one place to another leave no cell between them."""
    found: Flags = end <= begin
    near: Flags = np.ones(begin.shape, bool)
    for place in (begin, np.maximum(end - 1, begin)):
        near &= _reaches(low, place + 1, high, place) & _reaches(low, place, high, place + 1)
    return found | near


def _reaches(low: Lines, place: Numbers, high: Lines, other: Numbers) -> Flags:
    """Whether the lower bound of one place is at most one behind the upper bound of the other, in real numbers."""
    left = (low.scale * place + low.offset) * high.divisor
    found: Flags = left <= (high.scale * other + high.offset) * low.divisor + low.divisor * high.divisor
    return found


def sharing(relation: BoxTable, row: Numbers, link: Numbers) -> Flags:
    """Which input axes move with an axis of the same link as another input axis."""
    axis = relation.axis[row]
    group = np.where(axis >= 0, np.take_along_axis(link, np.maximum(axis, 0), axis=1) if link.shape[1] else axis, -1)
    same = (group[:, :, None] == group[:, None, :]) & (group >= 0)[:, :, None]
    found: Flags = same.sum(axis=2) > 1
    return found
