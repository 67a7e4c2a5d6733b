"""The common part for everybody who looks at a page: the views, how they are drawn, and where base rows come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa

from forward_lineage.pages.charts import Chart, chart_of, text_of
from forward_lineage.pages.grids import heat_map
from forward_lineage.pages.links import Reader
from forward_lineage.pages.page_definition import AskedPage, AskedView, Kind
from forward_lineage.views.linked import Answer, LinkedViews
from forward_lineage.views.view_sql import GroupBy, is_result, read_view
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

#: So many bars of a table are shown; keys reach the others.
TABLE_ROWS = 500
_LONGEST_CELL = 200

ReadRows = Callable[[LineageSet], pa.Table]
"""Reads the base rows with some ids, in their order, the id first."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A page's content.

    Attributes:
        linked: the views.
        charts: how they are drawn, in their order.
        read_rows: reads base rows; from any thread.
        title: what stands above the page.
        whole: what the views show without a brush.
        queries: of the views that are none of a saved result, by name.

    """

    linked: LinkedViews
    charts: tuple[Chart, ...]
    read_rows: ReadRows
    title: str
    whole: Answer
    queries: Mapping[str, GroupBy] = field(default_factory=dict)
    links: Reader = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", Reader(self.charts))


def shown(linked: LinkedViews, asked: AskedPage, read_rows: ReadRows) -> Shown:
    """Decide how a page looks.

    Raises:
        BadArgumentError: a view cannot be drawn as was asked.

    """
    charts, whole = [], linked.hand().answer()
    for name in linked.names:
        view = asked.views.get(name, AskedView(name))
        try:
            chart = chart_of(linked, name, view, ordered=_is_ordered(view.sql))
            if chart.kind is Kind.HEATMAP:
                heat_map(chart, chart.values(whole))  # says beforehand if there are too many cells
        except LineageError as error:
            raise asked.in_file(error, name) from None
        charts.append(chart)
    return Shown(linked, tuple(charts), read_rows, asked.title or linked.table_name, whole, _queries(asked))


def _queries(asked: AskedPage) -> dict[str, GroupBy]:
    """The queries of a page, of those views that were made of one; others were opened elsewhere."""
    found: dict[str, GroupBy] = {}
    for name, view in asked.views.items():
        with suppress(LineageError):
            found |= {} if is_result(view.sql) else {name: read_view(view.sql)}
    return found


def _is_ordered(sql: str) -> bool:
    """Whether the rows of a view come in an order that somebody chose."""
    try:
        return read_view(sql).tree.args.get("order") is not None
    except LineageError:
        return True  # a saved result, or views that were opened elsewhere


def rows_as_text(table: pa.Table) -> tuple[list[str], list[list[str | None]]]:
    """Return the names of columns, and rows of texts, None for NULL; long values are cut."""
    columns: Sequence[list[str | None]] = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    return list(table.column_names), [list(row) for row in zip(*columns, strict=True)]


def places_of_numbers(table: pa.Table) -> list[int]:
    """Return the places of columns of numbers, which stand at the right."""
    numbers = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    return [place for place, field in enumerate(table.schema) if any(each(field.type) for each in numbers)]


def _cell(value: object) -> str | None:
    text = text_of(value)
    return text if text is None or len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
