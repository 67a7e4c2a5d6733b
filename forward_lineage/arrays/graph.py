"""The graph of derivations: a node for each state of an array, an edge for each array that went into it.

A node is written once. Writing into an array makes a new node of it, which refers to the state before. An edge holds
one relation, or several that are followed one after the other: nothing is composed before somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from math import prod

from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.relation import LineageRelation

Shape = tuple[int, ...]

_numbers = count()


@dataclass(frozen=True, eq=False, slots=True)
class Edge:
    """Cells of one array that cells of another were made of.

    Attributes:
        source: the array that went in, in the state that it had.
        steps: relations from the cells made to those of `source`; rows and ids are flat C-order indices.
        control: the cells of `source` only decided: which branch, which cell, which place.

    """

    source: Node
    steps: tuple[LineageRelation, ...]
    control: bool = False


class Node:
    """One state of one array.

    Attributes:
        shape: of the array.
        edges: what it was made of; none for what was tracked, and for constants.
        operation: what made it, as messages and `explain` call it.
        name: what the user calls it; None: nothing.
        number: nodes are numbered as they are made, so that an edge leads to a smaller number.
        told: what `explain` adds, e.g. which signature a lineage was reused by.
        lengths: axis → arrays of which all cells decided how long it is, as of ``x[mask]`` the mask.

    A cell may depend on how long an axis of an input is, and not only on cells: the sum of ``x[mask]`` does on all of
    the mask. Where the output is as long as the input, its shape says the length, and its axis goes on to be one that
    was decided; elsewhere what decided it is control of all cells.
    """

    __slots__ = ("__weakref__", "edges", "lengths", "name", "number", "operation", "shape", "told")

    def __init__(
        self, shape: Shape, edges: Iterable[Edge] = (), *, operation: str, name: str | None = None, told: str = ""
    ) -> None:
        self.shape = shape
        self.lengths: dict[int, tuple[Node, ...]] = {}
        self.edges = (*edges,)
        if any(each.source.lengths for each in self.edges):
            self.edges += tuple(self._decided_lengths())
        self.operation = operation
        self.name = name
        self.told = told
        self.number = next(_numbers)

    def _decided_lengths(self) -> Iterable[Edge]:
        """Pass on the lengths that this shape shows, and return edges to what decided the others."""
        open_ends: dict[Node, None] = {}
        for source in dict.fromkeys(each.source for each in self.edges):
            mine = [each for each in self.edges if each.source is source]
            for axis, deciding in source.lengths.items():
                shown = {place for each in mine if (place := _follows(each, self.shape, axis)) is not None}
                if not shown:  # of no cells nothing can be control: what was decided is kept for what is made of them
                    shown = {place for place, size in enumerate(self.shape) if not size}
                if not shown:
                    open_ends |= dict.fromkeys(deciding)
                for place in shown:
                    self.lengths[place] = tuple(dict.fromkeys((*self.lengths.get(place, ()), *deciding)))
        for source in open_ends:
            yield Edge(source, (_everything(self.shape, source.shape),), control=True)

    @property
    def is_source(self) -> bool:
        """Whether the user tracked it, rather than made it of something tracked."""
        return self.operation == SOURCE


def _everything(out: Shape, into: Shape) -> LineageRelation:
    return (
        BoxRelation.rule(out, into, [(0, size - 1) for size in into]) if prod(into) else BoxRelation.nothing(out, into)
    )


def _follows(edge: Edge, out: Shape, axis: int) -> int | None:
    """The output axis that is as long as an axis of the source because it follows it; None: there is none."""
    into: Shape = edge.source.shape
    for place in reversed(range(len(edge.steps))):
        step = edge.steps[place]
        if isinstance(step, GatherRelation):
            if step.out_shape != step.in_shape or step.in_shape != into:
                return None
            continue
        if not isinstance(step, BoxRelation) or step.in_shape != into:
            return None
        moving = set(step.axis[:, axis].tolist())
        if len(moving) != 1 or min(moving) < 0 or step.out_shape[min(moving)] != into[axis]:
            return None
        axis, into = min(moving), step.out_shape
    return axis if into == out else None


#: The operation of a node that `track` made.
SOURCE = "track"


def behind(node: Node, *, control: bool) -> list[Node]:
    """The node and all that it was made of, later ones first.

    Args:
        node: where to begin.
        control: follow what only decided, too.

    """
    found, open_ends = {node}, [node]
    while open_ends:
        for edge in open_ends.pop().edges:
            if (control or not edge.control) and edge.source not in found:
                found.add(edge.source)
                open_ends.append(edge.source)
    return sorted(found, key=lambda each: each.number, reverse=True)
