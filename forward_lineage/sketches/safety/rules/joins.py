"""Joins. Semi and anti joins are read as EXISTS and NOT EXISTS (`from_clause`), conditions of inner joins as WHERE."""

from __future__ import annotations

from dataclasses import replace

from forward_lineage.sketches.safety.algebra import Column, Join, Ref, any_subquery
from forward_lineage.sketches.safety.context import Analyse, Context, Place
from forward_lineage.sketches.safety.rules.rows import passed
from forward_lineage.sketches.safety.state import Equalities, Guard, Link, State, union
from forward_lineage.sketches.safety.verdicts import unproven

_MOST_UNIQUE = 6


def join(plan: Join, place: Place, context: Context, analyse: Analyse) -> State:
    """Join two inputs.   [Niu 2021, §6.2; the rules are in its report; outer joins are ours]

    Inner. M = M₁ × M₂, injective; a pair is reproduced where both rows are. Then as a selection by ON.

    Left outer, L ⟕ S. A pair goes to its pair. A row l′ that finds no s′ gives (l′, NULL); over all rows M(l′) = l may
    have found some s: then it goes to one of its pairs (l, s), which is not in the sketch, so no other row goes there:
    M stays injective. Columns of S are NULL over the sketch or equal (`vanish`), those of L as they were.
    Reproduction: (l, s) from both; (l, NULL) from l: no s′ matches l′ since M(s′) would match l.
    Where the sketched tables of S have their columns equal, by ON, to columns of L that came from the same tables,
    all matches of l′ are in the sketch: then nothing vanishes, and what guards S are those columns of L.
    Full outer: the same for either side; (l, s) ← (l′, NULL) and (l, s) ← (NULL, s′) never meet, since both sides of
    such a pair would be in the sketches and match.

    Of the side that may be missing neither equalities with others nor conditions are kept: its columns may be NULL.
    """
    kept_left, kept_right = place.kept and plan.kind != "inner", place.kept and plan.kind == "full"
    left = analyse(plan.left, Place(kept_left, place.outer, reached=place.reached and plan.kind != "full"))
    right = analyse(plan.right, Place(kept_right, place.outer, reached=place.reached and plan.kind == "inner"))
    if any_subquery(plan.on):
        unproven("a subquery in ON of an outer join is not read", plan.node)
    matched = passed(paired(left, right), list(plan.on), context)
    if plan.kind == "inner":
        return matched
    right_guard = _by_other_side(right.guard, left, matched)
    left_guard = _by_other_side(left.guard, right, matched)
    if plan.kind == "left":
        padded = _padded(right, exact=right_guard is not None)
        guard = union(left.guard, right.guard if right_guard is None else right_guard)
        return replace(paired(left, padded), guard=guard, unique=_unique(left, right))
    sides = _padded(left, exact=left_guard is not None), _padded(right, exact=right_guard is not None)
    return replace(paired(*sides), guard=union(left.guard, right.guard), unique=_unique(left, right))


def _by_other_side(guard: Guard | None, other: State, matched: State) -> Guard | None:
    """A side's guard in terms of columns of the other side that are in the sketches; None where that does not do."""
    if guard is None:
        return None
    found = []
    for table, column in guard:
        same = matched.equal.same(column)
        stands_for = [each for name, each in other.inside if name == table and each in same]
        if not stands_for:
            return None
        found.append((table, stands_for[0]))
    return frozenset(found)


def _padded(side: State, *, exact: bool) -> State:
    """The side whose rows may be missing."""
    outer = frozenset() if side.outer is None else side.outer.equal.pairs
    own = [
        (a, b)
        for a, b in side.equal.pairs
        if (a, b) in outer or all(isinstance(each, Column) and not side.is_outer(each) for each in (a, b))
    ]
    return replace(
        side,
        links={column: link if exact else Link(link.sense, True) for column, link in side.links.items()},
        inside=frozenset(),
        equal=Equalities(own),
        present=frozenset(),
        conditions=(),
        defined={column: scalar for column, scalar in side.defined.items() if isinstance(scalar, Ref)},
    )


def _unique(left: State, right: State) -> tuple[frozenset[Column], ...]:
    return tuple(a | b for a in left.unique for b in right.unique)[:_MOST_UNIQUE]


def paired(left: State, right: State) -> State:
    """The facts about a row of one side with a row of the other."""
    return State(
        links={**left.links, **right.links},
        guard=union(left.guard, right.guard),
        inside=left.inside | right.inside,
        equal=left.equal.with_pairs(right.equal.pairs),
        bounds={**left.bounds, **right.bounds},
        present=left.present | right.present,
        conditions=(*left.conditions, *right.conditions),
        defined={**left.defined, **right.defined},
        unique=_unique(left, right),
        accesses=left.accesses + right.accesses,
        outer=left.outer,
    )
