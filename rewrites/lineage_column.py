"""`DL`, the last column of the result: the hidden columns of the outermost query, folded into one struct.

π_{a, …, __dl_t, …}(V)  →  π_{a, …, named_struct('t', <set>, …) AS DL}(V)
What stays outermost (ORDER BY, SORT BY, LIMIT, …, and WITH) stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrites import outermost
from rewrites.environment import Names, TracedQuery
from rewrites.terms import as_set, column, derived_table, hidden_column, lineage_struct


def folded(traced: TracedQuery, names: Names) -> exp.Query:
    """Return the query with `DL` in place of its hidden columns; without any the query as it is."""
    if not traced.hidden:
        return traced.tree
    if isinstance(traced.tree, exp.Select):
        return _in_select_list(traced.tree, traced)
    return _around(traced, names)


def _in_select_list(select: exp.Select, traced: TracedQuery) -> exp.Select:
    split = len(select.expressions) - len(traced.hidden)
    hidden = [projection.unalias() for projection in select.expressions[split:]]
    select.set("expressions", [*select.expressions[:split], _lineage(traced, hidden)])
    return select


def _around(traced: TracedQuery, names: Names) -> exp.Select:
    """A set operation, or a query in parentheses, has no select list of its own."""
    with_clause, outside = traced.tree.args.get("with_"), outermost.take(traced.tree)
    traced.tree.set("with_", None)
    alias = names.fresh("q")
    hidden = [column(alias, hidden_column(table)) for table in traced.hidden]
    star = exp.Star(except_=hidden)
    result = exp.Select(expressions=[star, _lineage(traced, [each.copy() for each in hidden])])
    result = result.from_(derived_table(traced.tree, alias), copy=False)
    outermost.put(result, outside)
    result.set("with_", with_clause)
    return result


def _lineage(traced: TracedQuery, values: Sequence[exp.Expr]) -> exp.Expr:
    carried = zip(traced.hidden.items(), values, strict=True)
    return lineage_struct({table: as_set(value, kind) for (table, kind), value in carried})
