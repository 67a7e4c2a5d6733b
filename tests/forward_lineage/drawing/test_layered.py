"""Layouts of random acyclic graphs: nothing overlaps, every edge has its place."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.drawing.layered import lay_out


@st.composite
def layered_graphs(draw: st.DrawFn) -> tuple[nx.DiGraph, dict[int, int]]:
    count = draw(st.integers(1, 14))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((a, b) for a in range(count) for b in range(a + 1, count) if draw(st.integers(0, 3)) == 0)
    layer = {node: at for at, nodes in enumerate(nx.topological_generations(graph)) for node in nodes}
    return graph, layer


@given(layered_graphs(), st.data())
def test_neighbours_keep_their_distance(drawn: tuple[nx.DiGraph, dict[int, int]], data: st.DataObject) -> None:
    graph, layer = drawn
    size = {node: data.draw(st.floats(1, 90), label=f"size of {node}") for node in graph}
    layout = lay_out(graph, layer, size, gap=10)
    assert set(layout.across) == set(graph)
    assert min(layout.across[node] - size[node] / 2 for node in graph) >= -1e-6
    for at in set(layer.values()):
        nodes = sorted((node for node in graph if layer[node] == at), key=layout.across.__getitem__)
        for left, right in pairwise(nodes):
            assert layout.across[right] - layout.across[left] >= (size[left] + size[right]) / 2 + 10 - 1e-6
        bends = [
            place for route in layout.route.values() for step, place in route[1:-1] if step == at
        ]  # an edge that passes by keeps off the nodes
        for place in bends:
            assert all(abs(place - layout.across[node]) >= size[node] / 2 + 5 - 1e-6 for node in nodes)


@given(layered_graphs())
def test_a_route_has_a_point_in_every_layer(drawn: tuple[nx.DiGraph, dict[int, int]]) -> None:
    graph, layer = drawn
    layout = lay_out(graph, layer, dict.fromkeys(graph, 10.0), gap=10)
    for source, target in graph.edges:
        route = layout.route[source, target]
        assert [step for step, _ in route] == list(range(layer[source], layer[target] + 1))
        assert (route[0][1], route[-1][1]) == (layout.across[source], layout.across[target])


def test_a_crossing_that_need_not_be_is_not() -> None:
    graph = nx.DiGraph([("a", "y"), ("b", "x"), ("c", "z"), ("a", "z")])
    layout = lay_out(graph, {"a": 0, "b": 0, "c": 0, "x": 1, "y": 1, "z": 1}, dict.fromkeys(graph, 10.0), gap=10)
    for one, other in [("ay", "bx"), ("ay", "cz"), ("bx", "cz"), ("bx", "az"), ("ay", "az")]:
        (a, b), (c, d) = one, other
        assert (layout.across[a] - layout.across[c]) * (layout.across[b] - layout.across[d]) >= 0, (one, other)


def test_a_chain_is_straight() -> None:
    graph = nx.path_graph(6, nx.DiGraph)
    layout = lay_out(graph, {node: node for node in graph}, dict.fromkeys(graph, 10.0), gap=10)
    assert set(layout.across.values()) == {5.0}


def test_an_edge_upwards_is_refused() -> None:
    with pytest.raises(ValueError, match="from layer 1 to layer 1"):
        lay_out(nx.DiGraph([("a", "b")]), {"a": 1, "b": 1}, {"a": 1, "b": 1}, gap=1)
