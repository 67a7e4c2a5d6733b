"""Rules by shape: the input cells of an output cell, as shapes alone tell them.   [DSLog, §IV]

A *rule* here is a function of the shapes (out, in) that gives the steps of an edge. It is a few boxes whatever the
sizes are: each says, for a box of output cells and each input axis, the first and the last index, constant or
``(s * b + c) // d`` with `b` the index on one output axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Shape
from forward_lineage.relations.box_rows import BoxRow, Interval, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation

Steps = tuple[LineageRelation, ...]
Rule = Callable[[Shape, Shape], Steps]
Flat = npt.NDArray[np.int64]


@dataclass(frozen=True)
class At:
    """An index that follows an output axis: ``(s * b + c) // d``."""

    s: int = 1
    c: int = 0
    d: int = 1

    def on(self, axis: int) -> Line:
        """As a bound of a box row."""
        return Line(axis, self.s, self.c, self.d)


Bound = At | int


@dataclass(frozen=True)
class Stretch:
    """Output indices `first` … `last` of one axis, and the input axes that follow it there.

    Attributes:
        first: the first output index.
        last: the last one; before `first` where there is none.
        follows: input axis → its first and last index, each following this output axis or constant.

    """

    first: int
    last: int
    follows: Mapping[int, tuple[Bound, Bound]] = field(default_factory=dict)


Along = Mapping[int, Sequence[Stretch]]
Fixed = Mapping[int, tuple[int, int]]


def product_rows(out: Shape, into: Shape, along: Along, fixed: Fixed | None = None) -> list[BoxRow]:
    """Boxes that are a product of what holds on each output axis.

    Args:
        out: the output's shape.
        into: the input's shape.
        along: output axis → stretches of it, which do not overlap; an axis that is not named says nothing.
        fixed: input axis → first and last index for all output cells. Each input axis is fixed or follows one axis.

    """
    rows: list[BoxRow] = []
    if not prod(out) or not prod(into):
        return rows
    axes = sorted(along)
    for chosen in product(*(along[axis] for axis in axes)):
        if any(each.first > each.last for each in chosen):
            continue
        box = [(0, size - 1) for size in out]
        bounds: dict[int, Interval] = dict(fixed or {})
        for axis, stretch in zip(axes, chosen, strict=True):
            box[axis] = (stretch.first, stretch.last)
            for k, (low, high) in stretch.follows.items():
                bounds[k] = (_on(low, axis), _on(high, axis))
        rows.append(BoxRow(box, [bounds[k] for k in range(len(into))]))
    return rows


def _on(bound: Bound, axis: int) -> int | Line:
    return bound.on(axis) if isinstance(bound, At) else bound


def of_rows(out: Shape, into: Shape, rows: Iterable[BoxRow]) -> Steps:
    """One step of some boxes."""
    return (BoxRelation.from_rows(out, into, rows),)


def boxes(out: Shape, into: Shape, along: Along, fixed: Fixed | None = None) -> Steps:
    """One step of the boxes that `product_rows` gives."""
    return of_rows(out, into, product_rows(out, into, along, fixed))


def same(axis: int, size: int) -> list[Stretch]:
    """Output indices that an input axis follows one for one."""
    return [Stretch(0, size - 1, {axis: (At(), At())})]


# ------------------------------------------------------------ rules of whole families


@lru_cache(maxsize=1024)
def aligned(out: Shape, into: Shape) -> Steps:
    """The same cell, where the input is broadcast: the cell that is."""
    if out == into:
        return ()
    shift = len(out) - len(into)
    along, fixed = {}, {}
    for k, size in enumerate(into):
        if size == 1 and out[k + shift] != 1:
            fixed[k] = (0, 0)
        else:
            along[k + shift] = same(k, size)
    return boxes(out, into, along, fixed)


@lru_cache(maxsize=1024)
def everything(out: Shape, into: Shape) -> Steps:
    """All cells."""
    return boxes(out, into, {}, {k: (0, size - 1) for k, size in enumerate(into)})


def lanes(axes: Iterable[int], *, kept: bool = False, front: int = 0) -> Rule:
    """All cells of the lane.

    Args:
        axes: of the input, which the operation goes along.
        kept: they are in the output, too, as one cell or as the whole lane.
        front: axes that the output has before all others.

    """
    gone = frozenset(axes)

    def rule(out: Shape, into: Shape) -> Steps:
        rest = range(len(into)) if kept else [k for k in range(len(into)) if k not in gone]
        place = {k: front + j for j, k in enumerate(rest)}
        along = {place[k]: same(k, into[k]) for k in range(len(into)) if k not in gone}
        return boxes(out, into, along, {k: (0, into[k] - 1) for k in gone})

    return rule


def reshaped(out: Shape, into: Shape) -> Steps:
    """The same cells in the same order: no step at all, for cells are known by their flat index."""
    return ()


def moved(axes: Sequence[int | None]) -> Rule:
    """Axes in another order: output axis j is input axis ``axes[j]``, or is new (None); others have one index."""

    def rule(out: Shape, into: Shape) -> Steps:
        along = {j: same(k, into[k]) for j, k in enumerate(axes) if k is not None}
        missing = set(range(len(into))) - {k for k in axes if k is not None}
        return boxes(out, into, along, dict.fromkeys(missing, (0, 0)))

    return rule


def along_axes(stretches: Mapping[int, Sequence[Stretch]]) -> Rule:
    """Take the stretches of some axes as given; each other axis follows the axis of its own number."""

    def rule(out: Shape, into: Shape) -> Steps:
        rest = {k: same(k, into[k]) for k in range(len(into)) if k not in stretches}
        return boxes(out, into, rest | dict(stretches))

    return rule


def shifted(axis: int, first: int, count: int, offset: int, s: int = 1) -> Stretch:
    """Indices `first` … of an axis, `count` of them, are ``s * b + offset`` of the same axis of the input."""
    return Stretch(first, first + count - 1, {axis: (At(s, offset), At(s, offset))})


def window(axis: int, out_size: int, before: int, behind: int) -> list[Stretch]:
    """Index b is made of b + before … b + behind of the same axis, as far as the input goes."""
    return [Stretch(0, out_size - 1, {axis: (At(1, before), At(1, behind))})]


def mapped(axis: int, index: Flat) -> list[Stretch]:
    """Index b of an axis is ``index[b]`` of the same axis of the input, nothing where that is negative."""
    made = []
    for first, last in _straight(index):
        at, s = int(index[first]), int(index[last] - index[first]) // max(last - first, 1)
        if at >= 0:
            made.append(shifted(axis, first, last - first + 1, at - s * first, s))
    return made or [Stretch(0, -1)]


def _straight(index: Flat) -> list[tuple[int, int]]:
    """Pieces along which the index goes in equal steps; what is negative is in pieces of its own."""
    step = np.diff(index)
    unlike = np.append(np.flatnonzero(np.diff(step)) + 1, step.size)  # where the next step differs
    signs = np.append(np.flatnonzero(np.diff(index < 0)), index.size - 1)  # the last of its sign
    found, first = [], 0
    while first < index.size:
        last = int(unlike[np.searchsorted(unlike, first, side="right")]) if first < step.size else first
        last = min(last, int(signs[np.searchsorted(signs, first)]))
        found.append((first, last))
        first = last + 1
    return found
