"""Names in FROM and in select lists: what a table's name says, what columns are called."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from rewrites.scope import Columns
from rewrites.terms import hidden_column, name


def table_name(node: exp.Expr) -> tuple[str, ...]:
    """Return the parts of a table's name; empty for whatever else stands in FROM."""
    if not isinstance(node, exp.Table) or isinstance(node.this, exp.Anonymous | exp.Values):
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


def output_name(item: exp.Expr) -> str:
    """Return what an item of a select list is called; empty where Spark makes a name from its text: ``sum(x)``."""
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Paren):
        return output_name(item.this)
    if isinstance(item, exp.Cast | exp.Dot):  # of a cast column the column's name; of a field of a struct the field's
        column = item.this.unnest()
        named = isinstance(column, exp.Column) or (isinstance(column, exp.Dot) and output_name(column))
        return item.name if named and isinstance(item, exp.Dot) else column.name if named else ""
    return ""
