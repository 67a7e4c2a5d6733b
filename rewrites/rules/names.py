"""Resolve every column reference of the block: refuse unknown names, notice references to enclosing blocks.

Requires: FROM is rewritten (all relations known).
Ensures:  the scope knows whether the block is correlated; qualifiers are the relation's alias only.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.block import Block
from rewrites.refusals import refuse
from rewrites.terms import HIDDEN_PREFIX, LINEAGE_COLUMN

_NO_COLUMNS_INSIDE = (exp.Hint, exp.Pivot, exp.TableAlias)


def apply(block: Block) -> None:
    """Resolve the block's own column references."""
    block.scope.aliases = {projection.alias.lower() for projection in block.select.expressions if projection.alias}
    for projection in block.select.expressions:
        _refuse_reserved(projection)
    for node in list(_columns(block)):
        if node.name.lower().startswith(HIDDEN_PREFIX):
            refuse(node, f"Names that begin with {HIDDEN_PREFIX} are reserved for lineage", "Rename the column.")
        block.scope.resolve(node)


def _columns(block: Block) -> Iterator[exp.Column]:
    nested = (exp.Query, *_NO_COLUMNS_INSIDE)
    clauses = [value for key, value in block.select.args.items() if key != "with_"]
    for clause in clauses:
        for root in clause if isinstance(clause, list) else [clause]:
            if isinstance(root, exp.Expr):
                for node in root.walk(prune=lambda inner: isinstance(inner, nested)):
                    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                        yield node


def _refuse_reserved(projection: exp.Expr) -> None:
    if projection.alias.lower().startswith(HIDDEN_PREFIX):
        refuse(projection, f"Names that begin with {HIDDEN_PREFIX} are reserved for lineage", "Rename the column.")


def refuse_lineage_column(block: Block) -> None:
    """Refuse an outermost block whose result has a column called DL already.

    Raises:
        LineageError: it has, or its ORDER BY mentions one.
    """
    remedy = f"Rename it: … AS something_else; the lineage column is called {LINEAGE_COLUMN}."
    for projection in block.select.expressions:
        if projection.output_name.lower() == LINEAGE_COLUMN.lower():
            refuse(projection, f"The result already has a column {LINEAGE_COLUMN}", remedy)
        for relation in block.scope.relations if _is_star(projection) else []:
            whole = isinstance(projection, exp.Star) or projection.args["table"].name.lower() == relation.alias.lower()
            if (
                whole
                and relation.in_star
                and any((known or "").lower() == LINEAGE_COLUMN.lower() for known in relation.columns or ())
            ):
                refuse(projection, f"The result already has a column {LINEAGE_COLUMN}, from {relation.alias}", remedy)
    order = block.select.args.get("order")
    for node in order.find_all(exp.Column) if order else ():
        if node.name.lower() == LINEAGE_COLUMN.lower():
            refuse(node, f"ORDER BY {LINEAGE_COLUMN} would mean the lineage column", remedy)


def _is_star(projection: exp.Expr) -> bool:
    return isinstance(projection, exp.Star) or (
        isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
    )
