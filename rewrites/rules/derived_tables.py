"""A subquery in FROM.   [Zhang 2007, §3.3: V1 … Vm are base tables or intermediate views]

(Q) AS q           →  (Q') AS q
(Q) AS q (a, …)    →  (Q') AS q (a, …, __dl_t, …)
Requires: –
Ensures:  without an alias it gets one, so that its hidden columns can be called by name.
Nulls:    those of Q'.
Raises:   whatever Q is refused for.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import renamed
from rewrites.block import Block
from rewrites.environment import TracedQuery
from rewrites.row_estimates import renamed as estimated_as
from rewrites.scope import FromItem
from rewrites.terms import name


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Rewrite the subquery."""
    if not isinstance(node, exp.Subquery):
        return None
    query = block.env.rewrite(node.this, block.env)
    block.scope.correlated = block.scope.correlated or query.correlated
    node.set("this", query.tree)
    item = as_from_item(node, query, block)
    item.node = None if query.correlated else node
    return item


def as_from_item(node: exp.Expr, query: TracedQuery, block: Block) -> FromItem:
    """Return what a rewritten subquery is to the block around it, under a name that nothing else has if need be."""
    if not node.alias:
        alias = node.args.get("alias") or exp.TableAlias()
        alias.set("this", name(block.env.names.fresh("q")))
        node.set("alias", alias)
    columns = renamed(node, query.columns, query.hidden)
    return FromItem(node.alias, columns, query.hidden, estimated=estimated_as(query.estimated, query.columns, columns))
