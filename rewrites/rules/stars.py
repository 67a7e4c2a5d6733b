"""Keep hidden columns out of every star: `*`, `t.*`, `struct(*)`, `count(DISTINCT t.*)`.

SELECT *  →  SELECT * EXCEPT (a.__dl_t, b.__dl_u)
Spark itself expands the star, so that USING, semi joins and struct columns mean what they always mean. `count(*)`
counts rows and stays.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.terms import column, hidden_column, name


def apply(block: Block) -> None:
    """Except the hidden columns from the stars of the block."""
    for node in list(block.own_nodes()):
        if isinstance(node, exp.Star) and not _counts_rows(node):
            hidden = _hidden_below(node, block)
            if hidden:
                node.set("except_", [*(node.args.get("except_") or []), *hidden])


def _counts_rows(star: exp.Star) -> bool:
    parent = star.parent
    return (
        isinstance(parent, exp.Anonymous)
        and parent.name.lower() in ("count", "try_count")
        and len(parent.expressions) == 1
    )


def _hidden_below(star: exp.Star, block: Block) -> list[exp.Expr]:
    qualified = star.parent if isinstance(star.parent, exp.Column) else None
    if qualified is None:
        return [
            column(relation.alias, hidden_column(table))
            for relation in block.scope.relations
            if relation.in_star
            for table in relation.hidden
        ]
    relation = block.scope.relation(qualified.table)
    if relation is None:
        return []  # the fields of a struct column
    return [exp.Column(this=name(hidden_column(table))) for table in relation.hidden]
