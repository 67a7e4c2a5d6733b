"""Equal rows become one, made of all of them: what DISTINCT, UNION, INTERSECT and EXCEPT are built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from rewrites.lineage_functions import dlunion
from rewrites.refusals import refuse
from rewrites.scope import Columns
from rewrites.terms import Kind, column, derived_table, hidden_column, named


def group_equal_rows(
    rows: exp.Query, hidden: Mapping[str, Kind], alias: str, columns: Columns, extra: tuple[str, ...] = ()
) -> exp.Select:
    """Return the query that yields each different row of `rows` once, with the union of the lineage of its copies.

    Args:
        rows: a query with hidden columns after the user's.
        hidden: its hidden columns.
        alias: a fresh alias for it.
        columns: the names of the user's columns.
        extra: further columns of `rows` that are neither the user's nor part of what makes rows equal.
    """
    excepted = [column(alias, each) for each in (*map(hidden_column, hidden), *extra)]
    items: list[exp.Expr] = [exp.Star(except_=excepted) if excepted else exp.Star()]
    group = exp.Group(all=True)
    if is_called_all(columns or ()):
        items = _each(columns or (), rows, alias)
        group = exp.Group(expressions=[each.copy() for each in items])
    unions = [named(dlunion(column(alias, hidden_column(table))), hidden_column(table)) for table in hidden]
    grouped = exp.Select(expressions=[*items, *unions]).from_(derived_table(rows, alias))
    grouped.set("group", group)
    return grouped


def _each(columns: Sequence[str | None], rows: exp.Query, alias: str) -> list[exp.Expr]:
    """The columns by their names, where GROUP BY ALL would be by the one that is called so."""
    names = [each for each in columns if each is not None]
    if len(set(map(str.lower, names))) < len(columns):
        what = "equal rows with a column called all, and one of another's name or of none, are not traced"
        refuse(rows, what, "Give each column a name of its own.")
    return [column(alias, each) for each in names]


def is_called_all(columns: Iterable[str | None]) -> bool:
    """Say whether one of the columns takes the meaning of GROUP BY ALL away, since it is called so."""
    return any(each is not None and each.lower() == "all" for each in columns)
