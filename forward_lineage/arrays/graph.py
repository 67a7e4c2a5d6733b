"""What an array was made of: a node for each state of an array, an edge for each array that went into it.

A node is written once. Writing into an array makes a new node of it, which refers to the state before. An edge holds
one relation, or several that are followed one after the other: nothing is composed before somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

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

    """

    __slots__ = ("edges", "name", "number", "operation", "shape", "told")

    def __init__(
        self, shape: Shape, edges: Iterable[Edge] = (), *, operation: str, name: str | None = None, told: str = ""
    ) -> None:
        self.shape = shape
        self.edges = tuple(edges)
        self.operation = operation
        self.name = name
        self.told = told
        self.number = next(_numbers)

    @property
    def is_source(self) -> bool:
        """Whether the user tracked it, rather than made it of something tracked."""
        return self.operation == SOURCE


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
