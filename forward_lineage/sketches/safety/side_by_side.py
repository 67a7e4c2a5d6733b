"""Two instances of one template over the same tables: are the rows of one among those of the other, with lineage?

For each operator, by induction: an injective map M from the rows of the asked instance (R′) into those of the captured
one (R), linked column by column, with lineage(r′) ⊆ lineage(M(r′)).            [Niu 2021, §7, ge and Ψ, fig. 5]

Filters are compared where they stand. A condition that is not implied there is left pending until it is, at the latest
by all facts about a returned row: the paper's uconds. Below a group only conditions on its keys may be pending: a group
passes as a whole. Conditions in excess of the captured instance narrow groups, unless they are on keys alone. Then the
values of groups are linked like those of parts of groups (`rules.groups`), in the direction of fewer rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from forward_lineage.sketches.safety.algebra import (
    Access,
    Aggregate,
    Call,
    Column,
    Join,
    Plan,
    Ref,
    Scalar,
    SetOperation,
    Subquery,
    TopK,
    Windows,
    expressions,
    inputs,
    operators,
    parts,
    references,
    subqueries,
)
from forward_lineage.sketches.safety.linking import Links, link_of
from forward_lineage.sketches.safety.state import EQUAL, State
from forward_lineage.sketches.safety.verdicts import UnprovenError, unproven


@dataclass(frozen=True)
class Both:
    """The facts about the rows of both instances, by the columns of the asked one.

    Attributes:
        asked: its rows; `links` lead to the captured ones.
        captured: what is known of the counterparts.
        columns: column of the captured plan → the one of the asked plan that stands in its place.
        pending: conditions of the captured instance that are still to be implied.
        narrowed: conditions of the asked instance that rows of the captured one need not meet.
    """

    asked: State
    captured: State
    columns: Mapping[Column, Column] = field(default_factory=dict)
    pending: tuple[Scalar, ...] = ()
    narrowed: tuple[Scalar, ...] = ()

    @property
    def same(self) -> bool:
        """Whether both have the same rows."""
        return not self.pending and not self.narrowed and all(each.is_equal for each in self.asked.links.values())


def translated(scalar: Scalar, columns: Mapping[Column, Column], pairs: Mapping[Subquery, Subquery]) -> Scalar:
    """Return an expression of the captured plan over the columns of the asked one."""
    match scalar:
        case Ref(column):
            return Ref(columns.get(column, column), family=scalar.family)
        case Subquery():
            return pairs[scalar]
        case Call():
            return replace(scalar, args=tuple(translated(each, columns, pairs) for each in scalar.args))
    return scalar


def follows(both: Both, given: Sequence[Scalar], goal: Scalar, links: Links, *, forwards: bool, wraps: bool) -> bool:
    """Say whether `goal` is true of a row of one instance where `given` is true of its counterpart in the other.

    Args:
        both: what is known of both rows.
        given: conditions of the asked instance, where it goes `forwards`; else of the captured one.
        goal: a condition of the other.
        links: how subqueries are linked.
        forwards: from the asked row to the captured one.
        wraps: whether integers wrap around.
    """
    from forward_lineage.sketches.safety.solver import ALL, SKETCH, Question, linked  # noqa: PLC0415 - z3, an extra

    here, there = (SKETCH, ALL) if forwards else (ALL, SKETCH)
    states = {SKETCH: both.asked, ALL: both.captured}
    known = {side: [each for each in states[side].conditions if not subqueries(each)] for side in states}
    question = Question(
        states,
        lambda scalar: linked(scalar, both.asked, links),
        [goal, *given, *known[here], *known[there]],
        wraps=wraps,
    )
    question.assume((*given, *known[here]), here)
    if forwards:
        question.assume(known[there], there)
    question.assume_not(goal, there)
    return question.follows()


def decided_by(keys: frozenset[Column], conditions: Sequence[Scalar]) -> bool:
    """Say whether conditions ask for columns that are the same in a group alone."""
    return all(references(each) <= keys and not subqueries(each) for each in conditions)


def settled(both: Both, *, wraps: bool) -> Both:
    """Drop what is pending and now implied."""
    rest = tuple(each for each in both.pending if not follows(both, [], each, {}, forwards=True, wraps=wraps))
    proven = tuple(each for each in both.pending if each not in rest)
    captured = replace(both.captured, conditions=(*both.captured.conditions, *proven))
    return replace(both, pending=rest, captured=captured)


def all_equal(scalars: Sequence[Scalar], state: State, links: Links) -> bool:
    """Say whether expressions have the same values in both instances."""
    try:
        return all(link_of(each, state, links) == EQUAL for each in scalars)
    except UnprovenError:
        return False


def pair_up(asked: Sequence[Scalar], captured: Sequence[Scalar]) -> dict[Subquery, Subquery]:
    """Pair the subqueries of the captured expressions with those that stand in their places in the asked ones."""
    a = [each for scalar in asked for each in parts(scalar) if isinstance(each, Subquery)]
    b = [each for scalar in captured for each in parts(scalar) if isinstance(each, Subquery)]
    if len(a) != len(b):
        unproven("the instances have different subqueries")
    return dict(zip(b, a, strict=True))


def shape(plan: Plan) -> tuple[int, ...]:
    """How many columns, expressions, keys and values an operator has: equal literals may make two values one."""
    grouped = (len(plan.keys), len(plan.calls)) if isinstance(plan, Aggregate) else ()
    return (len(plan.columns), len(expressions(plan)), *grouped)


def inner_equal(both: Both, plan: Plan) -> bool:
    """Whether the columns of a subquery are equal in both."""
    return all(both.asked.links[column].is_equal for column in plan.columns)


def alike(asked: Plan, captured: Plan, columns: dict[Column, Column]) -> bool:
    """Whether two plans are the same but for their columns, which are paired on the way."""
    below = inputs(asked), inputs(captured)
    if type(asked) is not type(captured) or len(below[0]) != len(below[1]):
        return False
    if not all(alike(a, b, columns) for a, b in zip(*below, strict=True)):
        return False
    columns |= zip(captured.columns, asked.columns, strict=False)
    if isinstance(asked, Aggregate) and isinstance(captured, Aggregate):
        columns |= {b: a for (a, _), (b, _) in zip(asked.keys, captured.keys, strict=True) if b not in columns}
    made = _made(asked), _made(captured)
    if any(any(map(subqueries, expressions(each))) for each in operators(asked)):
        return False
    a, b = expressions(asked), expressions(captured)
    columns |= zip(made[1], made[0], strict=False)
    return (
        len(a) == len(b)
        and all(translated(y, columns, {}) == x for x, y in zip(a, b, strict=True))
        and _rest(asked) == _rest(captured)
    )


def _made(plan: Plan) -> list[Column]:
    """The columns that an operator makes besides its output."""
    return [column for column, _ in plan.calls] if isinstance(plan, Aggregate | Windows) else []


def _rest(plan: Plan) -> tuple[object, ...]:
    """The other facts of an operator."""
    match plan:
        case Access():
            return (plan.table,)
        case Join() | SetOperation():
            return (plan.kind,)
        case TopK():
            return (plan.limit, plan.offset, tuple((key.descending, key.nulls_first) for key in plan.keys))
        case Aggregate():
            return tuple((call.name, call.distinct, call.where is None) for _, call in plan.calls)
        case Windows():
            return tuple((call.name, call.whole, call.ranged) for _, call in plan.calls)
    return ()
