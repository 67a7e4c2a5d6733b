"""The conditions that a query demands of the rows of an item of FROM, as texts that are equal if they say the same."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.statement import parse
from rewrites.conditions import conjuncts
from udafs.errors import LineageError

_ROWS = "__dl_rows"


def texts_over(alias: str) -> Callable[[exp.Expr], str]:
    """Return how expressions over the rows of a table are written: names in lower case, quoted and unqualified.

    Args:
        alias: what the table is called.

    """

    def text(expression: exp.Expr) -> str:
        found = expression.copy().unnest()
        for column in list(found.find_all(exp.Column)):
            if column.table and not column.args.get("db") and column.table.lower() == alias.lower():
                column.set("table", None)
        for identifier in found.find_all(exp.Identifier):
            identifier.set("this", identifier.name.lower())
            identifier.set("quoted", True)
        for call in found.find_all(exp.Anonymous):
            call.set("this", call.name.lower())
        return print_sql(found)

    return text


def conditions_around(placed: str, name: str) -> frozenset[str]:
    """Return the conditions that a statement demands of all rows of an item of FROM.

    Args:
        placed: the statement, a table's name in the place of each BACKWARD(…) and FORWARD(…).
        name: that of the item; there are no conditions where it is not alone in its FROM.

    """
    try:
        tree = parse(placed).tree
    except LineageError:
        return frozenset()  # said again where the statement is read
    for table in tree.find_all(exp.Table):
        select = table.parent.parent if isinstance(table.parent, exp.From) else None
        if table.name == name and isinstance(select, exp.Select):
            plain = {part for part, given in table.args.items() if given} <= {"this", "alias"}
            if select.args.get("joins") or select.args.get("laterals") or not select.args.get("where"):
                return frozenset()
            if not plain or table.alias_column_names:  # its columns may have other names there
                return frozenset()
            return frozenset(map(texts_over(table.alias_or_name), conjuncts(select.args["where"].this)))
    return frozenset()


def condition_texts(condition: str) -> frozenset[str]:
    """Return the parts of a condition that AND connects, written as by `conditions_around`."""
    where = parse(f"SELECT 1 FROM {_ROWS} WHERE ({condition})").tree.args["where"]
    return frozenset(map(texts_over(_ROWS), conjuncts(where.this)))
