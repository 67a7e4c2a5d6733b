"""What control lineage promises: the base tables, cut down to the lineage of a row, give the row back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.oracle.algebra import (
    Agg,
    Cte,
    Database,
    Exists,
    InQuery,
    Join,
    Node,
    Over,
    Query,
    Scalar,
    Select,
    SetOp,
    Statement,
    Table,
)
from tests.oracle.expressions import Lineage, MoreThanOneRowError, NondeterministicError, Values
from tests.oracle.interpreter import descendants, interpret


def is_promised(statement: Statement) -> bool:
    """Whether nothing is made of rows that others were kept out of: no group, window, padding, or LIMIT over such."""
    ctes = {node.name for node in descendants(statement) if isinstance(node, Cte)}
    return not any(_is_made_of_what_is_left(node, ctes) for node in descendants(statement))


def _is_made_of_what_is_left(node: Node, ctes: set[str]) -> bool:
    if isinstance(node, Query):
        return (node.limit is not None or node.offset is not None) and _keeps_out([node.body], ctes)
    if not isinstance(node, Select) or not _is_made_of_others(node):
        return False
    return _keeps_out([each for each in (node.source, node.where) if each is not None], ctes)


def _is_made_of_others(select: Select) -> bool:
    if select.group is not None or select.having is not None:
        return True
    return any(
        isinstance(node, Agg | Over) or (isinstance(node, Join) and node.kind in ("LEFT", "RIGHT", "FULL"))
        for node in descendants(select)
    )


def _keeps_out(roots: list[Node], ctes: set[str]) -> bool:
    return any(
        isinstance(node, Scalar | Exists | InQuery | SetOp)
        or (isinstance(node, Join) and node.kind not in ("INNER", "CROSS", "COMMA", "SEMI"))
        or (isinstance(node, Select) and (node.having is not None or node.qualify is not None))
        or (isinstance(node, Query) and (node.limit is not None or node.offset is not None))
        or (isinstance(node, Table) and node.name in ctes)
        for root in roots
        for node in [root, *descendants(root)]
    )


def broken(statement: Statement, database: Database, rows: Iterator[tuple[Values, Lineage]]) -> Values | None:
    """Return a row that its lineage does not give back, None if there is none; `rows` as (values, lineage)."""
    for values, lineage in rows:
        cut = {
            name: replace(table, rows=tuple(row for row in table.rows if (name, row[0]) in lineage))
            for name, table in database.items()
        }
        try:
            again = interpret(statement, cut, "data")
        except NondeterministicError:
            continue
        except MoreThanOneRowError:
            return values
        if values not in {row.values for row in again.rows}:
            return values
    return None
