"""Gather: one input cell for each output cell, as runs and packed, in blocks, against sets of pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import segment as segments
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.lattice_cells import boxes_of, numbers_of
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Segment
from tests.forward_lineage.relations import box_cases
from tests.forward_lineage.relations.forms import as_set
from udafs.errors import BadArgumentError


@st.composite
def indices(draw: st.DrawFn) -> tuple[list[int], int]:
    """Of each row an id or −1, in order, reversed, all alike, or by chance; and how many ids there are."""
    inputs = draw(st.integers(1, 12))
    stretch = st.tuples(st.integers(-1, inputs - 1), st.sampled_from([-1, 0, 1]), st.integers(1, 8))
    found: list[int] = []
    for first, step, length in draw(st.lists(stretch, max_size=6)):
        found += [min(max(first + step * place, -1), inputs - 1) for place in range(length)]
    return found, inputs


@settings(max_examples=40)
@given(st.data())
def test_questions(data: st.DataObject) -> None:
    index, inputs = data.draw(indices())
    block = data.draw(st.sampled_from([1, 1, 2, 3]))
    out_shape, in_shape = (len(index), block), (inputs * block,)
    relation = GatherRelation.from_index(out_shape, in_shape, index, block)
    pairs = {(r * block + t, each * block + t) for r, each in enumerate(index) if each >= 0 for t in range(block)}
    assert as_set(relation) == pairs and relation.last_row() == max((row for row, _ in pairs), default=-1)
    if index:
        asked = data.draw(box_cases.questions(out_shape))
        found = relation.backward_cells(asked)
        box_cases.assert_normal(found)
        cells = box_cases.cells_of(asked)
        assert box_cases.cells_of(found) == {into for out, into in pairs if out in cells}
        asked = data.draw(box_cases.questions(in_shape))
        cells = box_cases.cells_of(asked)
        assert box_cases.cells_of(relation.forward_cells(asked)) == {out for out, into in pairs if into in cells}
    back = segments.decode(segments.encode(Segment(0, 10**6, relation), "gather")).relation
    assert isinstance(back, GatherRelation) and as_set(back) == pairs and back.out_shape == out_shape


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_is_that_of_numpy(axis: int) -> None:
    x, index = np.arange(60).reshape(3, 4, 5), [2, 0, 0, 1]
    relation = GatherRelation.take(x.shape, axis, index)
    taken = np.take(x, index, axis)
    assert relation.out_shape == taken.shape
    assert relation == GatherRelation.from_index(taken.shape, x.shape, taken)


@settings(max_examples=40)
@given(st.data())
def test_whole_lanes_of_a_sort(data: st.DataObject) -> None:
    """A lane that is only put into another order answers for itself; one in which a cell comes twice does not."""
    shape = data.draw(box_cases.shapes(3, 5).filter(len))
    axis, rng = data.draw(st.integers(0, len(shape) - 1)), np.random.default_rng(data.draw(st.integers(0, 99)))
    order = np.argsort(rng.random(shape), axis=axis)
    if data.draw(st.booleans()):
        order = rng.integers(0, shape[axis], shape)
    index = np.take_along_axis(np.arange(order.size).reshape(shape), order, axis)
    relation = GatherRelation.from_index(shape, shape, index)
    lane = tuple(slice(None) if k == axis else data.draw(st.integers(0, n - 1)) for k, n in enumerate(shape))
    for asked in (boxes_of(shape, lane), data.draw(box_cases.questions(shape))):
        cells = numbers_of(asked)
        assert np.array_equal(numbers_of(relation.backward_cells(asked)), np.unique(index.reshape(-1)[cells]))
        assert np.array_equal(numbers_of(relation.forward_cells(asked)), np.flatnonzero(np.isin(index, cells)))


def test_linked_cells_of_a_block() -> None:
    rows = GatherRelation.take((4, 4), 0, [3, 2, 1, 0])
    same = boxes_of((16,), slice(0, 16, 5))  # the diagonal
    assert numbers_of(rows.backward_cells(same)).tolist() == [3, 6, 9, 12]


def test_the_smaller_way_is_held_and_written() -> None:
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((10_000, 10)), axis=0) * 10 + np.arange(10)
    ordered = GatherRelation.from_index((10_000, 10), (10_000, 10), order)
    rows = GatherRelation.from_index((10_000,), (20_000,), np.arange(10_000) + 5_000 * (np.arange(10_000) > 50))
    assert ordered.packed is not None and ordered.packed.nbytes == 400_000
    assert rows.packed is None and rows.first.size == 2
    # Of a column only the place in it is written: 14 bits of 10,000.
    assert len(segments.encode(Segment(0, 100_000, ordered), "gather")) < 1.05 * 100_000 * 14 / 8
    assert len(segments.encode(Segment(0, 10_000, rows), "gather")) < 60


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GatherRelation.from_index((3,), (3,), [0, 1]), "2 indices for 3 cells"),
        (lambda: GatherRelation.from_index((2,), (3,), [0, 3]), "indices beyond an input of 3 cells"),
        (lambda: GatherRelation.from_index((2,), (3,), [0.5, 1]), "no integers"),
        (lambda: GatherRelation.from_index((2,), (3,), [0], 2), "blocks of 2 cells in arrays of 2 and 3"),
        (lambda: GatherRelation.from_pairs((2,), (3,), [0, 0], [1, 2]), "several input cells"),
        (lambda: GatherRelation.from_pairs((2,), (3,), [2], [1]), "a cell beyond its array"),
        (lambda: GatherRelation.take((3, 2), 0, [-1]), "an index beyond axis 0 of 3 places"),
        (
            lambda: segments.encode(Segment(0, 2, RunsRelation.from_pairs([0, 0], [1, 2])), "gather"),
            "several input cells",
        ),
        (
            lambda: segments.encode(Segment(0, 9, BoxRelation.nothing((2**61,), (3,))), "boxes"),
            "an array of shape .* in a segment",
        ),
    ],
)
def test_what_is_refused(make: object, message: str) -> None:
    with pytest.raises(BadArgumentError, match=rf"{message}.*\. [A-Z].*\.$"):
        make()  # type: ignore[operator]


RUNS = GatherRelation.from_index((40,), (40,), [*range(20), *range(20)])
PACKED = GatherRelation.from_index((4,), (9,), [3, 8, 0, 5])


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (replace(RUNS, into=RUNS.into + 30), "ids of the input"),
        (replace(RUNS, first=RUNS.first[::-1]), "nothing is empty"),
        (replace(RUNS, last=RUNS.last + 1), "rows ascend"),
        (replace(RUNS, step=2), "runs"),
        (replace(PACKED, first=RUNS.first), "either runs or packed"),
        (replace(PACKED, in_shape=(5,)), "ids of the input"),
    ],
)
def test_a_structure_checks_itself(broken: GatherRelation, message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{message}"):
        broken.assert_consistent()
