"""Form 4 of a segment: a gather relation as columns, as runs or as a number for each cell, whichever is shorter.

varint axes of the output, its sizes; the same of the input; varint block; varint way, then of the ways
0, 1, 2: step within runs 0, 1, −1; varint runs, and columns: gaps between their rows; lengths − 1; first id of each, as
zigzag step from the last id of the run before
3: a column of id + 1 of each row, 0 for none
4 + axis: a column of the input's place on that axis + 1 of each row, 0 for none; its other places are the output's
"""

from __future__ import annotations

import math

import numpy as np

from forward_lineage.relations.boxes_bytes import read_shapes, summed, write_shapes
from forward_lineage.relations.columns import Reader, Writer, steps, zigzag
from forward_lineage.relations.gather import GatherRelation, runs_in
from forward_lineage.relations.relation import LineageRelation, Numbers
from udafs.errors import BadArgumentError

_STEPS = (0, 1, -1)
_WHOLE = 3
_PLACE = 4
#: Where one row in so many has an id, or more, a number may be written for each row.
SPARSEST = 4


def encode(relation: LineageRelation) -> bytes:
    """The columns of a relation, of one input cell for each output cell.

    Raises:
        BadArgumentError: an output cell has several, or arrays of more than 2^60 cells.

    """
    gather = relation if isinstance(relation, GatherRelation) else _gather_of(relation)
    writer = Writer()
    write_shapes(writer, gather.out_shape, gather.in_shape)
    writer.number(gather.block)
    row, ids = gather.blocks()
    ways = [_runs(row, ids)]
    outputs = math.prod(gather.out_shape) // gather.block
    if row.size * SPARSEST >= outputs:
        ways.append(_numbers(gather, row, ids, outputs))
    return writer.bytes() + min(ways, key=len)


def _gather_of(relation: LineageRelation) -> GatherRelation:
    rows, ids = relation.pairs()
    return GatherRelation.from_pairs((int(rows.max(initial=0)) + 1,), (int(ids.max(initial=0)) + 1,), rows, ids)


def _runs(row: Numbers, ids: Numbers) -> bytes:
    begins, ends, step = runs_in(ids, row)
    first, last, into = row[begins], row[ends], ids[begins]
    writer = Writer()
    writer.number(_STEPS.index(step))
    writer.number(begins.size)
    writer.column(first - np.append(-1, last)[: first.size] - 1)
    writer.column(last - first)
    writer.column(zigzag(into - np.append(0, into + step * (last - first))[: into.size]))
    return writer.bytes()


def _numbers(gather: GatherRelation, row: Numbers, ids: Numbers, outputs: int) -> bytes:
    writer = Writer()
    place, way = ids, _WHOLE
    for axis in range(len(gather.in_shape) if gather.block == 1 else 0):
        on_axis = _on_axis(gather, row, ids, axis)
        if on_axis is not None:
            place, way = on_axis, _PLACE + axis
            break
    column = np.zeros(outputs, np.int64)
    column[row] = place + 1
    writer.number(way)
    writer.column(column)
    return writer.bytes()


def _on_axis(gather: GatherRelation, row: Numbers, ids: Numbers, axis: int) -> Numbers | None:
    """The places on an axis, if cells only move along it; None if they move otherwise."""
    out, into = gather.out_shape, gather.in_shape
    if len(into) < 2 or out[:axis] != into[:axis] or out[axis + 1 :] != into[axis + 1 :]:
        return None
    place = ids // math.prod(into[axis + 1 :]) % into[axis]
    return place if np.array_equal(_ids(out, into, axis, row, place), ids) else None


def _ids(out: tuple[int, ...], into: tuple[int, ...], axis: int, row: Numbers, place: Numbers) -> Numbers:
    """The input cells at some places of an axis, and elsewhere where the output cells are."""
    behind = math.prod(into[axis + 1 :])
    found: Numbers = (row // (behind * out[axis]) * into[axis] + place) * behind + row % behind
    return found


def decode(reader: Reader, most_rows: int, pairs: int | None) -> GatherRelation:
    """The relation of some columns; see `runs_bytes.decode`.

    Raises:
        ValueError: they cannot be right.

    """
    out_shape, in_shape = read_shapes(reader)
    block, way = reader.number(), reader.number()
    if block < 1 or math.prod(out_shape) % block or math.prod(in_shape) % block:
        raise ValueError(f"blocks of {block} cells")
    outputs = math.prod(out_shape) // block
    if pairs is not None:  # each run has a pair; and numbers are written where a quarter of the rows has one
        reader.most_numbers = min(reader.most_numbers, pairs if way < _WHOLE else SPARSEST * pairs)
    try:
        if way < _WHOLE:
            return _of_runs(reader, out_shape, in_shape, block, _STEPS[way])
        column = reader.column(min(outputs, 1 << 62))
        row = np.flatnonzero(column)
        ids = column[row] - 1
        if way >= _PLACE:
            axis = way - _PLACE
            if block != 1 or axis >= len(in_shape) or len(out_shape) != len(in_shape):
                raise ValueError(f"places on axis {axis}")
            if out_shape[:axis] != in_shape[:axis] or out_shape[axis + 1 :] != in_shape[axis + 1 :]:
                raise ValueError("places on an axis of other arrays")
            if np.any(ids >= in_shape[axis]):
                raise ValueError("a place beyond the axis")
            ids = _ids(out_shape, in_shape, axis, row, ids)
        index = np.full(outputs, -1, np.int64)
        index[row] = ids
        return GatherRelation.from_index(out_shape, in_shape, index, block)
    except BadArgumentError as error:
        raise ValueError(error.what) from error


def _of_runs(
    reader: Reader, out_shape: tuple[int, ...], in_shape: tuple[int, ...], block: int, step: int
) -> GatherRelation:
    runs = reader.number()
    gap, length, moved = (reader.column(runs) for _ in range(3))
    first = summed(gap + 1 + np.append(0, length)[:runs]) - 1
    last = first + length
    if np.any(last < first):
        raise ValueError("a run beyond 62 bits")
    into = summed(steps(moved) + step * np.append(0, length)[:runs])
    end = into + step * length
    outputs, inputs = math.prod(out_shape) // block, math.prod(in_shape) // block
    if runs and (int(last[-1]) >= outputs or int(np.minimum(into, end).min()) < 0):
        raise ValueError("a run beyond its array")
    if runs and int(np.maximum(into, end).max()) >= inputs:
        raise ValueError("a run beyond its array")
    return GatherRelation(out_shape, in_shape, block, first, last, into, step, None)
