"""LATERAL VIEW explode(…) and LATERAL explode(…): every row that comes out is made of the row that went in.

V LATERAL VIEW g(x) e AS y  →  unchanged: V's hidden columns are repeated with V's row.
Requires: the sources before it are in the scope.
Ensures:  the tree is unchanged; the columns of g are seen under its alias and have no lineage of their own.
Nulls:    OUTER and LEFT JOIN keep a row that gives nothing, with its lineage.
Raises:   NotTracedError for a table as argument of LATERAL g(…).
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import listed
from rewrites.block import Block
from rewrites.rules.generated_rows import refuse_tables_inside
from rewrites.scope import FromItem


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Note the generator's columns."""
    if not isinstance(node, exp.Lateral) or isinstance(node.this, exp.Subquery):
        return None
    if not node.args.get("view"):  # in LATERAL VIEW a subquery is an expression of the block
        refuse_tables_inside(node.this)
    return FromItem(node.alias or block.env.names.fresh("g"), listed(node) or None)
