"""The same cells under another shape: a run of cell numbers as boxes of a matrix, boxes of a matrix as cell numbers.

Only where a lattice of one shape is none of the other, boxes are split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.lattice import LatticeBoxes, Shape
from forward_lineage.relations.plain_boxes import (
    are_few,
    boxes_of_corners,
    corners_of,
    reshaped_corners,
    split_line,
)
from forward_lineage.relations.relation import Numbers
from udafs.errors import BadArgumentError

Flags = npt.NDArray[np.bool_]
#: Of boxes, in the order of an `_Axis`.
_COLUMNS = ("start", "count", "step", "width", "link")


def reshaped(boxes: LatticeBoxes, shape: Sequence[int]) -> LatticeBoxes:
    """The cells with the same numbers, in C order, in an array of another shape.

    Raises:
        BadArgumentError: that array has another number of cells.

    """
    wanted = tuple(shape)
    if wanted == boxes.shape:
        return boxes
    if math.prod(wanted) != boxes.size:
        raise BadArgumentError(
            f"cells of an array of shape {boxes.shape} asked of one of shape {wanted}",
            instead="Give cells of an array that has as many cells.",
        )
    if not boxes.size:
        return LatticeBoxes.nothing(wanted)
    blocks = list(_blocks(boxes.shape, wanted))
    plain = _reshaped_plain(boxes, wanted, blocks) if boxes.plain else None
    return _reshaped(boxes, wanted, blocks) if plain is None else plain


def _reshaped(boxes: LatticeBoxes, wanted: Shape, blocks: Sequence[tuple[int, int]]) -> LatticeBoxes:
    for at, (mine, _) in enumerate(blocks):
        if not mine:
            boxes = _with_axis(boxes, at)
        for _ in range(mine - 1):
            boxes = _joined(boxes, at)
    at = 0
    for _, theirs in blocks:
        if not theirs:
            boxes = _without_axis(boxes, at)
        for _ in range(theirs - 1):
            boxes = _split(boxes, at, boxes.shape[at] // wanted[at])
            at += 1
        at += theirs > 0
    return boxes


def _reshaped_plain(boxes: LatticeBoxes, wanted: Shape, blocks: Sequence[tuple[int, int]]) -> LatticeBoxes | None:
    """Plain boxes as plain ones; None where they are none, or many, and not the runs of a line."""
    if boxes.axes == 1 and len(wanted) > 1 and not are_few(len(boxes)):
        return split_line(boxes, wanted)
    corners = corners_of(boxes)
    if corners is None:
        return None
    i = j = 0
    sizes = []
    for mine, theirs in blocks:
        sizes.append((boxes.shape[i : i + mine], wanted[j : j + theirs]))
        i, j = i + mine, j + theirs
    found = reshaped_corners(corners, sizes)
    return None if found is None else boxes_of_corners(wanted, found)


def _blocks(shape: Shape, wanted: Shape) -> Iterator[tuple[int, int]]:
    """How many axes of either shape have the same product: the shortest such stretches, one behind the other."""
    i = j = 0
    while i < len(shape) or j < len(wanted):
        begin = i, j
        mine = theirs = 1
        if i < len(shape):
            mine, i = shape[i], i + 1
        if j < len(wanted):
            theirs, j = wanted[j], j + 1
        while mine != theirs:
            if mine < theirs:
                mine, i = mine * shape[i], i + 1
            else:
                theirs, j = theirs * wanted[j], j + 1
        yield i - begin[0], j - begin[1]


class _Axis(NamedTuple):
    """One axis of some boxes, as columns."""

    start: Numbers
    runs: Numbers
    step: Numbers
    width: Numbers
    link: Numbers

    @classmethod
    def of(cls, boxes: LatticeBoxes, axis: int) -> _Axis:
        return cls(*(getattr(boxes, name)[:, axis] for name in _COLUMNS))

    def chosen(self, cases: Sequence[tuple[Flags, _Axis]]) -> _Axis:
        """For each box the axis of the first case that it is."""
        conditions = [condition for condition, _ in cases]
        columns = (np.select(conditions, column) for column in zip(*(axis for _, axis in cases), strict=True))
        return _Axis(*columns)


def _rebuilt(boxes: LatticeBoxes, shape: Shape, at: int, gone: int, axes: Sequence[_Axis]) -> LatticeBoxes:
    """The boxes with some axes in place of others."""
    columns = {}
    for place, name in enumerate(_COLUMNS):
        old = getattr(boxes, name)
        columns[name] = np.column_stack([old[:, :at], *(axis[place] for axis in axes), old[:, at + gone :]])
    return LatticeBoxes(shape, **columns)


def _with_axis(boxes: LatticeBoxes, at: int) -> LatticeBoxes:
    one = np.ones(len(boxes), np.int64)
    axis = _Axis(one - 1, one, one, one, one * (boxes.axes + 1))
    return _rebuilt(boxes, (*boxes.shape[:at], 1, *boxes.shape[at:]), at, 0, [axis]).normal()


def _without_axis(boxes: LatticeBoxes, at: int) -> LatticeBoxes:
    return _rebuilt(boxes, (*boxes.shape[:at], *boxes.shape[at + 1 :]), at, 1, []).normal()


# ---------------------------------------------------------------- two axes as one


def _joined(boxes: LatticeBoxes, at: int) -> LatticeBoxes:
    """Axes `at` and the next one as a single axis."""
    inner_size = boxes.shape[at + 1]
    hard = ~np.logical_or.reduce([case for case, _ in _joins(boxes, at, inner_size)])
    boxes = boxes.unrolled(at, np.where(hard, boxes.count[:, at], 1))[0].normal()
    hard = ~np.logical_or.reduce([case for case, _ in _joins(boxes, at, inner_size)])
    boxes, source = boxes.thin(at, hard)
    boxes = boxes.unrolled(at, np.where(hard[source], boxes.count[:, at], 1))[0]
    cases = _joins(boxes, at, inner_size)
    axis = _Axis.of(boxes, at).chosen(cases)
    shape = (*boxes.shape[:at], boxes.shape[at] * inner_size, *boxes.shape[at + 2 :])
    return _rebuilt(boxes, shape, at, 2, [axis]).normal()


def _joins(boxes: LatticeBoxes, at: int, size: int) -> list[tuple[Flags, _Axis]]:
    """Forms that boxes may have, and their axis then; `size` is that of the inner axis."""
    outer, inner = _Axis.of(boxes, at), _Axis.of(boxes, at + 1)
    start, moved = outer.start * size + inner.start, outer.step * size
    thin, one_run, one_inner = outer.width == 1, outer.runs == 1, inner.runs == 1
    linked = boxes.linked[:, at + 1]
    together = linked & (outer.link == inner.link) & ~one_run
    through = ~linked & (inner.runs * inner.step == size)  # the runs go on in the next row as they do in this one
    full = inner.width == size
    return [
        (full, _Axis(outer.start * size, outer.runs, moved, outer.width * size, outer.link)),
        (one_run & thin, _Axis(start, *inner[1:])),
        (one_run & one_inner, _Axis(start, outer.width, np.full_like(start, size), inner.width, outer.link)),
        (together & thin, _Axis(start, outer.runs, moved + inner.step, inner.width, outer.link)),
        (thin & one_inner, _Axis(start, outer.runs, moved, inner.width, outer.link)),
        (one_run & through, _Axis(start, outer.width * inner.runs, inner.step, inner.width, inner.link)),
    ]


# ---------------------------------------------------------------- one axis as two


def _split(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    """Axis `at` as two, the inner one of some size."""
    axis = _Axis.of(boxes, at)
    many = axis.runs > 1
    lattice = _in_a_row(boxes, at, size) | _same_place(boxes, at, size) | _through(boxes, at, size)
    lattice |= _sloping(boxes, at, size)[0]
    boxes = boxes.unrolled(at, np.where(many & ~lattice, axis.runs, 1))[0].normal()
    many = boxes.count[:, at] > 1
    rest, found = many, [_of_runs(boxes.take(~many), at, size)]
    for fits, split in (
        (_in_a_row(boxes, at, size), _split_in_a_row),
        (_same_place(boxes, at, size), _split_at_the_same_place),
        (_through(boxes, at, size), _split_through),
        (_sloping(boxes, at, size)[0], _split_sloping),
    ):
        chosen, rest = rest & fits, rest & ~fits
        if np.any(chosen):
            found.append(split(boxes.take(chosen), at, size))
    whole = found[0]
    for part in found[1:]:
        whole = whole.together(part)
    return whole.normal()


def _two(boxes: LatticeBoxes, at: int, size: int, outer: _Axis, inner: _Axis) -> LatticeBoxes:
    shape = (*boxes.shape[:at], boxes.shape[at] // size, size, *boxes.shape[at + 1 :])
    return _rebuilt(boxes, shape, at, 1, [outer, inner])


def _point(boxes: LatticeBoxes, start: Numbers, width: Numbers | None = None) -> _Axis:
    """A single run, in a link of its own."""
    one = np.ones_like(start)
    return _Axis(start, one, one, one if width is None else width, one * (int(boxes.link.max(initial=0)) + 1))


def _of_runs(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    """Single runs: what is left of the first row, whole rows, what there is of the last one."""
    first, last = boxes.start[:, at], boxes.last[:, at]
    top, bottom = first // size, last // size
    inside = top == bottom
    head = ~inside & (first % size > 0)
    tail = ~inside & ((last + 1) % size > 0)
    begin, end = top + head, bottom - tail
    middle = ~inside & (begin <= end)
    zero, most = np.zeros_like(first), np.full_like(first, size - 1)
    parts = [
        (inside, top, top, first % size, last % size),
        (head, top, top, first % size, most),
        (middle, begin, end, zero, most),
        (tail, bottom, bottom, zero, last % size),
    ]
    source = np.concatenate([np.flatnonzero(kept) for kept, *_ in parts])
    low, high, left, right = (np.concatenate([part[k][part[0]] for part in parts]) for k in range(1, 5))
    each = boxes.take(source)
    outer = _point(each, low, high - low + 1)
    inner = _point(each, left, right - left + 1)
    return _two(each, at, size, outer, inner._replace(link=inner.link + 1))


def _in_a_row(boxes: LatticeBoxes, at: int, size: int) -> Flags:
    found: Flags = boxes.first[:, at] // size == boxes.last[:, at] // size
    return found


def _split_in_a_row(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    axis = _Axis.of(boxes, at)
    return _two(boxes, at, size, _point(boxes, axis.start // size), axis._replace(start=axis.start % size))


def _same_place(boxes: LatticeBoxes, at: int, size: int) -> Flags:
    found: Flags = (boxes.step[:, at] % size == 0) & (boxes.start[:, at] % size + boxes.width[:, at] <= size)
    return found


def _split_at_the_same_place(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    axis = _Axis.of(boxes, at)
    outer = axis._replace(start=axis.start // size, step=axis.step // size, width=np.ones_like(axis.start))
    return _two(boxes, at, size, outer, _point(boxes, axis.start % size, axis.width))


def _through(boxes: LatticeBoxes, at: int, size: int) -> Flags:
    start, step = boxes.start[:, at], np.abs(boxes.step[:, at])
    found: Flags = ~boxes.linked[:, at] & (size % step == 0) & (start % step + boxes.width[:, at] <= step)
    return found


def _split_through(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    """Lattices that go on from row to row: those runs of the first row, whole rows, those of the last one."""
    axis = _Axis.of(boxes, at)
    a_row = size // axis.step
    top, place = axis.start // size, axis.start % axis.step
    before = axis.start % size // axis.step  # runs of the first row that are missing
    head = np.where(before > 0, np.minimum(a_row - before, axis.runs), 0)
    rows, tail = np.divmod(axis.runs - head, a_row)
    begin = top + (head > 0)
    parts = [
        (head > 0, top, np.ones_like(top), axis.start % size, head),
        (rows > 0, begin, rows, place, a_row),
        (tail > 0, begin + rows, np.ones_like(top), place, tail),
    ]
    source = np.concatenate([np.flatnonzero(kept) for kept, *_ in parts])
    low, high, left, runs = (np.concatenate([part[k][part[0]] for part in parts]) for k in range(1, 5))
    each = boxes.take(source)
    inner = _Axis.of(each, at)._replace(start=left, runs=runs)
    return _two(each, at, size, _point(each, low, high), inner)


def _sloping(boxes: LatticeBoxes, at: int, size: int) -> tuple[Flags, Numbers]:
    """Lattices that move along both axes at each step and never leave a row; and how far on the inner axis."""
    axis = _Axis.of(boxes, at)
    place, room = axis.start % size, size - axis.width
    right = axis.step % size
    left = right - size
    reach = (axis.runs - 1) * right
    moves_right = (place + reach <= room) & (place <= room)
    moves_left = (place + (axis.runs - 1) * left >= 0) & (place <= room)
    return moves_right | moves_left, np.where(moves_right, right, left)


def _split_sloping(boxes: LatticeBoxes, at: int, size: int) -> LatticeBoxes:
    axis, aside = _Axis.of(boxes, at), _sloping(boxes, at, size)[1]
    outer = axis._replace(start=axis.start // size, step=(axis.step - aside) // size, width=np.ones_like(aside))
    return _two(boxes, at, size, outer, axis._replace(start=axis.start % size, step=aside))
