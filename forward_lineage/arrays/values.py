"""Rules by value: the input cells of an output cell, as masks, indices and groups tell them."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.shapes import (
    At,
    Flat,
    Rule,
    Steps,
    Stretch,
    along_axes,
    boxes,
    mapped,
    of_rows,
    product_rows,
    same,
)
from forward_lineage.relations.box_rows import BoxRow
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.runs import RunsRelation


def gather(index: npt.NDArray[np.integer]) -> Rule:
    """Each output cell, in C order, is the input cell of that flat index; nothing where it is −1."""
    return lambda out, into: (GatherRelation.from_index(out, into, index),)


def taken(axis: int, index: npt.NDArray[np.integer]) -> Rule:
    """An axis becomes those of some indices into it; what lies behind it moves as a block."""

    def rule(out: Shape, into: Shape) -> Steps:
        counted = np.where(index < 0, index + into[axis], index).astype(np.int64)
        if not prod(out) or not prod(into):
            return (BoxRelation.nothing(out, into),)
        return (GatherRelation.take(into, axis, counted),)

    return rule


def let_in(mask: npt.NDArray[np.bool_]) -> Rule:
    """The places of a mask of the input's first axes that are true, each with all that lies behind it."""

    def rule(out: Shape, into: Shape) -> Steps:
        if not prod(out) or not prod(into):
            return (BoxRelation.nothing(out, into),)
        return (GatherRelation.from_index(out, into, np.flatnonzero(mask), prod(into[mask.ndim :])),)

    return rule


def kept(mask: npt.NDArray[np.bool_]) -> Rule:
    """The same cell where a mask is true; nothing elsewhere."""

    def rule(out: Shape, into: Shape) -> Steps:
        if mask.all():
            return ()
        cells = np.flatnonzero(mask)
        return (GatherRelation.from_pairs(out, into, cells, cells),)

    return rule


def pairs(rows: npt.ArrayLike, ids: npt.ArrayLike) -> Rule:
    """Pairs of flat indices, of the output and of the input."""
    return lambda out, into: (RunsRelation.from_pairs(np.ravel(rows), np.ravel(ids)),)


def prefix(out: Shape, into: Shape) -> Steps:
    """Of one axis each index is made of those up to it."""
    return boxes(out, into, {0: [Stretch(0, out[0] - 1, {0: (0, At())})]})


def up_to_chosen(mask: npt.NDArray[np.generic], axis: int) -> Rule:
    """Output index i on an axis is the i-th true cell of a mask: the mask's cells up to that one decided it."""
    places = np.flatnonzero(mask)

    def rule(out: Shape, into: Shape) -> Steps:
        lane, flat = (out[axis % len(out)],), (prod(into),)
        return only_axis(axis)(out, lane) + gather(places)(lane, flat) + prefix(flat, flat)

    return rule


def only_axis(axis: int) -> Rule:
    """Of an output cell only its index on one axis, which is all that the input has."""
    return lambda out, into: boxes(out, into, {axis % len(out): same(0, into[0])})


def up_to_index(axis: int, index: Flat) -> Rule:
    """An output index on an axis stands for an index of a list; the list up to it decided that."""

    def rule(out: Shape, into: Shape) -> Steps:
        lane = (out[axis],)
        return only_axis(axis)(out, lane) + gather(index)(lane, into) + prefix(into, into)

    return rule


def placed(first: int, count: int) -> Rule:
    """A line of cells that lies in the output from an index on; what leaves the output is not there."""

    def rule(out: Shape, into: Shape) -> Steps:
        begin, end = max(first, 0), min(first + count, out[0])
        return boxes(out, (count,), {0: [Stretch(begin, end - 1, {0: (At(1, -first), At(1, -first))})]})

    return rule


def neighbours(low: Flat, high: Flat) -> Rule:
    """Two cells for each output cell, or one twice."""
    row = np.arange(low.size)
    return pairs(np.concatenate([row, row]), np.concatenate([low, high]))


def stretches_of_lanes(axis: int, first: Flat, last: Flat) -> Rule:
    """Index b of an axis is made of ``first[b]`` … ``last[b]`` of it."""

    def rule(out: Shape, into: Shape) -> Steps:
        rest = {k: same(k, into[k]) for k in range(len(into)) if k != axis}
        rows: list[BoxRow] = []
        for b, bounds in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            rows += product_rows(out, into, rest | {axis: [Stretch(b, b)]}, {axis: bounds})
        return of_rows(out, into, rows)

    return rule


def triangle(k: int, *, upper: bool) -> Rule:
    """The cells of a triangle of the last two axes."""

    def rule(out: Shape, into: Shape) -> Steps:
        if len(into) == 1:  # numpy repeats a line as a matrix first
            return triangle(k, upper=upper)(out, out) + boxes(out, into, {len(out) - 1: same(0, into[0])})
        row, column = len(into) - 2, len(into) - 1
        front = {axis: same(axis, into[axis]) for axis in range(row)}
        rows: list[BoxRow] = []
        for i in range(into[row]):
            first, last = (max(i + k, 0), into[column] - 1) if upper else (0, min(i + k, into[column] - 1))
            on = {row: [Stretch(i, i)], column: [Stretch(first, last, {column: (At(), At())})]}
            rows += product_rows(out, into, front | on, {row: (i, i)})
        return of_rows(out, into, rows)

    return rule


def on_diagonal(k: int) -> Rule:
    """A line of cells on a diagonal of a matrix of zeros."""

    def rule(out: Shape, into: Shape) -> Steps:
        rows: list[BoxRow] = []
        for i in range(into[0]):
            cell = {0: [Stretch(i + max(-k, 0), i + max(-k, 0))], 1: [Stretch(i + max(k, 0), i + max(k, 0))]}
            rows += product_rows(out, into, cell, {0: (i, i)})
        return of_rows(out, into, rows)

    return rule


def on_axis(axis: int, index: Flat) -> Rule:
    """Index b of an axis is ``index[b]`` of the input's, nothing where that is negative."""

    def rule(out: Shape, into: Shape) -> Steps:
        pieces = mapped(axis, index)
        if len(pieces) <= MOST_PIECES:
            return along_axes({axis: pieces})(out, into)
        if index.min() >= 0:
            return taken(axis, index)(out, into)
        cells = np.arange(prod(into)).reshape(into)
        found = np.take(cells, np.maximum(index, 0), axis=axis)
        off = np.expand_dims(index < 0, tuple(j for j in range(len(out)) if j != axis))
        return gather(np.where(off, -1, found))(out, into)

    return rule


#: Beyond this many boxes an index for each cell is shorter.
MOST_PIECES = 256
