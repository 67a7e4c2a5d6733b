"""WITH RECURSIVE: a row is made of the rows of the step before that it was derived from.   [Zhang 2007, §3.3]

c AS (A UNION ALL R(c))  →  c AS (A' UNION ALL R'(c)), with a set for each table that A or R reads
    Each step is R over the rows of the step before, and the result is the union of the steps: so what the rules make of
    one step holds for all. The sets are there from A on, since Spark gives the columns of R the types of those of A.
Requires: names around the WITH clause are bound.
Ensures:  the CTE keeps its form, the only one that Spark runs; R' reads c where R does, and no stage is in either.
Nulls:    those of the CTE; a set is never NULL.
Raises:   NotTracedError for another form, for R in which the rules read c in other places than R does, and under
          control semantics where other rows might come in once base rows are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from rewrites.aliases import listed, renamed, table_name
from rewrites.block import is_aggregate
from rewrites.conditions import is_asked, own_nodes
from rewrites.environment import Definition, Environment, TracedQuery
from rewrites.non_monotonic import Shape, shape_of
from rewrites.refusals import refuse
from rewrites.rules.set_operations import align
from rewrites.scope import Columns
from rewrites.stages import IN_PLACE
from rewrites.terms import Kind

_FORM = "Write WITH RECURSIVE c AS (SELECT … UNION ALL SELECT … FROM c …), without parentheses around it."
_SAVE = "Save what the recursion gives, register that, and trace what is made of it."


def reads_itself(cte: exp.CTE) -> bool:
    """Say whether the query of a CTE reads the CTE."""
    return next(_readings(cte.this, cte.alias), None) is not None


def apply(cte: exp.CTE, env: Environment) -> TracedQuery | None:
    """Rewrite a CTE that reads itself, in its place.

    Args:
        cte: of a WITH RECURSIVE.
        env: what is bound around the CTE.

    Returns:
        None, and nothing is done: it reads no table that is traced.

    Raises:
        NotTracedError: see above.
    """
    env = replace(env.nested().by_value(), in_set_operation=True)
    union = cte.this
    hidden = dict.fromkeys(_tables(cte, env), Kind.SET)
    if not hidden:
        return None
    _check_form(cte)
    anchor = env.rewrite(union.this.copy(), env)
    shape = _shape(cte, env) if env.counts_what_decides else None
    inside = _seeing_itself(cte, env, listed(cte) or anchor.columns, hidden, shape)
    known = None if shape is None else _remembered(Definition(cte.this.copy(), inside, listed(cte)), shape)
    step = inside.rewrite(union.expression.copy(), inside)
    _check_readings(cte, union.expression, step.tree)
    align(anchor.tree, anchor.hidden, hidden)
    align(step.tree, step.hidden, hidden)
    union.set("this", anchor.tree)
    union.set("expression", step.tree)
    cte.meta[IN_PLACE] = True
    columns = renamed(cte, anchor.columns, hidden)
    return TracedQuery(union, columns, hidden, anchor.correlated or step.correlated, known, cte, env.ctes)


def _tables(cte: exp.CTE, env: Environment) -> list[str]:
    """Return the base tables that its rows are made of: those it reads besides itself."""
    inside = _seeing_itself(cte, env, listed(cte) or None, {}, Shape())
    return list(inside.rewrite(cte.this.copy(), inside).hidden)


def _seeing_itself(
    cte: exp.CTE, env: Environment, columns: Columns, hidden: Mapping[str, Kind], shape: Shape | None
) -> Environment:
    """Return what the query of the CTE sees: besides what is around it the rows of the step before, of that shape."""
    written = None if shape is None else _remembered(Definition(cte.this.copy(), env, listed(cte)), shape)
    return env.with_cte(cte.alias, TracedQuery(cte.this, columns, hidden, definition=written))


def _remembered(written: Definition, shape: Shape) -> Definition:
    written.env.remembered[id(written.query)] = written.query, shape
    return written


def _shape(cte: exp.CTE, env: Environment) -> Shape:
    """Return what may change in its rows: what is so of one step is so of all, if it is so over the step before."""
    shapes = (Shape(), Shape(fleeting=None))
    steady = (each for each in shapes if shape_of(cte.this, _seeing_itself(cte, env, None, {}, each)) == each)
    found = next(steady, None)
    if found is None:
        what = (
            f"WITH RECURSIVE {cte.alias} is not traced under control semantics: a condition in it keeps rows out which"
        )
        refuse(
            cte.args["alias"],
            f"{what} may come in once base rows are gone",
            f"Use data lineage; or {_SAVE[0].lower()}{_SAVE[1:]}",
        )
    return found


def _check_form(cte: exp.CTE) -> None:
    union, called = cte.this, f"WITH RECURSIVE {cte.alias}"
    if union.args.get("with_"):
        what = f"WITH inside of {called} is not traced"
        refuse(union.args["with_"].expressions[0].args["alias"], what, f"Write it in front of {cte.alias}.")
    if not isinstance(union, exp.Union):
        refuse(cte.args["alias"], f"{called} is not traced in another form than a UNION ALL of two queries", _FORM)
    if union.args.get("distinct"):
        refuse(
            cte.args["alias"], f"{called} with UNION, which leaves equal rows out, is not traced", "Write UNION ALL."
        )
    if first := next(_readings(union.this, cte.alias), None):
        what = f"{called} that reads itself before the last UNION ALL is not traced"
        refuse(first, what, "Let one SELECT, the last, read it.")


def _check_readings(cte: exp.CTE, before: exp.Query, after: exp.Query) -> None:
    """Spark runs a step that reads the one before in FROM, outside of groups; what is read again would be joined."""
    written, found = list(_readings(before, cte.alias)), list(_readings(after, cte.alias))
    if odd := next((node for node in written if not _may_stand(node, before)), None):
        what = (
            f"WITH RECURSIVE {cte.alias} that reads itself in a group, or in a subquery of an expression, is not traced"
        )
        refuse(odd, what, "Read it in FROM, and group the rows above the recursion.")
    if len(found) != len(written) or not all(_may_stand(node, after) for node in found):
        what = f"a step of WITH RECURSIVE {cte.alias} is not traced that takes DISTINCT rows, or whose lineage reads"
        what = f"{what} the step before once more"
        refuse(written[0], what, _SAVE)


def _may_stand(node: exp.Table, query: exp.Query) -> bool:
    around = [each for each in _ancestors(node, query) if isinstance(each, exp.Select)]
    grouped = any(each.args.get("group") or any(map(is_aggregate, _values(each))) for each in around)
    return not grouped and not is_asked(node, query)


def _values(select: exp.Select) -> Iterator[exp.Expr]:
    for item in select.expressions:
        yield from own_nodes(item)


def _ancestors(node: exp.Expr, top: exp.Expr) -> Iterator[exp.Expr]:
    while node is not top and node.parent is not None:
        node = node.parent
        yield node


def _readings(query: exp.Query, called: str) -> Iterator[exp.Table]:
    for node in query.find_all(exp.Table, bfs=False):
        if [part.lower() for part in table_name(node)] == [called.lower()]:
            yield node
