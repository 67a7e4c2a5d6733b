"""Pictures resized, flipped, thinned and smoothed in a row: questions against products of matrices of truth values."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.arrays.cells import Cells
from forward_lineage.relations import plain_boxes
from forward_lineage.relations.box_rows import BoxRow, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of
from tests.forward_lineage.relations.box_cases import assert_normal, cells_of

Mask = npt.NDArray[np.bool_]
Shape = tuple[int, ...]
Bound = tuple[int, int, int]
"""Scale, offset and divisor."""
#: Of each row its first and last place on output axis 0, and of each input axis both bounds.
Parts = list[tuple[int, int, list[tuple[Bound, Bound]]]]

sizes = st.integers(20, 130) | st.integers(1, 12) | st.integers(60, 130)


@st.composite
def bounds(draw: st.DrawFn, size: int, out_size: int) -> tuple[Bound, Bound]:
    """Those of one axis; some leave the input."""
    kind = draw(st.sampled_from(["resize", "resize", "flip", "thin", "window", "grow"]))
    offset, width = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    if kind == "resize":  # to less, mostly: then there are gaps
        back, size = draw(st.booleans()), size * draw(st.integers(1, 3))
        scale, start = (-size, (out_size - 1) * size) if back else (size, 0)
        return (scale, start, out_size), (scale, start + width * out_size // 2, out_size)
    if kind == "flip":
        return ((-1, size - 1, 1),) * 2
    if kind == "grow":
        return (4, offset, 1), (5, offset + width, 1)
    if kind == "thin":
        return ((draw(st.integers(1, 9)), offset - width, 1),) * 2
    scale, divisor = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    return (scale, offset - width, divisor), (scale, offset + width, divisor)


class Step:
    """A relation between two pictures, and what it means."""

    def __init__(self, out_shape: Shape, in_shape: Shape, along: Shape, parts: Parts) -> None:
        self.along = along  # of each input axis, the output axis that it moves with
        rows, self.truth = [], []
        for first, last, pairs in parts:
            into = [(Line(axis, *low), Line(axis, *high)) for axis, (low, high) in zip(along, pairs, strict=True)]
            rows.append(BoxRow([(first, last), (0, out_shape[1] - 1)], into))
            inside = np.zeros(out_shape, bool)
            inside[first : last + 1] = True
            sized = zip(along, in_shape, pairs, strict=True)
            self.truth.append((inside, [_matrix(out_shape[axis], size, *pair) for axis, size, pair in sized]))
        self.relation = BoxRelation.from_rows(out_shape, in_shape, rows)

    def backward(self, asked: Mask) -> Mask:
        """Which input cells, by the matrices."""
        return np.logical_or.reduce([self._below(asked & inside, *into) for inside, into in self.truth])

    def _below(self, asked: Mask, rows: Mask, columns: Mask) -> Mask:
        if self.along[0] != self.along[1]:
            return rows.T @ asked.transpose(self.along) @ columns
        return rows.T @ (asked.any(axis=1 - self.along[0])[:, None] & columns)

    def forward(self, asked: Mask) -> Mask:
        """Which output cells, by the matrices."""
        return np.logical_or.reduce([inside & self._above(asked, *into) for inside, into in self.truth])

    def _above(self, asked: Mask, rows: Mask, columns: Mask) -> Mask:
        if self.along[0] != self.along[1]:
            return (rows @ asked @ columns.T).transpose(self.along)
        return np.expand_dims(((rows @ asked) & columns).any(axis=1), 1 - self.along[0])


def _matrix(out_size: int, size: int, low: Bound, high: Bound) -> Mask:
    place, into = np.arange(out_size)[:, None], np.arange(size)
    below, above = ((scale * place + offset) // divisor for scale, offset, divisor in (low, high))
    found: Mask = (below <= into) & (into <= above)
    return found


@st.composite
def steps(draw: st.DrawFn, out_shape: Shape) -> Step:
    """One rule for the picture, or one for its upper and one for its lower half; some turn it, or make a diagonal."""
    in_shape = draw(sizes), draw(sizes)
    along = draw(st.sampled_from([(0, 1), (0, 1), (1, 0), (0, 0), (1, 1)]))
    cut = draw(st.just(out_shape[0]) | st.integers(1, out_shape[0]))
    halves = [(0, cut - 1), (cut, out_shape[0] - 1)][: 1 + (cut < out_shape[0])]
    parts = [
        (*half, [draw(bounds(size, out_shape[axis])) for axis, size in zip(along, in_shape, strict=True)])
        for half in halves
    ]
    return Step(out_shape, in_shape, along, parts)


@st.composite
def rectangles(draw: st.DrawFn, shape: Shape) -> LatticeBoxes:
    """Some, which may overlap; many go from one end to the other, or nearly so."""
    found = LatticeBoxes.nothing(shape)
    for _ in range(draw(st.integers(1, 3))):
        begin = [draw(st.just(0) | st.integers(0, n - 1)) for n in shape]
        ends = [draw(st.just(n) | st.integers(low + 1, n)) for low, n in zip(begin, shape, strict=True)]
        found = found.together(boxes_of(shape, tuple(map(slice, begin, ends))))
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_questions_along_pictures(data: st.DataObject) -> None:
    shape = data.draw(sizes), data.draw(sizes)
    path: list[Step] = []
    for _ in range(data.draw(st.integers(1, 3))):
        path.append(data.draw(steps(path[-1].relation.in_shape if path else shape)))
    cells = data.draw(rectangles(shape))
    wanted = Cells(cells).mask()
    with patch.object(plain_boxes, "MOST_FEW", data.draw(st.sampled_from([0, 64]))):
        for step in path:
            cells, wanted = step.relation.backward_cells(cells), step.backward(wanted)
            _assert_cells(cells, wanted)
        for step in reversed(path):
            cells, wanted = step.relation.forward_cells(cells), step.forward(wanted)
            _assert_cells(cells, wanted)


def _assert_cells(boxes: LatticeBoxes, wanted: Mask) -> None:
    """Whatever is done with an answer says the same."""
    assert_normal(boxes)
    answer, number = Cells(boxes), np.flatnonzero(wanted)
    assert np.array_equal(answer.mask(), wanted) and np.array_equal(answer.numbers(), number)
    assert np.array_equal(answer.indices(), np.argwhere(wanted))
    assert len(answer) == number.size and bool(answer) == bool(number.size)
    assert answer == Cells(boxes_of(wanted.shape, wanted))
    if number.size < 200:
        assert cells_of(boxes) == set(number.tolist())


#: Of 30 places: both bounds, into 100 cells.
AXES: dict[str, tuple[Bound, Bound]] = {
    "every third": ((3, 5, 1), (3, 5, 1)),
    "every third, some beyond either end": ((4, -9, 1), (4, -8, 1)),
    "backwards": ((-3, 95, 1), (-3, 96, 1)),
    "resized": ((100, 0, 30), (100, 0, 30)),
    "resized backwards": ((-100, 2900, 30), (-100, 2915, 30)),
    "resized beyond": ((135, -200, 31), (135, -180, 31)),
    "at two speeds": ((4, 0, 1), (5, 0, 1)),
    "with few gaps": ((7, 0, 3), (7, 3, 3)),
    "without gaps": ((3, 0, 1), (3, 2, 1)),
}


@pytest.mark.parametrize("name", AXES)
def test_an_axis_beside_each_other(name: str) -> None:
    for other in AXES.values():
        step = Step((30, 30), (100, 100), (0, 1), [(0, 29, [AXES[name], other])])
        for part in (slice(0, 30), slice(0, 17), slice(8, 10)):
            cells = boxes_of((30, 30), (part, slice(2, 20))).together(boxes_of((30, 30), (part, slice(21, 30))))
            _assert_cells(step.relation.backward_cells(cells), step.backward(Cells(cells).mask()))


def test_a_resized_picture_is_a_few_lattices() -> None:
    """The places 135 · t // 52 repeat after 52 of them; a lattice for each place of that would be 32 of 32."""
    frame = BoxRelation.rule((416, 416), (1080, 1920), [(Line(0, 135, 0, 52),) * 2, (Line(1, 60, 0, 13),) * 2])
    found = frame.backward_cells(boxes_of((416, 416), (slice(100, 132), slice(200, 232))))
    assert len(found) <= 64
    rows, columns = 135 * np.arange(100, 132) // 52, 60 * np.arange(200, 232) // 13
    assert np.array_equal(Cells(found).numbers(), (rows[:, None] * 1920 + columns).reshape(-1))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_more_pictures() -> None:
    inner: Any = test_questions_along_pictures

    @settings(max_examples=1500)
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        inner.hypothesis.inner_test(data)

    tried()
