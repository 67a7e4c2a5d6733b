"""UNION, INTERSECT, EXCEPT, with and without ALL.   [Zhang 2007, §3.4]

UNION ALL        the row's own lineage: both sides get the same hidden columns.
UNION            δ(V1 ∪ V2): union over equal rows.
INTERSECT [ALL]  equal rows of both sides, all of them, for every copy.
EXCEPT [ALL]     equal rows of the left side; control: + all rows of the right side, and what keeps others out of it.

INTERSECT and EXCEPT are one grouping of both sides that counts where the rows came from:
    γ_{all columns; dlunion(…), count_if(left) n, count_if(right) m}(V1' ∪ V2'), n > 0 and m > 0 | n > 0 and m = 0.
Under ALL as many copies of a group as the operator leaves: least(n, m) | n − m.
Requires: WITH is bound.
Ensures:  the columns are the left side's; ORDER BY, SORT BY, LIMIT … stay outermost; sides without lineage do not
          change.
Nulls:    NULL equals NULL; a side that does not read a table has NULL, or the empty set, for it.
Raises:   NotTracedError for BY NAME, and under control semantics for an EXCEPT whose right side may have other rows
          when it is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rewrites import hoisting, outermost
from rewrites.environment import Environment, TracedQuery
from rewrites.equal_rows import group_equal_rows
from rewrites.lineage_functions import dl_of, dlunion
from rewrites.looked_at import looked_at
from rewrites.non_monotonic import shape_of
from rewrites.refusals import refuse
from rewrites.row_estimates import Estimator, united
from rewrites.scope import Columns, blocks_out
from rewrites.terms import (
    HIDDEN_PREFIX,
    Kind,
    Lineage,
    Term,
    absent,
    as_one,
    call,
    column,
    hidden_column,
    merge,
    name,
    named,
)

# Reserved names that no table's hidden column can have.
_LEFT = HIDDEN_PREFIX + ".left"
_COPIES = HIDDEN_PREFIX + ".copies"
_RIGHT = ".right."  # before the name of a table
#: What holds a subquery that is no value.
_NO_SCALAR = exp.From | exp.Join | exp.Lateral | exp.CTE | exp.SetOperation | exp.Subquery | exp.Exists | exp.In


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite both sides, and let the hidden columns of the result follow from theirs."""
    if not isinstance(query, exp.SetOperation):
        return None
    if query.args.get("by_name") or query.args.get("side") or query.args.get("kind"):
        refuse(query, "set operations BY NAME are not traced", "List the columns of both sides in the same order.")
    ordered = outermost.with_questions_outside(query, env) if env.counts_what_decides else None
    if ordered is not None:
        return env.rewrite(ordered, env)
    if isinstance(query, exp.Except) and env.counts_what_decides:
        env = env.by_value()
    decided = _what_decides(query, env)
    sides = replace(env, in_set_operation=True)
    left = env.rewrite(query.this, sides)
    right = env.rewrite(query.expression, sides.nested())
    query.set("this", left.tree)
    query.set("expression", right.tree)
    correlated = left.correlated or right.correlated
    if not left.hidden and not right.hidden:
        return TracedQuery(query, left.columns, {}, correlated, estimated=_estimated(query, left, right, {}))
    if isinstance(query, exp.Union):
        result, hidden = _union(query, left, right, env)
    else:
        result, hidden = _by_counting(query, left, right, decided or [right], env)
    return TracedQuery(result, left.columns, hidden, correlated, estimated=_estimated(query, left, right, hidden))


def _estimated(
    operation: exp.SetOperation, left: TracedQuery, right: TracedQuery, hidden: Mapping[str, Kind]
) -> Estimator:
    sets = sum(kind is Kind.SET for kind in hidden.values()) if operation.args.get("distinct") else 0
    names = zip(left.columns or (), right.columns or (), strict=False)
    return united(
        left.estimated, right.estimated, {one.lower(): each.lower() for one, each in names if one and each}, sets
    )


def _what_decides(operation: exp.SetOperation, env: Environment) -> list[TracedQuery]:
    """Return what the right side of EXCEPT looked at, where these are not just its rows."""
    if not isinstance(operation, exp.Except) or not env.counts_what_decides:
        return []
    if not shape_of(operation.expression, env).open:
        return []
    return [env.rewrite(query, where) for query, where in looked_at(operation.expression, env)]


def _union(
    operation: exp.SetOperation, left: TracedQuery, right: TracedQuery, env: Environment
) -> tuple[exp.Query, dict[str, Kind]]:
    hidden = _common(left.hidden, right.hidden)
    align(left.tree, left.hidden, hidden)
    align(right.tree, right.hidden, hidden)
    if not operation.args.get("distinct"):
        return operation, hidden
    outside = outermost.take(operation)
    operation.set("distinct", False)
    result = group_equal_rows(operation, hidden, env.names.fresh("u"), left.columns)
    outermost.put(result, outside)
    return result, dict.fromkeys(hidden, Kind.SET)


def _common(left: Mapping[str, Kind], right: Mapping[str, Kind]) -> dict[str, Kind]:
    """Return the hidden columns of a union: ids if no side has a set."""
    sides = {table: (left.get(table), right.get(table)) for table in (*left, *right)}
    return {
        table: next(kind for kind in (Kind.SET, Kind.FEW, Kind.ID) if kind in both) for table, both in sides.items()
    }


def align(query: exp.Query, has: Mapping[str, Kind], wanted: Mapping[str, Kind]) -> None:
    """Make the hidden columns of `query` those of `wanted`, in order and kind, in every SELECT that yields its rows."""
    if dict(has) == dict(wanted) and list(has) == list(wanted):
        return
    if isinstance(query, exp.Subquery):
        align(query.this, has, wanted)
    elif isinstance(query, exp.SetOperation):
        align(query.this, has, wanted)
        align(query.expression, has, wanted)
    else:
        split = len(query.expressions) - len(has)
        present = dict(zip(has, query.expressions[split:], strict=True))
        aligned = [_as_wanted(present.get(table), has.get(table), table, kind) for table, kind in wanted.items()]
        query.set("expressions", [*query.expressions[:split], *aligned])


def _as_wanted(present: exp.Expr | None, has: Kind | None, table: str, wanted: Kind) -> exp.Expr:
    if present is None or has is None:
        return named(absent(wanted), hidden_column(table))
    if has is wanted or has is not Kind.ID:
        return present
    return named(dl_of(present.unalias()), hidden_column(table))


def _by_counting(
    operation: exp.SetOperation,
    left: TracedQuery,
    right: TracedQuery,
    decided: list[TracedQuery],
    env: Environment,
) -> tuple[exp.Query, dict[str, Kind]]:
    intersect = isinstance(operation, exp.Intersect)
    if right.correlated and right.hidden and env.counts_what_decides and not intersect:
        return _except_for_each_row(operation, left, right, env)
    all_right = {} if intersect else merge(*(_all_right(each, env) for each in decided))
    hidden = _counted(left, right, intersect=intersect)
    outside = outermost.take(operation)
    alias = env.names.fresh("x")
    result = group_equal_rows(_both_sides(left, right, len(hidden), env), hidden, alias, left.columns, extra=(_LEFT,))
    if operation.args.get("distinct") and not (_asks_for_each_row(left.tree) or _asks_for_each_row(right.tree)):
        result.set("having", exp.Having(this=_survives(intersect, alias)))
    else:
        result = _repeated(result, list(hidden), _times(operation, alias), env)
    sets = dict.fromkeys(hidden, Kind.SET)
    if all_right:
        sets = _add(result, sets, all_right)
    outermost.put(result, outside)
    return result, sets


def _counted(left: TracedQuery, right: TracedQuery, *, intersect: bool) -> dict[str, Kind]:
    """Give both sides the hidden columns of the result, and return these."""
    hidden = _common(left.hidden, right.hidden) if intersect else dict(left.hidden)
    align(left.tree, left.hidden, hidden)
    if intersect:
        align(right.tree, right.hidden, hidden)
    else:  # the right side decides, but no row of it is in the result
        align(right.tree, right.hidden, {})
        align(right.tree, {}, hidden)
    return hidden


def _except_for_each_row(
    operation: exp.SetOperation, left: TracedQuery, right: TracedQuery, env: Environment
) -> tuple[exp.Query, dict[str, Kind]]:
    """EXCEPT whose right side is another one for each outer row, under control semantics.

    It cannot be read once more for all rows. Its lineage is carried in columns of its own through the grouping of both
    sides, and united over all groups by a window.
    """
    seen = {_RIGHT + table: kind for table, kind in right.hidden.items()}
    carried = {**left.hidden, **seen}
    align(left.tree, left.hidden, carried)
    align(right.tree, seen, carried)
    outside = outermost.take(operation)
    alias = env.names.fresh("x")
    grouped = group_equal_rows(
        _both_sides(left, right, len(carried), env), carried, alias, left.columns, extra=(_LEFT,)
    )
    for projection in grouped.expressions[-len(seen) :]:
        projection.set("this", exp.Window(this=dlunion(projection.this)))
    result = _repeated(grouped, list(carried), _times(operation, alias), env)
    hidden = _folded(result, list(carried))
    outermost.put(result, outside)
    return result, hidden


def _folded(result: exp.Select, carried: Sequence[str]) -> dict[str, Kind]:
    """Unite what has been carried of a table, as part of a row and as something seen, at the end of a select list."""
    split = len(result.expressions) - len(carried)
    lineage: Lineage = {}
    for table, projection in zip(carried, result.expressions[split:], strict=True):
        lineage.setdefault(table.removeprefix(_RIGHT), []).append(Term(projection.unalias(), Kind.SET))
    unions = [named(as_one(terms).value, hidden_column(table)) for table, terms in lineage.items()]
    result.set("expressions", [*result.expressions[:split], *unions])
    return dict.fromkeys(lineage, Kind.SET)


def _both_sides(left: TracedQuery, right: TracedQuery, hidden: int, env: Environment) -> exp.Union:
    first = _marked(left.tree, env, mark=True)
    second = _marked(right.tree, env, mark=False, renamed=_other_names(right.columns, hidden, env))
    return exp.Union(this=first, expression=second, distinct=False)


def _all_right(right: TracedQuery, env: Environment) -> Lineage:
    """Return what EXCEPT adds under control semantics: t is there because no row of the right side equals it."""
    if not env.counts_what_decides or not right.hidden:
        return {}
    hoisting.refuse_unrepeatable(right.tree)
    return hoisting.constant(right, env.names)


def _other_names(columns: Columns, hidden: int, env: Environment) -> list[exp.Identifier]:
    """Return names for the columns of the right side where two of its own are the same, else none.

    The result has the names of the left side anyway. Below a UNION ALL Spark 4.3 makes one column of two equal ones
    that have one name, and then refuses its own plan.
    """
    known = [column.lower() for column in columns or () if column]
    if len(set(known)) == len(known):
        return []
    return [name(env.names.fresh("c")) for _ in range(len(columns or ()) + hidden)]


def _marked(side: exp.Query, env: Environment, *, mark: bool, renamed: Sequence[exp.Identifier] = ()) -> exp.Select:
    """Return the rows of a side and which it is; `renamed` are new names for all of its columns."""
    derived = exp.Subquery(
        this=side, alias=exp.TableAlias(this=name(env.names.fresh("q")), columns=list(renamed) or None)
    )
    return exp.Select(expressions=[exp.Star(), named(exp.Boolean(this=mark), _LEFT)]).from_(derived)


def _survives(intersect: bool, alias: str) -> exp.Expr:
    if intersect:
        return exp.and_(call("bool_or", column(alias, _LEFT)), call("bool_or", exp.Not(this=column(alias, _LEFT))))
    return call("bool_and", column(alias, _LEFT))


def _copies(intersect: bool, alias: str) -> exp.Expr:
    lefts = call("count_if", column(alias, _LEFT))
    rights = call("count_if", exp.Not(this=column(alias, _LEFT)))
    return call("least", lefts, rights) if intersect else exp.Sub(this=lefts, expression=rights)


def _times(operation: exp.SetOperation, alias: str) -> exp.Expr:
    """Return how many rows of a group stay."""
    intersect = isinstance(operation, exp.Intersect)
    if not operation.args.get("distinct"):
        return _copies(intersect, alias)
    return call("if", _survives(intersect, alias), exp.Literal.number(1), exp.Literal.number(0))


def _asks_for_each_row(side: exp.Query) -> bool:
    """Say whether a side has correlated scalar subqueries: groups that do not stay are then repeated no times.

    HAVING over a UNION ALL of such sides kills Spark 4.3: see `Environment.in_set_operation`.
    """
    asked = (query for query in side.find_all(exp.Subquery) if not isinstance(query.parent, _NO_SCALAR | None))
    return any(blocks_out(node) for query in asked for node in query.find_all(exp.Column))


def _repeated(grouped: exp.Select, tables: list[str], copies: exp.Expr, env: Environment) -> exp.Select:
    """Return each group as many times as `copies` says."""
    alias, view = env.names.fresh("x"), env.names.fresh("g")
    grouped.append("expressions", named(exp.cast(copies, "INT", dialect="spark"), _COPIES))
    hidden = [hidden_column(table) for table in tables]
    star = exp.Column(
        this=exp.Star(except_=[exp.column(each, quoted=True) for each in (*hidden, _COPIES)]), table=name(alias)
    )
    repeat = call("explode", call("array_repeat", exp.Literal.number(0), column(alias, _COPIES)))
    result = exp.Select(expressions=[star, *(named(column(alias, each), each) for each in hidden)]).from_(
        exp.Subquery(this=grouped, alias=exp.TableAlias(this=name(alias)))
    )
    result.append(
        "laterals",
        exp.Lateral(
            this=repeat, view=True, alias=exp.TableAlias(this=name(view), columns=[name(env.names.fresh("copy"))])
        ),
    )
    return result


def _add(result: exp.Select, hidden: dict[str, Kind], added: Lineage) -> dict[str, Kind]:
    """Union further terms into the hidden columns at the end of a select list."""
    split = len(result.expressions) - len(hidden)
    present: Lineage = {
        table: [Term(projection.unalias(), Kind.SET)]
        for table, projection in zip(hidden, result.expressions[split:], strict=True)
    }
    lineage = merge(present, added)
    projections = [named(as_one(terms).value, hidden_column(table)) for table, terms in lineage.items()]
    result.set("expressions", [*result.expressions[:split], *projections])
    return dict.fromkeys(lineage, Kind.SET)
