"""Rows that have a partner, against trying every pair; values of two attributes on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.profiling import pairs
from forward_lineage.profiling.codes import encoded
from forward_lineage.profiling.joint import joined, ranked
from forward_lineage.profiling.pairs import Comparison, Sides, with_partner
from udafs.errors import NotTracedError

OPERATORS = st.sampled_from(["<", "<=", ">", ">=", "<>"])


@st.composite
def matchings(draw: st.DrawFn, comparisons: int) -> tuple[Sides, list[Comparison]]:
    groups = draw(st.integers(1, 3))
    sizes = draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))

    def numbers(size: int, most: int) -> np.ndarray:
        return np.array(draw(st.lists(st.integers(0, most), min_size=size, max_size=size)), np.int64)

    sides = Sides(numbers(sizes[0], groups - 1), numbers(sizes[1], groups - 1), groups)
    return sides, [Comparison(draw(OPERATORS), *(numbers(size, 3) for size in sizes)) for _ in range(comparisons)]


def by_trying(sides: Sides, comparisons: Sequence[Comparison]) -> list[bool]:
    return [
        any(
            sides.mine[one] == sides.theirs[other]
            and all(bool(each.holds(each.mine[one], each.theirs[other])) for each in comparisons)
            for other in range(sides.theirs.size)
        )
        for one in range(sides.mine.size)
    ]


@pytest.mark.parametrize("comparisons", [1, 2, 3, 4])
@pytest.mark.parametrize("batch", [1, 1 << 20])
@given(st.data())
def test_partners(comparisons: int, batch: int, data: st.DataObject) -> None:
    sides, compared = data.draw(matchings(comparisons))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_BATCH", batch)
        assert with_partner(sides, compared, "this").tolist() == by_trying(sides, compared)


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", 11)
    number = np.arange(4)
    group = np.array([0, 0, 0, 1])
    with pytest.raises(NotTracedError, match=r"^12 pairs of rows to compare, in `this`"):
        with_partner(Sides(np.zeros(4, np.int64), group, 2), [Comparison("<", number, number)] * 3, "this")


@given(st.lists(st.sampled_from([None, 0.0, 1.5, -2.0, float("nan")])), st.lists(st.sampled_from([None, 1.5, 7.0])))
def test_ranks_are_the_order_of_values(one: list[float | None], other: list[float | None]) -> None:
    sides = [encoded(pa.chunked_array([pa.array(each, pa.float64())])) for each in (one, other)]
    ranks = ranked(*sides)
    found = [int(rank[code]) for rank, side in zip(ranks, sides, strict=True) for code in side.codes]
    key = [-1.0 if value is None else 1e9 if value != value else value + 10 for value in [*one, *other]]
    assert [found[a] < found[b] for a in range(len(key)) for b in range(len(key))] == [a < b for a in key for b in key]
    assert [each == -1 for each in found] == [value is None for value in [*one, *other]]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["", "a", "ab", "b", "é", "\U0001f600"], pa.string()),
        ([b"", b"\0", b"\0\0", b"\x7f", b"\x80"], pa.binary()),
        ([False, True], pa.bool_()),
        ([-5, 0, 7], pa.int16()),
    ],
)
def test_ranks_of_other_types(values: Sequence[Any], kind: pa.DataType) -> None:
    side = encoded(pa.chunked_array([pa.array(reversed(values), kind)]))
    rank, _ = ranked(side, side)
    assert rank[side.codes].tolist() == list(range(len(values)))[::-1]


@given(st.data(), st.integers(0, 3))
def test_equal_numbers_for_equal_rows(data: st.DataObject, columns: int) -> None:
    sizes = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    number = st.sampled_from([-1, 0, 1, 5])
    one, other = (
        [np.array(data.draw(st.lists(number, min_size=size, max_size=size)), np.int64) for _ in range(columns)]
        for size in sizes
    )
    mine, theirs, count = joined(one, other, sizes)
    rows = [
        tuple(column[row] for column in side)
        for side, size in zip((one, other), sizes, strict=True)
        for row in range(size)
    ]
    numbers = [*mine.tolist(), *theirs.tolist()]
    assert len(numbers) == len(rows) and all(0 <= each < count for each in numbers)
    assert [a == b for a in numbers for b in numbers] == [a == b for a in rows for b in rows]
