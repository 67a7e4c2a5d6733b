"""Boxes of captured pairs: the encoder of ProvRC, without a loop over cells.   [Zhao 2024, §IV-A]

1. Sort the pairs. Merge the cells of the input into ranges, the last axis first, where all else is equal.
2. Merge the cells of the output into ranges, the last axis first, where each bound of the input either stays the same
   or moves by the same step from cell to cell. The paper's steps are 0 (absolute) and 1 (relative); what is left
   is tried with any other step, which four cells have to confirm.

No two rows have a pair in common, so decoding gives the pairs again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.box_rows import MOST_CELLS, Lines
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import Numbers, sorted_pairs
from udafs.errors import BadArgumentError

#: So many cells in a row have a step other than 0 and 1, or it is chance: boxes by chance are wide and lie over others.
LEAST_CELLS = 4
Flags = npt.NDArray[np.bool_]


def encode(out_shape: Sequence[int], in_shape: Sequence[int], rows: npt.ArrayLike, ids: npt.ArrayLike) -> BoxRelation:
    """The boxes of some pairs of cells: the paper's backward table.

    Args:
        out_shape: of the output.
        in_shape: of the input.
        rows: numbers of output cells in C order, shape (n,), in any order, repeated or not.
        ids: of each an input cell that it was made of.

    Raises:
        BadArgumentError: a cell is beyond its array, or what `sorted_pairs` raises.

    """
    row, cell, same = _sorted(rows, ids, max(math.prod(out_shape), math.prod(in_shape)))
    if row.size and (int(row[-1]) >= math.prod(out_shape) or int(cell.max()) >= math.prod(in_shape)):
        raise BadArgumentError("a cell beyond its array", instead="Number cells in C order, from 0.")
    if not row.size:
        return BoxRelation.nothing(out_shape, in_shape)
    table = _boxes_of(out_shape, in_shape, _Table.of_pairs(out_shape, in_shape, row, cell, same), bool(same.any()))
    return table.relation(tuple(out_shape), tuple(in_shape))


def _boxes_of(out_shape: Sequence[int], in_shape: Sequence[int], table: _Table, several: bool) -> _Table:
    """All merges; no two rows can have a range in common unless a cell of the output has `several` cells."""
    for axis in reversed(range(len(in_shape) - 1 if several else 0)):
        table = _inputs_merged(table, axis)
    for axis in reversed(range(len(out_shape))):
        in_order = not several and axis == len(out_shape) - 1
        table = _outputs_merged(table, axis, any_step=False, in_order=in_order)
    if math.prod(out_shape) < MOST_CELLS and math.prod(in_shape) < MOST_CELLS:
        for axis in reversed(range(len(out_shape))):
            table = _outputs_merged(table, axis, any_step=True)
    return table


def _sorted(rows: npt.ArrayLike, ids: npt.ArrayLike, most: int) -> tuple[Numbers, Numbers, Flags]:
    """As `sorted_pairs`, and which rows go on in the next pair; of arrays of `most` cells at most."""
    row, cell = np.asarray(rows), np.asarray(ids)
    known = row.dtype == cell.dtype == np.int64 and row.ndim == 1 and row.shape == cell.shape and row.size > 0
    bits = int(np.bitwise_or.reduce(row)) | int(np.bitwise_or.reduce(cell)) if known else -1
    if bits >= 0:
        short_row, short_cell = _short(row, cell, bits | most)
        same = short_row[1:] == short_row[:-1]
        falls = short_cell[1:] <= short_cell[:-1]
        falls &= same
        falls |= short_row[1:] < short_row[:-1]
        if not falls.any():
            return short_row, short_cell, same
    row, cell = sorted_pairs(rows, ids)
    row, cell = _short(row, cell, int(row[-1]) | int(cell.max()) | most) if row.size else (row, cell)
    return row, cell, row[1:] == row[:-1]


def _short(row: Numbers, cell: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """Both in 32 bits if all their bits are these: what is computed of them takes half the memory, and half as long."""
    return (row.astype(np.int32), cell.astype(np.int32)) if bits < 1 << 31 else (row, cell)


def encode_forward(
    out_shape: Sequence[int], in_shape: Sequence[int], rows: npt.ArrayLike, ids: npt.ArrayLike
) -> BoxRelation:
    """The paper's forward table: boxes of input cells, and the output cells made of each; the inverse of `encode`'s."""
    return encode(in_shape, out_shape, ids, rows)


def _places(shape: Sequence[int], numbers: Numbers) -> list[Numbers]:
    """The place on each axis of cells by their numbers; an axis of one place is one number, however many cells."""
    found: list[Any] = []
    rest: Any = numbers
    none = np.broadcast_to(np.int32(0), numbers.size)
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            found.append(none)
        elif math.prod(shape[:axis]) == 1:
            found.append(rest)
            rest = none
        else:
            ahead = rest // shape[axis]  # numpy divides by one number much faster than it does divmod
            found.append(rest - ahead * shape[axis])
            rest = ahead
    return found[::-1]


@dataclass(frozen=True)
class _Table:
    """Rows on their way to boxes, a column each of integers; those of places may have 32 bits.

    Attributes:
        first: first place of the output on each axis.
        last: the last one.
        bounds: lower and upper bound on each input axis in turn, at the first output cell of the row.
        along: the output axis that each bound moves with, −1 for none.
        step: by how much, from cell to cell.

    """

    first: list[Numbers]
    last: list[Numbers]
    bounds: list[Numbers]
    along: list[Numbers]
    step: list[Numbers]

    @classmethod
    def of_pairs(
        cls, out_shape: Sequence[int], in_shape: Sequence[int], row: Numbers, cell: Numbers, same: Flags
    ) -> _Table:
        """Pairs in their order; touching cells on the last axis of the input are one range already.

        `same` tells which pairs have the row of the one before.
        """
        end = None
        if in_shape:
            joined = (cell[1:] - cell[:-1] == 1) & same
            if joined.any():
                if math.prod(in_shape[:-1]) > 1:
                    joined &= cell[1:] % in_shape[-1] != 0  # the first of another row
                begins = np.flatnonzero(np.append(True, ~joined))
                end = cell[np.append(begins[1:], cell.size) - 1]
                row, cell = row[begins], cell[begins]
        out, into = _places(out_shape, row), _places(in_shape, cell)
        # What no row has changed yet is one number, however many rows there are.
        none, still = np.broadcast_to(np.int64(-1), row.size), np.broadcast_to(np.int64(0), row.size)
        bounds = [each for each in into for _ in range(2)]
        if end is not None:
            bounds[-1] = bounds[-2] + (end - cell)
        return cls(out, list(out), bounds, [none] * len(bounds), [still] * len(bounds))

    @property
    def rows(self) -> int:
        return int((self.first or self.bounds)[0].size) if self.first or self.bounds else 1

    def take(self, places: Numbers) -> _Table:
        parts = (self.first, self.last, self.bounds, self.along, self.step)
        known: dict[int, Numbers] = {}
        return _Table(*([known.setdefault(id(each), each[places]) for each in part] for part in parts))

    def relation(self, out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> BoxRelation:
        rows = self.rows
        first, last = (_stacked(part, rows) for part in (self.first, self.last))
        along, step, bounds = (_stacked(part, rows) for part in (self.along, self.step, self.bounds))
        at = np.maximum(along, 0)
        begin = np.take_along_axis(first, at, axis=1) if out_shape else np.zeros_like(at)
        offset = bounds - step * begin
        one = np.ones((rows, len(in_shape)), np.int64)
        low, high = (Lines(step[:, side::2], offset[:, side::2], one) for side in (0, 1))
        axis = np.maximum(along[:, 0::2], along[:, 1::2])
        # Of pairs that are there: no interval is empty or leaves the input, so nothing has to be checked.
        return BoxRelation(out_shape, in_shape, first, last, axis, low, high).settled()


def _stacked(columns: list[Numbers], rows: int) -> Numbers:
    return np.column_stack(columns).astype(np.int64) if columns else np.empty((rows, 0), np.int64)


# ---------------------------------------------------------------- ranges of the input


def _inputs_merged(table: _Table, axis: int) -> _Table:
    """Rows with touching ranges on an input axis, and equal ones elsewhere, as one."""
    low, high = table.bounds[2 * axis], table.bounds[2 * axis + 1]
    others = [*table.first, *(each for place, each in enumerate(table.bounds) if place // 2 != axis)]
    order = _order([*others, low])
    if order is not None:
        table = table.take(order)
        low, high = table.bounds[2 * axis], table.bounds[2 * axis + 1]
        others = [*table.first, *(each for place, each in enumerate(table.bounds) if place // 2 != axis)]
    joined = low[1:] - 1 == high[:-1]
    for column in _different(others):
        joined = joined & (column[1:] == column[:-1])
    if not np.any(joined):
        return table
    begins = np.flatnonzero(np.append(True, ~joined))
    ends = np.append(begins[1:], low.size) - 1
    made = table.take(begins)
    made.bounds[2 * axis + 1] = high[ends]
    return made


# ---------------------------------------------------------------- ranges of the output


def _outputs_merged(table: _Table, axis: int, *, any_step: bool, in_order: bool = False) -> _Table:
    """Rows of cells that follow each other on an output axis as one, where all bounds stay or move evenly.

    `in_order`: rows are in the order of the output's cells already, and no two are of one cell.
    """
    if table.rows < 2:
        return table
    table, layer = (table, np.broadcast_to(np.int64(0), table.rows)) if in_order else _by_layers(table, axis)
    joined, step = _steps(table, layer, axis, any_step=any_step)
    group = _groups(joined, step, LEAST_CELLS if any_step else 2)
    begins = np.flatnonzero(group)
    if begins.size == table.rows:
        return table
    ends = np.append(begins[1:], table.rows) - 1
    made = table.take(begins)
    made.last[axis] = table.last[axis][ends]
    many = ends > begins
    for place in range(len(made.bounds)):
        moved = np.zeros(begins.size, np.int64)
        moved[many] = step[place][begins[many]]
        made.step[place] = np.where(moved != 0, moved, made.step[place])
        made.along[place] = np.where(moved != 0, axis, made.along[place])
    return made


def _by_layers(table: _Table, axis: int) -> tuple[_Table, Numbers]:
    """Rows in the order of an output axis, all else of the output being equal; and the layer of each.

    Rows with one output box are in layers, by their inputs: the first of each cell, the second of each, and so on.
    """
    others = [
        each for place in range(len(table.first)) if place != axis for each in (table.first[place], table.last[place])
    ]
    order = _order([*others, table.first[axis], table.last[axis], *table.bounds])
    table = table if order is None else table.take(order)
    same = np.ones(table.rows - 1, bool)
    for column in _different([*table.first, *table.last]):
        same &= column[1:] == column[:-1]
    if not np.any(same):
        return table, np.broadcast_to(np.int64(0), table.rows)
    begins = np.flatnonzero(np.append(True, ~same))
    layer = np.arange(table.rows) - np.repeat(begins, np.diff(begins, append=table.rows))
    others = [
        each for place in range(len(table.first)) if place != axis for each in (table.first[place], table.last[place])
    ]
    order = _order([*others, layer, table.first[axis]])
    return (table, layer) if order is None else (table.take(order), layer[order])


def _steps(table: _Table, layer: Numbers, axis: int, *, any_step: bool) -> tuple[Flags, list[Numbers]]:
    """Mark the rows that go on in the next one, and give the step of each bound."""
    first, last = table.first[axis], table.last[axis]
    joined = (first[1:] - 1 == last[:-1]) & (first[:-1] == last[:-1]) & (first[1:] == last[1:])
    rest = [
        each for place in range(len(table.first)) if place != axis for each in (table.first[place], table.last[place])
    ]
    for column in _different([layer, *rest, *table.along, *table.step]):
        joined &= column[1:] == column[:-1]
    known = {id(each): each[1:] - each[:-1] for each in {id(each): each for each in table.bounds}.values()}
    step = [known[id(each)] for each in table.bounds]
    for moved, along, other in {
        (id(moved), id(along), id(other)): (moved, along, other)
        for moved, along, other in zip(step, table.along, _turned(table.along), strict=True)
    }.values():
        # The other bound of the axis: both move with one output axis.
        if along.strides == other.strides == (0,) and along[0] < 0 and other[0] < 0:
            if not any_step:
                joined &= moved >> 1 == 0
            continue
        free = (along[:-1] < 0) & (other[:-1] < 0)
        joined &= (moved == 0) | (free if any_step else free & (moved == 1))
    return joined, step


def _turned(pairs: Sequence[Numbers]) -> list[Numbers]:
    """The columns of both bounds of each axis the other way round."""
    return [pairs[place ^ 1] for place in range(len(pairs))]


def _groups(joined: Flags, step: list[Numbers], least: int) -> Flags:
    """Mark the rows that begin a group: at least so many rows that follow each other by the same steps, or one."""
    begins = joined.copy()  # a stretch of equal steps begins with this pair
    again = joined[1:] & joined[:-1]
    for moved in _different(step):
        again &= moved[1:] == moved[:-1]
    begins[1:] &= ~again
    cuts = np.flatnonzero(begins | ~joined)
    opens = begins[cuts]
    at = cuts[opens]
    length = (np.append(cuts[1:], joined.size)[: cuts.size] - cuts)[opens]  # in pairs
    # A stretch loses its first row to the one before, if that has kept it.
    follows = np.zeros(at.size, bool)
    follows[1:] = at[1:] == at[:-1] + length[:-1]
    kept = _kept(length, follows, least)
    lost = np.zeros(at.size, bool)
    lost[1:] = follows[1:] & kept[:-1]
    # No two groups share a row, so a row is behind as many beginnings as ends, or one more.
    change = np.zeros(joined.size + 2, np.int8)
    change[(at + lost)[kept] + 1] += 1
    change[(at + length)[kept] + 1] -= 1
    starts: Flags = np.cumsum(change[:-1], dtype=np.int8) == 0
    return starts


def _kept(length: Numbers, follows: Flags, least: int) -> Flags:
    """Mark stretches that have rows enough once the one before has taken its own; only the shortest depend on that.

    Of the shortest ones in a row every other is kept: the first one unless the stretch before it is.
    """
    rows = length + 1
    edge = rows == least
    kept: Flags = rows >= least
    # What a chain of shortest stretches begins with: one that follows nothing, or something that is no edge.
    chain = edge & follows
    chain[1:] &= edge[:-1]
    chain[:1] = False
    anchor = np.maximum.accumulate(np.where(edge & ~chain, np.arange(edge.size), 0))
    before = np.zeros(edge.size, bool)
    before[1:] = follows[1:] & kept[:-1] & ~edge[:-1]
    first_kept = ~before[anchor]
    odd = (np.arange(edge.size) - anchor) % 2 == 1
    return np.where(edge, first_kept ^ odd, kept)


# ---------------------------------------------------------------- orders


def _different(columns: Sequence[Numbers]) -> list[Numbers]:
    """Those of the columns that are not one number, each once."""
    found: dict[int, Numbers] = {}
    for column in columns:
        if column.strides != (0,):
            found.setdefault(id(column), column)
    return list(found.values())


def _order(columns: Sequence[Numbers]) -> Numbers | None:
    """The order of rows by some columns, the first one first; None where they are in order."""
    chosen = _different(columns)
    if _in_order(chosen):
        return None
    key = _packed(chosen)
    return np.lexsort(chosen[::-1]) if key is None else np.argsort(key, kind="stable")


def _in_order(columns: Sequence[Numbers]) -> bool:
    """Whether no row is smaller than the one before, by some columns, the first one first."""
    equal: Flags | None = None  # rows that are like the one before in all columns so far
    for column in columns:
        falls = column[1:] < column[:-1]
        if bool((falls if equal is None else falls & equal).any()):
            return False
        same = column[1:] == column[:-1]
        equal = same if equal is None else equal & same
    return True


def _packed(columns: Sequence[Numbers]) -> Numbers | None:
    """One number for several columns that orders rows as they do; None where 63 bits are too few."""
    sizes = [int(each.max(initial=0)) + 1 for each in columns]
    if math.prod(sizes) >= 1 << 63:
        return None
    key: Numbers = columns[0].astype(np.int32 if math.prod(sizes) < 1 << 31 else np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key *= size
        key += column.astype(key.dtype, copy=False)
    return key
