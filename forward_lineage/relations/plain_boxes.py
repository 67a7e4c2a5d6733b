"""Plain boxes: one run on each axis. Few are a list of corners; many are merged and reshaped as two columns an axis.

Most questions stay plain from end to end, and need nothing of what lattices do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from forward_lineage.relations.lattice import LatticeBoxes, Shape
from forward_lineage.relations.relation import Numbers

Corners = list[tuple[tuple[int, ...], tuple[int, ...]]]
"""Of each box the lowest and the highest cell."""

#: So many boxes, or pairs of boxes, are few: each costs some microseconds, a dozen calls of NumPy's as many.
MOST_FEW = 64

_Run = tuple[int, int]


def are_few(count: int) -> bool:
    """Whether so many boxes, or pairs of boxes, are gone through one by one."""
    return count <= MOST_FEW


# ---------------------------------------------------------------- few


def corners_of(boxes: LatticeBoxes) -> Corners | None:
    """The corners of boxes; None where they are not few, or not plain."""
    if not are_few(len(boxes)) or not boxes.plain:
        return None
    last = boxes.start + (boxes.width - 1)
    return list(zip(map(tuple, boxes.start.tolist()), map(tuple, last.tolist()), strict=True))


def boxes_of_corners(shape: Shape, corners: Corners) -> LatticeBoxes:
    """The boxes between some corners; none is empty."""
    size = len(corners), len(shape)
    first, last = (np.array([each[side] for each in corners], np.int64).reshape(size) for side in (0, 1))
    return LatticeBoxes.of_corners(shape, first, last)


def merged_corners(corners: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> Corners:
    """Equal boxes once, and those that touch or overlap along one axis as one, the last axis first."""
    found = list(dict.fromkeys(corners))
    axes = len(found[0][0]) if found else 0
    for axis in reversed(range(axes if len(found) > 1 else 0)):
        lanes: dict[tuple[tuple[int, ...], ...], list[_Run]] = {}
        for first, last in found:
            rest = first[:axis], first[axis + 1 :], last[:axis], last[axis + 1 :]
            lanes.setdefault(rest, []).append((first[axis], last[axis]))
        found = [
            ((*rest[0], low, *rest[1]), (*rest[2], high, *rest[3]))
            for rest, runs in lanes.items()
            for low, high in _merged_runs(runs)
        ]
    return found


def _merged_runs(runs: list[_Run]) -> Iterator[_Run]:
    runs.sort()
    low, high = runs[0]
    for first, last in runs[1:]:
        if first > high + 1:
            yield low, high
            low, high = first, last
        else:
            high = max(high, last)
    yield low, high


def reshaped_corners(corners: Corners, blocks: Sequence[tuple[Shape, Shape]]) -> Corners | None:
    """The cells with the same numbers in an array of another shape; None where these are no plain boxes.

    `blocks` are stretches of axes of either shape, by their sizes, that have the same product.
    """
    found: Corners = []
    for first, last in corners:
        at, parts = 0, []
        for mine, theirs in blocks:
            line = _as_line(list(zip(first[at : at + len(mine)], last[at : at + len(mine)], strict=True)), mine)
            if line is None:
                return None
            parts.append(list(_as_axes(line, theirs)))
            at += len(mine)
        for chosen in product(*parts):
            runs = [run for part in chosen for run in part]
            found.append((tuple(low for low, _ in runs), tuple(high for _, high in runs)))
    return found


def _as_line(runs: list[_Run], sizes: Shape) -> _Run | None:
    """Runs on some axes as one of the numbers of their cells."""
    low, high = runs[0] if runs else (0, 0)
    for (first, last), size in zip(runs[1:], sizes[1:], strict=True):
        if low != high and (first, last) != (0, size - 1):
            return None
        low, high = low * size + first, high * size + last
    return low, high


def _as_axes(line: _Run, sizes: Shape) -> Iterator[list[_Run]]:
    """A run of numbers as boxes."""
    if len(sizes) < 2:
        yield [line] * len(sizes)
        return
    for outer, inner in _rows_of(line, math.prod(sizes[1:])):
        for rest in _as_axes(inner, sizes[1:]):
            yield [outer, *rest]


def _rows_of(line: _Run, size: int) -> list[tuple[_Run, _Run]]:
    """Cut a stretch into the end of its first row, whole rows, and the start of its last: rows, and places in them."""
    (top, left), (bottom, right) = divmod(line[0], size), divmod(line[1], size)
    if top == bottom:
        return [((top, top), (left, right))]
    head, tail = left > 0, right < size - 1
    parts = [((top, top), (left, size - 1))] if head else []
    if top + head <= bottom - tail:
        parts.append(((top + head, bottom - tail), (0, size - 1)))
    return [*parts, ((bottom, bottom), (0, right))] if tail else parts


# ---------------------------------------------------------------- many


def split_line(boxes: LatticeBoxes, shape: Shape) -> LatticeBoxes:
    """Runs of cell numbers as boxes of an array with axes."""
    first, last = boxes.start[:, 0], boxes.start[:, 0] + boxes.width[:, 0] - 1
    low: list[Numbers] = []
    high: list[Numbers] = []
    for axis in range(len(shape) - 1):
        size = math.prod(shape[axis + 1 :])
        (top, left), (bottom, right) = np.divmod(first, size), np.divmod(last, size)
        inside = top == bottom
        head, tail = ~inside & (left > 0), ~inside & (right < size - 1)
        begin, end = top + head, bottom - tail
        zero, most = np.zeros_like(first), np.full_like(first, size - 1)
        parts = [
            (inside, top, top, left, right),
            (head, top, top, left, most),
            (~inside & (begin <= end), begin, end, zero, most),
            (tail, bottom, bottom, zero, right),
        ]
        source = np.concatenate([np.flatnonzero(kept) for kept, *_ in parts])
        outer, outer_end, first, last = (np.concatenate([part[k][part[0]] for part in parts]) for k in range(1, 5))
        low, high = [each[source] for each in low] + [outer], [each[source] for each in high] + [outer_end]
    return LatticeBoxes.of_corners(shape, np.column_stack([*low, first]), np.column_stack([*high, last]))


def merged_many(boxes: LatticeBoxes) -> LatticeBoxes | None:
    """As `lattice_cells.merged`; None where 63 bits are too few to number what an axis has beside it."""
    first, last = boxes.start, boxes.start + (boxes.width - 1)
    for axis in reversed(range(boxes.axes)):
        others = [column[:, each] for each in range(boxes.axes) if each != axis for column in (first, last)]
        sizes = [size for each, size in enumerate(boxes.shape) if each != axis for _ in range(2)]
        if math.prod(sizes) * boxes.shape[axis] >= 1 << 62:
            return None
        owner = np.zeros(first.shape[0], np.int64)
        for column, size in zip(others, sizes, strict=True):
            owner = owner * size + column
        first, last = _merged_lanes(first, last, axis, owner, boxes.shape[axis])
    return LatticeBoxes.of_corners(boxes.shape, first, last)


def _merged_lanes(first: Numbers, last: Numbers, axis: int, owner: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Boxes that are equal beside an axis, and touch or overlap on it, as one."""
    key = owner * size + first[:, axis]
    if not bool(np.all(key[1:] >= key[:-1])):
        order = np.argsort(key, kind="stable")
        first, last, owner = first[order], last[order], owner[order]
    at, reached = _stretches(owner, first[:, axis], last[:, axis], size)
    made, ends = first[at], last[at]
    ends[:, axis] = reached
    return made, ends


def _stretches(owner: Numbers, low: Numbers, high: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Where runs begin that no run of their owner before touches, and the last place of each; sorted by both."""
    other = owner[1:] != owner[:-1]
    lane = np.zeros(owner.size, np.int64)
    np.cumsum(other, out=lane[1:])
    lane *= size  # so a lane's runs end before those of the next begin
    reach = np.maximum.accumulate(lane + high)
    begins = np.ones(owner.size, bool)
    begins[1:] = other | (lane[1:] + low[1:] - 1 > reach[:-1])
    at = np.flatnonzero(begins)
    return at, reach[np.append(at[1:], owner.size) - 1] - lane[at]
