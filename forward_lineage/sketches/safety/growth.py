"""The sketches that may grow with their table instead of being captured anew.   Not in the paper (its future work).

A sketch 𝒫 over column a of table R was captured in a state D of the tables. Then rows ΔR were added to R: no row of R,
and no row of another table, is another one in the new state D′. F are the fragments in which rows of ΔR lie. For which
queries is 𝒫 ∪ F a sketch of D′, so that Q over the rows of D′ in 𝒫 ∪ F is Q over D′?

D|S are the rows of D, of R only those in fragments S. Outside F nothing was added: D|¬F = D′|¬F.             (1)

*By fragments.* An operator O is evaluated by fragments if it has a column c with

    O(D|S) = {r ∈ O(D): r.c in S}   for every D and every S.                                                     (2)

The rules of `safety` say when: over *any* sketch S, R′ = O(D|S) goes into O(D) (containment), a row r with its guard,
p_S(r.c), is reproduced, and p_S(r′.c) holds for each r′ of R′ (`inside`). So if c is linked by equality, M(r′) has the
guard as well, is reproduced, and as M is injective by r′ itself: (2). They say so of WHERE, of groups and windows by
a, of joins with whatever does not depend on R, or finds the same fragment of R; see `rules`.

*All rows.* Let each row of O be in the lineage of the answer: O is Q, or what is between them keeps all rows (select
lists, groups without a condition on them, DISTINCT, window functions, UNION ALL). As 𝒫 was captured in D, all rows of
O(D) are reproduced over 𝒫; with (2), r.c is in 𝒫 for each of them. Let x be in O(D′) with x.c not in F. By (1) and (2)
x is in O(D), too, so x.c is in 𝒫. So O(D′|𝒫∪F) = O(D′), by (2), and Q is the same.

*Top-k.* Q = τ_k(O), O by fragments, in a total order: which one of rows that tie is taken does not matter. T are the
first k rows of O(D); they are in the lineage, so r.c is in 𝒫 for each of them. Asked besides: with more rows in R no
row of O comes later in the order. That is containment of O over some rows of R in O over all, whatever rows (a sketch
that tells every row from every other, no range of anything), with keys that come no earlier over the fewer rows: sum
and count of what is not negative, and max, if they descend; min, if it ascends; keys of the groups. Then each y in T
has a counterpart in O(D′), another one for another y, that comes no later than y, with c in 𝒫 ∪ F: itself if y.c is not
in F; else that of O(D|F) in O(D′|F). Let x be in O(D′) with x.c neither in 𝒫 nor in F. It is in O(D), and not in T, so
there are k rows in T, none later than x; so there are k rows of O(D′) with c in 𝒫 ∪ F, none later than x: x is not
needed among the first k. Without that condition a row of T may fall behind x.

*Another instance* Q′ that 𝒫 serves in D (`reuse`): the lineage of Q′(D) lies in 𝒫, which is all that was used of Q. So
the same holds of Q′ if it is evaluated by fragments; and of rows that were added one time after the other, F being the
fragments of all of them. Statistics of D′ (bounds, no NULL, keys) hold of D, too, which has fewer rows: all is
proven with the facts of D′. What has to be seen at capture (`RunTimeCheck`) was seen of D, not of D′: nothing that
needs a check grows. Nor do two sketches: a new row of one table may need an old one of the other. One table's sketch is
kept then, and the others are read whole, which is a sketch of them.
"""

from __future__ import annotations

from forward_lineage.frontend.statement import Statement
from forward_lineage.sketches.safety.algebra import (
    Aggregate,
    Distinct,
    Plan,
    Project,
    SetOperation,
    TopK,
    Windows,
    expressions,
    subqueries,
)
from forward_lineage.sketches.safety.context import ANY_ROWS, Context, Place
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.plan import read_plan
from forward_lineage.sketches.safety.proving import Prover, prove_plan
from forward_lineage.sketches.safety.rules.order import rows_come_no_earlier
from forward_lineage.sketches.safety.state import State
from forward_lineage.sketches.safety.verdicts import Proof, UnprovenError, unproven

_GROWS = "what the added rows do not touch gives the rows that it gave"


def grows(statement: Statement, table: str, column: str, facts: Facts) -> Proof:
    """Say whether a sketch that serves a query may grow by the fragments of rows that were added to its table.

    Args:
        statement: the query.
        table: that has the sketch, as the query names it; no other has one.
        column: of the sketch.
        facts: what is known of the tables with the added rows.

    """
    try:
        plan = read_plan(statement.tree, facts)
        safe = prove_plan(plan, {table: column}, facts)
        if not safe:
            return safe
        if safe.checks:
            unproven("what was seen when the sketch was captured need not hold with the added rows")
        sketched = Context({table: column}, facts)
        if isinstance(plan, TopK):
            _top_k(plan, sketched, Context({table: ANY_ROWS}, facts))
        else:
            _all_rows(plan, sketched)
    except UnprovenError as error:
        return Proof(False, str(error))
    return Proof(True, _GROWS)


def _top_k(plan: TopK, sketched: Context, any_rows: Context) -> None:
    if plan.offset:
        unproven("with OFFSET, what is passed over may be other rows when rows are added", plan.node)
    state = _state(plan.input, any_rows)
    if not _is_by_fragments(plan.input, sketched):
        unproven("a row of the top may come of old rows in other fragments when rows are added", plan.node)
    if state is None or not rows_come_no_earlier(plan, state):
        unproven("a row may leave the top when rows are added, and let in one that is not in the sketch", plan.node)


def _all_rows(plan: Plan, sketched: Context) -> None:
    """Prove it of an operator all of whose rows are in the lineage of the answer."""
    if _is_by_fragments(plan, sketched):
        return
    if any(subqueries(each) for each in expressions(plan)):
        unproven("a subquery may find other rows when rows are added", plan.node)
    match plan:
        case Project() | Aggregate() | Distinct() | Windows():
            _all_rows(plan.input, sketched)
        case SetOperation(kind="union all"):
            _all_rows(plan.left, sketched)
            _all_rows(plan.right, sketched)
        case _:
            unproven("old rows in other fragments may count when rows are added", plan.node)


def _is_by_fragments(plan: Plan, context: Context) -> bool:
    """Whether (2) holds; or the operator does not depend on the sketch at all."""
    state = _state(plan, context)
    if state is None or state.guard is None:
        return False
    columns = [column for _, column in state.guard]
    one = not columns or state.equal.same(columns[0]).issuperset(columns)  # else a row lies in two fragments
    return one and all(
        state.in_sketch(table, column) and column in state.links and state.links[column].is_equal
        for table, column in state.guard
    )


def _state(plan: Plan, context: Context) -> State | None:
    """The facts about an operator over any sketch, one that need not have any lineage; None: nothing."""
    try:
        return Prover(context)(plan, Place(kept=False))
    except UnprovenError:
        return None
