"""Windows by reference: what a row takes from a frame is a stretch of places, not a set of ids.

    SELECT k, sum(v) OVER (PARTITION BY k ORDER BY d) AS t FROM s
    →  WITH __stage1 AS (SELECT *, dl_number(…) … FROM (SELECT k, sum(v) OVER (…) AS t, __dl_s, dl_frame(…) … FROM s))
       SELECT k, t, __dl___stage1 FROM __stage1

By value each row of a running total has a copy of the whole prefix. A frame is contiguous in the order of its window.
So it is known by the partition, the place of its last row and its size. These are counts over the same partition and
order. Spark computes them in the same pass, over the same sorted rows. The block becomes a stage (`rewrites.stages`),
whose relation keeps each row's own lineage once, by place.   [not in Zhang 2007; aggregation of §3.3, over a frame]
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import outermost, stages, travel_costs
from rewrites.block import Block, has_grouping_sets
from rewrites.environment import TracedQuery
from rewrites.lineage_functions import dl_frame
from rewrites.ordering import order_helpers
from rewrites.row_estimates import referred as without_sets
from rewrites.terms import Kind, as_one, call, hidden_column, name, named

_PARTITION = ("ROWS", ("UNBOUNDED", "PRECEDING"), ("UNBOUNDED", "FOLLOWING"))
_FROM_THE_FIRST = ("UNBOUNDED", "PRECEDING")
_ROW = ("CURRENT ROW", None)
_LOW_BITS = 0xFFFFFFFF  # of a hash: so many can be added up without an overflow

_Bound = tuple[exp.Expr | str, str | None]


def may_refer(block: Block) -> bool:
    """Say whether the block can be a stage: its rows are made of nothing but FROM, and windows leave none out."""
    if block.constants or block.groups or block.select.args.get("qualify") or block.select.args.get("distinct"):
        return False
    if has_grouping_sets(block.select.args.get("group")):
        return False  # below them Spark 4.3 does not find the keys in the argument of a window function
    return bool(block.rows) and not block.scope.correlated and stages.can_move(block.select, block.env)


def travels_by_value(block: Block) -> bool:
    """Say whether to copy what windows see costs less than a stage, and note it; `block.frames` are the windows."""
    choices = block.env.choices
    if choices is None or block.expected is None:
        return False
    block.choice = travel_costs.of_windows(block, block.select.meta.get(stages.PLACE))
    choices.append(block.choice)
    return block.choice.by_value


def expect_copies(windows: list[exp.Window], block: Block) -> None:
    """Take down that rows will carry what windows see."""
    if block.expected is not None:
        place = block.select.meta.get(stages.PLACE)
        block.expected = travel_costs.with_windows(block.expected, windows, place)


def referred(block: Block) -> TracedQuery:
    """Return the query that reads the block as a stage; ORDER BY, LIMIT and the like are outside of it.

    Args:
        block: all rules have run; `block.frames` says which windows its rows were computed over.
    """
    select, env = block.select, block.env
    outside = outermost.take(select)
    helpers = dict(order_helpers(select, outside, env))
    own = [as_one(terms).value for terms in block.rows.values()]
    frames = {env.names.fresh("frame"): _frame(window, own) for window in block.frames}
    for alias, value in (*helpers.items(), *((hidden_column(each), frame) for each, frame in frames.items())):
        select.append("expressions", named(value, alias))
    stage = stages.add(select, block.hidden, env, tuple(frames), block.choice)
    excepted = [*map(hidden_column, (*block.hidden, *frames, stage.name)), *helpers]
    star = exp.Star(except_=[exp.column(name(each), copy=False) for each in excepted])
    number = hidden_column(stage.name)
    result = exp.Select(expressions=[star, named(exp.column(name(number), copy=False), number)]).from_(
        exp.Table(this=name(stage.name)), copy=False
    )
    outermost.put(result, outside)
    return TracedQuery(result, block.columns, {stage.name: Kind.ID}, estimated=without_sets(block.estimated))


def _frame(window: exp.Window, own: list[exp.Expr]) -> exp.Expr:
    """Return what the frame of a window is to the row.

    Args:
        window: written out, without a name.
        own: the lineage of a row that the window sees.
    """
    keys = window.args.get("partition_by") or []
    count = call("count", exp.Literal.number(1))
    low_bits = exp.BitwiseAnd(this=_hash(own), expression=exp.Literal.number(_LOW_BITS))
    return dl_frame(
        _over(call("min", _hash(keys)), window, *_PARTITION) if keys else exp.Literal.number(0),
        _over(count, window, "ROWS", _FROM_THE_FIRST, _ROW),
        _over(count, window, *_up_to_the_last(window)),
        _within(count, window),
        _within(call("sum", low_bits), window),
    )


def _up_to_the_last(window: exp.Window) -> tuple[str, _Bound, _Bound]:
    """Return the frame of all rows of the partition up to the last one of a window's frame."""
    frame = window.args.get("spec")
    if frame is not None:
        last = (frame.args.get("end") or "CURRENT ROW", frame.args.get("end_side"))
        return frame.args["kind"], _FROM_THE_FIRST, last
    return ("RANGE", _FROM_THE_FIRST, _ROW) if window.args.get("order") else _PARTITION


def _hash(values: list[exp.Expr]) -> exp.Expr:
    return call("xxhash64", *(value.copy() for value in values))


def _within(value: exp.Expr, window: exp.Window) -> exp.Window:
    """Return an aggregate over the frame of a window."""
    over = window.copy()
    over.set("this", value.copy())
    return over


def _over(value: exp.Expr, window: exp.Window, kind: str, first: _Bound, last: _Bound) -> exp.Window:
    """Return an aggregate over another frame in the same partition and order."""
    bounds = dict(zip(("start", "start_side", "end", "end_side"), (*first, *last), strict=True))
    over = _within(value, window)
    over.set("spec", exp.WindowSpec(kind=kind, **bounds).copy())
    return over
