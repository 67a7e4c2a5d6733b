"""Boxes: every rule against sets of pairs where these can be listed, against islpy's relations where they cannot."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import algebra, plain_boxes
from forward_lineage.relations import segment as segments
from forward_lineage.relations.box_rows import BoxRow, Interval, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of, cells_in, mask_of, merged, numbers_of, set_of
from forward_lineage.relations.lattice_shapes import reshaped
from forward_lineage.relations.segment import Segment
from tests.forward_lineage.relations import box_cases
from tests.forward_lineage.relations.box_cases import Rows, assert_normal, cells_of, isl_map, isl_set, questions, rules
from tests.forward_lineage.relations.forms import as_set
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet

Shape = tuple[int, ...]
some = settings(max_examples=30)
small = box_cases.shapes(3, 5)


@some
@given(st.data())
def test_a_rule_is_a_set_of_pairs(data: st.DataObject) -> None:
    out_shape, in_shape = data.draw(small), data.draw(small)
    rows = data.draw(rules(out_shape, in_shape))
    relation, pairs = BoxRelation.from_rows(out_shape, in_shape, rows), box_cases.pairs_of(out_shape, in_shape, rows)
    assert as_set(relation) == pairs
    found = dict(zip(*(each.tolist() for each in relation.counts()), strict=True))
    assert found == Counter(row for row, _ in pairs)
    back = segments.decode(segments.encode(Segment(0, 10**6, relation), "boxes")).relation
    assert isinstance(back, BoxRelation) and as_set(back) == pairs
    assert (back.out_shape, back.in_shape) == (out_shape, in_shape)


@some
@given(st.data())
def test_questions_are_answered_exactly(data: st.DataObject) -> None:
    out_shape, in_shape = data.draw(small), data.draw(small)
    rows = data.draw(rules(out_shape, in_shape))
    relation, pairs = BoxRelation.from_rows(out_shape, in_shape, rows), box_cases.pairs_of(out_shape, in_shape, rows)
    asked, other = data.draw(questions(out_shape)), data.draw(questions(in_shape))
    for few in (0, 64):  # so many boxes are gone through in Python
        with patch.object(plain_boxes, "MOST_FEW", few):
            _assert_answers(relation, pairs, asked, other)


def _assert_answers(
    relation: BoxRelation, pairs: set[tuple[int, int]], asked: LatticeBoxes, other: LatticeBoxes
) -> None:
    found = relation.backward_cells(asked)
    assert_normal(found)
    wanted = cells_of(asked)
    assert cells_of(found) == set(numbers_of(found).tolist()) == {into for out, into in pairs if out in wanted}
    assert cells_in(found) == len(cells_of(found)) and np.array_equal(np.flatnonzero(mask_of(found)), numbers_of(found))
    for question in (found, other):  # the first one may have links
        wanted, answer = cells_of(question), relation.forward_cells(question)
        assert_normal(answer)
        assert cells_of(answer) == {out for out, into in pairs if into in wanted}


@some
@given(st.data())
def test_large_arrays_as_islpy_has_them(data: st.DataObject) -> None:
    """Axes of a million cells: an answer has as many boxes as there are rows and residues, not as there are cells."""
    out_shape, in_shape = data.draw(box_cases.shapes(2, 10**6)), data.draw(box_cases.shapes(2, 10**6))
    rows = [row for row in data.draw(rules(out_shape, in_shape, 2)) if even(row)]
    relation, theirs = BoxRelation.from_rows(out_shape, in_shape, rows), isl_map(out_shape, in_shape, rows)
    asked = data.draw(questions(out_shape))
    with patch.object(plain_boxes, "MOST_FEW", data.draw(st.sampled_from([0, 64]))):
        found = relation.backward_cells(asked)
        assert isl_set(found).is_equal(isl_set(asked).apply(theirs)) and len(found) < 400
        for question in (found, data.draw(questions(in_shape))):  # the first one may have links
            back = relation.forward_cells(question)
            assert isl_set(back).is_equal(isl_set(question).apply(theirs.reverse())) and len(back) < 4000


def even(row: BoxRow) -> bool:
    """Whether an interval keeps its length, or one of its bounds; otherwise answers have a box for each cell."""
    moving = [pair for pair in row.into if any(isinstance(each, Line) for each in pair)]
    steady = [
        pair for pair in moving if all(isinstance(each, Line) for each in pair)
        and pair[0].scale * pair[1].divisor == pair[1].scale * pair[0].divisor  # type: ignore[union-attr]
    ]  # fmt: skip
    axes = [next(each.axis for each in pair if isinstance(each, Line)) for pair in moving]
    return len(steady) == len(moving) or (
        len(set(axes)) == len(axes) and all(_constant(pair) for pair in moving if pair not in steady)
    )


def _constant(pair: Interval) -> bool:
    return any(not isinstance(each, Line) for each in pair)


@settings(max_examples=30)
@given(st.data())
def test_paths_as_islpy_composes_them(data: st.DataObject) -> None:
    shapes = [data.draw(box_cases.shapes(2, 8)) for _ in range(4)]
    steps = [(out, into, data.draw(rules(out, into, 2))) for out, into in pairwise(shapes)]
    relations = [BoxRelation.from_rows(*step) for step in steps]
    asked = data.draw(questions(shapes[0]))
    found, theirs = asked, isl_set(asked)
    for relation, step in zip(relations, steps, strict=True):
        found, theirs = relation.backward_cells(found), theirs.apply(isl_map(*step))
    assert isl_set(found).is_equal(theirs)
    whole = isl_map(*steps[0]).apply_range(isl_map(*steps[1])).apply_range(isl_map(*steps[2]))
    assert isl_set(found).is_equal(isl_set(asked).apply(whole))
    composed = algebra.compose(algebra.compose(relations[0], relations[1]), relations[2])
    assert composed.backward(set_of(asked)) == set_of(found)


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("sum", "square window"),
        ("diagonal", "square window"),
        ("window", "window"),
        ("stride", "repeat"),
        ("flip", "cumulative"),
        ("transpose", "transpose"),
        ("pooling", "flip"),
    ],
)
def test_rules_are_composed_in_place(upper: str, lower: str) -> None:
    """Of a million cells on an axis, and what the window of a window leaves out at the ends is left out."""
    first, second = one_row(upper), one_row(lower)
    if first[1] != second[0]:  # a repeat goes on with a third of the cells
        second = (first[1], second[1], [BoxRow([(0, first[1][0] - 1)], second[2][0].into)])
    found = algebra.compose(BoxRelation.from_rows(*first), BoxRelation.from_rows(*second))
    assert isinstance(found, BoxRelation)
    whole = isl_map(*first).apply_range(isl_map(*second))
    for part in (slice(1, 9), slice(None), slice(0, None, 2)):
        asked = boxes_of(first[0], part)
        assert isl_set(found.backward_cells(asked)).is_equal(isl_set(asked).apply(whole))


def test_a_composition_that_is_no_box_is_listed() -> None:
    """Every other cell of a window: the cells between are in no interval."""
    window = BoxRelation.rule((8,), (8,), [NEAR])
    apart = BoxRelation.rule((8,), (16,), [(Line(0, 2), Line(0, 2))])
    found = algebra.compose(window, apart)
    assert not isinstance(found, BoxRelation)
    assert numbers_of(apart.backward_cells(window.backward_cells(boxes_of((8,), 4)))).tolist() == [6, 8, 10]
    assert found.backward(set_of(boxes_of((8,), 4))) == set_of(boxes_of((16,), slice(6, 11, 2)))


@some
@given(st.data())
def test_reshaped(data: st.DataObject) -> None:
    factors = data.draw(st.lists(st.integers(1, 4), max_size=4))
    cuts = [sorted(data.draw(st.sets(st.integers(0, len(factors)), max_size=3))) for _ in range(2)]
    one, other = (tuple(int(np.prod(part)) for part in np.split(np.array(factors, int), cut)) for cut in cuts)
    boxes = data.draw(questions(one))
    diagonal = BoxRelation.rule((min(one, default=1),), one, [(Line(0), Line(0))] * len(one))
    for each in (boxes, diagonal.backward_cells(LatticeBoxes.everything(diagonal.out_shape))):
        for few in (0, 64):
            with patch.object(plain_boxes, "MOST_FEW", few):
                found = reshaped(each, other)
                assert_normal(found)
                assert found.shape == other and cells_of(found) == cells_of(each)
                assert_normal(merged(found))
                assert cells_of(merged(found)) == cells_of(each)


# ---------------------------------------------------------------- what is promised of a size


N = 10**6
SAME = Line(0), Line(0)
NEAR = Line(0, 1, -1), Line(0, 1, 1)
#: Operations on large arrays: shapes, rule, pairs.
STRUCTURED: dict[str, tuple[Shape, Shape, list[Interval], int]] = {
    "negative": ((N, N), (N, N), [SAME, (Line(1), Line(1))], N**2),
    "sum": ((N,), (N, N), [(0, N - 1), SAME], N**2),
    "matmul": ((N, N), (N, N), [SAME, (0, N - 1)], N**3),
    "transpose": ((N, N), (N, N), [(Line(1), Line(1)), SAME], N**2),
    "tile": ((2, N, 2, N), (N, N), [(Line(1), Line(1)), (Line(3), Line(3))], 4 * N**2),
    "diagonal": ((N,), (N, N), [SAME, SAME], N),
    "flip": ((N,), (N,), [(Line(0, -1, N - 1), Line(0, -1, N - 1))], N),
    "stride": ((N // 3,), (N,), [(Line(0, 3), Line(0, 3))], N // 3),
    "cumulative": ((N,), (N,), [(0, Line(0))], N * (N + 1) // 2),
    "window": ((N,), (N,), [NEAR], 3 * N - 2),
    "repeat": ((3 * N,), (N,), [(Line(0, 1, 0, 3), Line(0, 1, 0, 3))], 3 * N),
    "pooling": ((N // 4,), (N,), [(Line(0, 4), Line(0, 4, 3))], N),
    "square window": ((N, N), (N, N), [NEAR, (Line(1, 1, -1), Line(1, 1, 1))], (3 * N - 2) ** 2),
    "band": ((N,), (N, N), [NEAR, SAME], 3 * N - 2),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_operations_do_not_grow(name: str) -> None:
    out_shape, in_shape, into, pairs = STRUCTURED[name]
    relation = BoxRelation.rule(out_shape, in_shape, into)
    assert len(segments.encode(Segment(0, N**3, relation), "boxes")) <= 200
    assert Segment(0, N**3, relation).nbytes < 1_000
    assert relation.cardinality == pairs
    for part in (slice(1, 9), slice(None), slice(0, None, 2)):
        found = relation.backward_cells(boxes_of(out_shape, part))
        back = relation.forward_cells(boxes_of(in_shape, part))
        assert len(found) <= 8 and len(back) <= 8
        assert isl_set(found).is_equal(isl_set(boxes_of(out_shape, part)).apply(isl_map(*one_row(name))))
        assert isl_set(back).is_equal(isl_set(boxes_of(in_shape, part)).apply(isl_map(*one_row(name)).reverse()))


def one_row(name: str) -> tuple[Shape, Shape, Rows]:
    out_shape, in_shape, into, _ = STRUCTURED[name]
    return out_shape, in_shape, [BoxRow([(0, size - 1) for size in out_shape], into)]


def test_a_diagonal_is_not_a_square() -> None:
    diagonal = BoxRelation.rule((2,), (2, 2), [SAME, SAME])
    found = diagonal.backward_cells(LatticeBoxes.everything((2,)))
    assert (len(found), cells_in(found), numbers_of(found).tolist()) == (1, 2, [0, 3])
    assert not diagonal.forward_cells(boxes_of((2, 2), (0, 1)))


def test_what_is_too_large_to_list_is_counted_and_asked() -> None:
    product = BoxRelation.rule((1000, 1000), (1000, 1000), [SAME, (0, 999)])
    assert product.cardinality == 10**9 and len(product.backward(LineageSet([5]))) == 1000
    with pytest.raises(BadArgumentError, match=r"about 1e\+09 pairs is too large to list\. Ask it for boxes of cells"):
        product.pairs()


def test_rows_that_overlap_are_counted_once() -> None:
    rows = [BoxRow([(0, 3)], [(0, 3)]), BoxRow([(2, 5)], [(2, 5)])]
    relation = BoxRelation.from_rows((6,), (6,), rows)
    assert relation.cardinality == len(relation) == 28 and relation == relation.restrict(rows=relation.rows())
    assert algebra.union([relation, relation]).cardinality == 28


@pytest.mark.parametrize(
    ("out_shape", "in_shape", "row", "message"),
    [
        ((3,), (3,), BoxRow([(0, 3)], [SAME]), "leaves the output"),
        ((3,), (3,), BoxRow([(0, 2)], [(2, Line(0))]), "an interval of row 0 is empty"),
        ((3,), (3,), BoxRow([(0, 2)], []), "1 output and 0 input axes for 1 and 1"),
        ((3, 3), (3,), BoxRow([(0, 2), (0, 2)], [(Line(0), Line(1, 1, 9))]), "move with two output axes"),
        ((3,), (3,), BoxRow([(0, 2)], [(Line(0, 1, 0, 0),) * 2]), "a divisor of 0"),
        ((3,), (3,), BoxRow([(0, 2)], [(Line(0, 2**62),) * 2]), "64-bit integers cannot hold"),
        ((3,), (3,), BoxRow([(0, 2)], [(Line(1),) * 2]), "move with output axis 1"),
    ],
)
def test_rows_that_are_refused(out_shape: Shape, in_shape: Shape, row: BoxRow, message: str) -> None:
    with pytest.raises(BadArgumentError, match=rf"{message}.*\. [A-Z].*\.$"):
        BoxRelation.from_rows(out_shape, in_shape, [row])


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (5, [20, 21, 22, 23]),
        ((-1, slice(1, None, 2)), [21, 23]),
        ((..., 0), [0, 4, 8, 12, 16, 20]),
        ((slice(4, 1, -2), slice(2)), [8, 9, 16, 17]),
        (slice(3, 3), []),
        (np.arange(24).reshape(6, 4) % 7 == 0, [0, 7, 14, 21]),
        (np.array([[0, 1], [-1, -1], [0, 1]]), [1, 23]),
    ],
)
def test_cells_as_they_are_named(cells: object, wanted: list[int]) -> None:
    found = boxes_of((6, 4), cells)  # type: ignore[arg-type]
    assert_normal(found)
    assert sorted(cells_of(found)) == numbers_of(found).tolist() == wanted


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((6,), "beyond an array of shape"),
        ((0, 0, 0), "3 indices for 2 axes"),
        (np.ones((4, 6), bool), "a mask of shape"),
        (np.array([[6, 0]]), "beyond an array"),
        (np.array([1.5]), "cells as float64"),
    ],
)
def test_cells_that_are_refused(cells: object, message: str) -> None:
    with pytest.raises(BadArgumentError, match=rf"{message}.*\. [A-Z].*\.$"):
        boxes_of((6, 4), cells)  # type: ignore[arg-type]


# ---------------------------------------------------------------- more of the same, seldom


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "test",
    [
        test_a_rule_is_a_set_of_pairs,
        test_questions_are_answered_exactly,
        test_large_arrays_as_islpy_has_them,
        test_paths_as_islpy_composes_them,
        test_reshaped,
    ],
)
def test_many_more_of(test: Any) -> None:
    @settings(max_examples=1500)
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        test.hypothesis.inner_test(data)

    tried()
