"""UNION ALL, INTERSECT and EXCEPT; UNION is UNION ALL and DISTINCT."""

from __future__ import annotations

from forward_lineage.sketches.safety.algebra import Column, Const, Param, SetOperation
from forward_lineage.sketches.safety.bounds import hull
from forward_lineage.sketches.safety.context import Analyse, Place
from forward_lineage.sketches.safety.facts import EXACT
from forward_lineage.sketches.safety.state import EQUAL, Equalities, Guard, State, either, union
from forward_lineage.sketches.safety.verdicts import unproven

Positions = dict[Column, Column]


def set_operation(plan: SetOperation, place: Place, analyse: Analyse) -> State:
    """Bags by position of the columns.

    UNION ALL: M = M₁ ⊎ M₂; a column is linked in one side's way or the other's. Both sides are kept where the union is.
    A row may come from either side: what guards it are the guards of both, what is inside is what is so on both.

    INTERSECT [ALL]: a value v is there min(m₁, m₂) times (once without ALL). With all columns equal m₁′ ≤ m₁ and
    m₂′ ≤ m₂: containment. The lineage has all equal rows of both sides: reproduction, with the same number.

    EXCEPT [ALL]: v is there max(0, m₁ − m₂) times (without ALL: once, if m₂ = 0). m₁′ ≤ m₁, but m₂′ must be m₂ for each
    v of the left side: where R′ = R on the right, or its guard is, by position, inside on the left. Reproduction: the
    lineage has all equal rows of the left, so m₁′ = m₁, and m₂′ = m₂ as before.
    """
    both_kept = place.kept and plan.kind == "union all"
    left_reached, right_reached = (
        place.reached and plan.kind.startswith(kinds) for kinds in (("intersect", "except"), ("intersect",))
    )
    left = analyse(plan.left, Place(both_kept, place.outer, reached=left_reached)).discharged()
    right = analyse(plan.right, Place(both_kept, place.outer, reached=right_reached)).discharged()
    if plan.kind == "union all":
        return _union(plan, left, right, place)
    return _compared(plan, left, right, place)


def _compared(plan: SetOperation, left: State, right: State, place: Place) -> State:
    """INTERSECT and EXCEPT."""
    for side, state in ((plan.left, left), (plan.right, right)):
        if not all(state.links[column].is_equal for column in side.columns):
            unproven(f"{plan.kind.upper()} of a value that may be another one over the sketch", plan.node)
    guards = _guard(plan, left, plan.left.columns), _guard(plan, right, plan.right.columns)
    inside = _inside(plan, left, plan.left.columns)
    if plan.kind.startswith("except") and not right.exact() and not _covered(guards[1], inside, left, plan):
        unproven("the right side of EXCEPT may lack rows over the sketch", plan.node)
    if plan.kind.startswith("intersect"):
        inside = inside | _inside(plan, right, plan.right.columns)
    every = plan.kind.endswith(" all")
    return State(
        links=dict.fromkeys(plan.columns, EQUAL),
        guard=union(*guards),
        inside=inside,
        equal=_equal(plan, left, plan.left.columns),
        bounds={a: left.interval(b) for a, b in zip(plan.columns, plan.left.columns, strict=True)},
        present=frozenset(a for a, b in zip(plan.columns, plan.left.columns, strict=True) if left.is_present(b)),
        unique=() if every else (frozenset(plan.columns),),
        outer=place.outer,
    )


def _union(plan: SetOperation, left: State, right: State, place: Place) -> State:
    triples = list(zip(plan.columns, plan.left.columns, plan.right.columns, strict=True))
    a, b = _inside(plan, left, plan.left.columns), _inside(plan, right, plan.right.columns)
    pairs = _equal(plan, left, plan.left.columns).pairs & _equal(plan, right, plan.right.columns).pairs
    guards = _guard(plan, left, plan.left.columns), _guard(plan, right, plan.right.columns)
    return State(
        links={c: either(left.links[x], right.links[y]) for c, x, y in triples},
        guard=union(*guards),
        inside=a & b,
        equal=Equalities(pairs),
        bounds={c: hull([left.interval(x), right.interval(y)]) for c, x, y in triples},
        present=frozenset(c for c, x, y in triples if left.is_present(x) and right.is_present(y)),
        outer=place.outer,
    )


def _guard(plan: SetOperation, state: State, columns: tuple[Column, ...]) -> Guard | None:
    """A side's guard by the columns of the whole; None where it has others."""
    if state.guard is None:
        return None
    found = []
    for table, column in state.guard:
        same = state.equal.same(column)
        whole = [a for a, b in _alike(plan, columns) if b in same]
        outer = [each for each in same if state.is_outer(each) and isinstance(each, Column)]
        if not whole and not outer:
            return None
        found.append((table, (whole or outer)[0]))
    return frozenset(found)


def _inside(plan: SetOperation, state: State, columns: tuple[Column, ...]) -> Guard:
    """The sketched columns, by the columns of the whole."""
    return frozenset(
        (table, a) for a, b in _alike(plan, columns) for table, column in state.inside if b in state.equal.same(column)
    )


def _covered(guard: Guard | None, inside: Guard, left: State, plan: SetOperation) -> bool:
    if guard is None:
        return False
    equal = _equal(plan, left, plan.left.columns)
    return all(any(name == table and c in equal.same(column) for name, c in inside) for table, column in guard)


def _alike(plan: SetOperation, columns: tuple[Column, ...]) -> list[tuple[Column, Column]]:
    """Columns of the whole with those of a side, where both sides' values are compared without a cast."""
    sides = zip(plan.columns, columns, plan.left.columns, plan.right.columns, strict=True)
    return [
        (a, b)
        for a, b, left, right in sides
        if {left.family, right.family} <= set(EXACT) or (left.family == right.family and left.family != "other")
    ]


def _equal(plan: SetOperation, state: State, columns: tuple[Column, ...]) -> Equalities:
    """The columns of the whole that are equal by the facts of one side; with literals, and with the row around."""
    pairs: set[tuple[object, object]] = set() if state.outer is None else set(state.outer.equal.pairs)
    named = _alike(plan, columns)
    for position, (a, b) in enumerate(named):
        same = state.equal.same(b)
        pairs |= {(a, other) for other, there in named[position + 1 :] if there in same}
        pairs |= {(a, each) for each in same if isinstance(each, Const | Param) or state.is_outer(each)}
    return Equalities(pairs)
