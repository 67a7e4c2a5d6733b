"""How a view is drawn, by its keys; where its bars stand."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bokeh.models import NoOverlap

from forward_lineage import LineageError
from forward_lineage.pages.charts import Axis, Chart, number
from forward_lineage.pages.drawing import keys_axis
from forward_lineage.pages.grids import HeatMap, Marked, heat_map
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.spans import Spans, TimeLine
from tests.forward_lineage.pages.small import shown_of

DAY = datetime.date(2001, 1, 1)
NOON = datetime.datetime(2001, 1, 1, 12, tzinfo=datetime.UTC)


def chart_of(keys: dict[str, Any], **options: str) -> Chart:
    return shown_of(pa.table(keys), {"v": tuple(keys)}, {"v": options} if options else None).charts[0]


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"a": ["x", "y"]}, Kind.BARS),
        ({"a": [True, False]}, Kind.BARS),
        ({"a": [b"x", None]}, Kind.BARS),
        ({"a": [1, 2]}, Kind.HISTOGRAM),
        ({"a": [1.5, None, float("nan")]}, Kind.HISTOGRAM),
        ({"a": [Decimal("1.50"), Decimal("2.00")]}, Kind.HISTOGRAM),
        ({"a": [DAY, None]}, Kind.TIMELINE),
        ({"a": [NOON]}, Kind.TIMELINE),
        ({"a": ["x", "y"], "b": [1, 2]}, Kind.HEATMAP),
        ({"a": ["x", "y"], "b": [1, 2], "c": [DAY, DAY]}, Kind.TABLE),
    ],
)
def test_kind_by_keys(keys: dict[str, Any], kind: Kind) -> None:
    assert chart_of(keys).kind is kind


@pytest.mark.parametrize(
    ("keys", "options", "said"),
    [
        ({"a": ["x"]}, {"chart": "histogram"}, "is to be a histogram, and has the keys a (string)"),
        ({"a": [1]}, {"chart": "timeline"}, "is to be a timeline, and has the keys a (int64)"),
        ({"a": [1]}, {"chart": "heatmap"}, "is to be a heatmap"),
        ({"a": [1], "b": [1]}, {"chart": "bars"}, "is to be a bars"),
        ({"a": [1]}, {"value": "m"}, "is to show m, which is none of its aggregates"),
        ({"a": [1]}, {"value": "a"}, "is to show a, which is none of its aggregates"),
    ],
)
def test_refused(keys: dict[str, Any], options: dict[str, str], said: str) -> None:
    with pytest.raises(LineageError) as caught:
        chart_of(keys, **options)
    assert said in str(caught.value)


def test_a_heat_map_has_bounds() -> None:
    with pytest.raises(LineageError, match="a heat map may have"):
        chart_of({"a": [f"{each}" for each in range(2500)], "b": [f"{each}" for each in range(2500)]})


def test_bars_with_the_most_rows_come_first() -> None:
    chart = chart_of({"a": ["x", "y", "y", None, None, None]}, chart="bars")
    assert [chart.label(bar) for bar in chart.order] == ["x", "y", "NULL"]  # as the query has them
    table = shown_of(
        pa.table({"a": ["x", "y", "y"]}), {"v": ("a",)}, {"v": {"sql": "SELECT a, count(*) FROM t GROUP BY a"}}
    )
    assert [table.charts[0].label(bar) for bar in table.charts[0].order] == ["y", "x"]


@pytest.mark.parametrize(
    "keys",
    [
        [3, 1, 2, 10],
        [0.25, 0.5, 1.0],
        [5],
        [DAY, DAY + datetime.timedelta(1), DAY + datetime.timedelta(9)],
        [NOON, NOON + datetime.timedelta(hours=1)],
        [1, None, 4],
        [1.0, float("nan"), None, float("inf")],
        [None],
        ["x", "y", None],
    ],
)
def test_every_bar_is_where_it_is_found(keys: list[Any]) -> None:
    chart = chart_of({"a": keys})
    drawing = (TimeLine if chart.kind is Kind.TIMELINE else Spans)(chart, np.ones(chart.bars))
    axis = chart.axes[0]
    assert np.unique(axis.at).size == chart.bars
    for bar in range(chart.bars):
        at = float(axis.at[bar]) + (axis.unit / 2 if axis.time else 0)
        assert (drawing.bar_at(at, 0.0) if chart.kind is not Kind.BARS else drawing.bar_at(0.0, at)) == bar
    low, high = float(axis.at.min()), float(axis.at.max())
    everything = drawing.bars_in((low, high), (low, high))
    assert sorted(everything.tolist()) == list(range(chart.bars))
    assert drawing.bar_at(low - 10 * axis.unit, low - 10 * axis.unit) is None


@pytest.mark.parametrize("sparse", [False, True])
def test_every_cell_is_where_it_is_found(sparse: bool) -> None:
    x, y = ([0, 5, 250], [7, 100, 0]) if sparse else ([0, 1, 1, 2], ["a", "b", None, "a"])
    chart = chart_of({"x": x, "y": y})
    drawing = heat_map(chart, np.ones(chart.bars))
    assert type(drawing) is (Marked if sparse else HeatMap)
    for bar in range(chart.bars):
        assert drawing.bar_at(float(chart.axes[0].at[bar]), float(chart.axes[1].at[bar])) == bar
    assert drawing.bar_at(120.0, 2.0) is None
    assert sorted(drawing.bars_in((-1e3, 1e3), (1e3, -1e3)).tolist()) == list(range(chart.bars))


def test_a_time_line_shows_means_of_what_it_has_no_room_for() -> None:
    days = [DAY + datetime.timedelta(each) for each in range(1200) if each not in (6, 7)]
    chart = chart_of({"a": days})
    values = np.arange(chart.bars, dtype=float)
    drawing = TimeLine(chart, values)
    drawing.show(values, None, to_scale=True)
    source = drawing.figure.renderers[2].data_source.data
    assert len(source["at"]) == 401
    assert drawing.figure.left[0].axis_label == "mean of 3 bars"
    order = {chart.label(bar): value for bar, value in enumerate(values)}
    assert source["left"][0] == pytest.approx(sum(order[str(DAY + datetime.timedelta(each))] for each in range(3)) / 3)
    assert source["left"][2] == pytest.approx(order[str(days[8 - 2])] / 3)  # two days without a bar
    drawing.zoom(0.1, None)
    assert drawing.figure.left[0].axis_label is None


def test_numbers_as_people_read_them() -> None:
    found = [number(each) for each in (1234567, Decimal("1234.50"), 0.1 + 0.2, 1e20, None, True, DAY)]
    assert found == ["1,234,567", "1,234.50", "0.3", "1e+20", "NULL", "true", "2001-01-01"]


def test_labels_are_told_apart_and_do_not_meet() -> None:
    """Long names that begin alike are shortened in the middle; where there is no room, labels are left out."""
    names = tuple(f"A very long name of a city, number {i}" for i in range(3))
    axes = [keys_axis(Axis(np.arange(3.0), names=names)), keys_axis(Axis(np.arange(3.0), time=True))]
    labels = axes[0].formatter.args["labels"]
    assert len(set(labels)) == 3 and labels[2].startswith("A very lo") and labels[2].endswith("number 2")
    assert all(isinstance(axis.major_label_policy, NoOverlap) for axis in axes)
