"""The operations of one relation, in every form, against sets of pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.relation import LineageRelation, sorted_pairs
from forward_lineage.relations.runs import RunsRelation
from tests.forward_lineage.relations.forms import (
    EVERYWHERE,
    FORMS,
    MOST,
    Pairs,
    as_set,
    columns,
    number_sets,
    numbers,
    pair_sets,
)
from udafs.bdd_manager import available_backends
from udafs.errors import BadArgumentError, InternalError, LineageError
from udafs.lineage_set import LineageSet
from udafs.robdd import NodeTable

#: All ids but 0: far too many to list.
EVERYTHING = LineageSet.from_intervals(np.array([1]), np.array([MOST]))

forms = pytest.mark.parametrize("form", EVERYWHERE)


@forms
@settings(max_examples=20)
@given(pairs=pair_sets())
def test_the_whole(form: str, pairs: Pairs) -> None:
    relation = EVERYWHERE[form](pairs)
    assert as_set(relation) == pairs
    assert len(relation) == relation.cardinality == len(pairs) and bool(relation) == bool(pairs)
    assert set(relation.rows()) == {row for row, _ in pairs}
    assert set(relation.ids()) == {row_id for _, row_id in pairs}
    rows, count = relation.counts()
    assert dict(zip(rows.tolist(), count.tolist(), strict=True)) == Counter(row for row, _ in pairs)
    assert rows.tolist() == sorted(rows.tolist())


@forms
@settings(max_examples=20)
@given(pairs=pair_sets(), asked=st.sets(numbers, max_size=8))
def test_backward_and_forward(form: str, pairs: Pairs, asked: set[int]) -> None:
    relation = EVERYWHERE[form](pairs)
    for wanted in [asked, {row for row, _ in pairs}, {row_id for _, row_id in pairs}, *({each} for each in asked)]:
        assert set(relation.backward(LineageSet(wanted))) == {row_id for row, row_id in pairs if row in wanted}
        assert set(relation.forward(LineageSet(wanted))) == {row for row, row_id in pairs if row_id in wanted}
    relation.assert_consistent()


@forms
@settings(max_examples=20)
@given(pairs=pair_sets(), rows=st.none() | number_sets, ids=st.none() | number_sets)
def test_restrict(form: str, pairs: Pairs, rows: LineageSet | None, ids: LineageSet | None) -> None:
    relation = EVERYWHERE[form](pairs)
    kept = {(r, i) for r, i in pairs if (rows is None or r in rows) and (ids is None or i in ids)}
    restricted = relation.restrict(rows=rows, ids=ids)
    assert as_set(restricted) == kept
    assert as_set(restricted.restrict(rows=rows, ids=ids)) == kept
    assert as_set(relation) == pairs


@forms
@settings(max_examples=4)
@given(pairs=pair_sets())
def test_sets_too_large_to_list(form: str, pairs: Pairs) -> None:
    relation = EVERYWHERE[form](pairs)
    assert set(relation.forward(EVERYTHING)) == {row for row, row_id in pairs if row_id}
    assert set(relation.backward(EVERYTHING)) == {row_id for row, row_id in pairs if row}
    assert as_set(relation.restrict(rows=EVERYTHING, ids=EVERYTHING)) == {(r, i) for r, i in pairs if r and i}


@forms
@settings(max_examples=15)
@given(pairs=pair_sets(), asked=st.sets(numbers, max_size=8))
def test_questions_after_release(form: str, pairs: Pairs, asked: set[int]) -> None:
    relation = EVERYWHERE[form](pairs)
    for _ in range(2):
        assert set(relation.forward(LineageSet(asked))) == {row for row, row_id in pairs if row_id in asked}
        assert set(relation.ids()) == {row_id for _, row_id in pairs}
        relation.release()
    assert as_set(relation) == pairs


@forms
@pytest.mark.parametrize("other", FORMS)
def test_the_forms_are_equal(form: str, other: str) -> None:
    pairs = {(row, row_id) for row in range(5) for row_id in range(row, 30)}
    assert EVERYWHERE[form](pairs) == FORMS[other](pairs)
    assert EVERYWHERE[form](pairs) != FORMS[other](pairs - {(0, 0)})
    assert EVERYWHERE[form](pairs) != FORMS[other](pairs - {(0, 0)} | {(0, 31)})
    assert EVERYWHERE[form](set()) == FORMS[other](set())
    assert EVERYWHERE[form](pairs) != pairs


@forms
def test_what_is_handed_out_can_be_written_to(form: str) -> None:
    relation = EVERYWHERE[form]({(1, 2), (3, 4)})
    for array in (*relation.pairs(), *relation.counts()):
        array[:] = 0
    assert as_set(relation) == {(1, 2), (3, 4)}


def test_numbers_from_both_ends_do_not_hide_equal_sets() -> None:
    for number in (1, 2, 3, 1001):
        far = MOST + 1 - number
        relation = RunsRelation.from_pairs([0, 1, 2], [number, far, far])
        assert relation.set_of_row.tolist() == [0, 1, 1]


@given(st.lists(st.tuples(pair_sets(), st.integers(0, 3)), min_size=1, max_size=4))
def test_stacked(parts: list[tuple[Pairs, int]]) -> None:
    placed = [
        (place * 60 + gap, {(row % 50, row_id) for row, row_id in pairs}) for place, (pairs, gap) in enumerate(parts)
    ]
    whole = RunsRelation.stacked([(shift, RunsRelation.from_pairs(*columns(pairs))) for shift, pairs in placed])
    whole.assert_consistent()
    wanted = {(row + shift, row_id) for shift, pairs in placed for row, row_id in pairs}
    assert set(zip(*map(np.ndarray.tolist, whole.pairs()), strict=True)) == wanted


@given(pair_sets(), st.integers(1, 9), st.integers(1, 6))
def test_split(pairs: Pairs, more_rows: int, most_runs: int) -> None:
    pairs = {(row % 40, row_id) for row, row_id in pairs}
    relation = RunsRelation.from_pairs(*columns(pairs))
    rows = relation.last_row() + 1 + more_rows
    start, found = 0, set()
    for count, part in relation.split(rows, most_runs):
        part.assert_consistent()
        assert count > 0 and part.last_row() < count
        found |= {(start + row, row_id) for row, row_id in zip(*map(np.ndarray.tolist, part.pairs()), strict=True)}
        start += count
    assert (start, found) == (rows, pairs)


def test_split_where_it_is_large() -> None:
    """Rows of a hundred runs each, in parts of a thousand; what all rows share does not make the parts smaller."""
    own = np.repeat(np.arange(100), 100), 2 * np.arange(10_000)
    assert [rows for rows, _ in RunsRelation.from_pairs(*own).split(100, 1_000)] == [10] * 10
    shared = np.repeat(np.arange(100), 100), np.tile(2 * np.arange(100), 100)
    assert [rows for rows, _ in RunsRelation.from_pairs(*shared).split(100, 1_000)] == [100]


@given(pair_sets(), st.randoms())
def test_renumbered(pairs: Pairs, random: Random) -> None:
    relation = RunsRelation.from_pairs(*columns(pairs))
    rows = random.sample(range(100), relation.row.size)
    other = relation.renumbered(np.array(rows, np.int64))
    other.assert_consistent()
    number = dict(zip(relation.row.tolist(), rows, strict=True))
    assert set(zip(*map(np.ndarray.tolist, other.pairs()), strict=True)) == {
        (number[row], row_id) for row, row_id in pairs
    }


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
    with pytest.raises(BadArgumentError, match=rf"{message}.*\. [A-Z].*\.$"):
        sorted_pairs(rows, ids)


@pytest.mark.skipif("cudd" not in available_backends(), reason="CUDD is not available here")
def test_memory_that_does_not_suffice() -> None:
    rng = np.random.default_rng(5)
    built = BddRelation.from_pairs(rng.integers(0, 50, 200_000), rng.integers(0, 1 << 22, 200_000))
    small = BddRelation(built.table, built.row_bits, built.id_bits, backend="cudd", memory=4 << 20)
    with pytest.raises(LineageError, match=r"used up its 4 MB\. Ask about fewer rows"):
        small.forward(LineageSet([1]))
    assert small.backward(LineageSet([3])) == built.backward(LineageSet([3]))


def test_more_pairs_than_can_be_listed() -> None:
    everywhere = BddRelation(NodeTable.constant(True, 120), 60, 60)
    assert everywhere.cardinality == 2**120
    with pytest.raises(BadArgumentError, match=rf"a relation of {2**120} pairs is too large to list\. Restrict it"):
        everywhere.pairs()
    assert everywhere.backward(LineageSet([5])).cardinality == 2**60
    assert as_set(everywhere.restrict(rows=LineageSet([5, 2**61]), ids=LineageSet([7, 9]))) == {(5, 7), (5, 9)}


def test_a_table_of_other_bits() -> None:
    with pytest.raises(InternalError, match=r"3 \+ 4 bits for a table of 8\. This is a bug"):
        BddRelation(NodeTable.constant(True, 8), 3, 4)


# ---------------------------------------------------------------- a structure checks itself

SOUND = RunsRelation.from_pairs([1, 1, 1, 4, 4, 4, 6], [5, 6, 9, 5, 6, 9, 7])
TWO_SETS = RunsRelation.from_pairs([0, 1], [3, 4])


def changed(name: str, *values: int) -> LineageRelation:
    return replace(SOUND, **{name: np.array(values)})


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (changed("row", 1, 6, 4), "rows ascend from 0"),
        (changed("row", -1, 4, 6), "rows ascend from 0"),
        (changed("set_of_row", 0, 1), "a set for each row"),
        (changed("set_of_row", 1, 1, 0), "sets in order of first row"),
        (changed("set_of_row", 0, 0, 0), "every set is used"),
        (changed("set_starts", 0, 2, 4), "runs"),
        (changed("set_starts", 0, 3, 3), "nothing is empty"),
        (changed("last", 4, 9, 7), "nothing is empty"),
        (changed("first", 5, 7, 7), "runs neither overlap nor touch"),
        (replace(TWO_SETS, first=np.array([3, 3]), last=np.array([3, 3])), "sets differ"),
        (BddRelation(NodeTable(np.array([0, 1]), np.array([1]), np.array([1]), 2), 0, 1), "elimination rule"),
    ],
)
def test_a_structure_checks_itself(broken: LineageRelation, message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{message}"):
        broken.assert_consistent()
