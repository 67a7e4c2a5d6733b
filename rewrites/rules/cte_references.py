"""The name of a CTE in FROM: its hidden columns come along.   [Zhang 2007, §3.3: views compose]

c  →  c, with one hidden column for each table that the CTE traces
Requires: the WITH clause around it is rewritten, its names bound (`ctes`).
Ensures:  the name stays; a list of column names behind the alias also names the hidden columns.
Nulls:    those of the CTE.
Raises:   NotTracedError for a reading that is not repeatable, or that a name alone does not describe.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import renamed, table_name
from rewrites.block import Block
from rewrites.refusals import refuse_others
from rewrites.row_estimates import renamed as estimated_as
from rewrites.rules.base_tables import refuse_unrepeatable
from rewrites.scope import FromItem


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Take over the hidden columns of the CTE that a name means."""
    parts = table_name(node) if block.env.ctes else ()
    cte = block.env.ctes.get(parts[0].lower()) if len(parts) == 1 else None
    if cte is None or not isinstance(node, exp.Table):
        return None
    refuse_others(node, ("this", "alias", "sample"), "a CTE in FROM")
    refuse_unrepeatable(node)
    columns = renamed(node, cte.columns, cte.hidden)
    estimated = estimated_as(cte.estimated, cte.columns, columns)
    return FromItem(node.alias_or_name, columns, cte.hidden, traced=block.env.tracing, node=node, estimated=estimated)
