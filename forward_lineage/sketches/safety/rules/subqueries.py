"""The effect of the subqueries of an expression: EXISTS, IN, scalar subqueries.

A subquery S is looked at for a pair of outer rows (r′, r) whose columns that S mentions are equal; then S′ ⪯ S
(containment), and S′ = S where the guard of S is discharged: each sketched table in S has its sketch's column equal to
a column c of the outer row of which the outer block knows that p_T(r′.c) holds, because that came from the same table.

EXISTS   S′ not empty → S not empty: no truer over the sketch. Equal where S′ = S.
IN       a disjunction of comparisons over fewer rows: no truer over the sketch (false < unknown < true), if the columns
         of S are equal. Equal where S′ = S. So NOT IN and NOT EXISTS hold only where S′ = S.
scalar   one row at most. v′ is linked as the column of S is; besides S′ may be empty and S not: v′ NULL, v not.

Reproduction: under control semantics the lineage of r holds all rows that S finds for r (also those of NOT IN, of a
CASE arm that is not taken). They are reproduced, and as S′ ⪯ S nothing else is in S′: S′ = S for this row.
NOT EXISTS that holds has no row of S in the lineage: S′ ⪯ S = ∅.

A subquery that mentions no outer column finds the same for all rows. If it is asked on the way of each result row, then
one row in the result has all that it finds in its lineage: S′ = S, for all. So where the result has a row, which is to
be seen at capture, such a subquery is equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from forward_lineage.sketches.safety.algebra import Aggregate, Plan, Project, Scalar, Subquery, subqueries
from forward_lineage.sketches.safety.context import Analyse, Place
from forward_lineage.sketches.safety.linking import Links, link_of
from forward_lineage.sketches.safety.state import EQUAL, UNKNOWN, Guard, Link, State, union


def looked_at(scalars: Sequence[Scalar], state: State, analyse: Analyse, place: Place) -> tuple[Links, Guard | None]:
    """Return how the subqueries of expressions are linked, and what must be in the sketches for them to be equal.

    Args:
        scalars: the expressions.
        state: the rows for which they are asked.
        analyse: looks at a subquery's plan.
        place: where the operator stands that asks; kept: each row for which they are asked is in the lineage of the
            result.
    """
    links: dict[Subquery, Link] = {}
    guards: list[Guard | None] = []
    for subquery in dict.fromkeys(each for scalar in scalars for each in reversed(subqueries(scalar))):
        inner = analyse.subquery(subquery, state, place).discharged()
        for operand in subquery.operands:
            if not link_of(operand, state, links).is_equal:
                inner = State(guard=None, outer=state)
        links[subquery] = EQUAL if inner.exact() else _link(subquery, inner)
        guards.append(_in_terms_of(state, inner))
    return links, union(*guards)


def _link(subquery: Subquery, inner: State) -> Link:
    if subquery.kind == "exists":
        return Link("truth")
    found = [inner.links.get(column, UNKNOWN) for column in subquery.plan.columns]
    if subquery.kind == "in":
        return Link("truth") if found and all(each.is_equal for each in found) else UNKNOWN
    link = found[0]
    return link if _has_a_row(subquery.plan) else Link(link.sense, True)


def _has_a_row(plan: Plan) -> bool:
    """Whether there is always just one row: that of a global aggregate."""
    if isinstance(plan, Project):
        return _has_a_row(plan.input)
    return isinstance(plan, Aggregate) and not plan.keys


def _in_terms_of(state: State, inner: State) -> Guard | None:
    """The guard of a subquery by columns of the outer row; None where it has others."""
    if inner.guard is None:
        return None
    found = []
    for table, column in inner.guard:
        outer = [each for each in inner.equal.same(column) if each in state.links]
        if not outer:
            return None
        found.append((table, outer[0]))
    return frozenset(found)  # type: ignore[arg-type]
