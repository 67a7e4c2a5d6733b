"""Operators that look at one row after the other: table access, constants, selection, projection."""

from __future__ import annotations

from dataclasses import replace

from forward_lineage.sketches.safety.algebra import (
    Access,
    Call,
    Column,
    Const,
    Constants,
    Filter,
    Param,
    Project,
    Ref,
    Scalar,
    Subquery,
    subqueries,
)
from forward_lineage.sketches.safety.bounds import both, interval, is_empty, is_present, learnt
from forward_lineage.sketches.safety.context import ANY_ROWS, Analyse, Context, Place
from forward_lineage.sketches.safety.facts import EXACT, as_number
from forward_lineage.sketches.safety.linking import Links, link_of
from forward_lineage.sketches.safety.rules.subqueries import looked_at
from forward_lineage.sketches.safety.state import EQUAL, Equalities, Interval, State, is_key, union
from forward_lineage.sketches.safety.verdicts import unproven


def access(plan: Access, place: Place, context: Context) -> State:
    """Read a table.   [Niu 2021, §6.2, table access]

    R′ = σ_{p(x)}(R) for the sketch's column x, R′ = R without a sketch. M is the identity.
    Guard and inside: (T, x). NULL is a value of x here: p(NULL) says whether the fragment of NULL is in the sketch.
    """
    if any("collate" in each.facts.type.lower() for each in plan.columns):
        unproven(f"{plan.table} has a column with a collation, to which different strings are equal", plan.node)
    column = _of_sketch(plan, context)
    guard = frozenset() if column is None else frozenset({(plan.table, column)})
    return State(
        links=dict.fromkeys(plan.columns, EQUAL),
        guard=guard,
        inside=guard,
        equal=Equalities() if place.outer is None else place.outer.equal,
        bounds={each: _known(each) for each in plan.columns},
        present=frozenset(each for each in plan.columns if not each.facts.nulls),
        unique=tuple(frozenset({each}) for each in plan.columns if is_key(each)),
        accesses=((plan.table, plan.columns),),
        outer=place.outer,
    )


def _of_sketch(plan: Access, context: Context) -> Column | None:
    """The sketch's column; None without a sketch."""
    wanted = context.sketched.get(plan.table)
    if wanted is ANY_ROWS:
        return Column(None)  # no expression is about it
    column = next((each for each in plan.columns if (each.name or "").lower() == wanted), None)
    if wanted is not None and column is None:
        unproven(f"{plan.table} has no column {wanted}", plan.node)
    return column


def _known(column: Column) -> Interval:
    if column.family not in (*EXACT, "date"):
        return (None, None)
    return (as_number(column.facts.low), as_number(column.facts.high))


def constants(plan: Constants, place: Place) -> State:
    """VALUES and SELECT without FROM are the same over whatever sketch."""
    return State(
        links=dict.fromkeys(plan.columns, EQUAL),
        equal=Equalities() if place.outer is None else place.outer.equal,
        unique=(frozenset(),) if plan.single else (),
        outer=place.outer,
    )


def selection(plan: Filter, place: Place, context: Context, analyse: Analyse) -> State:
    """Keep the rows for which a condition θ is true.   [Niu 2021, §6.2; the rule itself is in its report]

    Containment: M of the input, cut down to R′; that needs θ(r′) → θ(M(r′)). Trivial where all that θ mentions is
    equal; else z3 is asked, for each conjunct: links ∧ what is known of both rows ∧ θ(r′) → conjunct(r).
    Conjuncts with subqueries are asked of rows for which the others are true: their equalities count there.
    Where a condition is false of all rows, both are empty, and so equal.
    Reproduction: r′ = r, and its subqueries find the same (`subqueries`).
    """
    state = analyse(plan.input, Place(False, place.outer, reached=place.reached))
    plain = [each for each in plan.conditions if not subqueries(each)]
    asking = [each for each in plan.conditions if subqueries(each)]
    before, state = state, passed(state, plain, context)
    asked_for = {column for each in plain for column in learnt(each, before)[0]}
    if any(_is_false(each, before) for each in plain) or any(is_empty(state.interval(each)) for each in asked_for):
        return state.as_reproduced()
    if not asking:
        return state
    links, guard = looked_at(asking, state, analyse, replace(place, kept=False))
    _check(asking, state, links, context)
    return replace(known(state, asking), guard=union(state.guard, guard))


def _is_false(condition: Scalar, state: State) -> bool:
    """Whether a condition asks for NULL where there is none."""
    return isinstance(condition, Call) and condition.op == "is_null" and is_present(condition.args[0], state)


def passed(state: State, conditions: list[Scalar], context: Context) -> State:
    """Return the state of rows for which conditions without subqueries are true."""
    _check(conditions, state, {}, context)
    return known(state, conditions)


def _check(conditions: list[Scalar], state: State, links: Links, context: Context) -> None:
    """Prove that conditions that are true over the sketch are true of the counterpart; `state` is that before them."""
    from forward_lineage.sketches.safety.solver import implied  # noqa: PLC0415 - z3, an extra

    for condition in conditions:
        if link_of(condition, state, links).is_equal:
            continue
        if not implied(condition, conditions, state, links, wraps=not context.facts.ansi):
            node = condition.node if isinstance(condition, Call | Subquery) else None
            unproven("a condition may be true over the sketch for a row of which it is not true over all rows", node)


def known(state: State, conditions: list[Scalar]) -> State:
    """Return the state with what conditions that are true say of the rows."""
    bounds, present = dict(state.bounds), set(state.present)
    pairs: list[tuple[object, object]] = []
    for condition in conditions:
        between, there = learnt(condition, replace(state, bounds=bounds))
        present |= there
        for column, found in between.items():
            bounds[column] = both(bounds.get(column) or state.interval(column), found)
        pairs += equalities(condition)
    return replace(
        state,
        bounds=bounds,
        present=frozenset(present),
        equal=state.with_pairs(pairs),
        conditions=(*conditions, *state.conditions),
    )


def equalities(condition: Scalar) -> list[tuple[object, object]]:
    """Return what a condition that is true says to be equal.

    Only where values are compared, not what a cast makes of them: then p_T of the one is p_T of the other.
    """
    if not isinstance(condition, Call) or condition.op not in ("=", "<=>"):
        return []
    left, right = condition.args
    if isinstance(left, Const | Param):
        left, right = right, left
    if not isinstance(left, Ref):
        return []
    if isinstance(right, Const | Param):
        alike = right.family == left.family or {left.family, right.family} <= set(EXACT)
        return [(left.column, right)] if alike else []
    if not isinstance(right, Ref):
        return []
    a, b = left.column, right.column
    alike = {a.family, b.family} <= set(EXACT) or (a.family == b.family and a.family in ("string", "date", "bool"))
    same_type = (
        a.family == b.family
        and a.family in ("float", "timestamp")
        and a.facts.type != ""
        and a.facts.type.lower() == b.facts.type.lower()
    )
    return [(a, b)] if alike or same_type else []


def projection(plan: Project, place: Place, analyse: Analyse) -> State:
    """Compute expressions of each row.   [Niu 2021, §6.2, expr]

    M is that of the input; each new column is linked as its expression is (`linking`). A subquery in the select list
    is asked for each row; where each row is kept, so is what the subquery finds for it.
    """
    state = analyse(plan.input, Place(place.kept, place.outer, reached=place.reached))
    scalars = [scalar for _, scalar in plan.items]
    subs, guard = looked_at(scalars, state, analyse, place)
    return replace(projected(plan, state, subs), guard=union(state.guard, guard))


def projected(plan: Project, state: State, subqueries: Links) -> State:
    """The state with a projection's columns."""
    links, bounds, defined = dict(state.links), dict(state.bounds), dict(state.defined)
    present, pairs = set(state.present), []
    for column, scalar in plan.items:
        links[column] = link_of(scalar, state, subqueries)
        bounds[column] = interval(scalar, state)
        defined[column] = scalar
        if is_present(scalar, state):
            present.add(column)
        if isinstance(scalar, Ref | Const | Param):
            pairs.append((column, scalar.column if isinstance(scalar, Ref) else scalar))
    return replace(
        state,
        links=links,
        equal=state.equal.with_pairs(pairs),
        bounds=bounds,
        present=frozenset(present),
        defined=defined,
    )
