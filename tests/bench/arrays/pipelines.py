"""The three pipelines of Fig. 8, each a path of relations from the first array.   [Zhao 2024, Table VIII]"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.box_rows import BoxRow, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from tests.bench.arrays.operations import ACROSS, IMAGE, SAME, explanation
from tests.bench.arrays.rivals import ArrayRelation

#: Steps from the first array to the last; of each the relations whose union it is.
Path = list[list[ArrayRelation]]


def image() -> Path:
    """Resize, brighten, rotate, flip, explain."""
    frame, (rows, columns) = (1080, 1920), IMAGE
    nearest = [(Line(0, frame[0], 0, rows),) * 2, (Line(1, frame[1], 0, columns),) * 2]
    return [
        [BoxRelation.rule(IMAGE, frame, nearest)],
        [BoxRelation.elementwise(IMAGE, IMAGE)],
        [BoxRelation.rule(IMAGE, IMAGE, [ACROSS, (Line(0, -1, rows - 1),) * 2])],
        [BoxRelation.rule(IMAGE, IMAGE, [SAME, (Line(1, -1, columns - 1),) * 2])],
        list(explanation(201, 926_000)),
    ]


def relational(matched: int) -> Path:
    """Join two tables, leave out columns with NaN, add two columns, one-hot encode one, add a constant to one."""
    total, kinds = int(matched / 0.752), 28
    left = np.flatnonzero(np.random.default_rng(13).random(total) < 0.752)
    rows = left.size
    every = (0, rows - 1)
    kept = [0, 1, 2, 3, 5, 7, 8, 9, 11, 12]
    columns = [BoxRow([every, (place, place)], [SAME, (column, column)]) for place, column in enumerate(kept)]
    sums = [
        BoxRow([every, (0, 9)], [SAME, ACROSS]),
        BoxRow([every, (10, 10)], [SAME, (3, 3)]),
        BoxRow([every, (10, 10)], [SAME, (4, 4)]),
    ]
    coded = [BoxRow([every, (0, 10)], [SAME, ACROSS]), BoxRow([every, (11, 10 + kinds)], [SAME, (5, 5)])]
    last = (rows, 11 + kinds)
    return [
        [GatherRelation.take((total, 9), 0, left)],
        [BoxRelation.from_rows((rows, 13), (rows, 9), [BoxRow([every, (0, 8)], [SAME, ACROSS])])],
        [BoxRelation.from_rows((rows, 10), (rows, 13), columns)],
        [BoxRelation.from_rows((rows, 11), (rows, 10), sums)],
        [BoxRelation.from_rows(last, (rows, 11), coded)],
        [BoxRelation.elementwise(last, last)],
    ]


def resnet() -> Path:
    """Convolve, normalise, rectify, convolve, normalise, add, rectify: seven steps of a block, on one channel."""
    window = [(Line(0, 1, -1), Line(0, 1, 1)), (Line(1, 1, -1), Line(1, 1, 1))]
    convolve = [BoxRelation.rule(IMAGE, IMAGE, window)]
    same = [BoxRelation.elementwise(IMAGE, IMAGE)]
    return [convolve, same, same, convolve, same, same, same]  # type: ignore[list-item]
