"""Names in FROM: what a table's name says, and the list of column names that may stand behind an alias."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from rewrites.scope import Columns
from rewrites.terms import hidden_column, name


def table_name(node: exp.Expr) -> tuple[str, ...]:
    """Return the one to three parts of a table's name; empty for whatever else stands in FROM."""
    if not isinstance(node, exp.Table) or isinstance(node.this, exp.Anonymous):
        return ()
    return tuple(part.name for part in node.parts)


def listed(node: exp.Expr) -> tuple[str, ...]:
    """Return the column names behind an alias: `AS q(a, b)`."""
    alias = node.args.get("alias")
    return tuple(identifier.name for identifier in alias.args.get("columns") or ()) if alias is not None else ()


def renamed(node: exp.Expr, columns: Columns, hidden: Iterable[str]) -> Columns:
    """Return the columns under an alias, and let a list of column names also name the hidden ones."""
    names = listed(node)
    if not names:
        return columns
    for table in hidden:
        node.args["alias"].append("columns", name(hidden_column(table)))
    return names
