"""A lineage relation between the cells of two arrays where values decide: sort, fancy indexing, masks.

Each output cell is made of one input cell or of none. They are held as runs (cells that follow each other come from
cells that do, or all from one), or as packed integers, whichever takes fewer bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.lattice import LatticeBoxes, Shape
from forward_lineage.relations.lattice_cells import boxes_of_numbers, boxes_of_set, merged, numbers_of, runs_of, set_of
from forward_lineage.relations.lattice_shapes import reshaped
from forward_lineage.relations.relation import LineageRelation, Numbers, sorted_pairs
from forward_lineage.relations.run_arrays import ranges
from forward_lineage.relations.runs import RunsRelation
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet
from udafs.sorted_ids import sorted_distinct

#: So many different parts of blocks are asked for one by one; beyond that, cell by cell.
_FEW = 64
#: Ids of so many times as many cells are sorted by writing them to their places.
_SPARSE = 8


@dataclass(frozen=True, eq=False)
class GatherRelation(LineageRelation):
    """One input cell for each output cell, or none.

    Attributes:
        out_shape: of the output.
        in_shape: of the input.
        block: so many cells that follow each other in the output follow each other in the input, too: `x[[4, 2]]` of
            a matrix moves whole rows. Rows and ids below count blocks.
        first: first row of each run, ascending, int64, shape (runs,); empty where `packed` is used.
        last: the last one.
        into: the id of the first row of each run.
        step: what is added to the id from row to row of a run: 1, 0 or −1.
        packed: the id of each row, −1 for none, shape (rows,); None where runs are used.

    """

    out_shape: Shape
    in_shape: Shape
    block: int
    first: Numbers
    last: Numbers
    into: Numbers
    step: int
    packed: npt.NDArray[np.signedinteger] | None

    # ------------------------------------------------------------ made

    @classmethod
    def from_index(
        cls, out_shape: Sequence[int], in_shape: Sequence[int], index: npt.ArrayLike, block: int = 1
    ) -> Self:
        """The relation of an index of each output cell.

        Args:
            out_shape: of the output.
            in_shape: of the input.
            index: the number of the input cell, in C order, of each output cell, −1 for none; of blocks of cells if
                `block` is more than 1. Integers of any shape that has as many as there are output cells, or blocks.
            block: see the attributes.

        Raises:
            BadArgumentError: another number of them, numbers beyond the input, or blocks that do not fit.

        """
        flat = np.asarray(index).reshape(-1)
        outputs, inputs = _blocks(out_shape, in_shape, block)
        if flat.size != outputs:
            raise BadArgumentError(f"{flat.size} indices for {outputs} cells", instead="Give one for each output cell.")
        if flat.size and (flat.dtype.kind not in "iu" or int(flat.min()) < -1 or int(flat.max()) >= inputs):
            raise BadArgumentError(
                f"indices beyond an input of {inputs} cells, or no integers",
                instead="Give the number of a cell in C order, or −1 for none.",
            )
        narrow: npt.NDArray[np.signedinteger] = flat.astype(np.int32 if inputs < 1 << 31 else np.int64)
        begins, ends, step = runs_in(narrow)
        kept = flat[begins] >= 0
        begins, ends = begins[kept], ends[kept]
        runs = begins, ends, flat[begins].astype(np.int64), step
        packed = narrow if narrow.nbytes < 24 * begins.size else None
        return cls._of(out_shape, in_shape, block, runs, packed)

    @classmethod
    def from_pairs(
        cls, out_shape: Sequence[int], in_shape: Sequence[int], rows: npt.ArrayLike, ids: npt.ArrayLike
    ) -> Self:
        """The relation of some output cells, each with its input cell; the others have none.

        Raises:
            BadArgumentError: an output cell has several, or a cell is beyond its array.

        """
        row, cell = sorted_pairs(rows, ids)
        if np.any(np.diff(row) == 0):
            raise BadArgumentError("an output cell of several input cells", instead="Use boxes or runs for these.")
        outputs, inputs = _blocks(out_shape, in_shape, 1)
        if row.size and (int(row[-1]) >= outputs or int(cell.max()) >= inputs):
            raise BadArgumentError("a cell beyond its array", instead="Number cells in C order, from 0.")
        begins, ends, step = runs_in(cell, row)
        narrow = np.dtype(np.int32 if inputs < 1 << 31 else np.int64)
        runs = row[begins], row[ends], cell[begins], step
        packed = None
        if outputs * narrow.itemsize < 24 * begins.size:
            packed = np.full(outputs, -1, narrow)
            packed[row] = cell
        return cls._of(out_shape, in_shape, 1, runs, packed)

    @classmethod
    def take(cls, in_shape: Sequence[int], axis: int, index: npt.ArrayLike) -> Self:
        """The relation of `numpy.take(x, index, axis)`, of indices from 0; whole blocks move behind the axis."""
        chosen = np.asarray(index).astype(np.int64)
        before, block = math.prod(in_shape[:axis]), math.prod(in_shape[axis + 1 :])
        if chosen.size and (int(chosen.min()) < 0 or int(chosen.max()) >= in_shape[axis]):
            raise BadArgumentError(
                f"an index beyond axis {axis} of {in_shape[axis]} places", instead="Count from 0, from the front."
            )
        out_shape = (*in_shape[:axis], *chosen.shape, *in_shape[axis + 1 :])
        rows = np.arange(before)[:, None] * in_shape[axis] + chosen.reshape(1, -1)
        if not math.prod(out_shape):
            rows = rows[:0]
        return cls.from_index(out_shape, in_shape, rows, max(block, 1))

    @classmethod
    def _of(
        cls,
        out_shape: Sequence[int],
        in_shape: Sequence[int],
        block: int,
        runs: tuple[Numbers, Numbers, Numbers, int],
        packed: npt.NDArray[np.signedinteger] | None,
    ) -> Self:
        none = np.empty(0, np.int64)
        step = runs[3]
        first, last, into = runs[:3] if packed is None else (none, none, none)
        return cls(tuple(out_shape), tuple(in_shape), block, first, last, into, step, packed)

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        """Of the output and of the input."""
        return self.out_shape, self.in_shape

    # ------------------------------------------------------------ blocks

    def blocks(self) -> tuple[Numbers, Numbers]:
        """Rows that have an id, and their ids, in blocks."""
        if self.packed is not None:
            row = np.flatnonzero(self.packed >= 0)
            return row, self.packed[row].astype(np.int64)
        length = self.last - self.first + 1
        row = ranges(self.first, length)
        return row, np.repeat(self.into - self.step * self.first, length) + self.step * row

    def _ids_of(self, first: Numbers, last: Numbers) -> Numbers:
        """The ids of rows in some intervals, which ascend and do not overlap; ascending, each once."""
        if self.packed is not None:
            found = self.packed[ranges(first, last - first + 1)].astype(np.int64)
            return sorted_distinct(found[found >= 0])
        run = np.searchsorted(self.last, first)
        count = np.maximum(np.searchsorted(self.first, last, side="right") - run, 0)
        met, asked = ranges(run, count), np.repeat(np.arange(first.size), count)
        begin, end = np.maximum(first[asked], self.first[met]), np.minimum(last[asked], self.last[met])
        low, high = self.into[met] + self.step * (begin - self.first[met]), end - begin
        low = low - high if self.step < 0 else low
        return sorted_distinct(ranges(low, (high if self.step else np.zeros_like(high)) + 1))

    def _rows_of(self, first: Numbers, last: Numbers) -> Numbers:
        """The rows that have an id in some intervals, which ascend and do not overlap; ascending."""
        if self.packed is not None:
            order, known = self._by_id
            begin, end = np.searchsorted(known, first), np.searchsorted(known, last, side="right")
            return np.sort(order[ranges(begin, end - begin)])
        length = self.last - self.first
        low = self.into - (length if self.step < 0 else 0)
        high = low + (length if self.step else 0)
        asked = np.searchsorted(last, low)
        count = np.maximum(np.searchsorted(first, high, side="right") - asked, 0)
        met, run = ranges(asked, count), np.repeat(np.arange(low.size), count)
        if not self.step:
            return ranges(self.first[run], length[run] + 1)
        begin, end = np.maximum(first[met], low[run]), np.minimum(last[met], high[run])
        row = self.first[run] + (begin - low[run] if self.step > 0 else high[run] - end)
        return np.sort(ranges(row, end - begin + 1))

    @cached_property
    def _by_id(self) -> tuple[Numbers, Numbers]:
        """The rows in the order of their ids, and these ids."""
        row, ids = self.blocks()
        inputs = math.prod(self.in_shape) // self.block
        if inputs <= _SPARSE * row.size:
            place = np.full(inputs, -1)
            place[ids] = row
            known = np.flatnonzero(place >= 0)
            if known.size == ids.size:  # each id once, as of a sort: its row lies at its place
                return place[known], known
        order = np.argsort(ids, kind="stable")
        return row[order], ids[order]

    # ------------------------------------------------------------ questions in place

    def backward_cells(self, cells: LatticeBoxes) -> LatticeBoxes:
        """The input cells that some output cells are made of, as boxes of `in_shape`."""
        return self._asked(cells, self.out_shape, self.in_shape, backward=True)

    def forward_cells(self, cells: LatticeBoxes) -> LatticeBoxes:
        """The output cells that are made of some input cells, as boxes of `out_shape`."""
        return self._asked(cells, self.in_shape, self.out_shape, backward=False)

    def _asked(self, cells: LatticeBoxes, mine: Shape, theirs: Shape, *, backward: bool) -> LatticeBoxes:
        if not math.prod(mine) or not math.prod(theirs):
            return LatticeBoxes.nothing(theirs)
        if self.block == 1:
            whole, cells = self._whole_lanes(reshaped(cells, mine))
            if not cells:
                return whole
            rest = boxes_of_numbers(theirs, self._other_side(*runs_of(cells), backward=backward))
            return merged(whole.together(rest)) if whole else rest
        blocks, found = math.prod(theirs) // self.block, []
        each = reshaped(cells, (math.prod(mine) // self.block, self.block))
        if np.any(each.linked):
            each = each.unrolled(0, each.count[:, 0])[0].normal()
        inside = np.column_stack([column[:, 1] for column in (each.start, each.count, each.step, each.width)])
        parts, of_part = np.unique(inside, axis=0, return_inverse=True)
        if parts.shape[0] > _FEW:
            return self._cell_by_cell(cells, theirs, backward=backward)
        for number in range(parts.shape[0]):
            places = np.flatnonzero(of_part.reshape(-1) == number)
            start, count, step, width, link = (column[places, :1] for column in _columns(each))
            outer = LatticeBoxes((each.shape[0],), start, count, step, width, link)
            line = boxes_of_numbers((blocks,), self._other_side(*runs_of(outer), backward=backward))
            inner = [np.full((len(line), 1), value) for value in parts[number].tolist()]
            start, count, step, width = (
                np.concatenate([a, b], axis=1) for a, b in zip(_columns(line)[:4], inner, strict=True)
            )
            axes = np.broadcast_to([0, 1], (len(line), 2))
            found.append(LatticeBoxes((blocks, self.block), start, count, step, width, axes))
        whole = LatticeBoxes.nothing((blocks, self.block))
        for part in found:
            whole = whole.together(part)
        return merged(reshaped(whole.normal(), theirs))

    def _whole_lanes(self, cells: LatticeBoxes) -> tuple[LatticeBoxes, LatticeBoxes]:
        """Boxes of whole lanes of a sort, which are made of themselves, and all others."""
        axis = self._lane
        if axis is None:
            return cells.take(np.zeros(0, np.int64)), cells
        size = self.out_shape[axis]
        whole = (cells.start[:, axis] == 0) & (cells.count[:, axis] == 1) & (cells.width[:, axis] == size)
        return cells.take(np.flatnonzero(whole)), cells.take(np.flatnonzero(~whole))

    @cached_property
    def _lane(self) -> int | None:
        """The axis along which each lane holds all cells of its own, in another order; None: there is none."""
        if self.packed is None or self.out_shape != self.in_shape or self.block > 1:
            return None
        for axis, size in enumerate(self.out_shape):
            behind = math.prod(self.out_shape[axis + 1 :])
            ids = self.packed.reshape(-1, size, behind)
            if _stay_in_lanes(ids[:1]) and _stay_in_lanes(ids):
                seen = np.zeros(ids.size, bool)
                seen[self.packed] = True
                return axis if bool(seen.all()) else None
        return None

    def _other_side(self, first: Numbers, last: Numbers, *, backward: bool) -> Numbers:
        return self._ids_of(first, last) if backward else self._rows_of(first, last)

    def _cell_by_cell(self, cells: LatticeBoxes, theirs: Shape, *, backward: bool) -> LatticeBoxes:
        row, ids = self.blocks()
        mine, other = (row, ids) if backward else (ids, row)
        wanted = numbers_of(cells)
        order = np.argsort(mine, kind="stable")
        begin = np.searchsorted(mine[order], wanted // self.block)
        end = np.searchsorted(mine[order], wanted // self.block, side="right")
        found = other[order][ranges(begin, end - begin)] * self.block + np.repeat(wanted % self.block, end - begin)
        return boxes_of_numbers(theirs, sorted_distinct(found))

    # ------------------------------------------------------------ the whole

    @property
    def cardinality(self) -> int:
        """See `LineageRelation`."""
        rows = int((self.packed >= 0).sum()) if self.packed is not None else int((self.last - self.first + 1).sum())
        return rows * self.block

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        return self._cells(*self.blocks())

    def _cells(self, row: Numbers, ids: Numbers) -> tuple[Numbers, Numbers]:
        inside = np.arange(self.block)
        return (row[:, None] * self.block + inside).reshape(-1), (ids[:, None] * self.block + inside).reshape(-1)

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet(self.pairs()[0])

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet(self.pairs()[1])

    def counts(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        row, _ = self.pairs()
        return row, np.ones_like(row)

    def last_row(self) -> int:
        """The largest row that has an id; −1 when there is none."""
        row = self.last if self.packed is None else np.flatnonzero(self.packed >= 0)
        return int(row[-1]) * self.block + self.block - 1 if row.size else -1

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> LineageRelation:
        """See `LineageRelation`; what is left is runs."""
        return self if rows is None and ids is None else RunsRelation.of(self).restrict(rows=rows, ids=ids)

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        return set_of(self.backward_cells(boxes_of_set(self.out_shape, rows)))

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        return set_of(self.forward_cells(boxes_of_set(self.in_shape, ids)))

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """See `LineageRelation`."""
        self.__dict__.pop("_by_id", None)
        self.__dict__.pop("_lane", None)

    def assert_consistent(self) -> None:
        """See `LineageRelation`."""
        outputs, inputs = _blocks(self.out_shape, self.in_shape, self.block)
        if self.packed is not None:
            assert not self.first.size and self.packed.shape == (outputs,), "either runs or packed"
            assert np.all((self.packed >= -1) & (self.packed < inputs)), "ids of the input"
            return
        assert self.first.shape == self.last.shape == self.into.shape and self.step in (-1, 0, 1), "runs"
        assert np.all(self.first >= 0) and np.all(self.first <= self.last), "nothing is empty"
        assert np.all(self.first[1:] > self.last[:-1]) and (not self.last.size or self.last[-1] < outputs), (
            "rows ascend"
        )
        end = self.into + self.step * (self.last - self.first)
        assert np.all((np.minimum(end, self.into) >= 0) & (np.maximum(end, self.into) < inputs)), "ids of the input"


def _blocks(out_shape: Sequence[int], in_shape: Sequence[int], block: int) -> tuple[int, int]:
    outputs, inputs = math.prod(out_shape), math.prod(in_shape)
    if block < 1 or outputs % block or inputs % block:
        raise BadArgumentError(
            f"blocks of {block} cells in arrays of {outputs} and {inputs}", instead="Let blocks fill both arrays."
        )
    return outputs // block, inputs // block


def _stay_in_lanes(ids: npt.NDArray[np.signedinteger]) -> bool:
    """Whether ids of shape (in front, lane, behind) are cells of the lane that they stand in."""
    front, size, behind = ids.shape
    row = ids // behind
    inside = ids - row * behind == np.arange(behind, dtype=ids.dtype)
    of_lane = row // size == np.arange(front, dtype=ids.dtype)[:, None, None]
    return bool(inside.all() and of_lane.all())


def _columns(boxes: LatticeBoxes) -> tuple[Numbers, ...]:
    return boxes.start, boxes.count, boxes.step, boxes.width, boxes.link


def runs_in(ids: npt.NDArray[np.signedinteger], rows: Numbers | None = None) -> tuple[Numbers, Numbers, int]:
    """Where runs begin and end, and the step within them that gives the fewest."""
    if not ids.size:
        return np.empty(0, np.int64), np.empty(0, np.int64), 1
    move, rest = ids[1:] - ids[:-1], None
    if int(ids.min()) < 0:
        rest = (ids[1:] >= 0) & (ids[:-1] >= 0)
    if rows is not None:
        follows = rows[1:] - rows[:-1] == 1
        rest = follows if rest is None else rest & follows
    most, best, chosen = -1, 1, np.zeros(0, bool)
    for step in (1, 0, -1):
        together = move == step
        if rest is not None:
            together &= rest
        count = int(np.count_nonzero(together))
        if count > most:
            most, best, chosen = count, step, together
    begins = np.flatnonzero(np.append(True, ~chosen))
    return begins, np.append(begins[1:], ids.size) - 1, best
