"""Rows of a box relation: an output box, and for each input axis the interval that its cells are made of.

ProvRC's rows have intervals that are constant or relative to one output axis [Zhao 2024, §IV]. Ours are lines
(scale · b + offset) // divisor, so strides, flips, repeats and blocks are one row, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.lattice import Shape
from forward_lineage.relations.relation import Numbers
from udafs.errors import BadArgumentError

#: What is computed of bounds stays below this, so that nothing wraps.
_MOST = 1 << 61
#: Beyond all places.
FAR = np.int64(1 << 61)
#: Arrays of more cells are answered as runs: no array in memory has so many, and 64-bit sums might wrap.
MOST_CELLS = 1 << 60


class Line(NamedTuple):
    """A bound that moves with an output axis: (scale · b + offset) // divisor, b being the cell's place on it.

    Example: pooling four neighbours into one reads `Line(0, 4)` to `Line(0, 4, 3)`.
    """

    axis: int
    scale: int = 1
    offset: int = 0
    divisor: int = 1


Bound = int | Line
Interval = tuple[Bound, Bound]


class BoxRow(NamedTuple):
    """Every cell of an output box is made of all cells between the bounds, those of them that exist.

    Attributes:
        out: first and last place on each output axis.
        into: lowest and highest place on each input axis, each a number or a line; never an empty interval.

    """

    out: Sequence[tuple[int, int]]
    into: Sequence[Interval]


class Lines(NamedTuple):
    """Bounds of many rows on many input axes, int64 each, of shape (rows, input axes)."""

    scale: Numbers
    offset: Numbers
    divisor: Numbers

    def at(self, place: Numbers) -> Numbers:
        """The bounds where the output cell is."""
        found: Numbers = (self.scale * place + self.offset) // self.divisor
        return found

    def take(self, rows: npt.NDArray[np.integer] | npt.NDArray[np.bool_] | slice, axis: int | None = None) -> Lines:
        """Those of some rows, of one input axis or of all."""
        return Lines(*(each[rows] if axis is None else each[rows, axis] for each in self))

    @classmethod
    def joined(cls, parts: Sequence[Lines]) -> Lines:
        """Rows one behind the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Columns(NamedTuple):
    """Rows as arrays; see the attributes of `BoxTable`."""

    first: Numbers
    last: Numbers
    axis: Numbers
    low: Lines
    high: Lines


def columns_of(rows: Sequence[BoxRow], out_axes: int, in_axes: int) -> Columns:
    """Rows as arrays: first and last output cell, and of each input axis the output axis it moves with, and bounds.

    Raises:
        BadArgumentError: the bounds of an input axis move with different output axes, or a row has too few axes.

    """
    for row in rows:
        if len(row.out) != out_axes or len(row.into) != in_axes:
            raise BadArgumentError(
                f"a row of {len(row.out)} output and {len(row.into)} input axes for {out_axes} and {in_axes}",
                instead="Give one interval for each axis.",
            )
    first, last = (_array([[each[k] for each in row.out] for row in rows], (len(rows), out_axes)) for k in (0, 1))
    axis = _array([[_axis_of(*each) for each in row.into] for row in rows], (len(rows), in_axes))
    bounds = []
    for side in (0, 1):
        lines = [[_line(each[side]) for each in row.into] for row in rows]
        whole = _array(lines, (len(rows), in_axes, 3))
        bounds.append(Lines(whole[..., 0], whole[..., 1], whole[..., 2]))
    return Columns(first, last, axis, bounds[0], bounds[1])


def _array(values: Sequence[object], shape: tuple[int, ...]) -> Numbers:
    return np.array(values, np.int64).reshape(shape)


def _axis_of(low: Bound, high: Bound) -> int:
    moving = {each.axis for each in (low, high) if isinstance(each, Line) and each.scale}
    if len(moving) > 1:
        raise BadArgumentError(
            f"bounds {low} and {high} that move with two output axes",
            instead="Give a row for each place on one of them.",
        )
    return moving.pop() if moving else -1


def _line(bound: Bound) -> tuple[int, int, int]:
    if not isinstance(bound, Line):
        return 0, int(bound), 1
    if bound.divisor < 1:
        raise BadArgumentError(f"a divisor of {bound.divisor}", instead="Divide by 1 or more; turn the signs instead.")
    common = np.gcd.reduce([bound.scale, bound.offset, bound.divisor]) if bound.scale else bound.divisor
    if bound.scale == 0:
        return 0, bound.offset // bound.divisor, 1
    return bound.scale // int(common), bound.offset // int(common), bound.divisor // int(common)


def check_rows(first: Numbers, last: Numbers, axis: Numbers, low: Lines, high: Lines) -> None:
    """Raise BadArgumentError where an interval is empty somewhere, or numbers are too large to compute with."""
    if not axis.size:
        return
    at = np.maximum(axis, 0)
    begin, end = (_on(each, at) for each in (first, last))
    simple = (low.divisor == 1) & (high.divisor == 1) & (np.abs(low.scale) <= 1) & (np.abs(high.scale) <= 1)
    for lines in (low, high):
        most = np.maximum(np.abs(lines.scale.astype(float)) * end, np.abs(lines.offset.astype(float)))
        found = np.maximum(
            np.abs(lines.scale * begin.astype(float) + lines.offset),
            np.abs(lines.scale * end.astype(float) + lines.offset),
        )
        most = np.where(simple, found / 5, most * np.maximum(low.divisor, high.divisor).astype(float))
        if np.any(most >= _MOST):
            raise BadArgumentError(
                "bounds that 64-bit integers cannot hold", instead="Give smaller scales, offsets and divisors."
            )
    for place in (begin, end):
        below = (low.scale * place + low.offset) * high.divisor <= (high.scale * place + high.offset) * low.divisor
        if not np.all(below):
            row = int(np.argmin(np.all(below, axis=1)))
            raise BadArgumentError(
                f"an interval of row {row} is empty for some of its output cells",
                instead="Leave these cells out of the row's output box.",
            )


def _on(place: Numbers, axis: Numbers) -> Numbers:
    """For each input axis the coordinate on the output axis it moves with; 0 where there is no output axis."""
    return np.take_along_axis(place, axis, axis=1) if place.shape[1] else np.zeros_like(axis)


def at_ends(first: Numbers, last: Numbers, axis: Numbers, low: Lines, high: Lines) -> tuple[Numbers, Numbers]:
    """The lowest and the highest place on each input axis that the cells of output boxes are made of."""
    at = np.maximum(axis, 0)
    begin, end = _on(first, at), _on(last, at)
    lowest: Numbers = np.minimum(low.at(begin), low.at(end))
    highest: Numbers = np.maximum(high.at(begin), high.at(end))
    return lowest, highest


def solved(low: Lines, high: Lines, lowest: Numbers, highest: Numbers) -> tuple[Numbers, Numbers]:
    """The first and last place whose interval meets lowest … highest: lower bound ≤ highest, upper bound ≥ lowest."""
    begin, end = np.full(lowest.shape, -FAR), np.full(lowest.shape, FAR)
    room = low.divisor * highest + low.divisor - 1 - low.offset  # scale · b ≤ room
    need = high.divisor * lowest - high.offset  # scale · b ≥ need
    for scales, bound, at_most in ((low.scale, room, True), (high.scale, need, False)):
        some = scales != 0
        scale, number = scales[some], bound[some]
        upper = (scale > 0) == at_most
        place = np.where(upper, number // scale, -(-number // scale))
        end[some] = np.where(upper, np.minimum(end[some], place), end[some])
        begin[some] = np.where(upper, begin[some], np.maximum(begin[some], place))
    return begin, end


@dataclass(frozen=True, eq=False)
class BoxTable:
    """The rows of a box relation as columns.

    Attributes:
        out_shape: of the output.
        in_shape: of the input.
        first: first place of each row's output box on each output axis, int64, shape (rows, output axes).
        last: the last place.
        axis: the output axis that each input axis moves with, −1 for constant bounds; shape (rows, input axes).
        low: lower bounds on each input axis.
        high: upper bounds, themselves inside; places beyond the input are none.

    """

    out_shape: Shape
    in_shape: Shape
    first: Numbers
    last: Numbers
    axis: Numbers
    low: Lines
    high: Lines

    @classmethod
    def from_columns(cls, out_shape: Sequence[int], in_shape: Sequence[int], columns: Columns) -> Self:
        """The relation of rows as arrays, see the attributes; raises what `from_rows` raises."""
        first, last, axis, low, high = columns
        kept = np.all(first <= last, axis=1)
        if 0 in out_shape or 0 in in_shape:
            kept[:] = False
        first, last, axis, low, high = first[kept], last[kept], axis[kept], low.take(kept), high.take(kept)
        if np.any(first < 0) or np.any(last > np.array([size - 1 for size in out_shape], np.int64)):
            raise BadArgumentError(
                f"an output box that leaves the output, of shape {tuple(out_shape)}",
                instead="Number the cells of the output from 0 on each axis.",
            )
        if np.any(axis >= len(out_shape)):
            raise BadArgumentError(
                f"a bound to move with output axis {int(axis.max())} of {len(out_shape)}",
                instead="Count the axes of the output from 0.",
            )
        check_rows(first, last, axis, low, high)
        return cls(tuple(out_shape), tuple(in_shape), first, last, axis, low, high)._narrowed().settled()

    def _narrowed(self) -> Self:
        """The same with output boxes of those cells alone that are made of something.

        So no row has more output cells than pairs, and a file cannot promise a few pairs in billions of cells.
        """
        if max(math.prod(self.out_shape), math.prod(self.in_shape)) > MOST_CELLS:
            return self  # encoded pairs, which are where they should be
        first, last = self.first.copy(), self.last.copy()
        kept = np.ones(first.shape[0], bool)
        for axis, size in enumerate(self.in_shape):
            along, moves = self.axis[:, axis], self.axis[:, axis] >= 0
            low, high = self.low.take(slice(None), axis), self.high.take(slice(None), axis)
            kept &= moves | ((low.at(along) < size) & (high.at(along) >= 0))
            begin, end = solved(low, high, np.zeros_like(along), np.full_like(along, size - 1))
            row = np.flatnonzero(moves)
            out = along[row]
            first[row, out], last[row, out] = (
                np.maximum(first[row, out], begin[row]),
                np.minimum(last[row, out], end[row]),
            )
        kept &= np.all(first <= last, axis=1)
        if np.array_equal(first, self.first) and np.array_equal(last, self.last) and np.all(kept):
            return self
        columns = first[kept], last[kept], self.axis[kept], self.low.take(kept), self.high.take(kept)
        return type(self)(self.out_shape, self.in_shape, *columns)

    def checked(self) -> Self:
        """The same without empty boxes; raises what `from_rows` raises."""
        columns = Columns(self.first, self.last, self.axis, self.low, self.high)
        return self.from_columns(self.out_shape, self.in_shape, columns)

    def settled(self) -> Self:
        """The same with bounds that do not move within their row as constants."""
        if not self.axis.size or not self.first.shape[1]:
            return self
        at = np.maximum(self.axis, 0)
        begin = np.take_along_axis(self.first, at, axis=1)
        still = (self.axis >= 0) & (
            (begin == np.take_along_axis(self.last, at, axis=1)) | ((self.low.scale == 0) & (self.high.scale == 0))
        )
        if not np.any(still):
            return self
        low, high = (
            Lines(
                np.where(still, 0, lines.scale),
                np.where(still, lines.at(begin), lines.offset),
                np.where(still, 1, lines.divisor),
            )
            for lines in (self.low, self.high)
        )
        axis = np.where(still, -1, self.axis)
        return type(self)(self.out_shape, self.in_shape, self.first, self.last, axis, low, high)

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        """Of the output and of the input."""
        return self.out_shape, self.in_shape

    def table(self) -> Numbers:
        """All numbers of each row, int64, shape (rows, 2 · output axes + 7 · input axes)."""
        return np.concatenate([self.first, self.last, self.axis, *self.low, *self.high], axis=1)

    def of_table(self, table: Numbers) -> Self:
        """The relation of the same shapes whose `table` is this."""
        out_axes, in_axes = len(self.out_shape), len(self.in_shape)
        ends = np.cumsum([out_axes, out_axes, *[in_axes] * 7])
        first, last, axis, *lines = np.split(table, ends[:-1], axis=1)
        return type(self)(self.out_shape, self.in_shape, first, last, axis, Lines(*lines[:3]), Lines(*lines[3:]))

    def take(self, rows: Numbers) -> Self:
        """Some of the rows."""
        columns = self.first[rows], self.last[rows], self.axis[rows], self.low.take(rows), self.high.take(rows)
        return type(self)(self.out_shape, self.in_shape, *columns)

    @cached_property
    def bounds(self) -> tuple[Numbers, Numbers]:
        """Lowest and highest place of each row on each input axis; beyond the array where a row has no input."""
        lowest, highest = at_ends(self.first, self.last, self.axis, self.low, self.high)
        shape = np.array(self.in_shape, np.int64)
        lowest, highest = np.maximum(lowest, 0), np.minimum(highest, shape - 1)
        none = np.any(lowest > highest, axis=1)[:, None]
        return np.where(none, shape, lowest), np.where(none, -1, highest)
