"""Window functions.   Not in the paper.

M of the input, if what partitions and orders is equal: each row goes to a row of the same place in the order, and the
frame of r′ (by RANGE, or the whole partition) goes into the frame of r. Reproduction: under control semantics the
lineage of r has its frame, for a ranking its partition, for a frame of counted rows also those in between: all are
reproduced, nothing else is there, since M keeps places: the same value.

Values are equal where R′ = R, and where each (T, c) of the guard is one value in a partition and in the sketches there
(as for groups): then a partition is there as a whole or not at all. Else of parts of partitions: rank, dense_rank and
row_number can only fall; aggregates over the whole partition or up to the row's peers are linked as those of groups.
Everything else is unknown. Functions that number rows or count them off (row_number, lag, ROWS) need a total order.
"""

from __future__ import annotations

from dataclasses import replace

from forward_lineage.sketches.safety.algebra import AggregateCall, Column, Ref, WindowCall, Windows, any_subquery
from forward_lineage.sketches.safety.context import Analyse, Context, Place
from forward_lineage.sketches.safety.linking import link_of
from forward_lineage.sketches.safety.rules.groups import between, check_exact, is_there, of_a_part
from forward_lineage.sketches.safety.state import EQUAL, UNKNOWN, Link, State
from forward_lineage.sketches.safety.verdicts import unproven

_COUNTED = {"row_number", "lag", "lead", "ntile"}
_FALLING = {"rank", "dense_rank", "row_number"}
_RANKED = {"rank", "dense_rank", "percent_rank", "cume_dist"}


def windows(plan: Windows, place: Place, context: Context, analyse: Analyse) -> State:
    """Compute window functions; see above."""
    state = analyse(plan.input, Place(place.kept, place.outer, reached=place.reached)).discharged()
    links, bounds, present, whole = dict(state.links), dict(state.bounds), set(state.present), True
    for column, call in plan.calls:
        aligned = _looked_at(call, state, context)
        whole = whole and aligned
        links[column] = EQUAL if aligned else _of_a_part(call, state, context)
        if _folds_own_row(call):
            bounds[column] = between(_as_aggregate(call), state, keyed=True)
            present |= {column} if is_there(_as_aggregate(call), state, keyed=True) else set()
    return replace(state, links=links, bounds=bounds, present=frozenset(present), guard=state.guard if whole else None)


def _looked_at(call: WindowCall, state: State, context: Context) -> bool:
    """Whether the partitions of a call are whole; UnprovenError where it is not the same in each evaluation."""
    expressions = [*call.args, *call.partition, *(key.expr for key in call.order)]
    if any_subquery(expressions):
        unproven("a subquery within a window function is not read", call.node)
    if not all(link_of(each, state, {}).is_equal for each in expressions):
        unproven("a window over values that may be others over the sketch", call.node)
    if call.name not in (*_COUNTED, *_RANKED):
        check_exact(_as_aggregate(call), state, context)
    if (call.name in _COUNTED or not (call.ranged or call.whole)) and not _is_total(call, state):
        unproven("a window that counts rows in an order that may have ties", call.node)
    return state.guard is not None and _is_whole(call, state)


def _is_whole(call: WindowCall, state: State) -> bool:
    """Whether partitions are in the sketches as a whole, or not at all."""
    columns = {each.column for each in call.partition if isinstance(each, Ref)}
    fixed = state.decided(columns)
    return all((c in fixed or state.is_fixed(c)) and state.in_sketch(table, c) for table, c in state.guard or ())


def _is_total(call: WindowCall, state: State) -> bool:
    keys = {e.column for e in [*call.partition, *(key.expr for key in call.order)] if isinstance(e, Ref)}
    decided = state.decided(keys)

    def is_decided(column: Column) -> bool:
        return column in decided or state.is_fixed(column)

    return any(all(map(is_decided, each)) for each in state.unique)


def _of_a_part(call: WindowCall, state: State, context: Context) -> Link:
    if call.name in _FALLING:
        return Link("<")
    return of_a_part(_as_aggregate(call), EQUAL, state, context, keyed=True) if _folds_own_row(call) else UNKNOWN


def _folds_own_row(call: WindowCall) -> bool:
    """Whether it is an aggregate over a frame that has the row itself."""
    return (call.ranged or call.whole) and call.name not in (*_RANKED, *_COUNTED)


def _as_aggregate(call: WindowCall) -> AggregateCall:
    return AggregateCall(call.name, call.args, node=call.node)
