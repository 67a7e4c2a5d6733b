"""Questions of a few plain boxes, in Python's own integers: a call of NumPy's costs more than such sums.

The answers are those of `box_questions`. Boxes that need a lattice, such as the diagonal, are left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forward_lineage.relations.box_rows import FAR, BoxTable
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.plain_boxes import Corners, are_few, boxes_of_corners, corners_of, merged_corners

_FAR = int(FAR)
Cell = Sequence[int]


class _Bounds(NamedTuple):
    """An input axis of a row: the output axis that it moves with, −1 for none, and both bounds."""

    along: int
    shared: bool
    scale: int
    offset: int
    divisor: int
    high_scale: int
    high_offset: int
    high_divisor: int

    def low(self, place: int) -> int:
        return (self.scale * place + self.offset) // self.divisor

    def high(self, place: int) -> int:
        return (self.high_scale * place + self.high_offset) // self.high_divisor

    def closed(self, begin: int, end: int) -> bool:
        """Whether the intervals from one place to another are one: they share a bound, or none leaves a gap."""
        if begin == end or (self.scale == 0) != (self.high_scale == 0):
            return True
        return all(
            self._reaches(place + 1, place) and self._reaches(place, place + 1)
            for place in {begin, max(end - 1, begin)}
        )

    def _reaches(self, place: int, other: int) -> bool:
        left = (self.scale * place + self.offset) * self.high_divisor
        return left <= (self.high_scale * other + self.high_offset) * self.divisor + self.divisor * self.high_divisor

    def solved(self, lowest: int, highest: int) -> tuple[int, int]:
        """See `box_rows.solved`."""
        begin, end = -_FAR, _FAR
        room = self.divisor * highest + self.divisor - 1 - self.offset
        need = self.high_divisor * lowest - self.high_offset
        for scale, number, at_most in ((self.scale, room, True), (self.high_scale, need, False)):
            if scale and (scale > 0) == at_most:
                end = min(end, number // scale)
            elif scale:
                begin = max(begin, -(-number // scale))
        return begin, end


class Row(NamedTuple):
    """A row of a box relation: its output box, its bounds, and the lowest and highest place on each input axis."""

    first: Sequence[int]
    last: Sequence[int]
    into: Sequence[_Bounds]
    lowest: Sequence[int]
    highest: Sequence[int]


def rows_of(relation: BoxTable) -> list[Row]:
    """The rows of a relation of few."""
    lowest, highest = relation.bounds
    columns = [relation.axis, *relation.low, *relation.high]
    found = []
    for place in range(relation.first.shape[0]):
        along = relation.axis[place].tolist()
        numbers = zip(*(column[place].tolist() for column in columns), strict=True)
        into = [_Bounds(each[0], each[0] >= 0 and along.count(each[0]) > 1, *each[1:]) for each in numbers]
        corners = (each[place].tolist() for each in (relation.first, relation.last, lowest, highest))
        first, last, low, high = corners
        found.append(Row(first, last, into, low, high))
    return found


def backward(relation: BoxTable, rows: Sequence[Row], boxes: LatticeBoxes) -> LatticeBoxes | None:
    """As `box_questions.backward`, merged; None: these boxes, or the answer, are not few and plain."""
    asked = _few(boxes, rows)
    if asked is None:
        return None
    found: Corners = []
    for row, begin, end in _meeting(asked, [(row, row.first, row.last) for row in rows]):
        if not _image(row, begin, end, relation.in_shape, found):
            return None
    return boxes_of_corners(relation.in_shape, merged_corners(found))


def forward(relation: BoxTable, rows: Sequence[Row], boxes: LatticeBoxes) -> LatticeBoxes | None:
    """As `box_questions.forward`, merged; None: these boxes are not few and plain."""
    asked = _few(boxes, rows)
    if asked is None:
        return None
    found: Corners = []
    for row, lowest, highest in _meeting(asked, [(row, row.lowest, row.highest) for row in rows]):
        _preimage(row, lowest, highest, found)
    return boxes_of_corners(relation.out_shape, merged_corners(found))


def _few(boxes: LatticeBoxes, rows: Sequence[Row]) -> Corners | None:
    asked = corners_of(boxes)
    return asked if asked is not None and are_few(len(asked) * len(rows)) else None


def _meeting(asked: Corners, rows: Sequence[tuple[Row, Cell, Cell]]) -> Iterator[tuple[Row, Cell, Cell]]:
    """Each row that a box meets, and the corners of what they share."""
    for first, last in asked:
        for row, low, high in rows:
            begin, end = tuple(map(max, first, low)), tuple(map(min, last, high))
            if _any_cell(begin, end):
                yield row, begin, end


def _any_cell(first: Cell, last: Cell) -> bool:
    return all(low <= high for low, high in zip(first, last, strict=True))


def _image(row: Row, begin: Cell, end: Cell, shape: Cell, found: Corners) -> bool:
    """Add the input cells of a box of output cells; False: they are no plain box."""
    lowest, highest = [], []
    for bounds, size in zip(row.into, shape, strict=True):
        first, last = (begin[bounds.along], end[bounds.along]) if bounds.along >= 0 else (0, 0)
        if first != last and (bounds.shared or not bounds.closed(first, last)):
            return False
        lowest.append(max(min(bounds.low(first), bounds.low(last)), 0))
        highest.append(min(max(bounds.high(first), bounds.high(last)), size - 1))
    if _any_cell(lowest, highest):
        found.append((tuple(lowest), tuple(highest)))
    return True


def _preimage(row: Row, lowest: Cell, highest: Cell, found: Corners) -> None:
    """Add the output cells of a box of input cells."""
    begin, end = list(row.first), list(row.last)
    for bounds, low, high in zip(row.into, lowest, highest, strict=True):
        if bounds.along >= 0:
            from_, to = bounds.solved(low, high)
            begin[bounds.along] = max(begin[bounds.along], from_)
            end[bounds.along] = min(end[bounds.along], to)
    if _any_cell(begin, end):
        found.append((tuple(begin), tuple(end)))
