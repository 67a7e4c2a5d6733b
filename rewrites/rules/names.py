"""Resolve every column reference of the block: refuse unknown names, notice references to enclosing blocks.

a.t.x, x  →  t.x, x: qualifiers are an alias of FROM at most
limit     →  limit: a variable of the session, where no column has the name; to the other rules a constant
Requires: FROM is rewritten (all sources known).
Ensures:  the scope knows whether the block is correlated; each reference knows how many blocks out it was resolved.
Nulls:    –
Raises:   WrongSqlError for a name that nothing has; NotTracedError for a name that is reserved for lineage, and for one
          in HAVING that Spark finds in a block around this one.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.aliases import output_name
from rewrites.block import Block, keys_not_selected
from rewrites.refusals import refuse
from rewrites.spark_functions import TIME_WINDOWS
from rewrites.terms import HIDDEN_PREFIX

_NO_COLUMNS_INSIDE = (exp.Hint, exp.Pivot, exp.TableAlias)


def apply(block: Block) -> None:
    """Resolve the block's own column references."""
    block.scope.aliases = {projection.alias.lower() for projection in block.select.expressions if projection.alias}
    block.scope.names_itself = any(not output_name(projection) for projection in block.select.expressions)
    for projection in block.select.expressions:
        _refuse_reserved(projection, projection.alias)
    for node in block.own_nodes():
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            block.scope.resolve_star(node)
        elif isinstance(node, exp.Anonymous) and node.name.lower() in TIME_WINDOWS:
            block.scope.aliases.add(node.name.lower())
    _refuse_keys_of_others(block)
    for node in list(_columns(block)):
        _refuse_reserved(node, node.name)
        if block.scope.resolve(node):
            continue
        if not block.env.tables.is_variable([part.name for part in node.parts]):
            block.scope.refuse_unknown(node)
        node.replace(exp.var(node.sql(dialect="spark")))


def _refuse_keys_of_others(block: Block) -> None:
    """In HAVING of GROUPING SETS Spark finds no key that is not selected, but one of its name further out."""
    for node in keys_not_selected(block.select):
        if block.scope.sees_further_out(node):
            what = f"{node.sql()} in HAVING of GROUPING SETS is not selected, and Spark takes it from the query around"
            refuse(node, what, "Select the key, too; or rename the other column.")


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
