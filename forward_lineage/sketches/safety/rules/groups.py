"""Aggregation and DISTINCT.   [Niu 2021, §6.2, aggregation; its rules for min, max, NULL and empty groups are ours]

γ_{G; f(a)→b}(R): M of the input maps rows of a group to rows of one group if the keys are equal; it makes a map of
groups that is injective since groups are known by their keys. Reproduction: the lineage of a group holds all its rows;
they are reproduced, and as M is injective no other row is in the group over the sketch: the same bag.

Whole groups. If each (T, c) of the input's guard is one value in a group (c equals a key, a literal or a column of the
row around a subquery), and p_T(r′.c) holds for the rows over the sketch, then one row of a group in the sketch brings
all: a group is there as a whole or not at all, and its values are equal. Where there are no keys there is a row in any
case: that of the whole, or that of no rows (count: 0; others: NULL).

Parts of groups. With fewer rows, and arguments that are equal or vanish or are linked in the direction of f:

count                    v′ ≤ v, never NULL
sum of a ≥ 0             v′ ≤ v; NULL where no a is left      (the paper: also where a may be NULL)
sum of a ≤ 0             v′ ≥ v, likewise
max, bool_or             v′ ≤ v whatever the sign (the paper asks for a ≥ 0), NULL where no a is left
min, bool_and            v′ ≥ v whatever the sign
avg and others           nothing
f(DISTINCT a), FILTER    as f, where a, and the condition, are equal

A sum or average of FLOAT or DOUBLE is refused whatever the sketch: its last digits depend on the order of rows. An
average of integers is a sum of DOUBLE: exact while it stays below 2^53, which the bounds have to prove (of 10^10
rows). A sum of BIGINT that may leave its range would fail for a part of a group alone: refused likewise, if it has
values of both signs.

One witness. If the lineage of a group is but one row that attains min or max, that row is reproduced; the others over
the sketch are not above (below) their counterparts, so not above (below) it: the value is the same. So it is only the
input that is not kept then.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from forward_lineage.sketches.safety import functions
from forward_lineage.sketches.safety.algebra import (
    Aggregate,
    AggregateCall,
    Column,
    Distinct,
    Ref,
    Scalar,
    references,
    subqueries,
)
from forward_lineage.sketches.safety.bounds import interval, is_at_least, is_at_most, is_present
from forward_lineage.sketches.safety.context import Analyse, Context, Place
from forward_lineage.sketches.safety.facts import is_narrow
from forward_lineage.sketches.safety.linking import Links, link_of
from forward_lineage.sketches.safety.rules.subqueries import looked_at
from forward_lineage.sketches.safety.state import EQUAL, UNBOUNDED, UNKNOWN, Equalities, Interval, Link, State, union
from forward_lineage.sketches.safety.verdicts import unproven

_MOST_ROWS = 10**10
_LARGEST_LONG, _LARGEST_EXACT_DOUBLE = 2**63 - 1, 2**53
_ATTAINED = {"min", "max", "bool_or", "bool_and"}


def aggregation(plan: Aggregate, place: Place, context: Context, analyse: Analyse) -> State:
    """Fold groups; see above."""
    below = _below(plan, place, context)
    state = analyse(plan.input, below).discharged()
    arguments = [each for _, call in plan.calls for each in (*call.args, *([call.where] if call.where else []))]
    links, guard = looked_at([*(scalar for _, scalar in plan.keys), *arguments], state, analyse, below)
    state = replace(state, guard=union(state.guard, guard))
    for _, scalar in plan.keys:
        if not link_of(scalar, state, links).is_equal:
            unproven("rows are grouped by a value that may be another one over the sketch", plan.node)
    keys = _key_columns(plan, state)
    whole = _whole(state, keys)
    groups = group_state(plan, state, keys, whole=whole)
    return values_of(plan, state, groups, links, context, whole=whole, keys=keys)


def _below(plan: Aggregate, place: Place, context: Context) -> Place:
    """Where the rows of groups stand: kept with their group, if not one of them may stand for all."""
    attained = all(call.name in _ATTAINED for _, call in plan.calls)
    kept = place.kept and not (context.one_witness and attained)
    return Place(kept, place.outer, reached=place.reached and bool(plan.keys))


def values_of(
    plan: Aggregate,
    state: State,
    groups: State,
    links: Links,
    context: Context,
    *,
    whole: bool,
    keys: frozenset[Column],
) -> State:
    """The state of groups with that of their values; `state` is that of the rows."""
    values, keyed = {}, bool(plan.keys)
    attained = all(call.name in _ATTAINED for _, call in plan.calls)
    for column, call in plan.calls:
        check_exact(call, state, context)
        values[column] = _value(call, state, links, context, whole=whole, keyed=keyed)
        if _is_of_the_keys(call, keys):
            values[column] = EQUAL
        if context.one_witness and not state.exact() and not whole and values[column].sense == "?" and attained:
            unproven(f"one row may stand for a group, and {call.name} of the others is not known", call.node)
    return replace(
        groups,
        links={**groups.links, **values},
        bounds={**groups.bounds, **{column: between(call, state, keyed=keyed) for column, call in plan.calls}},
        present=groups.present | {column for column, call in plan.calls if is_there(call, state, keyed=keyed)},
    )


def distinct(plan: Distinct, place: Place, context: Context, analyse: Analyse) -> State:
    """Keep one of equal rows: groups by all columns, without values of their own."""
    state = analyse(
        plan.input, replace(place, kept=place.kept and not context.one_witness, outermost=False)
    ).discharged()
    if not all(state.links[column].is_equal for column in plan.columns):
        unproven("DISTINCT of a value that may be another one over the sketch", plan.node)
    keys = frozenset(plan.columns)
    as_group = Aggregate(plan.columns, plan.input, tuple((each, Ref(each)) for each in plan.columns), ())
    return group_state(as_group, state, keys, whole=_whole(state, keys))


def _key_columns(plan: Aggregate, state: State) -> frozenset[Column]:
    """The columns that have one value in a group because of the keys."""
    keys = {column for column, _ in plan.keys} | {each.column for _, each in plan.keys if isinstance(each, Ref)}
    return state.decided(keys)


def _whole(state: State, keys: frozenset[Column]) -> bool:
    """Whether a group is in the sketches as a whole, or not at all."""
    if state.guard is None:
        return False
    return all((c in keys or state.is_fixed(c)) and state.in_sketch(table, c) for table, c in state.guard)


def group_state(plan: Aggregate, state: State, keys: frozenset[Column], *, whole: bool) -> State:
    """The facts about groups, but for their values."""
    if not plan.keys:
        return _single_row(state, whole=whole)
    constant = frozenset(column for column in state.links if column in keys or state.is_fixed(column))
    made = {column: scalar for column, scalar in plan.keys if column not in state.links}
    return replace(
        state,
        links={**dict.fromkeys(constant, EQUAL), **{column: EQUAL for column, _ in plan.keys}},
        guard=state.guard if whole else None,
        inside=frozenset((table, column) for table, column in state.inside if column in keys or state.is_fixed(column)),
        bounds={**state.bounds, **{column: interval(scalar, state) for column, scalar in made.items()}},
        present=state.present | {column for column, scalar in made.items() if is_present(scalar, state)},
        conditions=state.conditions,
        defined={**state.defined, **made},
        unique=(frozenset(column for column, _ in plan.keys),),
    )


def _single_row(state: State, *, whole: bool) -> State:
    """The facts about a global aggregate's row: it is there over no rows, too, so none of their facts hold."""
    guard: list[tuple[str, Column]] | None = [] if whole and state.guard is not None else None
    for table, column in state.guard or () if whole else ():
        outer = [each for each in state.equal.same(column) if isinstance(each, Column) and state.is_outer(each)]
        guard = None if guard is None or not outer else [*guard, (table, outer[0])]
    return State(
        guard=None if guard is None else frozenset(guard),
        equal=Equalities() if state.outer is None else state.outer.equal,
        unique=(frozenset(),),
        outer=state.outer,
    )


# --- values -------------------------------------------------------------------------------------------------


def check_exact(call: AggregateCall, state: State, context: Context) -> None:
    """Refuse what the order of rows decides, and what may fail for a part of a group alone."""
    name, argument = call.name, call.args[0] if call.args else None
    if name in functions.FLOATING_AGGREGATES:
        unproven(f"{name} adds up floating-point numbers: its last digits depend on the order of rows", call.node)
    if name not in functions.MONOTONE_AGGREGATES and name not in functions.OTHER_AGGREGATES:
        unproven(f"{name} may depend on the order of rows", call.node)
    if name not in ("sum", "avg") or argument is None:
        return
    if argument.family not in ("int", "decimal"):
        unproven(f"{name} of floating-point numbers: its last digits depend on the order of rows", call.node)
    largest = _largest(argument, state)
    if name == "avg" and argument.family == "int" and largest * _MOST_ROWS >= _LARGEST_EXACT_DOUBLE:
        unproven("avg of integers that may leave the exact range of DOUBLE (2^53)", call.node)
    between = interval(argument, state)
    one_sign = is_at_least(between, 0) or is_at_most(between, 0)
    fails = name == "sum" and argument.family == "int" and context.facts.ansi and not state.exact()
    if fails and not one_sign and not _stays_long(argument, state):
        unproven("sum of BIGINT that may overflow in a part of a group alone", call.node)


def _largest(argument: Scalar, state: State) -> float:
    low, high = interval(argument, state)
    if low is not None and high is not None:
        return float(max(abs(low), abs(high)))
    return 2.0**15 if _type(argument) in ("smallint", "tinyint") else float("inf")


def _type(argument: Scalar) -> str:
    return argument.column.facts.type.strip().lower() if isinstance(argument, Ref) else ""


def _stays_long(argument: Scalar, state: State) -> bool:
    return is_narrow(_type(argument)) or _largest(argument, state) * _MOST_ROWS <= _LARGEST_LONG


def _value(call: AggregateCall, state: State, links: Links, context: Context, *, whole: bool, keyed: bool) -> Link:
    if state.exact():
        return EQUAL
    if whole:
        if keyed:
            return EQUAL
        return Link("0") if call.name in ("count", "count_if") else Link("=", True)
    argument = link_of(call.args[0], state, links) if len(call.args) == 1 else EQUAL
    if call.where is not None and not link_of(call.where, state, links).is_equal:
        return UNKNOWN
    if len(call.args) > 1 and not all(link_of(each, state, links).is_equal for each in call.args):
        return UNKNOWN
    return of_a_part(call, argument, state, context, keyed=keyed)


def of_a_part(call: AggregateCall, argument: Link, state: State, context: Context, *, keyed: bool) -> Link:  # noqa: PLR0911 - one arm for each kind
    """How the value over some of the rows of a group is linked to that over all; see above."""
    if call.distinct and argument.sense != "=":
        return UNKNOWN
    vanish = (
        argument.vanish or not keyed or call.where is not None or not is_present(call.args[0], state)
        if call.args
        else True
    )
    match call.name:
        case "count":
            return Link("<") if argument.sense in ("=", "<", ">", "0") else UNKNOWN
        case "count_if":
            return Link("<") if argument.is_equal else UNKNOWN
        case "max" | "bool_or":
            return Link("<", vanish) if argument.sense in ("=", "<") else UNKNOWN
        case "min" | "bool_and":
            return Link(">", vanish) if argument.sense in ("=", ">") else UNKNOWN
        case "sum" if context.facts.ansi or call.args[0].family != "int" or _stays_long(call.args[0], state):
            between = interval(call.args[0], state)
            if is_at_least(between, 0) and argument.sense in ("=", "<", "0"):
                return Link("<", vanish)
            if is_at_most(between, 0) and argument.sense in ("=", ">", "0"):
                return Link(">", vanish)
    return UNKNOWN


def between(call: AggregateCall, state: State, *, keyed: bool) -> Interval:
    """Between what the value of an aggregate is; a group that is there has a row."""
    if call.name in ("count", "count_if"):
        counts = keyed and call.where is None and call.name == "count" and all(is_present(e, state) for e in call.args)
        return Fraction(1 if counts else 0), None
    if not call.args:
        return UNBOUNDED
    found = interval(call.args[0], state)
    if call.name in ("min", "max") or (call.name == "avg" and call.args[0].family == "decimal"):
        return found
    if call.name == "sum":
        return Fraction(0) if is_at_least(found, 0) else None, Fraction(0) if is_at_most(found, 0) else None
    return UNBOUNDED


def _is_of_the_keys(call: AggregateCall, keys: frozenset[Column]) -> bool:
    """Whether the value is that of any one row: all have the same argument."""
    if call.where is not None or len(call.args) != 1 or not (call.name in {*_ATTAINED, "avg"} or call.distinct):
        return False
    return bool(keys) and not subqueries(call.args[0]) and references(call.args[0]) <= keys


def is_there(call: AggregateCall, state: State, *, keyed: bool) -> bool:
    """Whether the value is never NULL."""
    if call.name in ("count", "count_if"):
        return True
    return keyed and call.where is None and bool(call.args) and is_present(call.args[0], state)
