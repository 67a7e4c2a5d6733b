"""Cells of its own row and parts of the fitted estimator that an output cell uses, as relations of few boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.shapes import Steps
from forward_lineage.relations.box_rows import BoxRow, Interval, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.run_arrays import ranges
from forward_lineage.relations.runs import RunsRelation

Values = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]

SEEN = 2
"""The last parts of every estimator: all that it was fitted on. The first stands for X, the second for y."""


@dataclass(frozen=True)
class Trained:
    """What the parts of a fitted estimator were made of.

    Attributes:
        of_x: from the parts, those of `SEEN` left out, to the cells of X; None: nothing.
        of_y: the same of y.

    """

    of_x: LineageRelation | None = None
    of_y: LineageRelation | None = None


@dataclass(frozen=True)
class Used:
    """What the cells of an output were made of.

    Attributes:
        row: from its cells to those of the array that the estimator was applied to.
        parts: from its cells to the parts of the estimator; None: to none.
        decided_by_x: whether all of the training X decided something.
        decided_by_y: the same of y.

    """

    row: Steps
    parts: Steps | None = None
    decided_by_x: bool = False
    decided_by_y: bool = False


@dataclass(frozen=True)
class Use:
    """An estimator that is applied to an array.

    Attributes:
        estimator: fitted.
        method: by which method.
        values: the array, of shape (rows, columns).
        out: shape of the output.
        parts: how many parts the estimator has, with those of `SEEN`.

    """

    estimator: Any
    method: str
    values: Values
    out: Shape
    parts: int

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.values)

    def whole_row(self) -> Steps:
        """Each cell of all of its own row."""
        return boxes(self.out, self.values.shape, [(Line(0), Line(0)), (0, self.values.shape[1] - 1)])

    def own_columns(self, columns: Sequence[Sequence[int]]) -> Steps:
        """Column k of the output of some columns of the same row."""
        into, width = self.values.shape, self.out[1]
        if list(map(tuple, columns)) == [(place,) for place in range(width)] and into == self.out:
            return boxes(self.out, into, [(Line(0), Line(0)), (Line(1), Line(1))])
        found = [
            BoxRow([(0, self.rows - 1), (place, place)], [(Line(0), Line(0)), span])
            for place, mine in enumerate(columns)
            for span in _spans(mine)
        ]
        return (BoxRelation.from_rows(self.out, into, found if prod(self.out) else []),)

    def parts_between(self, first: int, last: int) -> Steps:
        """Each cell of the same parts."""
        return boxes(self.out, (self.parts,), [(first, last)])

    def parts_of_columns(self, parts: Sequence[int]) -> Steps:
        """Column k of the output of part ``parts[k]``."""
        if list(parts) == list(range(self.out[1])):
            return boxes(self.out, (self.parts,), [(Line(1), Line(1))])
        rows = [BoxRow([(0, self.rows - 1), (place, place)], [(part, part)]) for place, part in enumerate(parts)]
        return (BoxRelation.from_rows(self.out, (self.parts,), rows if prod(self.out) else []),)

    def parts_of_rows(self, parts: Ids) -> Steps:
        """Row i of the output of the parts ``parts[i, :]``."""
        rows = np.repeat(np.arange(len(parts)), parts.shape[1])
        found = RunsRelation.from_pairs(rows, parts.reshape(-1))
        if len(self.out) == 1:
            return (found,)
        return *boxes(self.out, (self.rows,), [(Line(0), Line(0))]), found


def boxes(out: Shape, into: Shape, bounds: Sequence[Interval]) -> Steps:
    """One step of one rule for all cells, or of none where one side has no cells."""
    found = BoxRelation.rule(out, into, bounds) if prod(out) and prod(into) else BoxRelation.nothing(out, into)
    return (found,)


def part_boxes(parts: int, into: Shape, rows: Sequence[tuple[tuple[int, int], Sequence[Interval]]]) -> BoxRelation:
    """From some parts, first to last, to cells of a training array."""
    found = [BoxRow([between], bounds) for between, bounds in rows] if parts and prod(into) else []
    return BoxRelation.from_rows((parts,), into, found)


def everything(parts: int, first: int, last: int, into: Shape) -> BoxRelation:
    """Some parts of all cells of a training array."""
    return part_boxes(parts, into, [((first, last), [(0, size - 1) for size in into])] if last >= first else [])


def rows_of_x(parts: Ids, rows: Ids, width: int) -> RunsRelation:
    """Parts of whole rows of X, pairwise: part ``parts[i]`` of row ``rows[i]``."""
    cells = (rows[:, None] * width + np.arange(width)).reshape(-1)
    return RunsRelation.from_pairs(np.repeat(parts, width), cells)


def _spans(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Columns as stretches."""
    found: list[tuple[int, int]] = []
    for column in sorted(columns):
        if found and found[-1][1] == column - 1:
            found[-1] = (found[-1][0], column)
        else:
            found.append((column, column))
    return found


Outputs = Callable[[Use], Used]
__all__ = ["SEEN", "Ids", "Trained", "Use", "Used", "Values", "everything", "part_boxes", "ranges", "rows_of_x"]
