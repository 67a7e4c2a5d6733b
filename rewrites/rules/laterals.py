"""LATERAL (SELECT …): a join with a subquery that sees the row before it.   [Zhang 2007, §3.3, join]

V, LATERAL (Q) AS q              →  V', LATERAL (Q') AS q
V JOIN LATERAL (Q) AS q ON q.a…  →  V' JOIN LATERAL (SELECT a AS a, … FROM (Q')) AS q ON q.a…: where a table is read in
                                    another place, too, Spark numbers its columns anew, in Q and not in ON
Requires: the sources before it are in the scope.
Ensures:  a row's lineage is its own and that of the row of Q that it was joined with.
Nulls:    for a row that finds nothing Spark makes the aggregates NULL, dlunion's empty set included.
Raises:   whatever Q is refused for.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import TracedQuery
from rewrites.rules.derived_tables import as_from_item
from rewrites.scope import FromItem
from rewrites.terms import column, derived_table, hidden_column, named


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Rewrite the subquery in the scope of the block."""
    if not isinstance(node, exp.Lateral) or not isinstance(node.this, exp.Subquery):
        return None
    query = block.env.rewrite(node.this.this, block.env.inside(block.scope))
    join = node.parent
    has_condition = isinstance(join, exp.Join) and join.args.get("on") is not None
    node.this.set("this", _with_columns_of_its_own(query, block) if has_condition else query.tree)
    item = as_from_item(node, query, block)
    item.nullable = True
    return item


def _with_columns_of_its_own(query: TracedQuery, block: Block) -> exp.Query:
    """Return the query under a SELECT that gives each column its name once more, if the names are known."""
    if query.columns is None or None in query.columns:
        return query.tree
    names = [*filter(None, query.columns), *map(hidden_column, query.hidden)]
    if not names or len({each.lower() for each in names}) < len(names):
        return query.tree
    alias = block.env.names.fresh("l")
    selected = exp.Select(expressions=[named(column(alias, each), each) for each in names])
    return selected.from_(derived_table(query.tree, alias), copy=False)
