"""The composition of two box relations as boxes again, where it is one: nothing is listed.

Of a path b → m → a, a line of a line is a line where nothing is rounded twice, and an interval of intervals is one
where these touch. What is none of that is left to others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.box_bounds import touching
from forward_lineage.relations.box_questions import meeting
from forward_lineage.relations.box_rows import MOST_CELLS, BoxTable, Columns, Lines, solved
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import ranges
from udafs.errors import BadArgumentError

#: More rows than this are not worth it: they come from pairs.
MOST_ROWS = 1 << 12
#: Nor are more cells at a border.
MOST_BORDER = 64
Flags = npt.NDArray[np.bool_]
Bounds = tuple[Numbers, Lines, Lines]
"""Of one input axis: the output axis that it moves with, and its bounds."""


class _Rows(NamedTuple):
    """Rows that meet: places in the first and in the second, and the corners of output boxes."""

    upper: Numbers
    lower: Numbers
    start: Numbers
    end: Numbers

    def take(self, places: Numbers) -> _Rows:
        return _Rows(*(each[places] for each in self))

    def on(self, along: Numbers) -> tuple[Numbers, Numbers]:
        """The first and the last place on an output axis of each row."""
        if not self.start.shape[1]:
            return np.zeros_like(along), np.zeros_like(along)
        every, out = np.arange(along.size), np.maximum(along, 0)
        return self.start[every, out], self.end[every, out]


def composed(first: BoxTable, second: BoxTable) -> BoxTable | None:
    """The boxes of (row, id) with some m such that (row, m) is in the first and (m, id) in the second.

    Returns:
        of the class of the first; None where the arrays between them have different shapes, or it is not boxes.

    """
    cells = max(math.prod(shape) for shape in (first.out_shape, first.in_shape, second.in_shape))
    if first.in_shape != second.out_shape or cells > MOST_CELLS:
        return None
    if first.first.shape[0] * second.first.shape[0] > MOST_ROWS * 16:
        return None
    upper, lower = meeting(*first.bounds, second.first, second.last, first.in_shape)
    if upper.size > MOST_ROWS:
        return None
    rows = _narrowed(first, second, upper, lower)
    for axis in range(len(first.in_shape)):
        parted = _parted(first, second, rows, axis)
        if parted is None:
            return None
        rows = parted
    made = []
    for axis in range(len(second.in_shape)):
        found = _through(first, second, rows, axis)
        if found is None:
            return None
        made.append(found)
    return _assembled(first, second, rows, made)


def _assembled(first: BoxTable, second: BoxTable, rows: _Rows, made: list[Bounds]) -> BoxTable | None:
    count = rows.upper.size
    along = _stacked([each[0] for each in made], count)
    low, high = (Lines(*(_stacked([each[side][k] for each in made], count) for k in range(3))) for side in (1, 2))
    try:
        columns = Columns(rows.start, rows.end, along, low, high)
        return type(first).from_columns(first.out_shape, second.in_shape, columns)
    except BadArgumentError:  # of bounds that are rounded apart
        return None


def _stacked(columns: list[Numbers], rows: int) -> Numbers:
    return np.column_stack(columns) if columns else np.empty((rows, 0), np.int64)


def _narrowed(first: BoxTable, second: BoxTable, upper: Numbers, lower: Numbers) -> _Rows:
    """The output boxes of those cells that reach the second row's box on all axes between."""
    start, end = first.first[upper].copy(), first.last[upper].copy()
    for axis in range(len(first.in_shape)):
        low, high = first.low.take(upper, axis), first.high.take(upper, axis)
        begin, last = solved(low, high, second.first[lower, axis], second.last[lower, axis])
        along = first.axis[upper, axis]
        row = np.flatnonzero(along >= 0)
        out = along[row]
        start[row, out] = np.maximum(start[row, out], begin[row])
        end[row, out] = np.minimum(end[row, out], last[row])
    return _Rows(upper, lower, start, end).take(np.flatnonzero(np.all(start <= end, axis=1)))


def _parted(first: BoxTable, second: BoxTable, rows: _Rows, axis: int) -> _Rows | None:
    """Rows of which an interval on an axis between leaves the second row's box, apart from those where it does not.

    Windows leave it at the border: there every cell becomes a row. None where that would be many.
    """
    low, high = first.low.take(rows.upper, axis), first.high.take(rows.upper, axis)
    along = first.axis[rows.upper, axis]
    point = np.logical_and.reduce([a == b for a, b in zip(low, high, strict=True)])
    needed = np.any(second.axis[rows.lower] == axis, axis=1) & (along >= 0) & ~point
    if not np.any(needed):
        return rows
    start, end = rows.on(along)
    # Lower bounds that are no lower than the box, upper bounds no higher.
    begin, last = solved(high, low, second.first[rows.lower, axis], second.last[rows.lower, axis])
    begin, last = np.where(needed, begin, start), np.where(needed, last, end)
    begin = np.clip(begin, start, end + 1)
    last = np.clip(last, begin - 1, end)
    before, behind = begin - start, end - last
    if int(before.max()) > MOST_BORDER or int(behind.max()) > MOST_BORDER:
        return None
    inside, every = np.flatnonzero(begin <= last), np.arange(along.size)
    source = np.concatenate([inside, np.repeat(every, before), np.repeat(every, behind)])
    single = np.concatenate([ranges(start, before), ranges(last + 1, behind)])
    made = rows.take(source)
    places = np.arange(source.size), np.maximum(along, 0)[source]
    made.start[places] = np.concatenate([begin[inside], single])
    made.end[places] = np.concatenate([last[inside], single])
    return made


def _through(first: BoxTable, second: BoxTable, rows: _Rows, axis: int) -> Bounds | None:
    """Of one input axis of the second: the output axis it moves with now, and its bounds; None where these are none."""
    between = second.axis[rows.lower, axis]
    bounds = [[column.copy() for column in side.take(rows.lower, axis)] for side in (second.low, second.high)]
    along = np.full(rows.upper.size, -1)
    for middle in np.unique(between[between >= 0]).tolist():
        here = np.flatnonzero(between == middle)
        found = _lines(first, second, rows.take(here), middle, axis)
        if found is None:
            return None
        along[here] = found[0]
        for side, lines in zip(bounds, found[1:], strict=True):
            for column, values in zip(side, lines, strict=True):
                column[here] = values
    low, high = Lines(*bounds[0]), Lines(*bounds[1])
    return np.where((low.scale != 0) | (high.scale != 0), along, -1), low, high


def _lines(first: BoxTable, second: BoxTable, rows: _Rows, middle: int, axis: int) -> Bounds | None:
    """As `_through`, of rows that move with one axis between."""
    along = first.axis[rows.upper, middle]
    start, end = rows.on(along)
    begin, last = first.low.take(rows.upper, middle), first.high.take(rows.upper, middle)
    from_, to = second.first[rows.lower, middle], second.last[rows.lower, middle]
    # Constant intervals are cut to the box of the second row; others lie in it as they are.
    still = (along < 0) | (start == end)
    begin = _settled(begin, still, np.maximum(begin.at(start), from_))
    last = _settled(last, still, np.minimum(last.at(start), to))
    point = np.logical_and.reduce([a == b for a, b in zip(begin, last, strict=True)])
    least, most = np.minimum(begin.at(start), begin.at(end)), np.maximum(last.at(start), last.at(end))
    low, high = second.low.take(rows.lower, axis), second.high.take(rows.lower, axis)
    sharing = (second.axis[rows.lower] == middle).sum(axis=1) > 1
    one_bound = (low.scale == 0) != (high.scale == 0)
    whole = ~sharing & (one_bound | touching(low, high, least, most))
    if not np.all((least >= from_) & (most <= to) & (point | whole)):
        return None
    made = []
    for lines, is_low in ((low, True), (high, False)):
        chosen = (lines.scale >= 0) == is_low  # the end of the interval between at which this bound is extreme
        inner = Lines(*(np.where(chosen, a, b) for a, b in zip(begin, last, strict=True)))
        made.append(_line_of_line(lines, inner))
    return None if made[0] is None or made[1] is None else (along, made[0], made[1])


def _settled(lines: Lines, still: Flags, value: Numbers) -> Lines:
    return Lines(
        np.where(still, 0, lines.scale), np.where(still, value, lines.offset), np.where(still, 1, lines.divisor)
    )


def _line_of_line(outer: Lines, inner: Lines) -> Lines | None:
    """(scale · ((s · b + o) // d) + offset) // divisor as one line; None where it is rounded twice."""
    once = (inner.divisor == 1) | (outer.scale == 1) | (outer.scale == 0)
    if not np.all(once):
        return None
    divided = outer.scale == 1
    scale = outer.scale * inner.scale
    offset = np.where(divided, inner.offset + outer.offset * inner.divisor, outer.scale * inner.offset + outer.offset)
    divisor = np.where(divided, inner.divisor * outer.divisor, outer.divisor)
    still = scale == 0
    return Lines(scale, np.where(still, offset // divisor, offset), np.where(still, 1, divisor))
