"""Form 3 of a segment: the rows of a box relation as columns.

varint axes of the output, its sizes; the same of the input; varint rows, then the columns
of each output axis: first place, as zigzag steps; last place − first place
of each input axis: output axis + 1, 0 for none; scale, offset, divisor − 1 of the lower bound, and how much
those of the upper bound differ, all as zigzag, the offsets as zigzag steps
"""

from __future__ import annotations

import math

import numpy as np

from forward_lineage.relations import box_counts, provrc
from forward_lineage.relations.box_rows import MOST_CELLS, Columns, Lines
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.columns import Reader, Writer, steps, zigzag
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.relation import LineageRelation, Numbers
from udafs.errors import BadArgumentError

#: NumPy has as many axes at most.
MOST_AXES = 64
#: Rows that share pairs are read where these are in so many rows on average; a few rows could promise billions.
MOST_SHARED = 64
#: Columns of zeros take no bytes, and a row has many.
MOST_ROWS = 1 << 24
#: A row that holds more pairs than this is shorter than their runs.
_FEW_PAIRS = 8


def encode(relation: LineageRelation) -> bytes:
    """The columns of a relation: of boxes as they are, of any other as `provrc` makes them.

    Raises:
        BadArgumentError: arrays of more than 2^60 cells.

    """
    boxes = relation if isinstance(relation, BoxRelation) else _boxes_of(relation)
    many = boxes.first.shape[0] > MOST_SHARED  # then a pair may be in more rows than that
    if many and box_counts.pairs_of(boxes) > MOST_SHARED * max(boxes.cardinality, 1):
        boxes = provrc.encode(boxes.out_shape, boxes.in_shape, *boxes.pairs())
    boxes = boxes if boxes.out_shape or boxes.in_shape else BoxRelation.united([boxes])
    if boxes.first.shape[0] > MOST_ROWS:
        raise BadArgumentError(
            f"{boxes.first.shape[0]} rows of boxes in a segment", instead="Save it in the form `runs`, or `gather`."
        )
    writer = Writer()
    write_shapes(writer, boxes.out_shape, boxes.in_shape)
    writer.number(boxes.first.shape[0])
    for sides in (_of_output(boxes), _of_input(boxes)):
        for columns in zip(*(each.T for each in sides), strict=True):  # of each axis in turn
            for column in columns:
                writer.column(column)
    return writer.bytes()


def _of_output(boxes: BoxRelation) -> list[Numbers]:
    """The columns of each output axis, shape (rows, output axes): the axes together, for rows are few mostly."""
    return [zigzag(_from_last(boxes.first)), boxes.last - boxes.first]


def _of_input(boxes: BoxRelation) -> list[Numbers]:
    low, high = boxes.low, boxes.high
    return [
        *(boxes.axis + 1, zigzag(low.scale), zigzag(_from_last(low.offset)), low.divisor - 1),
        *(zigzag(high.scale - low.scale), zigzag(_from_last(high.offset - low.offset))),
        zigzag(high.divisor - low.divisor),
    ]


def _from_last(numbers: Numbers) -> Numbers:
    """How much each row differs from the one before, the first from 0."""
    moved = numbers.copy()
    moved[1:] -= numbers[:-1]
    return moved


def can_hold(relation: BoxRelation | GatherRelation) -> bool:
    """Whether a segment can hold the shapes of both arrays."""
    return all(math.prod(shape) <= MOST_CELLS and len(shape) <= MOST_AXES for shape in relation.shapes)


def has_few_pairs(relation: BoxRelation) -> bool:
    """Whether the rows are many and hold a few pairs each: to list these then costs about as much as the rows."""
    rows = relation.first.shape[0]
    return bool(rows > MOST_SHARED) and box_counts.pairs_of(relation) <= _FEW_PAIRS * rows


def _boxes_of(relation: LineageRelation) -> BoxRelation:
    rows, ids = relation.pairs()
    return provrc.encode((int(rows.max(initial=0)) + 1,), (int(ids.max(initial=0)) + 1,), rows, ids)


def decode(reader: Reader, most_rows: int, pairs: int | None) -> BoxRelation:
    """The relation of some columns; see `runs_bytes.decode`.

    Raises:
        ValueError: they cannot be right.

    """
    out_shape, in_shape = read_shapes(reader)
    rows = reader.number()
    if pairs is not None:
        reader.most_numbers = min(reader.most_numbers, MOST_SHARED * max(pairs, 1))
    if rows > min(reader.most_numbers, MOST_ROWS if out_shape or in_shape else 1):
        raise ValueError(f"{rows} rows of boxes")
    first, last, low, high = [], [], [], []
    for _ in out_shape:
        first.append(summed(steps(reader.column(rows))))
        last.append(first[-1] + reader.column(rows))
    axis = []
    for _ in in_shape:
        axis.append(reader.column(rows) - 1)
        scale, offset, divisor = steps(reader.column(rows)), summed(steps(reader.column(rows))), reader.column(rows) + 1
        low.append((scale, offset, divisor))
        more, further, other = (steps(reader.column(rows)) for _ in range(3))
        high.append((scale + more, offset + summed(further), divisor + other))
    bounds = [Lines(*(_stacked([line[k] for line in side], rows) for k in range(3))) for side in (low, high)]
    axes = _stacked(axis, rows)
    _check(axes, bounds, len(out_shape), rows)
    try:
        corners = _stacked(first, rows), _stacked(last, rows)
        found = BoxRelation.from_columns(out_shape, in_shape, Columns(*corners, axes, bounds[0], bounds[1]))
        total = pairs if pairs is None else box_counts.pairs_of(found)
    except BadArgumentError as error:
        raise ValueError(error.what) from error
    if pairs is not None and total is not None and not pairs <= total <= MOST_SHARED * max(pairs, 1):
        raise ValueError(f"rows of {total} pairs, the manifest says {pairs}")
    return found


def _check(axis: Numbers, bounds: list[Lines], out_axes: int, rows: int) -> None:
    if rows and not out_axes and np.any(axis >= 0):
        raise ValueError("a bound that moves with an axis that is not there")
    if np.any(axis >= max(out_axes, 1)):
        raise ValueError("a bound that moves with an axis that is not there")
    if any(np.any(lines.divisor < 1) for lines in bounds):
        raise ValueError("a divisor below 1")
    moves = (bounds[0].scale != 0) | (bounds[1].scale != 0)
    if np.any(moves != (axis >= 0)):
        raise ValueError("a bound that moves without an axis, or an axis with which none moves")


def _stacked(columns: list[Numbers], rows: int) -> Numbers:
    return np.column_stack(columns) if columns else np.empty((rows, 0), np.int64)


# ---------------------------------------------------------------- what both forms between arrays begin with


def write_shapes(writer: Writer, out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> None:
    """How many axes the output has, and its sizes; the same of the input."""
    for shape in (out_shape, in_shape):
        if math.prod(shape) > MOST_CELLS or len(shape) > MOST_AXES:
            raise BadArgumentError(
                f"an array of shape {shape} in a segment", instead="Save it in the form `runs`: no array is so large."
            )
        writer.number(len(shape))
        for size in shape:
            writer.number(size)


def read_shapes(reader: Reader) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """See `write_shapes`."""
    found = []
    for _ in range(2):
        axes = reader.number()
        if axes > MOST_AXES:
            raise ValueError(f"an array of {axes} axes")
        found.append(tuple(reader.number() for _ in range(axes)))
        if math.prod(found[-1]) > MOST_CELLS:
            raise ValueError(f"an array of {math.prod(found[-1])} cells")
    return found[0], found[1]


def summed(moved: Numbers) -> Numbers:
    """Numbers from the steps between them, the first from 0; what 62 bits cannot hold is refused."""
    if float(np.abs(moved.astype(float)).sum()) >= 2.0**62:
        total = np.cumsum(moved.astype(object))
        if any(abs(each) >= 1 << 62 for each in total.tolist()):
            raise ValueError("a number beyond 62 bits")
    number: Numbers = np.cumsum(moved)
    return number
