"""The roBDDs of some rows' lineage, in the manner of the paper's pictures.   [Zhang 2007, §4.2, Figures 2 and 3]

One root a row; a level a bit, the most significant on top; a solid edge is followed where the bit is 1, a dashed one
where it is 0. Sets that overlap share nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np
from matplotlib.patches import Circle, Rectangle

from forward_lineage.drawing.canvas import BLUE, FAINT, INK, LARGE, NORMAL, PAPER, SMALL, Canvas, Point, text_width
from forward_lineage.drawing.layered import lay_out
from udafs import robdd_build
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet
from udafs.robdd import NodeTable

#: More nodes than this nobody can read.
MOST_NODES = 300
#: Beyond this many nodes the edges to the 0-sink are left out: there is one at nearly every node of a sparse set.
_MOST_WITH_ZERO = 24

_STEP, _RADIUS, _GAP, _MARGIN = 46.0, 11.0, 20.0, 24.0
_ROOT = "root"
Root = tuple[str, int]
Label = tuple[str, str]


def draw_robdd(sets: Mapping[int, LineageSet], title: str) -> Canvas:
    """Draw the shared roBDD of the lineage of some rows.

    Args:
        sets: the lineage of each row, by the row's number.
        title: what stands above.

    Raises:
        LineageError: the roBDD has more than `MOST_NODES` nodes.

    """
    table, roots = shared_robdd(sets)
    graph, level = _graph(table, roots)
    nodes = sum(isinstance(node, int) and node > 1 for node in graph)
    if nodes > MOST_NODES:
        raise LineageError(
            f"the roBDD has {nodes:,} nodes, a picture has at most {MOST_NODES}",
            instead="Draw a row with less lineage, or fewer rows.",
        )
    with_zero = nodes <= _MOST_WITH_ZERO or set(roots.values()) == {0}
    if not with_zero and 0 in graph:
        graph.remove_node(0)
    counted = f"{nodes} node{'' if nodes == 1 else 's'}" + ("" if with_zero else "; edges to 0 are left out")
    labels = {(_ROOT, row): (f"row {row}", _ids(each.cardinality)) for row, each in sets.items()}
    return _draw(graph, level, labels, (title, counted))


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


def _draw(graph: nx.DiGraph, level: Mapping[int, int], labels: Mapping[Root, Label], header: Label) -> Canvas:
    layer = _layers(graph, level)
    size = dict.fromkeys(graph, 2 * _RADIUS)
    size |= {root: max(text_width(line, SMALL, "bold") for line in label) for root, label in labels.items()}
    places = lay_out(graph, layer, size, _GAP)
    title, counted = header
    legend = (("bit is 1", "solid"), ("bit is 0", "dashed"))
    left = _MARGIN + text_width("bit 63", SMALL) + _GAP
    across = max(places.across[node] + size[node] / 2 for node in graph)
    texts = max(text_width(title, LARGE, "bold"), text_width(counted), 190.0)
    width = max(left + across, _MARGIN + texts) + _MARGIN
    left += (width - _MARGIN - left - across) / 2
    height = 2 * _MARGIN + 60 + _STEP * max(layer.values()) + 40
    canvas = Canvas(width, height)
    canvas.text(_MARGIN, height - _MARGIN - 4, title, LARGE, weight="bold")
    canvas.text(_MARGIN, height - _MARGIN - 22, counted, color=FAINT)
    top = height - _MARGIN - 60

    def at(step: int, place: float) -> Point:
        return left + place, top - _STEP * step

    for one, lower in {layer[node]: level[node] for node in graph if isinstance(node, int)}.items():
        if lower >= 0:
            canvas.text(_MARGIN, at(one, 0)[1], f"bit {lower}", SMALL, color=FAINT)
    for source, target, edge in graph.edges(data=True):
        points = [at(*point) for point in places.route[source, target]]
        if "bit" in edge:
            canvas.curve(points, linestyle="solid" if edge["bit"] else (0, (4, 3)), linewidth=1.3)
        else:
            points[0] = points[0][0], points[0][1] - 8
            canvas.curve(points, linewidth=1.0, edgecolor=FAINT)
    for node in graph:
        _draw_node(canvas, node, at(layer[node], places.across[node]), labels)
    for number, (label, style) in enumerate(legend):
        x, y = _MARGIN + 95 * number, _MARGIN
        canvas.line([(x, y), (x + 26, y)], linestyle=style, linewidth=1.3)
        canvas.text(x + 33, y, label, SMALL)
    return canvas


def _draw_node(canvas: Canvas, node: int | Root, middle: Point, labels: Mapping[Root, Label]) -> None:
    x, y = middle
    if not isinstance(node, int):
        name, count = labels[node]
        canvas.text(x, y + 12, name, SMALL, ha="center", weight="bold")
        canvas.text(x, y, count, SMALL, ha="center", color=FAINT)
    elif node > 1:
        canvas.add(Circle(middle, 0.6 * _RADIUS, facecolor=PAPER, edgecolor=INK, linewidth=1.3, zorder=3))
    else:
        corner = x - _RADIUS, y - _RADIUS
        filled = BLUE if node else PAPER
        canvas.add(
            Rectangle(corner, 2 * _RADIUS, 2 * _RADIUS, facecolor=filled, edgecolor=INK, linewidth=1.3, zorder=3)
        )
        canvas.text(x, y, str(node), NORMAL, ha="center", color=PAPER if node else INK, weight="bold")
