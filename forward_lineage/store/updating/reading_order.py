"""The order that a query says for its rows, as keys that a reader sorts by.

    SELECT city, count(*) AS n FROM people GROUP BY city ORDER BY n DESC        column 1, from the greatest on

Rows that are made again keep their numbers, and new ones have the last numbers, so the order of numbers is not that of
the query any more. Whoever reads the result sorts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from forward_lineage.store.library.made_of import SortKey
from forward_lineage.store.updating.joining_rows import NotProvableError


def reading_order(tree: exp.Expr, columns: Sequence[str]) -> tuple[SortKey, ...]:
    """Return what a query sorts its rows by; nothing if it says no order.

    Args:
        tree: the query; it is not changed.
        columns: the names of its columns.

    Raises:
        NotProvableError: it sorts by something that is no column of the result.

    """
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    order = tree.args.get("order")
    if order is None:
        return ()
    names = [name.lower() for name in columns]
    return tuple(
        SortKey(_place(each.this, tree, names), bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
        for each in order.expressions
    )


def _place(by: exp.Expr, tree: exp.Expr, names: list[str]) -> int:
    """A number is a place; a name is first that of a column of the result; else what is selected may be the same."""
    if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(names):
        return int(by.name) - 1
    named = names.count(by.name.lower()) if isinstance(by, exp.Column) and not by.table else 0
    if named == 1:
        return names.index(by.name.lower())
    selected = [item.unalias() for item in tree.expressions] if isinstance(tree, exp.Select) else []
    if not named and by in selected and not any(item.is_star for item in tree.expressions):
        return selected.index(by)
    raise NotProvableError("its rows have an order by something that is not selected")
