"""The roBDDs of some rows' lineage, in the manner of the paper's pictures.   [Zhang 2007, §4.2, Figures 2 and 3]

One root a row; a level a bit, the most significant on top. A solid edge is followed if the bit is 1, a dashed one if it
is 0. Sets that overlap share nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np
from matplotlib.patches import Circle, Rectangle

from forward_lineage.drawing.canvas import BLUE, FAINT, INK, LARGE, NORMAL, PAPER, SMALL, Canvas, Point, text_width
from forward_lineage.drawing.layered import lay_out
from udafs import robdd_build
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet
from udafs.robdd import NodeTable

#: More nodes than this nobody can read.
MOST_NODES = 300
#: Beyond this many nodes the edges to the 0-sink are left out: there is one at nearly every node of a sparse set.
_MOST_WITH_ZERO = 24

_STEP, _RADIUS, _GAP, _MARGIN = 46.0, 11.0, 20.0, 24.0
#: The line of an edge, by its bit.
_STYLES = ((0, (4, 3)), "solid")
_ROOT = "root"
Root = tuple[str, int]
Label = tuple[str, str]


def draw_robdd(sets: Mapping[int, LineageSet], title: str) -> Canvas:
    """Draw the shared roBDD of the lineage of some rows.

    Args:
        sets: the lineage of each row, by the row's number.
        title: what stands above.

    Raises:
        BadArgumentError: the roBDD has more than `MOST_NODES` nodes.

    """
    table, roots = shared_robdd(sets)
    graph, level = _graph(table, roots)
    nodes = _nodes(graph)
    with_zero = nodes <= _MOST_WITH_ZERO or set(roots.values()) == {0}
    if not with_zero and 0 in graph:
        graph.remove_node(0)
    counted = f"{nodes} node{'' if nodes == 1 else 's'}" + ("" if with_zero else "; edges to 0 are left out")
    labels = {(_ROOT, row): (f"row {row}", _ids(each.cardinality)) for row, each in sets.items()}
    return _Sheet(graph, level, labels, title, counted).draw()


def _nodes(graph: nx.DiGraph) -> int:
    nodes = sum(isinstance(node, int) and node > 1 for node in graph)
    if nodes > MOST_NODES:
        raise BadArgumentError(
            f"the roBDD has {nodes:,} nodes, a picture has at most {MOST_NODES}",
            instead="Draw a row with less lineage, or fewer rows.",
        )
    return nodes


def _ids(count: int) -> str:
    return "1 id" if count == 1 else f"{count:,} ids"


def shared_robdd(sets: Mapping[int, LineageSet]) -> tuple[NodeTable, dict[int, int]]:
    """One node table with the roBDDs of all sets, over as few bits as the largest id needs.

    Returns:
        the table, and the reference of each set's root.

    """
    rows = np.concatenate([np.full(each.cardinality, at, np.uint64) for at, each in enumerate(sets.values())])
    ids = np.concatenate([each.ids() for each in sets.values()]).astype(np.uint64)
    bits, row_bits = int(ids.max(initial=0)).bit_length(), (len(sets) - 1).bit_length()
    table = robdd_build.from_pairs(rows, ids, row_bits, bits)
    return table, {row: table.walk(at << bits, bits) for at, row in enumerate(sets)}


def _graph(table: NodeTable, roots: Mapping[int, int]) -> tuple[nx.DiGraph, dict[int, int]]:
    """Nodes by their reference, (root, row) above them; the level of each reference that is drawn."""
    graph, waiting, level = nx.DiGraph(), list(roots.values()), {}
    graph.add_edges_from(((_ROOT, row), reference) for row, reference in roots.items())
    while waiting:
        reference = waiting.pop()
        if reference in level:
            continue
        level[reference] = table.level(reference)
        if reference > 1:
            children = int(table.lo[reference - 2]), int(table.hi[reference - 2])
            for bit, child in enumerate(children):
                graph.add_edge(reference, child, bit=bit)
            waiting += children
    return graph, level


def _layers(graph: nx.DiGraph, level: Mapping[int, int]) -> dict[object, int]:
    """Levels without a node take no room."""
    used = sorted({level[node] for node in graph if isinstance(node, int)}, reverse=True)
    return {node: used.index(level[node]) + 1 if isinstance(node, int) else 0 for node in graph}


class _Sheet:
    """The picture: layers are rows, from top to bottom; on its left the bit of each."""

    def __init__(
        self, graph: nx.DiGraph, level: Mapping[int, int], labels: Mapping[Root, Label], title: str, counted: str
    ) -> None:
        self.graph, self.level, self.labels, self.title, self.counted = graph, level, labels, title, counted
        self.layer = _layers(graph, level)
        size = dict.fromkeys(graph, 2 * _RADIUS)
        size |= {root: max(text_width(line, SMALL, "bold") for line in label) for root, label in labels.items()}
        self.places = lay_out(graph, self.layer, size, _GAP)
        across = max(self.places.across[node] + size[node] / 2 for node in graph)
        left = _MARGIN + text_width("bit 63", SMALL) + _GAP
        texts = max(text_width(title, LARGE, "bold"), text_width(counted), 190.0)
        width = max(left + across, _MARGIN + texts) + _MARGIN
        self.canvas = Canvas(width, 2 * _MARGIN + 60 + _STEP * max(self.layer.values()) + 40)
        self.left = left + (width - _MARGIN - left - across) / 2
        self.top = self.canvas.height - _MARGIN - 60

    def at(self, step: int, place: float) -> Point:
        """Where a place of a layer is on the sheet."""
        return self.left + place, self.top - _STEP * step

    def draw(self) -> Canvas:
        self._titles()
        for source, target, edge in self.graph.edges(data=True):
            self._edge([self.at(*point) for point in self.places.route[source, target]], edge.get("bit"))
        for node in self.graph:
            self._node(node, self.at(self.layer[node], self.places.across[node]))
        self._legend()
        return self.canvas

    def _titles(self) -> None:
        top = self.canvas.height - _MARGIN
        self.canvas.text(_MARGIN, top - 4, self.title, LARGE, weight="bold")
        self.canvas.text(_MARGIN, top - 22, self.counted, color=FAINT)
        bits = {self.layer[node]: self.level[node] for node in self.graph if isinstance(node, int)}
        for step, bit in bits.items():
            if bit >= 0:  # the sinks have none
                self.canvas.text(_MARGIN, self.at(step, 0)[1], f"bit {bit}", SMALL, color=FAINT)

    def _edge(self, points: list[Point], bit: int | None) -> None:
        if bit is not None:
            self.canvas.curve(points, linestyle=_STYLES[bit], linewidth=1.3)
            return
        x, y = points[0]  # below the two lines of a root
        self.canvas.curve([(x, y - 8), *points[1:]], linewidth=1.0, edgecolor=FAINT)

    def _node(self, node: int | Root, middle: Point) -> None:
        if not isinstance(node, int):
            self._root(node, middle)
        elif node > 1:
            self.canvas.add(Circle(middle, 0.6 * _RADIUS, facecolor=PAPER, edgecolor=INK, linewidth=1.3, zorder=3))
        else:
            self._sink(node, middle)

    def _root(self, root: Root, middle: Point) -> None:
        (x, y), (name, count) = middle, self.labels[root]
        self.canvas.text(x, y + 12, name, SMALL, ha="center", weight="bold")
        self.canvas.text(x, y, count, SMALL, ha="center", color=FAINT)

    def _sink(self, value: int, middle: Point) -> None:
        x, y = middle
        corner, side, filled = (x - _RADIUS, y - _RADIUS), 2 * _RADIUS, BLUE if value else PAPER
        self.canvas.add(Rectangle(corner, side, side, facecolor=filled, edgecolor=INK, linewidth=1.3, zorder=3))
        self.canvas.text(x, y, str(value), NORMAL, ha="center", color=PAPER if value else INK, weight="bold")

    def _legend(self) -> None:
        for number, bit in enumerate((1, 0)):
            x, y = _MARGIN + 95 * number, _MARGIN
            self.canvas.line([(x, y), (x + 26, y)], linestyle=_STYLES[bit], linewidth=1.3)
            self.canvas.text(x + 33, y, f"bit is {bit}", SMALL)
