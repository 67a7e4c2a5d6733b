"""Lineage relations in both forms and on both BDD managers, against sets of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import runs as runs_relation
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.relation import LineageRelation, sorted_pairs
from forward_lineage.relations.runs import RunsRelation
from udafs.bdd_manager import available_backends
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

FORMS = ("runs", *available_backends())
Pairs = set[tuple[int, int]]

numbers = st.one_of(
    st.integers(0, 6), st.integers(0, 40), st.integers(0, 2**20), st.sampled_from([2**32, 2**63 - 2, 2**63 - 1])
)


@st.composite
def relations(draw: st.DrawFn) -> Pairs:
    """Scattered pairs, rows that share runs of ids, and one-to-one stretches."""
    found = set(draw(st.lists(st.tuples(numbers, numbers), max_size=15)))
    blocks = st.tuples(st.lists(st.integers(0, 20), max_size=4), st.integers(0, 60), st.integers(1, 40))
    for rows, start, length in draw(st.lists(blocks, max_size=2)):
        found |= {(row, start + i) for row in rows for i in range(length)}
    start, length = draw(st.tuples(st.integers(0, 50), st.integers(0, 20)))
    return found | {(i, start + i) for i in range(length)}


def made(pairs: Pairs, form: str) -> LineageRelation:
    rows, ids = [row for row, _ in pairs], [row_id for _, row_id in pairs]
    if form == "runs":
        return RunsRelation.from_pairs(rows, ids)
    return BddRelation.from_pairs(rows, ids, backend=form)  # type: ignore[arg-type]


def as_set(relation: LineageRelation) -> Pairs:
    rows, ids = relation.pairs()
    assert rows.dtype == ids.dtype == np.int64
    found = list(zip(rows.tolist(), ids.tolist(), strict=True))
    assert found == sorted(set(found)) and len(found) == len(relation)
    return set(found)


forms = pytest.mark.parametrize("form", FORMS)


@forms
@settings(max_examples=30)
@given(pairs=relations(), asked=st.sets(numbers, max_size=8))
def test_backward_and_forward(form: str, pairs: Pairs, asked: set[int]) -> None:
    relation = made(pairs, form)
    assert as_set(relation) == pairs
    assert set(relation.rows()) == {row for row, _ in pairs}
    assert set(relation.ids()) == {row_id for _, row_id in pairs}
    for wanted in [asked, {row for row, _ in pairs}, {row_id for _, row_id in pairs}, *({each} for each in asked)]:
        assert set(relation.backward(LineageSet(wanted))) == {row_id for row, row_id in pairs if row in wanted}
        assert set(relation.forward(LineageSet(wanted))) == {row for row, row_id in pairs if row_id in wanted}
    everything = LineageSet.from_bytes(bytes([1, 63] + [0] * 63 + [1])) - LineageSet([0])
    assert set(relation.forward(everything)) == {row for row, row_id in pairs if row_id}
    relation.release()
    assert set(relation.backward(LineageSet(asked))) == {row_id for row, row_id in pairs if row in asked}


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
@settings(max_examples=25)
@given(upper=relations(), lower=relations())
def test_compose(first: str, second: str, upper: Pairs, lower: Pairs) -> None:
    product = made(upper, first).compose(made(lower, second))
    assert as_set(product) == {(row, row_id) for row, m in upper for other, row_id in lower if m == other}


@given(relations(), relations())
def test_a_product_too_large_to_join(upper: Pairs, lower: Pairs) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_relation, "MOST_JOINED", 0)
        product = made(upper, "runs").compose(made(lower, "runs"))
    assert as_set(product) == {(row, row_id) for row, m in upper for other, row_id in lower if m == other}


@settings(max_examples=25)
@given(relations(), relations(), relations())
def test_composition_is_associative(a: Pairs, b: Pairs, c: Pairs) -> None:
    x, y, z = made(a, FORMS[1]), made(b, "runs"), made(c, FORMS[-1])
    assert x.compose(y).compose(z) == x.compose(y.compose(z))


@forms
def test_the_forms_are_equal(form: str) -> None:
    pairs = {(row, row_id) for row in range(5) for row_id in range(row, 30)}
    assert made(pairs, form) == made(pairs, "runs")
    assert made(pairs, form) != made(pairs - {(0, 0)}, "runs")
    assert made(set(), form) == made(set(), "runs")


@pytest.mark.parametrize(
    ("rows", "ids", "message"),
    [
        ([1, 2], [3], "2 row numbers for 1 row ids"),
        ([-1], [3], "row numbers are 0 to 9223372036854775807, found -1"),
        ([1], [2.5], "row ids are one-dimensional integers, found float64"),
        ([1], np.array([2**63], np.uint64), "row ids are 0 to"),
        ([[1]], [[1]], "of 2 dimensions"),
    ],
)
def test_bad_pairs(rows: list, ids: list, message: str) -> None:
    with pytest.raises(LineageError, match=message):
        sorted_pairs(rows, ids)


@pytest.mark.skipif("cudd" not in FORMS, reason="CUDD is not available here")
def test_memory_that_does_not_suffice() -> None:
    rng = np.random.default_rng(5)
    built = BddRelation.from_pairs(rng.integers(0, 50, 200_000), rng.integers(0, 1 << 22, 200_000))
    small = BddRelation(built.table, built.row_bits, built.id_bits, backend="cudd", memory=4 << 20)
    with pytest.raises(LineageError, match=r"used up its 4 MB\. Ask about fewer rows"):
        small.forward(LineageSet([1]))
    assert small.backward(LineageSet([3])) == built.backward(LineageSet([3]))
