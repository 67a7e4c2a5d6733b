"""Heat maps: a cell for each pair of keys, darker the more is left in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d

from forward_lineage.pages.charts import Bars, Chart, Floats
from forward_lineage.pages.drawing import (
    CHOSEN,
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
)
from udafs.errors import BadArgumentError

MOST_CELLS = 1 << 22
_SPARSE = 0.1  # of the cells that have a bar
_MARK = 7  # pixels
_NAMES, _ABREAST = 24, 5
_PALE, _DARK, _NONE = (0xD6, 0xE4, 0xF2), (0x08, 0x2E, 0x66), "#dfe3e8"


def heat_map(chart: Chart, totals: Floats) -> HeatMap:
    """Return the picture of a view with two keys.

    Raises:
        BadArgumentError: it has too many cells.

    """
    cells = 1
    for axis in chart.axes:
        cells *= int(axis.places.max(initial=0)) + 1
    if cells > MOST_CELLS:
        raise BadArgumentError(
            f"view {chart.name} has {cells:,} cells, a heat map may have {MOST_CELLS:,}",
            instead="Group more coarsely, or give it the chart table.",
        )
    return Marked(chart, totals) if chart.bars < _SPARSE * cells else HeatMap(chart, totals)


class HeatMap(Drawing):
    """An image of one pixel a cell, which the browser makes larger."""

    def __init__(self, chart: Chart, totals: Floats) -> None:
        super().__init__(chart, totals)
        self._x, self._y = chart.axes
        self._whole = [(axis.ends[0] - axis.unit / 2, axis.ends[1] - axis.unit / 2) for axis in chart.axes]
        self._seen = [Range1d(*ends, bounds="auto") for ends in self._whole]
        self.figure = empty_figure(self._seen[0], self._seen[1], "both")
        self.figure.add_layout(keys_axis(self._x, _NAMES), "below")
        self.figure.add_layout(keys_axis(self._y, _NAMES), "left")
        if self._y.names is not None:
            self.figure.min_border_left = label_room(self._y.names)
        if self._x.names is not None:
            self.figure.xaxis.major_label_orientation = "vertical" if len(self._x.names) > _ABREAST else 0.0
        add_zoom(self.figure, "both")
        self._shape = int(self._y.places.max(initial=0)) + 1, int(self._x.places.max(initial=0)) + 1
        self._cells = np.full(self._shape, -1, np.intp)
        self._cells[self._y.places, self._x.places] = np.arange(chart.bars)
        self._mapper = LinearColorMapper(palette=_palette(), low=0.001, high=1, low_color=_NONE, nan_color="#0000")
        self._draw()

    def _draw(self) -> None:
        self._source, self._chosen = (ColumnDataSource({"image": [self._image(shade)]}) for shade in self._blank())
        self._picture(self._source)
        self._veil()
        self._picture(self._chosen)
        self._cursor = ColumnDataSource({"x": np.zeros(0), "y": np.zeros(0)})
        size = {"width": self._x.unit, "height": self._y.unit}
        self.figure.rect("x", "y", **size, source=self._cursor, line_width=2, **POINTED)

    def _blank(self) -> tuple[Floats, Floats]:
        return self.shades(self.totals, to_scale=True), np.full(self.chart.bars, np.nan)

    def _picture(self, source: ColumnDataSource) -> None:
        (left, right), (bottom, top) = self._whole
        self.figure.image(
            "image", x=left, y=bottom, dw=right - left, dh=top - bottom, source=source, color_mapper=self._mapper
        )

    def _veil(self) -> None:
        """The veil over all cells while some are chosen; these are drawn once more, on it."""
        (left, right), (bottom, top) = self._whole
        sides = {"left": left, "right": right, "bottom": bottom, "top": top}
        self._over = self.figure.quad(**sides, fill_color="white", fill_alpha=0.75, line_color=None, visible=False)

    def shades(self, values: Floats, *, to_scale: bool) -> Floats:
        """Return for each bar how dark it is, from 0, where nothing is left, to 1: in steps of orders of magnitude."""
        known = np.nan_to_num(values)
        if not self.chart.adds_up:
            least, most = float(known.min(initial=0.0)), float(known.max(initial=0.0))
            return np.where(np.isnan(values), 0.0, 0.02 + 0.98 * (known - least) / ((most - least) or 1.0))
        most = float(np.nanmax(self.totals if to_scale else known, initial=0.0))
        return np.where(known > 0, np.maximum(np.log1p(known) / np.log1p(most or 1.0), 0.02), 0.0)

    def show(self, values: Floats, chosen: Marks, *, to_scale: bool) -> None:
        """Draw what is left."""
        shades = self.shades(values, to_scale=to_scale)
        self._send(shades)
        if chosen is not None or self._over.visible:
            self._send_chosen(np.where(chosen, shades, np.nan) if chosen is not None else np.full(shades.size, np.nan))
        self._over.visible = chosen is not None

    def _send(self, shades: Floats) -> None:
        change(self._source, image=[self._image(shades)])

    def _send_chosen(self, shades: Floats) -> None:
        change(self._chosen, image=[self._image(shades)])

    def _image(self, shades: Floats) -> Any:
        return np.append(shades, np.nan).astype(np.float32)[self._cells]

    def point(self, bar: int | None, *, follow: bool) -> None:
        """Mark the bar that somebody is at; with `follow` bring it into sight."""
        if bar is None:
            change(self._cursor, x=np.zeros(0), y=np.zeros(0))
            return
        change(self._cursor, x=self._x.at[[bar]], y=self._y.at[[bar]])
        for seen, axis in zip(self._seen, self.chart.axes, strict=True) if follow else ():
            brought_into_sight(seen, float(axis.at[bar]) - axis.unit / 2, float(axis.at[bar]) + axis.unit / 2)

    def zoom(self, factor: float, bar: int | None) -> None:
        """Look closer at a bar, at the middle if there is none; 0 shows all again."""
        for seen, whole, axis in zip(self._seen, self._whole, self.chart.axes, strict=True):
            moved(seen, whole, factor, None if bar is None else float(axis.at[bar]))

    def bar_at(self, x: float, y: float) -> int | None:
        """Return the bar at a point of the picture."""
        row, column = (
            int(np.floor((at - whole[0]) / axis.unit))
            for at, whole, axis in zip((y, x), self._whole[::-1], self.chart.axes[::-1], strict=True)
        )
        if not (0 <= row < self._shape[0] and 0 <= column < self._shape[1]):
            return None
        found = int(self._cells[row, column])
        return found if found >= 0 else None

    def bars_in(self, x: tuple[float, float], y: tuple[float, float]) -> Bars:
        """Return the bars in a rectangle of the picture. A bar is in it if its cell is touched."""
        inside = np.ones(self.chart.bars, np.bool_)
        for axis, ends in ((self._x, sorted(x)), (self._y, sorted(y))):
            inside &= (axis.at + axis.unit / 2 > ends[0]) & (axis.at - axis.unit / 2 < ends[1])
        return np.flatnonzero(inside)


class Marked(HeatMap):
    """Few cells among many, as on a map: each is a mark that is large enough to be seen and hit."""

    def _draw(self) -> None:
        shades, _ = self._blank()
        self._source = ColumnDataSource({"x": self._x.at, "y": self._y.at, "shade": shades.astype(np.float32)})
        self._chosen = ColumnDataSource(dict.fromkeys(("x", "y", "shade"), np.zeros(0)))
        color = {"field": "shade", "transform": self._mapper}
        marks = {"size": _MARK, "marker": "square", "fill_color": color, "line_color": None}
        self.figure.scatter("x", "y", source=self._source, **marks)
        self._veil()
        self.figure.scatter("x", "y", source=self._chosen, **(marks | {"line_color": CHOSEN, "size": _MARK + 2}))
        self._cursor = ColumnDataSource({"x": np.zeros(0), "y": np.zeros(0)})
        style = {"size": _MARK + 5, "marker": "square", "line_width": 2}
        self.figure.scatter("x", "y", source=self._cursor, **style, **POINTED)

    def _send(self, shades: Floats) -> None:
        change(self._source, shade=shades.astype(np.float32))

    def _send_chosen(self, shades: Floats) -> None:
        which = np.flatnonzero(~np.isnan(shades))
        change(self._chosen, x=self._x.at[which], y=self._y.at[which], shade=shades[which].astype(np.float32))

    def bar_at(self, x: float, y: float) -> int | None:
        """Return the bar at a point of the picture. The nearest mark, if it is near."""
        if not self.chart.bars:
            return None
        away = np.zeros(self.chart.bars)
        for at, axis, seen in ((x, self._x, self._seen[0]), (y, self._y, self._seen[1])):
            away += ((axis.at - at) / (float(seen.end) - float(seen.start))) ** 2
        nearest = int(np.argmin(away))
        return nearest if away[nearest] < 0.025**2 else None


def _palette() -> list[str]:
    steps = np.linspace(0, 1, 256)[:, None]
    colors = np.rint(np.array(_PALE) * (1 - steps) + np.array(_DARK) * steps).astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in colors.tolist()]
