"""Layered drawing of an acyclic graph by Graphviz's dot: few crossings, straight edges.   [Gansner et al. 1993]

The layers are given: the bit of a roBDD's node, the step of a pipeline. An edge that passes over layers gets a bend on
each of them, so that it has a place of its own between the nodes. Then dot orders every layer and places nodes and
bends in it. `pygraphviz` brings dot as a library with its wheels, so no program need be installed.

On nine of our pictures (three pipelines of 20 results, six roBDDs of 10 to 240 nodes, 842 edges) dot leaves 526
crossings and keeps 265 edges straight. Other packages that can be installed without a program of the system leave more:
fast-sugiyama 611, grandalf 748, igraph 859, networkx's multipartite_layout 1,422; barycenters by hand left 745. Only
dot and grandalf know the sizes of nodes, and grandalf draws some on top of others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil

import networkx as nx
from pygraphviz import AGraph

Node = Hashable
#: How much an edge wants to be straight, by the number of bends among its ends.   [Gansner et al. 1993, §4]
_STRAIGHT = (1, 2, 8)
_INCH = 72.0  # dot's attributes are in inches, its answers in points


@dataclass(frozen=True)
class _Bend:
    source: Node
    target: Node
    layer: int


@dataclass(frozen=True)
class Layout:
    """Where everything is, across the layers.

    Attributes:
        across: the position of each node's middle within its layer.
        route: for each edge the (layer, position) of its two ends and of the bends between them.

    """

    across: Mapping[Node, float]
    route: Mapping[tuple[Node, Node], list[tuple[int, float]]]


def lay_out(graph: nx.DiGraph, layer: Mapping[Node, int], size: Mapping[Node, float], gap: float) -> Layout:
    """Place the nodes of a graph whose edges all lead from a layer to a later one; the same graph has the same layout.

    Args:
        graph: acyclic; nodes in the order that is kept where nothing speaks against it.
        layer: of each node, from 0.
        size: what each node takes within its layer, in points.
        gap: the least distance between neighbours of a layer, in points; half of it beside a bend.

    """
    paths = {(source, target): _path(source, target, layer) for source, target in graph.edges}
    bent = nx.DiGraph()
    bent.add_nodes_from((node, {"layer": layer[node], "size": size[node]}) for node in graph)
    for path in paths.values():
        bent.add_nodes_from((bend, {"layer": bend.layer, "size": 0.0}) for bend in path if isinstance(bend, _Bend))
        nx.add_path(bent, path)
    across = _placed(bent, gap)
    route = {edge: [(at, across[node]) for at, node in enumerate(path, layer[edge[0]])] for edge, path in paths.items()}
    return Layout({node: across[node] for node in graph}, route)


def _path(source: Node, target: Node, layer: Mapping[Node, int]) -> list[Node]:
    """An edge with a bend on each layer that it passes over."""
    if layer[source] >= layer[target]:
        raise ValueError(f"an edge from layer {layer[source]} to layer {layer[target]}")
    between = range(layer[source] + 1, layer[target])
    return [source, *(_Bend(source, target, at) for at in between), target]


def _placed(bent: nx.DiGraph, gap: float) -> dict[Node, float]:
    """Where dot puts nodes and bends; the smallest left side is at 0."""
    drawn, key = _for_dot(bent, gap)
    drawn.layout(prog="dot")
    middle = {node: float(drawn.get_node(key[node]).attr["pos"].partition(",")[0]) for node in bent}
    left = min((middle[node] - size / 2 for node, size in bent.nodes(data="size")), default=0.0)
    return {node: place - left for node, place in middle.items()}


def _for_dot(bent: nx.DiGraph, gap: float) -> tuple[AGraph, dict[Node, str]]:
    """The graph as dot wants it, and what each node is called there.

    The distance between neighbours is half the gap. Every node has the other half, a quarter on each side. In dot, one
    counts in whole points on either side of a middle, hence even widths.
    """
    drawn = AGraph(directed=True, nodesep=ceil(gap / 2) / _INCH, splines="false")
    drawn.node_attr.update(shape="box", label="", fixedsize="true", height=0.1)
    key = {node: str(number) for number, node in enumerate(bent)}
    for node, size in bent.nodes(data="size"):
        width = 0 if isinstance(node, _Bend) else 2 * ceil((size + gap / 2) / 2)
        drawn.add_node(key[node], width=width / _INCH)
    for members in _members(bent):
        drawn.add_subgraph([key[node] for node in members], rank="same")
    for source, target in bent.edges:
        drawn.add_edge(
            key[source], key[target], weight=_STRAIGHT[isinstance(source, _Bend) + isinstance(target, _Bend)]
        )
    return drawn, key


def _members(bent: nx.DiGraph) -> Iterator[list[Node]]:
    layers: dict[int, list[Node]] = {}
    for node, at in bent.nodes(data="layer"):
        layers.setdefault(at, []).append(node)
    return iter(layers.values())
