"""Cells of an array as lattice boxes: what questions about arrays are answered with, never cell by cell.

Along an axis a box has `count` runs of `width` cells each, the first at `start`, one every `step`. Axes of one link
share the number of the run: the diagonal of a matrix is one box of two linked axes, not a square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import ranges

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LatticeBoxes:
    """Some boxes, n of them, of an array of d axes; a cell may be in several.

    A cell is in a box if there are 0 ≤ k < count and 0 ≤ t < width for each axis such that it lies at
    start + k · step + t, with the same k on axes of the same link.

    Attributes:
        shape: of the array.
        start: int64, shape (n, d), as the following ones.
        count: at least 1; the same on axes of one link.
        step: not 0; 1 where the count is 1; positive, and more than the width, on an axis that is in no link.
        width: at least 1.
        link: the first of the axes that share their number of the run; of an axis in no link: itself.

    """

    shape: Shape
    start: Numbers
    count: Numbers
    step: Numbers
    width: Numbers
    link: Numbers

    # ------------------------------------------------------------ made

    @classmethod
    def of_runs(cls, shape: Sequence[int], first: npt.ArrayLike, last: npt.ArrayLike) -> Self:
        """Boxes from their first and last cells, both int64 of shape (n, d); empty ones are left out."""
        low, high = (np.asarray(each).astype(np.int64) for each in (first, last))
        kept = np.all(low <= high, axis=1)
        return cls.of_corners(tuple(shape), low[kept], high[kept])

    @classmethod
    def of_corners(cls, shape: Shape, first: Numbers, last: Numbers) -> Self:
        """As `of_runs`, of int64 arrays and boxes of which none is empty."""
        one = np.ones_like(first)
        made = cls(shape, first, one, one, last - first + 1, np.broadcast_to(np.arange(len(shape)), first.shape))
        made.__dict__["plain"] = True
        return made

    @classmethod
    def everything(cls, shape: Sequence[int]) -> Self:
        """All cells of an array."""
        return cls.of_runs(shape, np.zeros((1, len(shape))), np.array(shape, np.int64)[None, :] - 1)

    @classmethod
    def nothing(cls, shape: Sequence[int]) -> Self:
        """No cell."""
        return cls.of_runs(shape, np.empty((0, len(shape))), np.empty((0, len(shape))))

    # ------------------------------------------------------------ arrays

    def __len__(self) -> int:
        """How many boxes there are; `cardinality` counts cells."""
        return int(self.start.shape[0])

    def __bool__(self) -> bool:
        return len(self) > 0

    @property
    def axes(self) -> int:
        """How many axes the array has."""
        return len(self.shape)

    @cached_property
    def first(self) -> Numbers:
        """The lowest coordinate of each box on each axis."""
        if self.plain:
            return self.start
        lowest: Numbers = self.start + np.minimum((self.count - 1) * self.step, 0)
        return lowest

    @cached_property
    def last(self) -> Numbers:
        """The highest coordinate of each box on each axis."""
        if self.plain:
            return self.start + self.width - 1
        highest: Numbers = self.start + np.maximum((self.count - 1) * self.step, 0) + self.width - 1
        return highest

    @cached_property
    def plain(self) -> bool:
        """Whether every box is a single run on every axis."""
        return not bool((self.count > 1).any())

    @property
    def linked(self) -> npt.NDArray[np.bool_]:
        """Tell which axes of which boxes share their number of the run with another; bool, shape (n, d)."""
        same = self.link[:, :, None] == self.link[:, None, :]
        shared: npt.NDArray[np.bool_] = same.sum(axis=2) > 1
        return shared

    def take(self, places: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Self:
        """Some of the boxes, in the order of the places."""
        columns = (self.start, self.count, self.step, self.width, self.link)
        return type(self)(self.shape, *(each[places] for each in columns))

    def together(self, other: LatticeBoxes) -> LatticeBoxes:
        """The boxes of both, which are of arrays of one shape."""
        columns = ("start", "count", "step", "width", "link")
        both = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in columns)
        return LatticeBoxes(self.shape, *both)

    # ------------------------------------------------------------ the same cells, otherwise

    def normal(self) -> LatticeBoxes:
        """The same boxes as the attributes promise them: links that bind nothing are gone, runs that touch are one."""
        return LatticeBoxes.of_corners(self.shape, self.start, self.last) if self.plain else self._normal()

    def _normal(self) -> LatticeBoxes:
        axes = np.arange(self.axes)
        link = np.where(self.count == 1, axes, self.link)
        # The first axis of each link, which may have left it.
        same = (link[:, :, None] == link[:, None, :]) & (self.count > 1)[:, :, None] & (self.count > 1)[:, None, :]
        link = np.where(self.count == 1, axes, np.argmax(same, axis=2) if self.axes else link)
        free = ~(same.sum(axis=2) > 1) if self.axes else np.zeros_like(link, bool)
        step = np.abs(self.step)
        start = np.where(free, self.start + np.minimum((self.count - 1) * self.step, 0), self.start)
        touching = free & (step <= self.width)
        width = np.where(touching, (self.count - 1) * step + self.width, self.width)
        count = np.where(touching, 1, self.count)
        step = np.where(count == 1, 1, np.where(free, step, self.step))
        return LatticeBoxes(self.shape, start, count, step, width, link)

    def part(self, source: Numbers, axis: int | Numbers, begin: Numbers, count: Numbers, stride: Numbers) -> Self:
        """Of some boxes every so many-th run on an axis, and on those linked with it.

        Args:
            source: places of boxes, shape (p,).
            axis: one for all, or one for each of them.
            begin: number of the first run, shape (p,).
            count: how many runs.
            stride: from one run to the next.

        """
        each = self.take(source)
        of_axis = np.broadcast_to(np.asarray(axis), source.shape)[:, None]
        group = each.link == np.take_along_axis(each.link, of_axis, axis=1)
        return replace(
            each,
            start=np.where(group, each.start + begin[:, None] * each.step, each.start),
            count=np.where(group, count[:, None], each.count),
            step=np.where(group, np.where(count[:, None] == 1, 1, each.step * stride[:, None]), each.step),
        )

    def unrolled(self, axis: int | Numbers, parts: Numbers) -> tuple[Self, Numbers]:
        """Each box as so many, each with every so many-th run of an axis.

        Returns:
            the boxes, and for each the place of the one it is a part of.

        """
        of_axis = np.broadcast_to(np.asarray(axis), parts.shape)
        runs = self.count[np.arange(len(self)), of_axis]
        parts = np.minimum(parts, runs)
        if np.all(parts <= 1):
            return self, np.arange(len(self))
        source = np.repeat(np.arange(len(self)), parts)
        begin = ranges(np.zeros_like(parts), parts)
        stride = parts[source]
        count = (runs[source] - begin + stride - 1) // stride
        return self.part(source, of_axis[source], begin, count, stride), source

    def thin(self, axis: int, where: npt.NDArray[np.bool_]) -> tuple[Self, Numbers]:
        """Some boxes with runs of one cell on an axis: a single run becomes many, many become a box for each place."""
        wide = where & (self.width[:, axis] > 1)
        if not np.any(wide):
            return self, np.arange(len(self))
        runs, width = self.count[:, axis], self.width[:, axis]
        # By their runs, if these are fewer; each then is a single run.
        made, source = self.unrolled(axis, np.where(wide & (runs < width) & (runs > 1), runs, 1))
        runs, width, wide = made.count[:, axis], made.width[:, axis], wide[source]
        alone = wide & (runs == 1)
        places = np.where(wide & ~alone, width, 1)
        more = np.repeat(np.arange(len(made)), places)
        made, alone, wide = made.take(more), alone[more], wide[more]
        start, count, step, width = (each.copy() for each in (made.start, made.count, made.step, made.width))
        start[:, axis] += ranges(np.zeros_like(places), places)
        count[alone, axis] = width[alone, axis]
        link = made.link.copy()
        link[alone, axis] = link.shape[1] + axis  # no other axis has this one
        width[wide, axis] = 1
        made = replace(made, start=start, count=count, step=step, width=width, link=link)
        return made, source[more]

    def clipped(self, first: Numbers, last: Numbers) -> tuple[LatticeBoxes, Numbers]:
        """What of each box lies between two corners.

        Args:
            first: the lower corner for each box, int64, shape (n, d) or (d,).
            last: the upper one, itself inside.

        Returns:
            the boxes, and for each the place of the one it is a part of.

        """
        low, high = (np.broadcast_to(each, self.start.shape) for each in (first, last))
        if self.plain:
            return self._shared(low, high)
        kept = np.flatnonzero(np.all((self.last >= low) & (self.first <= high), axis=1))
        made: LatticeBoxes = self.take(kept)
        source = kept
        for axis in range(self.axes):
            made, more = made._cut(axis, low[source, axis], high[source, axis])
            source = source[more]
        return made.normal(), source

    def _shared(self, low: Numbers, high: Numbers) -> tuple[LatticeBoxes, Numbers]:
        """As `clipped`, of plain boxes."""
        low, high = np.maximum(self.start, low), np.minimum(self.last, high)
        kept = np.flatnonzero(np.all(low <= high, axis=1))
        return LatticeBoxes.of_corners(self.shape, low[kept], high[kept]), kept

    def _cut(self, axis: int, low: Numbers, high: Numbers) -> tuple[LatticeBoxes, Numbers]:
        if np.all((self.first[:, axis] >= low) & (self.last[:, axis] <= high)):
            return self, np.arange(len(self))
        start, count, width = self.first[:, axis], self.count[:, axis], self.width[:, axis]
        step = np.abs(self.step[:, axis])
        # The runs that meet the interval, and those that lie in it; by their order along the axis.
        meets = np.maximum(-((start + width - 1 - low) // step), 0), np.minimum((high - start) // step, count - 1)
        inside = np.maximum(-((start - low) // step), 0), np.minimum((high - width + 1 - start) // step, count - 1)
        whole = inside[0] <= inside[1]
        below = np.where(whole, inside[0], meets[1] + 1) - meets[0]  # runs that are cut, in front of the whole ones
        above = np.where(whole, meets[1] - inside[1], 0)
        below, above = np.maximum(below, 0), np.maximum(above, 0)
        every = np.arange(len(self))
        source = np.concatenate([every[whole], np.repeat(every, below), np.repeat(every, above)])
        begin = np.concatenate([inside[0][whole], ranges(meets[0], below), ranges(inside[1] + 1, above)])
        runs = np.concatenate([(inside[1] - inside[0] + 1)[whole], np.ones(begin.size - int(whole.sum()), np.int64)])
        descending = self.step[source, axis] < 0
        begin = np.where(descending, count[source] - begin - runs, begin)
        made = self.part(source, axis, begin, runs, np.ones_like(runs))
        alone = made.count[:, axis] == 1
        left = np.where(alone, np.maximum(made.start[:, axis], low[source]), made.start[:, axis])
        right = made.start[:, axis] + made.width[:, axis] - 1
        right = np.where(alone, np.minimum(right, high[source]), right)
        starts, widths = made.start.copy(), made.width.copy()
        starts[:, axis], widths[:, axis] = left, right - left + 1
        kept = right >= left
        return replace(made, start=starts, width=widths).take(kept), source[kept]

    # ------------------------------------------------------------ cells

    @property
    def size(self) -> int:
        """How many cells the array has."""
        return math.prod(self.shape)
