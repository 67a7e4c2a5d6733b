"""A lineage relation between the cells of two arrays as boxes: for whatever moves cells by a rule, not by values.

A row is an output box and, for each input axis, an interval between two bounds, constant or moving with one output
axis (`box_rows`). Rows and ids of the relation are flat C-order cell numbers. [Zhao 2024, §IV, ProvRC; ours has
scales and divisors besides]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from forward_lineage.relations import box_counts, box_pairs, box_questions, few_boxes
from forward_lineage.relations.box_rows import MOST_CELLS, BoxRow, BoxTable, Interval, Line, check_rows, columns_of
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of_set, merged, set_of
from forward_lineage.relations.lattice_shapes import reshaped
from forward_lineage.relations.plain_boxes import are_few
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation
from udafs.lineage_set import LineageSet


class BoxRelation(BoxTable, LineageRelation):
    """Rows of boxes; a pair may be in several rows.

    The shapes may be any that have as many cells as the arrays: `x.reshape(6)` of x of shape (2, 3) is the identity of
    two arrays of shape (6,), and `numpy.tile(x, 2)` of n cells reads the last axis of an output of shape (2, n).

    The attributes are those of `BoxTable`.
    """

    # ------------------------------------------------------------ made

    @classmethod
    def from_rows(cls, out_shape: Sequence[int], in_shape: Sequence[int], rows: Iterable[BoxRow]) -> Self:
        """The relation of some rows, which may overlap.

        Example: `BoxRelation.from_rows((3,), (3, 2), [BoxRow([(0, 2)], [(Line(0), Line(0)), (0, 1)])])` is that of
        a sum along axis 1.

        Raises:
            BadArgumentError: a row has too few axes, an interval that is empty for some of its cells, bounds that
                move with two output axes, or an output box that leaves the output.

        """
        columns = columns_of(list(rows), len(out_shape), len(in_shape))
        return cls.from_columns(out_shape, in_shape, columns)

    @classmethod
    def rule(cls, out_shape: Sequence[int], in_shape: Sequence[int], into: Sequence[Interval]) -> Self:
        """The relation of one rule for all output cells; see `BoxRow.into`."""
        return cls.from_rows(out_shape, in_shape, [BoxRow([(0, size - 1) for size in out_shape], into)])

    @classmethod
    def elementwise(cls, out_shape: Sequence[int], in_shape: Sequence[int]) -> Self:
        """Every output cell with the aligned one, as NumPy broadcasts the input to the output."""
        more = len(out_shape) - len(in_shape)
        into: list[Interval] = [
            (0, 0) if size == 1 else (Line(axis + more), Line(axis + more)) for axis, size in enumerate(in_shape)
        ]
        return cls.rule(out_shape, in_shape, into)

    @classmethod
    def nothing(cls, out_shape: Sequence[int], in_shape: Sequence[int]) -> Self:
        """Output cells that were made of no input cell."""
        return cls.from_rows(out_shape, in_shape, [])

    @classmethod
    def united(cls, parts: Sequence[BoxRelation]) -> BoxRelation:
        """The rows of all parts, which are at least one and of the same shapes; equal rows once."""
        return parts[0].of_table(np.unique(np.concatenate([part.table() for part in parts]), axis=0))

    # ------------------------------------------------------------ questions in place

    def backward_cells(self, cells: LatticeBoxes) -> LatticeBoxes:
        """The input cells that some output cells are made of, as boxes of `in_shape`; nothing is expanded.

        Args:
            cells: of an array with as many cells as the output; its shape may be another one.

        """
        return self._answered(reshaped(cells, self.out_shape), few_boxes.backward, box_questions.backward)

    def forward_cells(self, cells: LatticeBoxes) -> LatticeBoxes:
        """The output cells that are made of some input cells, as boxes of `out_shape`; nothing is expanded."""
        return self._answered(reshaped(cells, self.in_shape), few_boxes.forward, box_questions.forward)

    def _answered(
        self,
        cells: LatticeBoxes,
        of_few: Callable[[BoxTable, Sequence[few_boxes.Row], LatticeBoxes], LatticeBoxes | None],
        of_many: Callable[[BoxTable, LatticeBoxes], LatticeBoxes],
    ) -> LatticeBoxes:
        if self._is_identity:
            return cells
        few = of_few(self, self._few_rows, cells) if are_few(self.first.shape[0] * len(cells)) else None
        return merged(of_many(self, cells)) if few is None else few

    @cached_property
    def _few_rows(self) -> list[few_boxes.Row]:
        return few_boxes.rows_of(self)

    @cached_property
    def _is_identity(self) -> bool:
        """Whether every cell is made of itself, and of nothing else."""
        if self.out_shape != self.in_shape or self.first.shape[0] != 1:
            return False
        rule = BoxRelation.elementwise(self.out_shape, self.in_shape)
        return bool(np.array_equal(self.table(), rule.table()))

    # ------------------------------------------------------------ the whole

    @property
    def _far(self) -> bool:
        return max(math.prod(self.out_shape), math.prod(self.in_shape)) > MOST_CELLS

    @cached_property
    def _as_runs(self) -> RunsRelation:
        return RunsRelation.from_pairs(*self.pairs())

    @cached_property
    def cardinality(self) -> int:
        """See `LineageRelation`; counted by sums, not pair by pair, unless rows overlap."""
        if self._far or box_counts.may_overlap(self):
            return self._as_runs.cardinality
        return box_counts.pairs_of(self)

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`; more than 2^28 pairs are refused."""
        return box_pairs.listed(self)

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        if self._far:
            return self._as_runs.rows()
        return set_of(self.forward_cells(LatticeBoxes.everything(self.in_shape)))

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        if self._far:
            return self._as_runs.ids()
        return set_of(self.backward_cells(LatticeBoxes.everything(self.out_shape)))

    def counts(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`; output cells are listed, their pairs only where rows overlap."""
        if self._far or box_counts.may_overlap(self):
            return self._as_runs.counts()
        return box_counts.of_each_cell(self)

    def last_row(self) -> int:
        """The largest row that has an id; −1 when there is none."""
        weights = np.cumprod([1, *self.out_shape[:0:-1]])[::-1].astype(np.int64)[: len(self.out_shape)]
        return int((self.last @ weights).max(initial=-1))

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> LineageRelation:
        """See `LineageRelation`; what is left is runs."""
        if rows is None and ids is None:
            return self
        if self._far:
            return self._as_runs.restrict(rows=rows, ids=ids)
        asked = self.forward(ids) if ids is not None else self.rows()
        asked = asked if rows is None else asked & rows
        return self.of_cells(self._asked(asked)).restrict_runs(rows, ids)

    def restrict_runs(self, rows: LineageSet | None, ids: LineageSet | None) -> RunsRelation:
        """The pairs of some rows and ids, listed."""
        return self._as_runs.restrict(rows=rows, ids=ids)

    def of_cells(self, cells: LatticeBoxes) -> BoxRelation:
        """The relation of some output cells alone: all boxes, and none widened."""
        each = box_questions.no_lattice(reshaped(cells, self.out_shape))
        asked, row = box_questions.meeting(each.first, each.last, self.first, self.last, self.out_shape)
        part = self.take(row)
        first, last = np.maximum(each.first[asked], part.first), np.minimum(each.last[asked], part.last)
        cut = type(self)(self.out_shape, self.in_shape, first, last, part.axis, part.low, part.high)
        return BoxRelation.united([cut.settled()])

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        if self._far:
            return self._as_runs.backward(rows)
        return set_of(self.backward_cells(self._asked(rows)))

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        if self._far:
            return self._as_runs.forward(ids)
        return set_of(self.forward_cells(boxes_of_set(self.in_shape, ids)))

    def _asked(self, rows: LineageSet) -> LatticeBoxes:
        return boxes_of_set(self.out_shape, rows)

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """See `LineageRelation`."""
        self.__dict__.pop("_as_runs", None)

    def assert_consistent(self) -> None:
        """See `LineageRelation`."""
        rows, out_axes, in_axes = self.first.shape[0], len(self.out_shape), len(self.in_shape)
        assert self.first.shape == self.last.shape == (rows, out_axes), "a corner for each axis"
        assert all(each.shape == (rows, in_axes) for each in (self.axis, *self.low, *self.high)), "a bound for each"
        assert np.all(self.first >= 0) and np.all(self.first <= self.last), "no box is empty"
        assert np.all(self.last <= np.array([size - 1 for size in self.out_shape], np.int64)), "inside the output"
        assert np.all(self.low.divisor > 0) and np.all(self.high.divisor > 0), "divisors are positive"
        assert np.all((self.axis >= 0) == ((self.low.scale != 0) | (self.high.scale != 0))), "what moves has an axis"
        assert np.all(self.axis < max(out_axes, 1)), "an axis of the output"
        check_rows(self.first, self.last, self.axis, self.low, self.high)
