"""Resolve every column reference of the block: refuse unknown names, notice references to enclosing blocks.

a.t.x, x  →  t.x, x: qualifiers are an alias of FROM at most
Requires: FROM is rewritten (all sources known).
Ensures:  the scope knows whether the block is correlated; each reference knows how many blocks out it was resolved.
Nulls:    –
Raises:   WrongSqlError for a name that nothing has; NotTracedError for a name that is reserved for lineage, and in the
          outermost block for a column called DL.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.block import Block
from rewrites.refusals import refuse
from rewrites.rules.stars import star_of
from rewrites.scope import FromItem
from rewrites.terms import HIDDEN_PREFIX, LINEAGE_COLUMN

_NO_COLUMNS_INSIDE = (exp.Hint, exp.Pivot, exp.TableAlias)
_RENAME = f"Rename it: … AS something_else; the lineage column is called {LINEAGE_COLUMN}."


def apply(block: Block) -> None:
    """Resolve the block's own column references."""
    block.scope.aliases = {projection.alias.lower() for projection in block.select.expressions if projection.alias}
    for projection in block.select.expressions:
        _refuse_reserved(projection, projection.alias)
    for node in list(_columns(block)):
        _refuse_reserved(node, node.name)
        block.scope.resolve(node)
    if block.outermost:
        _refuse_lineage_column(block)


def _columns(block: Block) -> Iterator[exp.Column]:
    nested = (exp.Query, *_NO_COLUMNS_INSIDE)
    clauses = [value for key, value in block.select.args.items() if key != "with_"]
    for clause in clauses:
        for root in clause if isinstance(clause, list) else [clause]:
            if isinstance(root, exp.Expr):
                for node in root.walk(prune=lambda inner: isinstance(inner, nested)):
                    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                        yield node


def _refuse_reserved(node: exp.Expr, used: str) -> None:
    if used.lower().startswith(HIDDEN_PREFIX):
        refuse(node, f"names that begin with {HIDDEN_PREFIX} are reserved for lineage", "Rename the column.")


def _refuse_lineage_column(block: Block) -> None:
    for projection in block.select.expressions:
        if _is_lineage_column(projection.output_name):
            refuse(projection, f"the result already has a column {LINEAGE_COLUMN}", _RENAME)
        if star_of(projection) is not None:
            _refuse_star_with_lineage_column(projection, block)
    order = block.select.args.get("order")
    for node in order.find_all(exp.Column) if order else ():
        if _is_lineage_column(node.name):
            refuse(node, f"ORDER BY {LINEAGE_COLUMN} would mean the lineage column", _RENAME)


def _refuse_star_with_lineage_column(projection: exp.Expr, block: Block) -> None:
    for item in block.scope.from_items:
        if _shows(projection, item) and any(_is_lineage_column(known) for known in item.columns or ()):
            refuse(projection, f"the result already has a column {LINEAGE_COLUMN}, from {item.alias}", _RENAME)


def _shows(projection: exp.Expr, item: FromItem) -> bool:
    everything = isinstance(projection, exp.Star) or projection.args["table"].name.lower() == item.alias.lower()
    return everything and item.in_star


def _is_lineage_column(known: str | None) -> bool:
    return (known or "").lower() == LINEAGE_COLUMN.lower()
