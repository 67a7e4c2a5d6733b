"""Pictures along one axis: bars, histograms and time lines, what is left before the pale shape of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from bokeh.models import ColumnDataSource, FixedTicker, Range1d, WheelPanTool

from forward_lineage.pages.charts import Bars, Chart, Floats
from forward_lineage.pages.drawing import (
    ALL,
    BAND,
    CHOSEN,
    LEFT,
    POINTED,
    Drawing,
    Marks,
    add_zoom,
    brought_into_sight,
    change,
    empty_figure,
    keys_axis,
    label_room,
    moved,
    numbers_axis,
)
from forward_lineage.pages.page_definition import Kind

#: So many lying bars are in sight at once.
BARS_SEEN = 15
_STEPS = 400  # of a time line
_FEW = 24  # bars of a histogram that are labelled one by one, if there is room
_ROOM, _CHARACTER, _BETWEEN = 330, 7, 8  # pixels: of the narrowest picture, of a character, between two labels
_HATCH = {"hatch_color": "#b3bcc7", "hatch_scale": 6.0, "hatch_weight": 1.0}


class Spans(Drawing):
    """Bars along an axis: lying below each other with their names, or standing.

    The rows that are left and all rows have scales of their own. So the shape of a small part can be compared with that
    of all. Drawn to scale, both are the same.
    """

    def __init__(self, chart: Chart, totals: Floats) -> None:
        super().__init__(chart, totals)
        self._axis = chart.axes[0]
        self._lying = chart.kind is Kind.BARS
        shift = 0.0 if self._axis.time else -self._axis.unit / 2  # a number stands in the middle, a day begins
        self._begin = self._axis.at + shift
        self._end = self._begin + self._axis.unit
        self._order = np.argsort(self._axis.at, kind="stable")
        self._whole = (self._axis.ends[0] + shift, self._axis.ends[1] + shift)
        self._keys, self._values = self._ranges()
        self._all = Range1d(0, 1)
        brush = "height" if self._lying else "width"
        self.figure = empty_figure(*self._both(self._keys, self._values), brush)
        self._draw()

    def _ranges(self) -> tuple[Range1d, Range1d]:
        begin, end = self._whole
        if not self._lying:
            return Range1d(begin, end, bounds="auto"), Range1d(0, 1)
        seen = min(self.chart.bars, BARS_SEEN)
        return Range1d(begin + max(seen, 5), begin, bounds=(begin, max(end, begin + 5))), Range1d(0, 1)

    def _both(self, key: Any, value: Any) -> tuple[Any, Any]:
        """The parts of the axis of keys and of that of values, as x and y."""
        return (value, key) if self._lying else (key, value)

    def _draw(self) -> None:
        plot = self.figure
        keys = keys_axis(self._axis)
        if self._axis.names is not None:
            plot.min_border_left = label_room(self._axis.names)
        elif not self._axis.time and self.chart.bars <= _FEW:
            ticks = sorted(set(self._axis.at.tolist()) - {at for at, _ in self._axis.odd})
            if sum(len(f"{at:g}") * _CHARACTER + _BETWEEN for at in ticks) <= _ROOM:
                keys.ticker = FixedTicker(ticks=ticks)
        self._number_axis = numbers_axis(standing=not self._lying)
        plot.add_layout(self._number_axis, "below" if self._lying else "left")
        plot.add_layout(keys, "left" if self._lying else "below")
        if not self._lying:
            add_zoom(plot, "width")
        elif self.chart.bars > BARS_SEEN:
            tool = WheelPanTool(dimension="height")
            plot.add_tools(tool)
            plot.toolbar.active_scroll = tool
        if self._lying:
            plot.extra_x_ranges = {"all": self._all}
        else:
            plot.extra_y_ranges = {"all": self._all}
        self._bands = ColumnDataSource({"begin": np.zeros(0), "end": np.zeros(0)})
        self._cursor = ColumnDataSource({"begin": np.zeros(0), "end": np.zeros(0)})
        self._strip(self._bands, fill_color=BAND, line_color=CHOSEN, line_width=1)
        self._fill()
        self._strip(self._cursor, line_width=1.5, **POINTED)
        for at, name in self._axis.odd:
            middle = at + self._end[0] - self._axis.at[0] - self._axis.unit / 2
            plot.text(
                [middle], [0], [name], angle=np.pi / 2, text_font_size="11px", text_baseline="middle", y_offset=-4
            )

    def _strip(self, source: ColumnDataSource, **style: Any) -> None:
        draw = self.figure.hstrip if self._lying else self.figure.vstrip
        names = ("y0", "y1") if self._lying else ("x0", "x1")
        draw(**dict(zip(names, ("begin", "end"), strict=True)), source=source, **style)

    def _fill(self) -> None:
        gap = 0.08 * self._axis.unit if self.chart.bars <= 200 else 0.0
        sides = {"begin": (self._begin + gap)[self._order], "end": (self._end - gap)[self._order]}
        # Sources of their own: all renderers of one are made anew when any of its columns changes.
        everything = ColumnDataSource({**sides, "all": self.totals[self._order]})
        self._source = ColumnDataSource({**sides, "left": self.totals[self._order]})
        self._chosen = ColumnDataSource(dict.fromkeys(("begin", "end", "left"), np.zeros(0)))
        self._pale = [self._bar(everything, "all", ALL, among_all=True)]
        self._bar(self._source, "left", LEFT)
        self._bar(self._chosen, "left", CHOSEN)

    def _bar(self, source: ColumnDataSource, value: str, color: str, *, among_all: bool = False) -> Any:
        # As wide as the line around them, bars too narrow for a pixel are still seen.
        style: dict[str, Any] = {"fill_color": color, "line_color": color, "line_width": 0.5}
        if among_all:
            style["x_range_name" if self._lying else "y_range_name"] = "all"
        if self._lying:
            return self.figure.quad(left=0, right=value, bottom="begin", top="end", source=source, **style)
        return self.figure.quad(left="begin", right="end", bottom=0, top=value, source=source, **style)

    # ------------------------------------------------------------ what changes

    def show(self, values: Floats, chosen: Marks, *, to_scale: bool) -> None:
        """Draw what is left."""
        self._scale(values, to_scale)
        self._send(values, chosen)
        begin, end = np.zeros(0), np.zeros(0)
        if chosen is not None:
            inside = np.concatenate([[False], chosen[self._order], [False]])
            edges = np.flatnonzero(np.diff(inside.astype(np.int8)))
            begin, end = self._begin[self._order[edges[::2]]], self._end[self._order[edges[1::2] - 1]]
        change(self._bands, begin=begin, end=end)

    def _send(self, values: Floats, chosen: Marks) -> None:
        change(self._source, left=values[self._order].astype(np.float32))
        which = np.zeros(0, np.intp) if chosen is None else self._order[chosen[self._order]]
        gap = self._source.data["begin"][0] - self._begin[self._order[0]] if self.chart.bars else 0.0
        left = values[which].astype(np.float32)
        change(self._chosen, begin=self._begin[which] + gap, end=self._end[which] - gap, left=left)

    def _in_sight(self, values: Floats) -> Floats:
        """The heights that are drawn."""
        return values

    def _scale(self, values: Floats, to_scale: bool) -> None:
        least, most = _ends(self._in_sight(self.totals))
        left_least, left_most = _ends(self._in_sight(values))
        total, left = np.nansum(self.totals), np.nansum(values)
        if not self.chart.adds_up:
            low, high = min(least, left_least), max(most, left_most)
            all_low, all_high = low, high
        elif to_scale or not left or not total:
            low, high = 0.0, most
            all_low, all_high = low, high
        else:
            low, high = 0.0, max(left_most, most * left / total)
            all_low, all_high = low, high * total / left
        self._hatch(all_high != high)
        self._values.update(start=low * 1.05, end=high * 1.05 or 1.0)
        self._all.update(start=all_low * 1.05, end=all_high * 1.05 or 1.0)

    def _hatch(self, is_shape: bool) -> None:
        """Draw all rows hatched where they are not to the scale of the axis, so that nobody reads them off it."""
        for each in self._pale:
            if (each.glyph.hatch_pattern is not None) != is_shape:
                pattern = "right_diagonal_line" if is_shape else None
                each.glyph.update(fill_alpha=0.0 if is_shape else 1.0, hatch_pattern=pattern, **_HATCH)

    def point(self, bar: int | None, *, follow: bool) -> None:
        """Mark the bar that somebody is at; with `follow` bring it into sight."""
        if bar is None:
            change(self._cursor, begin=np.zeros(0), end=np.zeros(0))
            return
        change(self._cursor, begin=self._begin[[bar]], end=self._end[[bar]])
        if follow:
            brought_into_sight(self._keys, float(self._begin[bar]), float(self._end[bar]))

    def zoom(self, factor: float, bar: int | None) -> None:
        """Look closer at a bar, at the middle if there is none; 0 shows all again."""
        if not self._lying:
            at = None if bar is None else float((self._begin[bar] + self._end[bar]) / 2)
            moved(self._keys, self._whole, factor, at)

    # ------------------------------------------------------------ what somebody points at

    def bar_at(self, x: float, y: float) -> int | None:
        """Return the bar at a point of the picture.

        Anywhere above or beside a bar is at it, since a bar may be too short to be hit.
        """
        found = self._between(y, y) if self._lying else self._between(x, x)
        return int(found[0]) if found.size else None

    def bars_in(self, x: tuple[float, float], y: tuple[float, float]) -> Bars:
        """Return the bars in a rectangle of the picture."""
        return self._between(*(y if self._lying else x))

    def _between(self, one: float, other: float) -> Bars:
        low, high = sorted((one, other))
        first = int(np.searchsorted(self._end[self._order], low, "right"))
        last = int(np.searchsorted(self._begin[self._order], high, "right"))
        return self._order[first:last]


class TimeLine(Spans):
    """Spans whose bars are joined into one shape, of no more steps than there are pixels to show.

    If several bars share a step, its height is their mean, and times without a bar count.
    """

    def _fill(self) -> None:
        self._units, self._first, self._count = 1, 0.0, 0
        colors = {"all": ALL, "left": LEFT, "chosen": CHOSEN}
        self._sources = {name: ColumnDataSource({"at": np.zeros(0), name: np.zeros(0)}) for name in colors}
        self._now: tuple[Floats, Marks] = self.totals, None
        drawn = {name: self._line(name, color) for name, color in colors.items()}
        self._pale = [drawn["all"]] if self.chart.adds_up else []
        for end in ("start", "end"):
            self._keys.on_change(end, lambda attr, old, new: self._seen())
        self._seen()

    def _line(self, value: str, color: str) -> Any:
        range_name = "all" if value == "all" else "default"
        style: dict[str, Any] = {"x": "at", "source": self._sources[value], "y_range_name": range_name}
        if self.chart.adds_up:
            return self.figure.varea_step(**style, y1=0, y2=value, step_mode="after", fill_color=color)
        return self.figure.step(**style, y=value, mode="after", line_color=color, line_width=1.5)

    def _seen(self) -> None:
        """Divide what is seen, and as much on both sides of it, into steps."""
        unit, (whole, end) = self._axis.unit, self._whole
        begin, length = float(self._keys.start), float(self._keys.end) - float(self._keys.start)
        units = max(1, round(length / unit / _STEPS))
        first = max(whole, whole + np.floor((begin - length - whole) / (units * unit)) * units * unit)
        count = int(np.ceil((min(begin + 2 * length, end) - first) / (units * unit) - 1e-6))
        if (units, first, count) == (self._units, self._first, self._count):
            return
        self._units, self._first, self._count = units, float(first), count
        self._number_axis.axis_label = f"mean of {units:,} bars" if units > 1 else None
        at = first + np.arange(count + 1) * units * unit
        values, chosen = self._now
        drawn = {"all": self.totals, "left": values, "chosen": self._only(values, chosen)}
        for name, source in self._sources.items():
            source.data = {"at": at, name: self._stepped(drawn[name])}

    def _only(self, values: Floats, chosen: Marks) -> Floats:
        return np.full(values.size, np.nan) if chosen is None else np.where(chosen, values, np.nan)

    def _send(self, values: Floats, chosen: Marks) -> None:
        before, self._now = self._now[1], (values, chosen)
        change(self._sources["left"], left=self._stepped(values))
        if chosen is not None or before is not None:
            change(self._sources["chosen"], chosen=self._stepped(self._only(values, chosen)))

    def _in_sight(self, values: Floats) -> Floats:
        return self._stepped(values).astype(np.float64)

    def _stepped(self, values: Floats) -> npt.NDArray[np.floating[Any]]:
        step = np.floor((self._begin - self._first) / (self._units * self._axis.unit) + 1e-6).astype(np.intp)
        known = (step >= 0) & (step < self._count) & ~np.isnan(values)
        sums = np.bincount(step[known], values[known], self._count + 1)
        if self.chart.adds_up:
            return (sums / self._units).astype(np.float32)
        counts = np.bincount(step[known], minlength=self._count + 1)
        return np.where(counts, sums / np.maximum(counts, 1), np.nan).astype(np.float32)


def _ends(values: Floats) -> tuple[float, float]:
    """The least and the most of some values and 0."""
    known = values[np.isfinite(values)]
    return float(known.min(initial=0.0)), float(known.max(initial=0.0))
