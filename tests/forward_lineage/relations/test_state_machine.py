"""Any sequence of operations on relations in every form, and on plain sets of pairs: they never differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test

from forward_lineage.relations import algebra
from forward_lineage.relations import segment as segments
from forward_lineage.relations.algebra import compose, empty, identity, inverse, union
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.segment import Form, Segment
from tests.forward_lineage.relations.forms import EVERYWHERE, MOST, Pairs, as_set, number_sets, numbers, pair_sets
from udafs.lineage_set import LineageSet

MOST_KEPT = 1500  # pairs; larger results are thrown away
#: 0 makes everything too large to be combined as runs.
MOST_LISTED = st.sampled_from([0, algebra.MOST_PAIRS])


@dataclass
class Held:
    """A relation and what it should be."""

    relation: LineageRelation
    pairs: Pairs


def wanted(relation: LineageRelation, side: str, more: LineageSet) -> LineageSet:
    """The lower half of a relation's numbers, and some more."""
    own = (relation.rows() if side == "rows" else relation.ids()).ids()
    return LineageSet(own[: own.size // 2]) | more


def written(relation: LineageRelation, form: Form) -> bytes:
    return segments.encode(Segment(0, MOST, relation), form)


class Relations(RuleBasedStateMachine):
    """Each rule does one thing to relations that earlier rules made, and the same to their sets of pairs."""

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.made: list[LineageRelation] = []

    def teardown(self) -> None:
        """The garbage collector would take managers before their functions, and dd complains about that."""
        for relation in self.made:
            relation.release()

    def keep(self, relation: LineageRelation, pairs: Pairs) -> object:
        self.made.append(relation)
        assert as_set(relation) == pairs
        if all(row < MOST for row, _ in pairs):
            # Canonical: nothing that happened to the relation before leaves a trace in its bytes.
            form: Form = "bdd" if isinstance(relation, BddRelation) else "runs"
            assert written(relation, form) == written(EVERYWHERE["runs"](pairs), form)
        return Held(relation, pairs) if len(pairs) <= MOST_KEPT else multiple()

    # ------------------------------------------------------------ relations out of nothing

    @rule(target=held, form=st.sampled_from(sorted(EVERYWHERE)), pairs=pair_sets())
    def make(self, form: str, pairs: Pairs) -> object:
        return self.keep(EVERYWHERE[form](pairs), pairs)

    @rule(target=held)
    def make_empty(self) -> object:
        return self.keep(empty(), set())

    @rule(target=held, of=number_sets)
    def make_identity(self, of: LineageSet) -> object:
        return self.keep(identity(of), {(each, each) for each in of})

    # ------------------------------------------------------------ relations out of others

    @rule(target=held, each=held, rows=st.none() | number_sets, ids=st.none() | number_sets)
    def restrict(self, each: Held, rows: LineageSet | None, ids: LineageSet | None) -> object:
        rows = None if rows is None else wanted(each.relation, "rows", rows)
        ids = None if ids is None else wanted(each.relation, "ids", ids)
        kept = {(r, i) for r, i in each.pairs if (rows is None or r in rows) and (ids is None or i in ids)}
        return self.keep(each.relation.restrict(rows=rows, ids=ids), kept)

    @rule(target=held, parts=st.lists(held, max_size=3), most=MOST_LISTED)
    def unite(self, parts: list[Held], most: int) -> object:
        pairs = set().union(*(part.pairs for part in parts))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(algebra, "MOST_PAIRS", most)
            return self.keep(union(part.relation for part in parts), pairs)

    @rule(target=held, first=held, second=held, most=MOST_LISTED)
    def compose(self, first: Held, second: Held, most: int) -> object:
        pairs = {(row, row_id) for row, between in first.pairs for m, row_id in second.pairs if m == between}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(algebra, "MOST_PAIRS", most)
            return self.keep(compose(first.relation, second.relation), pairs)

    @rule(target=held, each=held)
    def invert(self, each: Held) -> object:
        return self.keep(inverse(each.relation), {(row_id, row) for row, row_id in each.pairs})

    @rule(target=held, each=held, form=st.sampled_from(["auto", "bdd", "runs"]))
    def go_through_a_segment(self, each: Held, form: Form) -> object:
        pairs = {(row, row_id) for row, row_id in each.pairs if row < MOST}
        below = each.relation.restrict(rows=each.relation.rows().below(MOST))
        return self.keep(segments.decode(written(below, form)).relation, pairs)

    @rule(target=held, each=held, form=st.sampled_from(sorted(EVERYWHERE)))
    def change_the_form(self, each: Held, form: str) -> object:
        return self.keep(EVERYWHERE[form](each.pairs), each.pairs)

    # ------------------------------------------------------------ questions

    @rule(each=held, some=number_sets)
    def ask(self, each: Held, some: LineageSet) -> None:
        rows, ids = wanted(each.relation, "rows", some), wanted(each.relation, "ids", some)
        assert set(each.relation.backward(rows)) == {row_id for row, row_id in each.pairs if row in rows}
        assert set(each.relation.forward(ids)) == {row for row, row_id in each.pairs if row_id in ids}

    @rule(each=held, row=numbers)
    def ask_for_one_row(self, each: Held, row: int) -> None:
        assert set(each.relation.backward(LineageSet([row]))) == {row_id for r, row_id in each.pairs if r == row}

    @rule(each=held)
    def look_at_the_whole(self, each: Held) -> None:
        relation, pairs = each.relation, each.pairs
        assert as_set(relation) == pairs
        assert len(relation) == len(pairs) and bool(relation) == bool(pairs)
        assert set(relation.rows()) == {row for row, _ in pairs}
        assert set(relation.ids()) == {row_id for _, row_id in pairs}
        rows, count = relation.counts()
        assert dict(zip(rows.tolist(), count.tolist(), strict=True)) == Counter(row for row, _ in pairs)

    @rule(one=held, other=held)
    def compare(self, one: Held, other: Held) -> None:
        assert (one.relation == other.relation) == (one.pairs == other.pairs)

    @rule(each=held)
    def release(self, each: Held) -> None:
        each.relation.release()


def run(examples: int, steps: int) -> None:
    run_state_machine_as_test(Relations, settings=settings(max_examples=examples, stateful_step_count=steps))


@pytest.mark.slow
def test_any_sequence_of_operations() -> None:
    run(40, 30)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_long_sequences_of_operations() -> None:
    run(600, 60)
