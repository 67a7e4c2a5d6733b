"""Window functions read other rows of the result.   [not in Zhang 2007; aggregation of §3.3, over a frame]

aggregates, first_value …   the row's own + the rows of its frame:    dlunion(__dl_t) OVER (the same window)
lag, lead                   the row's own + the row that is looked at: lag(dl_of(__dl_t), n) OVER (the same window)
row_number, rank, ntile …   data: the row's own; control: + the rows of its partition
Control adds the rows in between, where rows are counted from the row itself: those that lag(v, 3) passes over, and
those between the row and a frame such as ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING.
Windows in ORDER BY and QUALIFY only decide: they add their rows under control semantics alone.
Requires: grouping is done; a window over groups reads the groups' lineage.
Ensures:  user columns and clauses unchanged; `block.groups` has what windows add. Without windows nothing is done.
Nulls:    past the end of a partition lag gives NULL, no row; IGNORE NULLS passes over rows whose value is NULL.
Raises:   NotTracedError for a window function of another kind; WrongSqlError for a window that nobody defines.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import window_frames
from rewrites.block import Block
from rewrites.environment import Semantics
from rewrites.lineage_functions import dlunion
from rewrites.refusals import refuse
from rewrites.spark_functions import WINDOW_ONLY
from rewrites.terms import Kind, Lineage, Term, as_one, as_set, merge
from udafs.errors import WrongSqlError

_RANKING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
_NEIGHBOURS = ("lag", "lead")
_MOST_STEPS = 100  # one more window function each


def apply(block: Block) -> None:
    """Add the lineage of the rows that window functions read."""
    block.claim("qualify", "windows")
    control = block.env.semantics is Semantics.CONTROL
    roots = [*block.select.expressions]
    if control:
        roots += [block.select.args.get("order"), block.select.args.get("qualify")]
    seen: dict[str, exp.Window] = {}
    for node in block.own_nodes(*roots):
        if isinstance(node, exp.Window):
            seen.setdefault(node.sql(dialect="spark"), node)
    windows = list(seen.values())
    if not any(_function(window).name.lower() in _NEIGHBOURS for window in windows) and window_frames.may_refer(block):
        wanted = (_frame(window, control, block) for window in windows)
        written = [_written_out(frame, block).copy() for frame in wanted if frame is not None]
        for frame in written:
            frame.set("this", exp.Null())
        block.frames = list({frame.sql(dialect="spark"): frame for frame in written}.values())
    if not block.frames or window_frames.travels_by_value(block):
        block.frames = []
        adding = [window for window in windows if _function(window).name.lower() not in _RANKING or control]
        window_frames.expect_copies([_written_out(window, block) for window in adding], block)
        for window in windows:
            _add(window, control, block)


def _add(window: exp.Window, control: bool, block: Block) -> None:
    function = _function(window)
    rows = merge(block.rows, block.constants)
    if function.name.lower() in _NEIGHBOURS:
        for steps in _steps(window, function, control):
            block.groups = merge(block.groups, _neighbour(rows, window, function, steps))
        return
    frame = _frame(window, control, block)
    if frame is not None:
        block.groups = merge(block.groups, _over(rows, frame))


def _frame(window: exp.Window, control: bool, block: Block) -> exp.Window | None:
    """Return the window over whose rows a function counts; None where its value is made of none."""
    called = _function(window).name.lower()
    if called in _RANKING:
        return _partition_only(window, block) if control else None
    if called in WINDOW_ONLY - {"nth_value"}:
        refuse(window, f"{called} is not traced", "Use an aggregate, a ranking function, lag or lead.")
    return _up_to_the_row(_written_out(window, block)) if control else window


def _written_out(window: exp.Window, block: Block) -> exp.Window:
    """Return a window as the WINDOW clause defines it, if it is called by a name."""
    if not window.args.get("alias"):
        return window
    definition: exp.Expr = window
    while definition.args.get("alias"):
        definition = _definition(definition, block)
    parts = {part: definition.args.get(part) for part in ("partition_by", "order", "spec")}
    whole = exp.Window(this=window.this.copy(), **parts).copy()
    assert isinstance(whole, exp.Window)
    return whole


def _function(window: exp.Window) -> exp.Anonymous:
    node = window.this
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        node = node.this
    if not isinstance(node, exp.Anonymous):
        refuse(window, f"{type(node).__name__} as a window function is not traced", "Use a plain function call.")
    return node


def _over(rows: Lineage, window: exp.Window) -> Lineage:
    found: Lineage = {}
    for table, terms in rows.items():
        for term in terms:
            over = window.copy()
            over.set("this", dlunion(term.value.copy()))
            found.setdefault(table, []).append(Term(over, Kind.SET))
    return found


def _up_to_the_row(window: exp.Window) -> exp.Window:
    """The window with a frame of counted rows that reaches the row itself."""
    frame = window.args.get("spec")
    if frame is None or frame.args.get("kind") != "ROWS":
        return window
    window = window.copy()
    for near, far in (("end", "start"), ("start", "end")):
        side = "PRECEDING" if near == "end" else "FOLLOWING"
        if frame.args.get(f"{near}_side") == side and frame.args.get(f"{far}_side") == side:
            window.args["spec"].set(near, "CURRENT ROW")
            window.args["spec"].set(f"{near}_side", None)
    return window


def _steps(window: exp.Window, function: exp.Anonymous, control: bool) -> list[exp.Expr | None]:
    """How far `lag` and `lead` go: to the row that is looked at; under control to each that they pass over, too."""
    written = function.expressions[1] if len(function.expressions) > 1 else None
    if written is None or not control:
        return [written]
    number = written.unnest()
    backwards = isinstance(number, exp.Neg)
    number = number.this if backwards else number
    if not (isinstance(number, exp.Literal) and number.is_int and int(number.name) <= _MOST_STEPS):
        what = f"{function.name} by {written.sql(dialect='spark')} rows is not traced under control semantics"
        refuse(window, what, f"Write the number of rows as a literal, at most {_MOST_STEPS}.")
    found = [exp.Literal.number(step) for step in range(min(1, int(number.name)), int(number.name) + 1)]
    return [exp.Neg(this=step) if backwards else step for step in found]


def _neighbour(rows: Lineage, window: exp.Window, function: exp.Anonymous, steps: exp.Expr | None) -> Lineage:
    """The value is that of one other row or, past the end of the partition, the default: lag gives NULL, no row."""
    found: Lineage = {}
    offset = [] if steps is None else [steps.copy()]
    for table, terms in rows.items():
        one = as_one(terms)
        value = as_set(one.value, one.kind)
        looked_at = window.copy()
        inner = _function(looked_at)
        if isinstance(inner.parent, exp.IgnoreNulls):  # rows whose value is NULL are passed over
            seen = exp.Not(this=exp.Is(this=function.expressions[0].copy(), expression=exp.Null()))
            value = exp.Case(ifs=[exp.If(this=seen, true=value)])
        inner.set("expressions", [value, *offset])
        found[table] = [Term(looked_at, Kind.FEW if one.kind is Kind.ID else one.kind, nullable=True)]
    return found


def _partition_only(window: exp.Window, block: Block) -> exp.Window:
    partition = _written_out(window, block).args.get("partition_by")
    return exp.Window(this=exp.Null(), partition_by=[key.copy() for key in partition or []])


def _definition(window: exp.Expr, block: Block) -> exp.Expr:
    wanted = window.args["alias"].name.lower()
    definitions: list[exp.Expr] = block.select.args.get("windows") or []
    found = next((each for each in definitions if each.this.name.lower() == wanted), None)
    return found or refuse(window, f"there is no window {wanted}", "Define it in the WINDOW clause.", WrongSqlError)
