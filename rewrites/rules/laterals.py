"""LATERAL (SELECT …): a join with a subquery that sees the row before it.   [Zhang 2007, §3.3, join]

V, LATERAL (Q) AS q  →  V', LATERAL (Q') AS q
Requires: the sources before it are in the scope.
Ensures:  a row's lineage is its own and that of the row of Q that it was joined with.
Nulls:    for a row that finds nothing Spark makes the aggregates NULL, dlunion's empty set included.
Raises:   whatever Q is refused for.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.rules.derived_tables import as_from_item
from rewrites.scope import FromItem


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Rewrite the subquery in the scope of the block."""
    if not isinstance(node, exp.Lateral) or not isinstance(node.this, exp.Subquery):
        return None
    query = block.env.rewrite(node.this.this, block.env.inside(block.scope))
    node.this.set("this", query.tree)
    item = as_from_item(node, query, block)
    item.nullable = True
    return item
