"""`DL`, the last column of the result: the hidden columns of the outermost query, folded into one struct.

π_{a, …, __dl_t, …}(V)  →  π_{a, …, named_struct('t', <set>, …) AS DL}(V)
What stays outermost (ORDER BY, SORT BY, LIMIT, …, and WITH) stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.environment import Names, TracedQuery
from rewrites.refusals import refuse
from rewrites.rules.stars import star_of
from rewrites.terms import LINEAGE_COLUMN, as_set, column, derived_table, hidden_column, lineage_struct

_RENAME = f"Rename it: … AS something_else; the lineage column is called {LINEAGE_COLUMN}."


def folded(traced: TracedQuery, names: Names) -> exp.Query:
    """Return the query with `DL` in place of its hidden columns; without any the query as it is.

    Raises:
        NotTracedError: the user's query has a column `DL` already, or is ordered by one.
    """
    if not traced.hidden:
        return traced.tree
    _refuse_lineage_column(traced)
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


def _refuse_lineage_column(traced: TracedQuery) -> None:
    if any(map(_is_lineage_column, traced.columns or ())):
        refuse(_place_in(traced.tree), f"the result already has a column {LINEAGE_COLUMN}", _RENAME)
    order = traced.tree.args.get("order")
    for node in order.find_all(exp.Column) if order else ():
        if _is_lineage_column(node.name):
            refuse(node, f"ORDER BY {LINEAGE_COLUMN} would mean the lineage column", _RENAME)


def _is_lineage_column(known: str | None) -> bool:
    return (known or "").lower() == LINEAGE_COLUMN.lower()


def _place_in(query: exp.Expr) -> exp.Expr:
    """Return what gives the result such a column: an item of that name, else a star."""
    items = [item for select in query.find_all(exp.Select) for item in select.expressions]
    named = (item for item in items if _is_lineage_column(output_name(item)))
    return next(named, None) or next((item for item in items if star_of(item) is not None), query)
