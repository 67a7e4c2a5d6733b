"""The pipeline of saved results, base tables on the left; an impact is painted in.

A touched step has a thick frame, its share as a bar and its count in words. The edges it came over are thick, too:
colour only repeats that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from forward_lineage.drawing.canvas import (
    BLUE,
    FAINT,
    INK,
    LARGE,
    NORMAL,
    ORANGE,
    PAPER,
    SMALL,
    Canvas,
    Point,
    shortened,
    text_width,
)
from forward_lineage.drawing.layered import Layout, lay_out

_MARGIN, _GAP, _BETWEEN, _PAD = 24.0, 20.0, 64.0, 11.0
_LINE, _BAR = 14.0, 5.0
_LONGEST = 32  # characters of a name
_TABLE, _RESULT, _MODEL, _TOUCHED = "#eeeeee", "#e8f3fb", "#f0ebf8", "#fdeee2"


@dataclass(frozen=True)
class Step:
    """A base table or a saved result.

    Attributes:
        name: what queries call it.
        parents: the names of the tables and results it was computed from.
        base: whether it is a base table.
        note: a line about it, e.g. its semantics.
        rows: how many it has, if that is known.
        touched: how many of them an impact touches (in a base table: are suspected); None when none was asked for.
        stale: whether something it was computed from has changed since.
        saved: the day on which it was saved, if it is a result.
        model: whether it is a fitted model, whose rows are its parts.

    """

    name: str
    parents: Sequence[str] = ()
    base: bool = False
    note: str = ""
    rows: int | None = None
    touched: int | None = None
    stale: bool = False
    saved: str = ""
    model: bool = False

    def lines(self) -> list[str]:
        """The text below the name."""
        unit = "part" if self.model else "row"
        rows = "" if self.rows is None else f"{self.rows:,} {unit}{'' if self.rows == 1 else 's'}"
        lines = [" · ".join(part for part in (rows, self.note) if part)]
        if self.touched:
            lines.append(f"{self.touched:,} {'suspected' if self.base else 'touched'}")
        elif self.touched is not None and not self.base:
            lines.append("not touched")
        if self.stale:
            lines.append("stale: an input has changed")
            lines.append(f"saved {self.saved}" if self.saved else "")
        return [line for line in lines if line]


def draw_pipeline(steps: Sequence[Step], title: str) -> Canvas:
    """Draw what was computed from what.

    Args:
        steps: base tables and results; every parent is among them.
        title: what stands above.

    """
    return sheet_of(steps, title).draw()


def sheet_of(steps: Sequence[Step], title: str) -> Sheet:
    """Return where everything is; arguments as for `draw_pipeline`."""
    known = {step.name: step for step in steps}
    graph = nx.DiGraph()
    graph.add_nodes_from(known)
    graph.add_edges_from((parent, step.name) for step in steps for parent in step.parents)
    layer = {node: at for at, nodes in enumerate(nx.topological_generations(graph)) for node in nodes}
    # A base table stands right before the first result that reads it, not at the far left.
    for name, step in known.items():
        if step.base and graph.succ[name]:
            layer[name] = min(layer[child] for child in graph.succ[name]) - 1
    places = lay_out(graph, layer, {name: _height(step) for name, step in known.items()}, _GAP)
    return Sheet(known, graph, layer, places, title)


def _height(step: Step) -> float:
    bar = _BAR + 6 if step.touched and step.rows else 0
    return 2 * _PAD + _LINE * (1 + len(step.lines())) + bar - 3


def _width(step: Step) -> float:
    lines = [
        text_width(shortened(step.name, _LONGEST), NORMAL, "bold"),
        *(text_width(each, SMALL) for each in step.lines()),
    ]
    return 2 * _PAD + max(72.0, *lines)


def box_size(step: Step) -> Point:
    """Return the width and the height of a step's box."""
    return _width(step), _height(step)


class Sheet:
    """The picture: layers are columns, from left to right."""

    def __init__(
        self, steps: Mapping[str, Step], graph: nx.DiGraph, layer: Mapping[str, int], places: Layout, title: str
    ) -> None:
        self.steps, self.graph, self.layer, self.places, self.title = steps, graph, layer, places, title
        self.asked = any(step.touched is not None for step in steps.values())
        columns = max(layer.values(), default=-1) + 1
        widths = [max((_width(steps[name]) for name in steps if layer[name] == at), default=0) for at in range(columns)]
        self.widths, self.left = widths, [_MARGIN + sum(widths[:at]) + _BETWEEN * at for at in range(columns)]
        right = self.left[-1] + widths[-1] if columns else _MARGIN
        self.bottom = _MARGIN + 42
        deep = max((places.across[name] + _height(step) / 2 for name, step in steps.items()), default=0.0)
        width = max(right, _MARGIN + text_width(title, LARGE, "bold"), _MARGIN + self._legend_width()) + _MARGIN
        self.canvas = Canvas(width, self.bottom + deep + 44 + _MARGIN)
        self.top = self.canvas.height - _MARGIN - 44

    def draw(self) -> Canvas:
        """Draw it."""
        self.canvas.text(_MARGIN, self.canvas.height - _MARGIN - 4, self.title, LARGE, weight="bold")
        for source, target in self.graph.edges:
            self._edge(source, target)
        for name in self.steps:
            self._box(name)
        self._legend()
        return self.canvas

    def _edge(self, source: str, target: str) -> None:
        painted = bool(self.steps[source].touched and self.steps[target].touched)
        points = self.points(source, target)
        style = {"linewidth": 2.6, "edgecolor": ORANGE, "zorder": 2} if painted else {"edgecolor": FAINT}
        self.canvas.curve(points, sideways=True, **style)
        x, y = points[-1]
        size, color, order = (13, ORANGE, 2) if painted else (10, FAINT, 1)
        head = FancyArrowPatch((x - 1, y), (x + 7, y), arrowstyle="-|>", mutation_scale=size, color=color, zorder=order)
        self.canvas.add(head)

    def points(self, source: str, target: str) -> list[Point]:
        """Return where an edge goes: through the bends, which cross their column straight."""
        (first, start), *bends, (last, end) = self.places.route[source, target]
        points = [(self.left[first] + _width(self.steps[source]), self.top - start)]
        if points[0][0] < self.left[first] + self.widths[first]:
            points.append((self.left[first] + self.widths[first], self.top - start))
        for column, place in bends:
            y = self.top - place
            points += [(self.left[column], y), (self.left[column] + self.widths[column], y)]
        return [*points, (self.left[last] - 7, self.top - end)]

    def corner(self, name: str) -> Point:
        """Return where the left upper corner of a step's box is."""
        return self.left[self.layer[name]], self.top - self.places.across[name] + _height(self.steps[name]) / 2

    def _box(self, name: str) -> None:
        step = self.steps[name]
        width, height = box_size(step)
        x, top = self.corner(name)
        y = top - height
        self._frame(x, y, width, height, step)
        line = y + height - _PAD - 4
        self.canvas.text(x + _PAD, line, shortened(name, _LONGEST), weight="bold")
        for text in step.lines():
            line -= _LINE
            strong = text.endswith(("touched", "suspected")) and bool(step.touched)
            style = (
                {"color": ORANGE, "weight": "bold"} if strong else {"color": INK if text.startswith("stale") else FAINT}
            )
            self.canvas.text(x + _PAD, line, text, SMALL, **style)
        if step.touched and step.rows:
            self._bar(x + _PAD, y + _PAD - 2, width - 2 * _PAD, step.touched / step.rows)

    def _frame(self, x: float, y: float, width: float, height: float, step: Step) -> None:
        fill = _TOUCHED if step.touched else _TABLE if step.base else _MODEL if step.model else _RESULT
        edge = ORANGE if step.touched else FAINT if step.base else BLUE
        shape = "roundtooth,tooth_size=4" if step.model else f"round,rounding_size={0.01 if step.base else 7}"
        self.canvas.add(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=f"{shape},pad=0",
                facecolor=fill,
                edgecolor=edge,
                linewidth=2.4 if step.touched else 1.1,
                linestyle=(0, (4, 2)) if step.stale else "solid",
                zorder=3,
            )
        )

    def _bar(self, x: float, y: float, width: float, share: float) -> None:
        self.canvas.add(Rectangle((x, y), width, _BAR, facecolor=PAPER, edgecolor=FAINT, linewidth=0.6, zorder=4))
        filled = max(2.0, width * share)  # the smallest share must still be seen
        self.canvas.add(Rectangle((x, y), filled, _BAR, facecolor=ORANGE, edgecolor=ORANGE, linewidth=0.6, zorder=5))

    def _legend_entries(self) -> list[tuple[str, Step]]:
        entries = [("base table", Step("", base=True)), ("saved result", Step(""))]
        if any(step.model for step in self.steps.values()):
            entries.append(("model", Step("", model=True)))
        if self.asked:
            entries.append(("touched; the bar is the share of its rows", Step("", touched=1)))
        if any(step.stale for step in self.steps.values()):
            entries.append(("stale", Step("", stale=True)))
        return entries

    def _legend_width(self) -> float:
        return sum(46 + text_width(label, SMALL) for label, _ in self._legend_entries())

    def _legend(self) -> None:
        x = _MARGIN
        for label, like in self._legend_entries():
            self._frame(x, _MARGIN - 6, 20, 12, like)
            self.canvas.text(x + 27, _MARGIN, label, SMALL)
            x += 46 + text_width(label, SMALL)
