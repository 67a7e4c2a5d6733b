"""LATERAL VIEW explode(…) and LATERAL explode(…): every row that comes out is made of the row that went in.

V LATERAL VIEW g(x) e AS y  →  unchanged: V's hidden columns are repeated with V's row.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.scope import FromItem


def relation(node: exp.Lateral, block: Block) -> FromItem:
    """Return the relation of a generator's columns; it has no lineage of its own."""
    alias = node.args.get("alias")
    listed = tuple(identifier.name for identifier in (alias.args.get("columns") or [])) if alias else ()
    return FromItem(node.alias or block.env.names.fresh("g"), listed or None)
