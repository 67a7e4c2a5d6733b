"""`DL`, the last column of the result: the hidden columns of the outermost query, folded into one struct.

π_{a, …, __dl_t, …}(V)  →  π_{a, …, named_struct('t', <set>, …) AS DL}(V)
What stays outermost (ORDER BY, SORT BY, LIMIT, …, and WITH) stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.environment import Names, Stages, TracedQuery
from rewrites.lineage_functions import dl_union
from rewrites.refusals import refuse
from rewrites.rules.stars import star_of
from rewrites.stages import defined, resolved
from rewrites.terms import LINEAGE_COLUMN, as_set, column, derived_table, hidden_column, lineage_struct

_RENAME = f"Rename it: … AS something_else; the lineage column is called {LINEAGE_COLUMN}."


def folded(traced: TracedQuery, names: Names, stages: Stages) -> exp.Query:
    """Return the query with `DL` in place of its hidden columns; without any the query as it is.

    Where it refers to stages, ORDER BY, LIMIT and the like stay inside: ids are looked up for rows that are returned.

    Raises:
        NotTracedError: the user's query has a column `DL` already, or is ordered by one.
    """
    with_clause = traced.tree.args.get("with_")
    traced.tree.set("with_", None)
    result = _folded(traced, names, stages)
    ctes = defined(result, with_clause.expressions if with_clause is not None else (), stages)
    recursive = with_clause.args.get("recursive") if with_clause is not None else None
    result.set("with_", exp.With(expressions=ctes, recursive=recursive) if ctes else None)
    return result


def _folded(traced: TracedQuery, names: Names, stages: Stages) -> exp.Query:
    if not traced.hidden:
        return traced.tree
    _refuse_lineage_column(traced)
    if any(key in stages for key in traced.hidden):
        return _resolved(traced, names, stages)
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
    outside = outermost.take(traced.tree)
    alias = names.fresh("q")
    hidden = [column(alias, hidden_column(table)) for table in traced.hidden]
    star = exp.Star(except_=hidden)
    result = exp.Select(expressions=[star, _lineage(traced, [each.copy() for each in hidden])])
    result = result.from_(derived_table(traced.tree, alias), copy=False)
    outermost.put(result, outside)
    return result


def _resolved(traced: TracedQuery, names: Names, stages: Stages) -> exp.Select:
    """Numbers of rows of stages become ids above everything, ORDER BY and LIMIT included."""
    alias = names.fresh("q")
    hidden = {key: column(alias, hidden_column(key)) for key in traced.hidden}
    found: dict[str, list[exp.Expr]] = {}
    for key, kind in traced.hidden.items():
        for table, value in resolved(hidden[key].copy(), kind, key, stages):
            found.setdefault(table, []).append(value)
    lineage = {table: values[0] if len(values) == 1 else dl_union(*values) for table, values in found.items()}
    result = exp.Select(expressions=[exp.Star(except_=list(hidden.values())), lineage_struct(lineage)])
    return result.from_(derived_table(traced.tree, alias), copy=False)


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
