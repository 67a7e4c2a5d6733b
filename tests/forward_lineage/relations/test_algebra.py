"""The algebra of lineage relations: definitions against sets of pairs, laws by themselves; over all forms.

docs/relations.md lists the laws under the names of these tests.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import algebra
from forward_lineage.relations.algebra import compose, empty, identity, inverse, union
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from tests.conftest import REPOSITORY
from tests.forward_lineage.relations.forms import (
    EVERYWHERE,
    FORMS,
    Pairs,
    as_set,
    number_sets,
    numbers,
    pair_sets,
    relations,
)
from tests.tiers import every_day
from udafs.lineage_set import LineageSet
from udafs.robdd import NodeTable

forms = pytest.mark.parametrize("form", FORMS)
# What the operations are is tried below on every pair of forms, and the laws follow from that; by themselves they are
# tried with each form on either side.
TURNS = list(zip(FORMS, [*list(FORMS)[1:], *list(FORMS)[:1]], strict=True))
# Forms between arrays meet all others as one of them does: as runs, unless two have boxes of the same shapes.
FOUR = [*itertools.product([form for form in FORMS if form not in {"boxes", "gather"}], repeat=2), ("boxes", "boxes")]
mixed = pytest.mark.parametrize(
    ("first", "second"),
    every_day(itertools.product(FORMS, repeat=2), [*FOUR, *(each for each in TURNS if each not in FOUR)]),
)
in_turns = pytest.mark.parametrize(("first", "second"), every_day(itertools.product(FORMS, repeat=2), TURNS))
few = settings(max_examples=8)
fewer = settings(max_examples=4)  # of each pair of forms


def composed(upper: Pairs, lower: Pairs) -> Pairs:
    ids_of: dict[int, set[int]] = {}
    for row, row_id in lower:
        ids_of.setdefault(row, set()).add(row_id)
    return {(row, row_id) for row, between in upper for row_id in ids_of.get(between, ())}


# ---------------------------------------------------------------- definitions


@mixed
@few
@given(upper=pair_sets(), lower=pair_sets())
def test_compose(first: str, second: str, upper: Pairs, lower: Pairs) -> None:
    assert as_set(compose(FORMS[first](upper), FORMS[second](lower))) == composed(upper, lower)


@mixed
@few
@given(left=pair_sets(), right=pair_sets())
def test_union(first: str, second: str, left: Pairs, right: Pairs) -> None:
    assert as_set(union([FORMS[first](left), FORMS[second](right)])) == left | right


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(sorted(FORMS)), pair_sets()), max_size=4))
def test_union_of_any_number(parts: list[tuple[str, Pairs]]) -> None:
    whole = union(FORMS[form](pairs) for form, pairs in parts)
    assert as_set(whole) == set().union(*(pairs for _, pairs in parts))


@mixed
@fewer
@given(upper=pair_sets(), lower=pair_sets())
def test_what_is_too_large_to_list_is_combined_as_bdds(first: str, second: str, upper: Pairs, lower: Pairs) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algebra, "MOST_PAIRS", 0)
        assert as_set(compose(FORMS[first](upper), FORMS[second](lower))) == composed(upper, lower)
        assert as_set(union([FORMS[first](upper), FORMS[second](lower)])) == upper | lower


def test_relations_that_cannot_be_listed() -> None:
    everywhere = BddRelation(NodeTable.constant(True, 80), 40, 40)
    one = RunsRelation.from_pairs([7], [2**41])
    whole = union([everywhere, one])
    assert whole.cardinality == 2**80 + 1 and whole.backward(LineageSet([7])).cardinality == 2**40 + 1
    assert compose(everywhere, everywhere).cardinality == 2**80
    assert as_set(compose(RunsRelation.from_pairs([2**50], [3]), whole.restrict(ids=LineageSet([9])))) == {(2**50, 9)}


@pytest.mark.parametrize("form", EVERYWHERE)
@few
@given(upper=pair_sets(), lower=pair_sets())
def test_both_on_every_manager(form: str, upper: Pairs, lower: Pairs) -> None:
    relation, other = EVERYWHERE[form](upper), EVERYWHERE[form](lower)
    assert as_set(compose(relation, other)) == composed(upper, lower)
    assert as_set(union([relation, other])) == upper | lower


@forms
@few
@given(pairs=pair_sets())
def test_inverse(form: str, pairs: Pairs) -> None:
    assert as_set(inverse(FORMS[form](pairs))) == {(row_id, row) for row, row_id in pairs}


@given(st.sets(numbers))
def test_identity_and_empty(of: set[int]) -> None:
    assert as_set(identity(LineageSet(of))) == {(each, each) for each in of}
    assert as_set(empty()) == set()


# ---------------------------------------------------------------- laws of union


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets())
def test_union_is_commutative(first: str, second: str, a: Pairs, b: Pairs) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert union([r, s]) == union([s, r])


@few
@given(relations, relations, relations)
def test_union_is_associative(r: LineageRelation, s: LineageRelation, t: LineageRelation) -> None:
    assert union([union([r, s]), t]) == union([r, union([s, t])]) == union([r, s, t])


@forms
@few
@given(pairs=pair_sets())
def test_union_is_idempotent(form: str, pairs: Pairs) -> None:
    r = FORMS[form](pairs)
    assert union([r, r]) == r == union([r, empty()])


# ---------------------------------------------------------------- laws of composition


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets(), t=relations)
def test_composition_is_associative(first: str, second: str, a: Pairs, b: Pairs, t: LineageRelation) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert compose(compose(r, s), t) == compose(r, compose(s, t))


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets(), t=relations)
def test_composition_distributes_over_union(first: str, second: str, a: Pairs, b: Pairs, t: LineageRelation) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert compose(union([r, s]), t) == union([compose(r, t), compose(s, t)])
    assert compose(t, union([r, s])) == union([compose(t, r), compose(t, s)])


@forms
@few
@given(pairs=pair_sets())
def test_composition_with_identity_and_empty(form: str, pairs: Pairs) -> None:
    r = FORMS[form](pairs)
    assert compose(identity(r.rows()), r) == r == compose(r, identity(r.ids()))
    assert compose(empty(), r) == empty() == compose(r, empty())


# ---------------------------------------------------------------- laws of inverse


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets())
def test_inverse_of_composition_and_union(first: str, second: str, a: Pairs, b: Pairs) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert inverse(compose(r, s)) == compose(inverse(s), inverse(r))
    assert inverse(union([r, s])) == union([inverse(r), inverse(s)])


@forms
@few
@given(pairs=pair_sets())
def test_inverse_turns_everything_around(form: str, pairs: Pairs) -> None:
    r = FORMS[form](pairs)
    assert inverse(inverse(r)) == r
    assert inverse(r).rows() == r.ids() and inverse(r).ids() == r.rows()
    assert inverse(r).backward(r.ids()) == r.forward(r.ids())


# ---------------------------------------------------------------- laws of restriction and projection


@forms
@few
@given(pairs=pair_sets(), some=number_sets, others=number_sets)
def test_restrictions_intersect(form: str, pairs: Pairs, some: LineageSet, others: LineageSet) -> None:
    r = FORMS[form](pairs)
    assert r.restrict(rows=some).restrict(rows=others) == r.restrict(rows=some & others)
    assert r.restrict(ids=some).restrict(ids=others) == r.restrict(ids=some & others)
    assert r.restrict(rows=some).restrict(ids=others) == r.restrict(rows=some, ids=others)
    assert r.restrict(ids=others).restrict(rows=some) == r.restrict(rows=some, ids=others)


@forms
@few
@given(pairs=pair_sets(), wanted=number_sets)
def test_restriction_is_composition_with_an_identity(form: str, pairs: Pairs, wanted: LineageSet) -> None:
    r = FORMS[form](pairs)
    assert r.restrict(rows=wanted) == compose(identity(wanted), r)
    assert r.restrict(ids=wanted) == compose(r, identity(wanted))
    assert r.restrict() == r == r.restrict(rows=r.rows(), ids=r.ids())


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets(), wanted=number_sets)
def test_restriction_of_union_and_composition(first: str, second: str, a: Pairs, b: Pairs, wanted: LineageSet) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert union([r, s]).restrict(rows=wanted) == union([r.restrict(rows=wanted), s.restrict(rows=wanted)])
    assert union([r, s]).restrict(ids=wanted) == union([r.restrict(ids=wanted), s.restrict(ids=wanted)])
    assert compose(r, s).restrict(rows=wanted) == compose(r.restrict(rows=wanted), s)
    assert compose(r, s).restrict(ids=wanted) == compose(r, s.restrict(ids=wanted))


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets())
def test_projection_of_union(first: str, second: str, a: Pairs, b: Pairs) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert union([r, s]).rows() == r.rows() | s.rows()
    assert union([r, s]).ids() == r.ids() | s.ids()


# ---------------------------------------------------------------- laws of questions


@forms
@few
@given(pairs=pair_sets(), wanted=number_sets)
def test_a_question_is_a_restriction_and_a_projection(form: str, pairs: Pairs, wanted: LineageSet) -> None:
    r = FORMS[form](pairs)
    assert r.backward(wanted) == r.restrict(rows=wanted).ids()
    assert r.forward(wanted) == r.restrict(ids=wanted).rows()
    assert r.backward(r.rows()) == r.ids() and r.forward(r.ids()) == r.rows()


@forms
@few
@given(pairs=pair_sets(), row=numbers, row_id=numbers)
def test_backward_and_forward_are_adjoint(form: str, pairs: Pairs, row: int, row_id: int) -> None:
    r = FORMS[form](pairs)
    for each_row, each_id in [(row, row_id), *list(pairs)[:3]]:
        assert (each_id in r.backward(LineageSet([each_row]))) == (each_row in r.forward(LineageSet([each_id])))


@forms
@few
@given(pairs=pair_sets(), some=number_sets, others=number_sets)
def test_questions_distribute_over_sets(form: str, pairs: Pairs, some: LineageSet, others: LineageSet) -> None:
    r = FORMS[form](pairs)
    assert r.backward(some | others) == r.backward(some) | r.backward(others)
    assert r.forward(some | others) == r.forward(some) | r.forward(others)


@in_turns
@fewer
@given(a=pair_sets(), b=pair_sets(), wanted=number_sets)
def test_questions_go_through_a_composition(first: str, second: str, a: Pairs, b: Pairs, wanted: LineageSet) -> None:
    r, s = FORMS[first](a), FORMS[second](b)
    assert compose(r, s).backward(wanted) == s.backward(r.backward(wanted))
    assert compose(r, s).forward(wanted) == r.forward(s.forward(wanted))


@forms
@few
@given(pairs=pair_sets())
def test_counts_are_sizes_of_answers(form: str, pairs: Pairs) -> None:
    r = FORMS[form](pairs)
    rows, count = r.counts()
    assert LineageSet(rows) == r.rows() and int(count.sum()) == len(r)
    assert count[:4].tolist() == [len(r.backward(LineageSet([row]))) for row in rows[:4].tolist()]
    ids, count = inverse(r).counts()
    assert np.array_equal(ids, r.ids().ids())
    assert count[:4].tolist() == [len(r.forward(LineageSet([each]))) for each in ids[:4].tolist()]


def test_the_page_names_these_laws() -> None:
    page = (REPOSITORY / "docs" / "relations.md").read_text(encoding="utf-8")
    laws = Path(__file__).read_text(encoding="utf-8").split("laws of union")[1]
    named = set(re.findall(r"^\|.*`(test_\w+)` \|$", page, re.MULTILINE))
    assert named == set(re.findall(r"^def (test_\w+)", laws, re.MULTILINE)) - {"test_the_page_names_these_laws"}
