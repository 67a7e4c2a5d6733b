"""Cells as boxes, from indices, slices and masks; boxes as masks, cell numbers and sets; counted, merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_shapes import reshaped
from forward_lineage.relations.plain_boxes import boxes_of_corners, corners_of, merged_corners, merged_many
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import merged as merged_runs
from forward_lineage.relations.run_arrays import merged_by, runs_in
from udafs.errors import BadArgumentError
from udafs.lineage_set import LISTABLE, LineageSet
from udafs.sorted_ids import sorted_distinct

#: So many boxes are compared each with each to find out whether they overlap.
_FEW = 64

Cells = LatticeBoxes | npt.NDArray[np.generic] | int | slice | EllipsisType | Sequence[int | slice | EllipsisType]


# ---------------------------------------------------------------- boxes of cells


def boxes_of(shape: Sequence[int], cells: Cells) -> LatticeBoxes:
    """Cells of an array as a user names them.

    Args:
        shape: of the array.
        cells: an index or slices as in `x[3, 1:7:2]`; a mask of the array's shape; or the coordinates of n cells, an
            integer array of shape (n, axes).

    Raises:
        BadArgumentError: none of these, or beyond the array.

    """
    if isinstance(cells, LatticeBoxes):
        return reshaped(cells, shape)
    if isinstance(cells, np.ndarray):
        return _of_mask(shape, cells) if cells.dtype == bool else _of_coordinates(shape, cells)
    whole = tuple(cells) if isinstance(cells, Sequence) else (cells,)
    return _of_slices(tuple(shape), whole)


def _of_mask(shape: Sequence[int], mask: npt.NDArray[np.generic]) -> LatticeBoxes:
    if mask.shape != tuple(shape):
        raise BadArgumentError(
            f"a mask of shape {mask.shape} for an array of shape {tuple(shape)}", instead="Give one of the same shape."
        )
    return boxes_of_numbers(shape, np.flatnonzero(mask))


def _of_coordinates(shape: Sequence[int], places: npt.NDArray[np.generic]) -> LatticeBoxes:
    if places.dtype.kind not in "iu" or places.ndim != 2 or places.shape[1] != len(shape):
        raise BadArgumentError(
            f"cells as {places.dtype} of shape {places.shape} for an array of {len(shape)} axes",
            instead="Give a mask, slices, or integers of shape (cells, axes).",
        )
    at = places.astype(np.int64)
    at = np.where(at < 0, at + np.array(shape, np.int64), at)
    if np.any(at < 0) or np.any(at >= np.array(shape, np.int64)):
        raise _beyond(shape)
    return merged(LatticeBoxes.of_runs(shape, at, at))


def _of_slices(shape: tuple[int, ...], parts: tuple[int | slice | EllipsisType, ...]) -> LatticeBoxes:
    if parts.count(...) > 1 or len(parts) - parts.count(...) > len(shape):
        raise BadArgumentError(f"{len(parts)} indices for {len(shape)} axes", instead="Give one for each axis.")
    at = parts.index(...) if ... in parts else len(parts)
    full: list[int | slice | EllipsisType] = [*parts[:at], *[slice(None)] * len(shape), *parts[at + 1 :]]
    missing = len(shape) - (len(parts) - parts.count(...))
    chosen = [*full[:at], *full[at : at + missing], *full[at + len(shape) :]]
    columns: list[list[int]] = []
    for part, size in zip(chosen, shape, strict=True):
        if isinstance(part, slice):
            places = range(size)[part]
            places = places if places.step > 0 else places[::-1]
            columns.append([places.start, len(places), places.step, 1])
        elif isinstance(part, int | np.integer) and not isinstance(part, bool) and -size <= part < size:
            columns.append([int(part) % size, 1, 1, 1])
        else:
            raise _beyond(shape)
    if any(count == 0 for _, count, _, _ in columns):
        return LatticeBoxes.nothing(shape)
    start, count, step, width = np.array(columns, np.int64).reshape(len(shape), 4).T[:, None, :]
    axes = np.arange(len(shape))[None, :]
    return LatticeBoxes(shape, start, count, step, width, axes).normal()


def _beyond(shape: Sequence[int]) -> BadArgumentError:
    return BadArgumentError(
        f"a cell beyond an array of shape {tuple(shape)}", instead="Name cells by an index or a slice for each axis."
    )


def boxes_of_numbers(shape: Sequence[int], numbers: Numbers) -> LatticeBoxes:
    """Cells by their numbers in C order, ascending and different."""
    begins, ends = runs_in(numbers)
    line = LatticeBoxes.of_runs((math.prod(shape),), numbers[begins][:, None], numbers[ends][:, None])
    return merged(reshaped(line, shape))


def boxes_of_set(shape: Sequence[int], cells: LineageSet) -> LatticeBoxes:
    """Cells of a set, those of them that the array has."""
    size = math.prod(shape)
    inside = cells.below(size)
    if inside.cardinality <= LISTABLE:
        return boxes_of_numbers(shape, inside.ids())
    # Of nearly all cells those are listed that are missing.
    missing = (LineageSet.from_intervals(np.zeros(1, np.int64), np.array([size - 1])) - inside).ids()
    first, last = np.append(0, missing + 1), np.append(missing - 1, size - 1)
    return merged(reshaped(LatticeBoxes.of_runs((size,), first[:, None], last[:, None]), shape))


# ---------------------------------------------------------------- cells of boxes


def runs_of(boxes: LatticeBoxes) -> tuple[Numbers, Numbers]:
    """First and last number of the runs of cells in C order; ascending, and no two touch."""
    line = reshaped(boxes, (boxes.size,))
    line = line.unrolled(0, line.count[:, 0])[0]
    return merged_runs(line.start[:, 0], line.start[:, 0] + line.width[:, 0] - 1)


def set_of(boxes: LatticeBoxes) -> LineageSet:
    """The cells as a set of their numbers."""
    return LineageSet.from_intervals(*runs_of(boxes))


def numbers_of(boxes: LatticeBoxes) -> Numbers:
    """The cells' numbers in C order, ascending: int64, shape (cells,)."""
    return set_of(boxes).ids()


def mask_of(boxes: LatticeBoxes) -> npt.NDArray[np.bool_]:
    """A mask of the array's shape: which cells are in a box."""
    first, last = runs_of(boxes)
    change = np.zeros(boxes.size + 1, np.int8)
    change[first] = 1
    change[last + 1] = -1
    return np.cumsum(change[:-1], dtype=np.int8).astype(bool).reshape(boxes.shape)


def cells_in(boxes: LatticeBoxes) -> int:
    """How many different cells are in the boxes; counted box by box where these cannot overlap."""
    if len(boxes) > _FEW or _may_overlap(boxes):
        first, last = runs_of(boxes)
        return int((last - first + 1).sum())
    return sum(_volumes(boxes))


def _volumes(boxes: LatticeBoxes) -> list[int]:
    """How many pairs (run, place) each box has."""
    of_link = np.where(boxes.link == np.arange(boxes.axes), boxes.count, 1) * boxes.width
    return [math.prod(row) for row in of_link.tolist()]


def _may_overlap(boxes: LatticeBoxes) -> bool:
    # Linked runs meet each other only where they do on all axes; on a single axis they never do.
    apart = ~boxes.linked | (np.abs(boxes.step) >= boxes.width)
    group = boxes.link[:, :, None] == boxes.link[:, None, :]
    if not np.all(np.any(group & apart[:, None, :], axis=2)):
        return True
    first, last = boxes.first[:, None, :], boxes.last[:, None, :]
    meets = np.all((first <= last.swapaxes(0, 1)) & (first.swapaxes(0, 1) <= last), axis=2)
    return int(meets.sum()) > len(boxes)


# ---------------------------------------------------------------- fewer boxes


def merged(boxes: LatticeBoxes) -> LatticeBoxes:
    """Fewer boxes of the same cells: equal ones once, and those that touch along one axis as one.   [§V-B3]"""
    if len(boxes) < 2:
        return boxes
    if boxes.plain:
        corners = corners_of(boxes)
        if corners is not None:
            return boxes_of_corners(boxes.shape, merged_corners(corners))
        many = merged_many(boxes)
        if many is not None:
            return many
    for axis in reversed(range(boxes.axes)):
        boxes = _merged_along(boxes, axis)
    return boxes


def _merged_along(boxes: LatticeBoxes, axis: int) -> LatticeBoxes:
    alone = boxes.count[:, axis] == 1
    others = [each for each in range(boxes.axes) if each != axis]
    columns = [boxes.start, boxes.count, boxes.step, boxes.width, boxes.link]
    rest = np.concatenate([column[:, others] for column in columns], axis=1)
    mine = np.column_stack([column[:, axis] for column in columns])
    mine[alone] = [0, 1, 1, 1, axis]
    owner = _numbered(np.concatenate([rest, mine], axis=1))
    runs, last = boxes.start[:, axis], boxes.start[:, axis] + boxes.width[:, axis] - 1
    # Of lattices, that are equal but for nothing, one is kept; of single runs those that touch are one.
    first = sorted_distinct(np.unique(owner[~alone], return_index=True)[1])
    kept = boxes.take(np.flatnonzero(~alone)[first])
    group, low, high = merged_by(owner[alone], runs[alone], last[alone])
    of_group = np.zeros(int(owner.max(initial=0)) + 1, np.int64)
    of_group[owner[alone]] = np.flatnonzero(alone)
    made = boxes.take(of_group[group])
    start, width = made.start.copy(), made.width.copy()
    start[:, axis], width[:, axis] = low, high - low + 1
    return LatticeBoxes(boxes.shape, start, made.count, made.step, width, made.link).together(kept)


def _numbered(table: Numbers) -> Numbers:
    """The same number for rows that are equal."""
    number, numbers = np.zeros(table.shape[0], np.int64), 1
    for column in table.T if table.size else []:
        low = int(column.min())
        place, room = column - low, int(column.max()) - low + 1
        if room == 1:
            continue
        if numbers * room >= 1 << 62:  # then both are ranks, of which there are no more than rows
            (number, numbers), (place, room) = _ranked(number), _ranked(column)
        number, numbers = number * room + place, numbers * room
    return _ranked(number)[0]


def _ranked(column: Numbers) -> tuple[Numbers, int]:
    values, rank = np.unique(column, return_inverse=True)
    return rank, values.size
