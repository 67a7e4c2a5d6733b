"""The twelve operations of Table VII as relations between arrays, made of rules and of generated values.

The data sets are not to be had: masks are as many boxes as the issue says, groups and matches are drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from forward_lineage.relations.box_rows import BoxRow, Columns, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.provrc import encode
from tests.bench.arrays.rivals import ArrayRelation, Listed

SAME = Line(0), Line(0)
ACROSS = Line(1), Line(1)
IMAGE = (416, 416)


class Operation(NamedTuple):
    """One row of the table.

    Attributes:
        name: as in `paper.TABLE_7`.
        form: of the segment that keeps it.
        make: gives a relation for each input; what this takes is the price of capture.
        structured: whether the relation depends on shapes alone.

    """

    name: str
    form: str
    make: Callable[[], list[ArrayRelation]]
    structured: bool


def negative(rows: int = 10, columns: int = 100_000) -> list[ArrayRelation]:
    """−x."""
    return [BoxRelation.elementwise((rows, columns), (rows, columns))]


def addition() -> list[ArrayRelation]:
    """x + y."""
    return negative() + negative()


def aggregate(size: int = 1000) -> list[ArrayRelation]:
    """x.sum(axis=0)."""
    return [BoxRelation.rule((size,), (size, size), [(0, size - 1), SAME])]


def repetition(rows: int = 10, columns: int = 100_000) -> list[ArrayRelation]:
    """numpy.tile(x, (2, 2)); the output as four axes."""
    return [BoxRelation.rule((2, rows, 2, columns), (rows, columns), [ACROSS, (Line(3), Line(3))])]


def matrix_vector(size: int = 1000) -> list[ArrayRelation]:
    """a @ x."""
    return [
        BoxRelation.rule((size,), (size, size), [SAME, (0, size - 1)]),
        BoxRelation.rule((size,), (size,), [(0, size - 1)]),
    ]


def matrix_matrix(size: int = 1000) -> list[ArrayRelation]:
    """a @ b."""
    shape, whole = (size, size), (0, size - 1)
    return [BoxRelation.rule(shape, shape, [SAME, whole]), BoxRelation.rule(shape, shape, [whole, ACROSS])]


def sort(rows: int = 100_000, columns: int = 10) -> list[ArrayRelation]:
    """numpy.sort(x, axis=0)."""
    order = np.argsort(np.random.default_rng(7).random((rows, columns)), axis=0)
    return [GatherRelation.from_index((rows, columns), (rows, columns), order * columns + np.arange(columns))]


def parts_of_image(boxes: int, cells: int) -> list[tuple[int, int, int, int]]:
    """Disjoint boxes of the image: the largest is cut at random, until there are so many; then all are narrowed."""
    rng = np.random.default_rng(boxes)
    found = [(0, IMAGE[0] - 1, 0, IMAGE[1] - 1)]
    while len(found) < boxes:
        found.sort(key=lambda box: (box[1] - box[0] + 1) * (box[3] - box[2] + 1))
        top, bottom, left, right = found.pop()
        if bottom - top > right - left:
            cut = int(rng.integers(top + (bottom - top) // 3, bottom - (bottom - top) // 3))
            found += [(top, cut, left, right), (cut + 1, bottom, left, right)]
        else:
            cut = int(rng.integers(left + (right - left) // 3, right - (right - left) // 3))
            found += [(top, bottom, left, cut), (top, bottom, cut + 1, right)]
    share = cells / (IMAGE[0] * IMAGE[1])
    return [(a, b, c, c + max(round((d - c + 1) * share) - 1, 0)) for a, b, c, d in found]


def image_filter() -> list[ArrayRelation]:
    """Pixels of 30 boxes that are kept, by their values."""
    rows = [BoxRow([(a, b), (c, d)], [SAME, ACROSS]) for a, b, c, d in parts_of_image(30, 173_056)]
    return [BoxRelation.from_rows(IMAGE, IMAGE, rows)]


def explanation(boxes: int, pairs: int) -> list[ArrayRelation]:
    """Six numbers of a detection, from the pixels of some boxes."""
    rows = [BoxRow([(0, 5)], [(a, b), (c, d)]) for a, b, c, d in parts_of_image(boxes, pairs // 6)]
    return [BoxRelation.from_rows((6,), IMAGE, rows)]


def group_by(rows: int = 871_111, columns: int = 9, groups: int = 1000) -> list[ArrayRelation]:
    """Each column of a table by itself, grouped by a key of random rows; the pairs of the key's rows are encoded."""
    key = np.random.default_rng(11).integers(0, groups, rows)
    flat = encode((groups,), (rows,), key, np.arange(rows))
    first, last = (
        np.column_stack([each, np.full(each.size, end)])
        for each, end in ((flat.first[:, 0], 0), (flat.last[:, 0], columns - 1))
    )
    wide = [np.column_stack([each[:, 0], np.full(each.shape[0], other)]) for each, other in
            zip((flat.axis, *flat.low, *flat.high), (1, 1, 0, 1, 1, 0, 1), strict=True)]  # fmt: skip
    low, high = type(flat.low)(*wide[1:4]), type(flat.low)(*wide[4:])
    return [BoxRelation.from_columns((groups, columns), (rows, columns), Columns(first, last, wide[0], low, high))]


def inner_join(rows: int = 6_280_000) -> list[ArrayRelation]:
    """Both tables in the order of the key; 75.2 % of the rows of the one match, all rows of the other.

    What moves rows is a gather of whole rows; beside each other they are put by a rule.
    """
    left = np.flatnonzero(np.random.default_rng(13).random(int(rows / 0.752)) < 0.752)
    matched = left.size
    return [
        GatherRelation.take((int(rows / 0.752), 9), 0, left),
        BoxRelation.from_rows((matched, 13), (matched, 9), [BoxRow([(0, matched - 1), (0, 8)], [SAME, ACROSS])]),
        GatherRelation.take((matched, 4), 0, np.arange(matched)),
        BoxRelation.from_rows(
            (matched, 13), (matched, 4), [BoxRow([(0, matched - 1), (9, 12)], [SAME, (Line(1, 1, -9), Line(1, 1, -9))])]
        ),
    ]


def joined_pairs(relations: list[ArrayRelation]) -> list[Listed]:
    """What rivals have of an inner join: from either table to the result, without the step between."""
    found = []
    for gathered, placed in ((relations[0], relations[1]), (relations[2], relations[3])):
        (rows, columns), width = placed.out_shape, placed.in_shape[1]
        place, inside = int(placed.first[0, 1]), np.arange(width)  # type: ignore[union-attr]
        taken = gathered.blocks()[1]  # type: ignore[union-attr]
        moved = (np.arange(rows)[:, None] * columns + place + inside).reshape(-1)
        found.append(Listed(placed.out_shape, gathered.in_shape, moved, (taken[:, None] * width + inside).reshape(-1)))
    return found


OPERATIONS = [
    Operation("negative", "boxes", negative, True),
    Operation("addition", "boxes", addition, True),
    Operation("aggregate", "boxes", aggregate, True),
    Operation("repetition", "boxes", repetition, True),
    Operation("matrix · vector", "boxes", matrix_vector, True),
    Operation("matrix · matrix", "boxes", matrix_matrix, True),
    Operation("sort", "gather", sort, False),
    Operation("image filter", "boxes", image_filter, False),
    Operation("LIME", "boxes", lambda: explanation(201, 926_000), False),
    Operation("DRISE", "boxes", lambda: explanation(55, 346_000), False),
    Operation("group by", "boxes", group_by, False),
    Operation("inner join", "gather", inner_join, False),
]
