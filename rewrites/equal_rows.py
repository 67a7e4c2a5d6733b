"""Equal rows become one, made of all of them: what DISTINCT, UNION, INTERSECT and EXCEPT are built from."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrites.lineage_functions import dlunion
from rewrites.terms import Kind, column, derived_table, hidden_column, named


def group_equal_rows(
    rows: exp.Query, hidden: Mapping[str, Kind], alias: str, extra: tuple[str, ...] = ()
) -> exp.Select:
    """Return the query that yields each different row of `rows` once, with the union of the lineage of its copies.

    Args:
        rows: a query with hidden columns after the user's.
        hidden: its hidden columns.
        alias: a fresh alias for it.
        extra: further columns of `rows` that are neither the user's nor part of what makes rows equal.
    """
    excepted = [column(alias, each) for each in (*map(hidden_column, hidden), *extra)]
    star = exp.Star(except_=excepted) if excepted else exp.Star()
    unions = [named(dlunion(column(alias, hidden_column(table))), hidden_column(table)) for table in hidden]
    grouped = exp.Select(expressions=[star, *unions]).from_(derived_table(rows, alias))
    grouped.set("group", exp.Group(all=True))
    return grouped
