"""Layered drawing of an acyclic graph: few crossings, short and straight edges.   [Sugiyama, Tagawa, Toda 1981]

An edge that passes over layers gets a bend on each of them, so that it has a place of its own between the nodes. Layers
are ordered by sweeping barycenters; the positions within a layer are those nearest to the neighbours' that keep the
order and the distances, which is isotonic regression.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

Node = Hashable
_SWEEPS = 24
#: How much an edge wants to be straight, by the number of bends among its ends.   [Gansner et al. 1993, §4]
_STRAIGHT = (1.0, 2.0, 8.0)


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
    """Place the nodes of a graph whose edges all lead from a layer to a later one.

    Args:
        graph: acyclic; nodes in the order that is kept where nothing speaks against it.
        layer: of each node, from 0.
        size: what each node takes within its layer, in any unit.
        gap: the least distance between neighbours of a layer, in that unit; half of it beside a bend.

    """
    bent, layer = _with_bends(graph, layer)
    layers = _ordered(bent, layer)
    across = _placed(bent, layers, size, gap)
    route = {}
    for source, target in graph.edges:
        bends = [_Bend(source, target, at) for at in range(layer[source] + 1, layer[target])]
        route[source, target] = [(layer[node], across[node]) for node in (source, *bends, target)]
    return Layout({node: across[node] for node in graph}, route)


def _with_bends(graph: nx.DiGraph, layer: Mapping[Node, int]) -> tuple[nx.DiGraph, dict[Node, int]]:
    bent, layers = nx.DiGraph(), dict(layer)
    bent.add_nodes_from(graph)
    for source, target in graph.edges:
        if layer[source] >= layer[target]:
            raise ValueError(f"an edge from layer {layer[source]} to layer {layer[target]}")
        bends = [_Bend(source, target, at) for at in range(layer[source] + 1, layer[target])]
        layers.update({bend: bend.layer for bend in bends})
        nx.add_path(bent, [source, *bends, target])
    return bent, layers


def _ordered(bent: nx.DiGraph, layer: Mapping[Node, int]) -> list[list[Node]]:
    """The layers, each in the order that crosses least of all that the sweeps came by."""
    layers: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in nx.dfs_preorder_nodes(bent):
        layers[layer[node]].append(node)
    best, fewest = [list(each) for each in layers], _crossings(bent, layers)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        beside = bent.pred if down else bent.succ
        for at in range(len(layers))[:: 1 if down else -1]:
            before = at - 1 if down else at + 1
            if 0 <= before < len(layers):
                layers[at] = _by_barycenter(layers[at], layers[before], beside)
        crossings = _crossings(bent, layers)
        if crossings < fewest:
            best, fewest = [list(each) for each in layers], crossings
    return best


def _by_barycenter(nodes: list[Node], fixed: list[Node], beside: Mapping[Node, Mapping[Node, object]]) -> list[Node]:
    place = {node: at for at, node in enumerate(fixed)}

    def barycenter(at: int) -> float:
        found = [place[other] for other in beside[nodes[at]]]
        return sum(found) / len(found) if found else at

    return [nodes[at] for at in sorted(range(len(nodes)), key=barycenter)]


def _crossings(bent: nx.DiGraph, layers: list[list[Node]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {node: at for at, node in enumerate(lower)}
        ends: list[int] = []
        for node in upper:
            mine = sorted(place[other] for other in bent.succ[node])
            total += sum(end > mine_end for mine_end in mine for end in ends)
            ends += mine
    return total


def _placed(bent: nx.DiGraph, layers: list[list[Node]], size: Mapping[Node, float], gap: float) -> dict[Node, float]:
    across: dict[Node, float] = {}
    distance = [[_distance(left, right, size, gap) for left, right in pairwise(nodes)] for nodes in layers]
    for nodes, distances in zip(layers, distance, strict=True):
        across.update(zip(nodes, _accumulated(distances), strict=False))
    sides = (bent.pred, bent.succ)
    for sweep in range(2 * _SWEEPS):
        order = range(len(layers))[:: 1 if sweep % 2 == 0 else -1]
        for at in order:
            nodes = layers[at]
            wanted, weight = [], []
            for node in nodes:
                near = [(other, _weight(node, other)) for side in sides for other in side[node]]
                pull = sum(each for _, each in near)
                wanted.append(sum(across[other] * each for other, each in near) / pull if pull else across[node])
                weight.append(pull or 1.0)
            across.update(zip(nodes, _nearest(wanted, weight, distance[at]), strict=True))
    left = min((across[node] - _size(node, size) / 2 for node in across), default=0.0)
    return {node: place - left for node, place in across.items()}


def _size(node: Node, size: Mapping[Node, float]) -> float:
    return 0.0 if isinstance(node, _Bend) else size[node]


def _distance(left: Node, right: Node, size: Mapping[Node, float], gap: float) -> float:
    beside_bend = isinstance(left, _Bend) or isinstance(right, _Bend)
    return (_size(left, size) + _size(right, size)) / 2 + (gap / 2 if beside_bend else gap)


def _weight(one: Node, other: Node) -> float:
    return _STRAIGHT[isinstance(one, _Bend) + isinstance(other, _Bend)]


def _accumulated(distances: list[float]) -> list[float]:
    places = [0.0]
    for each in distances:
        places.append(places[-1] + each)
    return places


def _nearest(wanted: list[float], weight: list[float], distances: list[float]) -> list[float]:
    """The positions with at least these distances that are nearest to the wanted ones, in weighted least squares."""
    if not wanted:
        return []
    offset = _accumulated(distances)
    # Without the distances the positions must only not decrease: pool adjacent violators.
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for place, pull, shift in zip(wanted, weight, offset, strict=True):
        mean, total, members = place - shift, pull, 1
        while pools and pools[-1][0] > mean:
            before, before_total, before_members = pools.pop()
            mean = (mean * total + before * before_total) / (total + before_total)
            total, members = total + before_total, members + before_members
        pools.append((mean, total, members))
    level = [mean for mean, _, members in pools for _ in range(members)]
    return [each + shift for each, shift in zip(level, offset, strict=True)]
