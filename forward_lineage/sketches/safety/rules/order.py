"""ORDER BY with LIMIT and OFFSET: top-k.   [Niu 2021, §6.2, top-k; ties, OFFSET and LIMIT alone are ours]

τ_{O,k}(R), all of whose rows K are in the result. They are reproduced, with their keys. Any other row r′ goes to a row
r that is not in K, since M is injective, so r comes behind all of K; and r′ comes no earlier than r. So the first k of
R′ are K, and where R has no more than k rows R′ = R = K. r′ comes no earlier if each key does: an equal key, a key that
is not above its counterpart and descends, one that is not below and ascends; a key that may vanish only where NULL is
last. Keys behind those that tell rows apart order nothing.

Ties. If rows k and k + 1 have equal keys, Spark may choose either, over the sketch and over all rows: nothing could be
compared. So either the order is total (its keys decide every column of the output, or hold those that tell rows apart),
or it must be seen at capture that the edge is no tie: the keys of K differ from those of the row behind it. The row
over the sketch that comes next is not earlier than its counterpart, so it is no tie, either.
LIMIT without ORDER BY is a tie of all rows: it must be seen that none is cut off.

OFFSET. Control semantics has the rows that are passed over in the lineage of those that are returned: as if they were
in K. If none is returned there are no more than `offset` rows in R, and so in R′.

A top-k that is not all in the result, such as one in a derived table under WHERE, may get other rows over the sketch,
not contained in K. It is proven only where its input is equal (R′ = R) and its order total.
"""

from __future__ import annotations

from dataclasses import replace

from forward_lineage.sketches.safety.algebra import Column, Ref, TopK
from forward_lineage.sketches.safety.context import Analyse, Context, Place
from forward_lineage.sketches.safety.linking import comes_no_earlier, link_of
from forward_lineage.sketches.safety.state import State
from forward_lineage.sketches.safety.verdicts import RunTimeCheck, unproven


def top_k(plan: TopK, place: Place, context: Context, analyse: Analyse) -> State:
    """Take rows from an order; see above."""
    state = analyse(plan.input, Place(False, place.outer, reached=place.reached)).discharged()
    if not _is_total(plan, state):
        if not (place.kept and place.outermost):
            unproven("LIMIT may cut through rows that tie in the order", plan.node)
        _ask_for_no_tie(plan, context)
    if state.exact():
        return state
    if not place.kept:
        unproven("LIMIT in a part of the query of which not all rows are in the result", plan.node)
    if not rows_come_no_earlier(plan, state):
        unproven("a row may come earlier in the order over the sketch than over all rows", plan.node)
    return replace(state, guard=None)


def rows_come_no_earlier(plan: TopK, state: State) -> bool:
    """Say whether no row over the sketch comes before its counterpart; `state` is that of the rows in the order."""
    equal: set[Column] = set()
    for key in plan.keys:
        link = link_of(key.expr, state, {})
        if not comes_no_earlier(link, key.expr, state, descending=key.descending, nulls_first=key.nulls_first):
            return False
        if link.is_equal and isinstance(key.expr, Ref):
            equal.add(key.expr.column)
            if any(each <= state.decided(equal) for each in state.unique):
                return True  # no two rows tie so far: what follows orders nothing
    return True


def _is_total(plan: TopK, state: State) -> bool:
    """Whether rows that tie in the order are equal."""
    if state.unique and any(not each for each in state.unique):
        return True  # one row at most
    if plan.limit == 0 and not plan.offset:
        return True
    keys = {key.expr.column for key in plan.keys if isinstance(key.expr, Ref)}
    decided = state.decided(keys)

    def is_decided(column: Column) -> bool:
        return column in decided or state.is_fixed(column)

    return all(map(is_decided, plan.columns)) or any(all(map(is_decided, each)) for each in state.unique)


def _ask_for_no_tie(plan: TopK, context: Context) -> None:
    edges = [plan.offset] if plan.offset else []
    if plan.limit is not None:
        edges.append(plan.offset + plan.limit)
    if plan.offset and not plan.keys:
        unproven("OFFSET without ORDER BY", plan.node)
    context.checks.extend(RunTimeCheck("no tie", edge) for edge in edges if edge)
