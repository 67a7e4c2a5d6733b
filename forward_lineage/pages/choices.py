"""A choice outside of the page: the rows that it leaves as CSV, the query that gives them, a range that is typed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.pages.charts import Chart, text_of
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.page_model import Shown
from forward_lineage.views.view_sql import GroupBy
from udafs.errors import BadArgumentError

#: What goes to a browser in one piece.
MOST_ROWS = 100_000
_CSV = "Take the rows as CSV."
_DAY = 86_400_000.0


def csv_of(table: pa.Table) -> str:
    """Return rows as CSV with a header, texts in quotes; NULL is empty, without quotes."""
    columns = [column.to_pylist() for column in table.columns]
    lines = [",".join(map(_quoted, table.column_names))]
    lines += [",".join(map(_cell, row)) for row in zip(*columns, strict=True)]
    return "\r\n".join(lines) + "\r\n"


def _cell(value: Any) -> str:
    text = text_of(value)
    if text is None:
        return ""
    return text if isinstance(value, int | float | Decimal) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def sql_of(shown: Shown, choice: Mapping[int, Sequence[int]]) -> str:
    """Return a query for the base rows that a choice leaves.

    Args:
        shown: the page.
        choice: the bars that are chosen, by the number of their view; at least one.

    Raises:
        BadArgumentError: the rows of a bar cannot be told by values of its keys that SQL writes exactly.

    """
    conditions: list[exp.Expr] = []
    table = ""
    for view, bars in choice.items():
        chart = shown.charts[view]
        query = shown.queries.get(chart.name)
        if query is None:
            raise BadArgumentError(f"the bars of {chart.name} are rows of a saved result", instead=_CSV)
        table = query.table
        conditions.append(_chosen(query, chart, bars))
        if query.condition is not None:
            conditions.append(_bare(query.condition, query.alias))
    where = exp.and_(*conditions, copy=False)
    return f"SELECT *\nFROM {table}\nWHERE {print_sql(where)}"


def _chosen(query: GroupBy, chart: Chart, bars: Sequence[int]) -> exp.Expr:
    keys = [_bare(key, query.alias) for key in query.keys]
    values = [chart.table.column(place) for place in chart.keys]
    rows = [[column[bar].as_py() for column in values] for bar in bars]
    if len(keys) > 1:
        parts = (exp.and_(*(_equal(key, value, chart) for key, value in zip(keys, row, strict=True))) for row in rows)
        return exp.or_(*parts)
    known = [_literal(row[0], chart) for row in rows if row[0] is not None]
    found: list[exp.Expr] = [exp.In(this=keys[0], expressions=known)] if known else []
    if len(known) < len(rows):
        found.append(exp.Is(this=keys[0].copy(), expression=exp.null()))
    return exp.or_(*found)


def _equal(key: exp.Expr, value: Any, chart: Chart) -> exp.Expr:
    if value is None:
        return exp.Is(this=key.copy(), expression=exp.null())
    return exp.EQ(this=key.copy(), expression=_literal(value, chart))


def _literal(value: Any, chart: Chart) -> exp.Expr:
    """Write a value; a number or time of which SQL would make another one is refused."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, int):
        return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    raise BadArgumentError(f"keys of {chart.name} are neither texts nor whole numbers nor dates", instead=_CSV)


def _bare(tree: exp.Expr, alias: str) -> exp.Expr:
    """A copy of an expression whose columns are not qualified with the name that the view gives the table."""
    found = tree.copy()
    for column in found.find_all(exp.Column):
        if column.table.lower() == alias.lower():
            column.set("table", None)
    return exp.paren(found, copy=False) if isinstance(found, exp.Connector) else found


def bars_between(chart: Chart, first: str, last: str) -> list[int]:
    """Return the bars of a histogram or time line in a range that somebody has typed, both ends included.

    Args:
        chart: whose bars.
        first: a number, or a date as 2026-03-31; empty: from the first bar.
        last: the same; empty: to the last one.

    Raises:
        BadArgumentError: an end is neither, or no bar is in the range.

    """
    axis = chart.axes[0]
    low = -np.inf if not first.strip() else _end(first, chart)
    high = np.inf if not last.strip() else _end(last, chart)
    inside = (axis.at >= low) & (axis.at < high + _DAY if axis.time else axis.at <= high)
    inside[list(_odd(chart))] = False
    if not inside.any():
        raise BadArgumentError(f"{chart.name} has no bar from {first or 'its first'} to {last or 'its last'}")
    return [int(bar) for bar in np.flatnonzero(inside)]


def has_range(chart: Chart) -> bool:
    """Tell whether a range may be typed."""
    return chart.kind in (Kind.HISTOGRAM, Kind.TIMELINE)


def _odd(chart: Chart) -> Iterator[int]:
    """The bars that stand apart: NULL, NaN, infinities."""
    marked = {at for at, _ in chart.axes[0].odd}
    yield from (bar for bar, at in enumerate(chart.axes[0].at.tolist()) if at in marked)


def _end(text: str, chart: Chart) -> float:
    try:
        if chart.axes[0].time:
            moment = datetime.datetime.fromisoformat(text.strip()).replace(tzinfo=datetime.UTC)
            return moment.timestamp() * 1000
        return float(text)
    except ValueError:
        form = "a date such as 2026-03-31" if chart.axes[0].time else "a number"
        raise BadArgumentError(f"{text[:40]!r} is not {form}", instead=f"Write {form}, or nothing.") from None
