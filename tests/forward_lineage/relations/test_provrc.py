"""The encoder of captured pairs: decoding gives them again, whatever they are, and patterns come out as few rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import box_counts, provrc
from tests.forward_lineage.relations import box_cases
from tests.forward_lineage.relations.forms import as_set
from udafs.errors import BadArgumentError

small = box_cases.shapes(3, 5)


@st.composite
def captured(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], set[tuple[int, int]]]:
    """Pairs of a rule or two with some cells missing and some added, and pairs of chance."""
    out_shape, in_shape = draw(small), draw(small)
    outputs, inputs = int(np.prod(out_shape)), int(np.prod(in_shape))
    pairs = set(box_cases.pairs_of(out_shape, in_shape, draw(box_cases.rules(out_shape, in_shape, 2))))
    pair = st.tuples(st.integers(0, outputs - 1), st.integers(0, inputs - 1))
    return out_shape, in_shape, pairs ^ draw(st.sets(pair, max_size=draw(st.sampled_from([0, 2, 40]))))


@settings(max_examples=60)
@given(captured())
def test_decoding_gives_the_pairs_again(case: tuple[tuple[int, ...], tuple[int, ...], set[tuple[int, int]]]) -> None:
    out_shape, in_shape, pairs = case
    rows, ids = [row for row, _ in pairs], [each for _, each in pairs]
    backward = provrc.encode(out_shape, in_shape, rows, ids)
    assert as_set(backward) == pairs
    assert box_counts.pairs_of(backward) == len(pairs)  # each pair is in one row
    forward = provrc.encode_forward(out_shape, in_shape, rows, ids)
    assert as_set(forward) == {(each, row) for row, each in pairs}


@pytest.mark.parametrize(
    ("out_shape", "in_shape"),
    [((3_000_000_000,), (2, 2_000_000_000)), ((1 << 31,), (1 << 31,)), ((46_341, 46_341), (10,)), ((9,), (3, 1 << 40))],
)
def test_numbers_around_32_bits(out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> None:
    """Below 2^31 cells the encoder computes in 32 bits."""
    rng, (outputs, inputs) = np.random.default_rng(0), (math.prod(out_shape), math.prod(in_shape))
    rows = np.concatenate([np.arange(5), rng.integers(0, outputs, 50), np.arange(outputs - 5, outputs)])
    ids = np.concatenate([np.arange(5), rng.integers(0, inputs, 50), np.arange(inputs - 5, inputs)])
    in_order = np.lexsort((ids, rows))
    for order in (in_order, in_order[::-1]):
        found = provrc.encode(out_shape, in_shape, rows[order], ids[order])
        assert as_set(found) == set(zip(rows.tolist(), ids.tolist(), strict=True))


A = np.arange(600)
TRIANGLE = np.nonzero(np.tri(40))
#: Shapes, cells, and how many rows they make.
PATTERNS = {
    "one to one": ((20, 30), (20, 30), A, A, 1),
    "a sum": ((20,), (20, 30), A // 30, A, 1),
    "all to one": ((), (600,), A * 0, A, 1),
    "one to all": ((600,), (1,), A, A * 0, 1),
    "transpose": ((30, 20), (20, 30), A, A % 20 * 30 + A // 20, 1),
    "diagonal": ((600,), (600, 600), A, A * 601, 1),
    "reversed": ((600,), (600,), A, A[::-1], 1),
    "every third": ((200,), (600,), A[:200], 3 * A[:200], 1),
    "running": ((40,), (40,), *TRIANGLE, 1),
    "window": ((600,), (600,), np.r_[A, A[1:], A[:-1]], np.r_[A, A[1:] - 1, A[:-1] + 1], 3),
    "two of each": ((600,), (1200,), np.r_[A, A], np.r_[A, A + 600], 2),
    "rotation of a square": ((20, 20), (20, 20), A[:400], (19 - A[:400] % 20) * 20 + A[:400] // 20, 1),
    "three cells by chance": ((600,), (600,), A[:3], np.array([5, 599, 7]), 3),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_few_rows(name: str) -> None:
    out_shape, in_shape, rows, ids, wanted = PATTERNS[name]
    found = provrc.encode(out_shape, in_shape, rows, ids)
    assert found.first.shape[0] == wanted
    assert as_set(found) == set(zip(rows.tolist(), ids.tolist(), strict=True))


def test_groups_of_random_rows_make_no_boxes_by_chance() -> None:
    """Steps that a few cells have by chance would make wide boxes over others, and counting would list all pairs."""
    group = np.random.default_rng(4).integers(0, 200, 20_000)
    found = provrc.encode((200,), (20_000,), group, np.arange(20_000))
    assert not box_counts.may_overlap(found) and set(found.low.scale.ravel().tolist()) <= {0, 1}


def test_what_the_published_code_gets_wrong() -> None:
    """A diagonal is no box, the last row of a forward table is there, and rows that merge lose no cell."""
    two = np.arange(2)
    assert as_set(provrc.encode((2,), (2, 2), two, 3 * two)) == {(0, 0), (1, 3)}
    assert as_set(provrc.encode_forward((2,), (2, 2), two, 3 * two)) == {(0, 0), (3, 1)}
    ragged = {(0, 0), (0, 1), (1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (3, 0)}
    found = provrc.encode((4,), (5,), [row for row, _ in ragged], [each for _, each in ragged])
    assert as_set(found) == ragged


def test_cells_beyond_an_array() -> None:
    with pytest.raises(BadArgumentError, match="a cell beyond its array"):
        provrc.encode((2,), (2,), [2], [0])
