"""The rows of a table in SQL, each with its id, for expressions over its columns."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.columns.files import ID
from forward_lineage.spark.names import quoted
from rewrites.tables import BaseTable

_ALIAS = "__dl_rows_of_table"


def rows_of(base: BaseTable) -> str:
    """Return an item of FROM: a table's rows with the column `ID` in front."""
    columns = ", ".join(quoted(column) for column in base.columns)
    return f"(SELECT {base.row_id} AS {ID}, {columns} FROM {base.identified or base.relation}) AS {_ALIAS}"


def over_rows(expression: exp.Expr, alias: str) -> exp.Expr:
    """Return an expression over a table for use over `rows_of` it.

    Args:
        expression: its columns may be qualified.
        alias: by what.

    """
    found = expression.copy()
    for column in found.find_all(exp.Column):
        first = column.parts[0]
        if len(column.parts) > 1 and first.name.lower() == alias.lower():
            first.replace(exp.to_identifier(_ALIAS))
    return found


def plain_column(expression: exp.Expr, alias: str) -> str | None:
    """Return the column that an expression is, if it is no more than that; None: something is computed."""
    if isinstance(expression, exp.Column) and expression.table.lower() in ("", alias.lower()):
        return None if len(expression.parts) > 2 else expression.name
    return None
