"""The common part of all pictures: a Bokeh figure whose numbers change while its shape stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from bokeh.models import (
    BasicTickFormatter,
    BoxAnnotation,
    BoxSelectTool,
    ColumnDataSource,
    CustomJSTickFormatter,
    DatetimeAxis,
    LinearAxis,
    NoOverlap,
    Range1d,
    SingleIntervalTicker,
    WheelZoomTool,
)
from bokeh.plotting import figure

from forward_lineage.pages.charts import Axis, Bars, Chart, Floats

HEIGHT = 300
LEFT, ALL, CHOSEN, BAND = "#1f5fa8", "#d3d9e1", "#b4440b", "#fdebd9"
#: Of the mark that says which bar somebody is at; on a layer of its own, so that the rest is not drawn again with it.
POINTED: dict[str, Any] = {"fill_color": None, "line_color": "#1b1f24", "level": "overlay"}
_LABEL = 26  # characters
_APART = 8  # pixels between labels
_NUMBER = 7  # characters: -12.5k, and the space without width
_NUMBER_TEXT = """
    const size = Math.abs(tick);
    const [unit, letter] = [[1e12, "t"], [1e9, "b"], [1e6, "m"], [1e3, "k"]].find(([unit]) => size >= unit) ?? [1, ""];
    return `${Number((tick / unit).toPrecision(3))}${letter}\u200b`.padStart(room, "\u2007");
"""

#: Whether a bar is chosen, for each; shape (bars,). None: there is no brush in the view.
Marks = npt.NDArray[np.bool_] | None
Column = npt.NDArray[Any] | list[npt.NDArray[Any]]


class Drawing(ABC):
    """A picture of a view.

    Args:
        chart: what is drawn.
        totals: its values without a brush.

    Attributes:
        figure: for the page.

    """

    figure: Any

    def __init__(self, chart: Chart, totals: Floats) -> None:
        self.chart, self.totals = chart, totals

    @abstractmethod
    def show(self, values: Floats, chosen: Marks, *, to_scale: bool) -> None:
        """Draw what is left.

        Args:
            values: of each bar, NaN where there is none.
            chosen: the view's own brush.
            to_scale: whether it is drawn to the scale of all rows; else large enough to be seen.

        """

    @abstractmethod
    def point(self, bar: int | None, *, follow: bool) -> None:
        """Mark the bar that somebody is at; with `follow` bring it into sight."""

    @abstractmethod
    def bar_at(self, x: float, y: float) -> int | None:
        """Return the bar at a point of the picture."""

    @abstractmethod
    def bars_in(self, x: tuple[float, float], y: tuple[float, float]) -> Bars:
        """Return the bars in a rectangle of the picture."""

    @abstractmethod
    def zoom(self, factor: float, bar: int | None) -> None:
        """Look closer at a bar, at the middle if there is none; 0 shows all again."""


def empty_figure(x_range: Range1d, y_range: Range1d, brush: str) -> Any:
    """Return a figure without content.

    Args:
        x_range: what is seen of it.
        y_range: the same.
        brush: which way a brush goes: ``width``, ``height`` or ``both``.

    """
    nowhere = dict.fromkeys(("left", "right", "top", "bottom"), float("nan"))
    overlay = BoxAnnotation(**nowhere, fill_color=CHOSEN, fill_alpha=0.15, line_color=CHOSEN, line_width=1)
    select = BoxSelectTool(dimensions=brush, renderers=[], continuous=True, overlay=overlay)
    found = figure(
        x_range=x_range,
        y_range=y_range,
        height=HEIGHT,
        min_width=120,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools=[select],
        active_drag=select,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        x_axis_type=None,
        y_axis_type=None,
        min_border_right=16,
    )
    found.grid.grid_line_color = None
    return found


def add_zoom(to: Any, dimensions: str) -> None:
    """Let Ctrl and the wheel look closer; the wheel alone moves the page, as it does elsewhere."""
    tool = WheelZoomTool(dimensions=dimensions, modifiers={"ctrl": True})
    to.add_tools(tool)
    to.toolbar.active_scroll = tool


def numbers_axis(*, standing: bool) -> Any:
    """Return an axis of what is drawn of bars.

    Its labels take the same room whatever they say. Otherwise the browser would lay out the picture anew with each
    brush, which takes it longer than to draw it. Beside the picture they are as wide as each other; below it as high,
    by a space without width: Bokeh takes a text of digits alone for lower.
    """
    formatter = CustomJSTickFormatter(args={"room": _NUMBER if standing else 0}, code=_NUMBER_TEXT)
    axis = _styled(LinearAxis(formatter=formatter))
    axis.ticker.desired_num_ticks = 4
    if standing:
        axis.major_label_text_font = "monospace"
        axis.major_label_text_font_size = "11px"
    return axis


def keys_axis(axis: Axis, most: int = 0) -> Any:
    """Return an axis that says where bars stand.

    Args:
        axis: where that is.
        most: how many names there is room for; 0: all that are seen.

    """
    if axis.names is not None:
        labels = _labels(axis.names)
        # Labels come to the browser as data; as text on a canvas nothing in them is obeyed.
        formatter = CustomJSTickFormatter(args={"labels": labels}, code="return labels[tick] ?? ''")
        every = -(-len(labels) // most) if most else 1
        names = LinearAxis(ticker=SingleIntervalTicker(interval=every, num_minor_ticks=0), formatter=formatter)
        return _styled(names, apart=0)  # below each other they stand close
    if axis.time:
        return _styled(DatetimeAxis())
    return _styled(LinearAxis(formatter=BasicTickFormatter(use_scientific=axis.ends[1] > 1e7)))


def label_room(names: Sequence[str]) -> int:
    """Return about how many pixels labels take, so that the picture does not move when others come into sight."""
    return 16 + 7 * min(_LABEL, max(map(len, names), default=0))


def moved(seen: Range1d, whole: tuple[float, float], factor: float, at: float | None) -> None:
    """Make what is seen of an axis shorter around a place, or longer; with factor 0 all of it is seen."""
    if not factor:
        seen.update(start=whole[0], end=whole[1])
        return
    begin, end = float(seen.start), float(seen.end)
    middle = (begin + end) / 2 if at is None else at
    length = min((end - begin) * factor, whole[1] - whole[0])
    begin = min(max(middle - length / 2, whole[0]), whole[1] - length)
    seen.update(start=begin, end=begin + length)


def brought_into_sight(seen: Range1d, begin: float, end: float) -> None:
    """Move what is seen of an axis as little as shows a place; the axis may run downwards."""
    low, high = sorted((float(seen.start), float(seen.end)))
    by = begin - low if begin < low else max(0.0, end - high)
    if by:
        seen.update(start=float(seen.start) + by, end=float(seen.end) + by)


def change(source: ColumnDataSource, **columns: Column) -> None:
    """Send columns of a source that have changed; the others stay in the browser.

    Columns that are not sent are not drawn again, either: that takes the browser longer than anything takes us.
    """
    new = {name: values for name, values in columns.items() if not _same(source.data[name], values)}
    if len(new) > 1:  # perhaps of another length, so all at once
        source.data = {**source.data, **columns}
    for name, values in new.items() if len(new) == 1 else ():
        source.data[name] = values


def _same(one: Column, other: Column) -> bool:
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]
    return all(np.array_equal(before, now, equal_nan=True) for before, now in pairs)


def _styled(axis: Any, apart: int = _APART) -> Any:
    axis.axis_line_color = "#8a929c"
    axis.major_tick_line_color = None
    axis.minor_tick_line_color = None
    axis.major_label_text_color = "#3d444d"
    axis.major_label_text_font_size = "12px"
    axis.axis_label_text_color = "#57606a"
    axis.axis_label_text_font_size = "12px"
    axis.axis_label_text_font_style = "normal"
    axis.major_label_policy = NoOverlap(min_distance=apart)  # on a phone there is room for fewer
    return axis


def _labels(names: Sequence[str]) -> list[str]:
    """Names as they are written at an axis: those that begin alike are shortened in the middle."""
    texts = [" ".join(name.split()) for name in names]
    alike = Counter(text[: _LABEL - 1] for text in set(texts))
    return [_shortened(text, _LABEL // 2 if alike[text[: _LABEL - 1]] > 1 else 0) for text in texts]


def _shortened(text: str, at_end: int) -> str:
    if len(text) <= _LABEL:
        return text
    return text[: _LABEL - 1 - at_end] + "…" + text[len(text) - at_end :]
