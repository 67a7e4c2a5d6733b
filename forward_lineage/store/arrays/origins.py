"""The saved thing that a state of a tracked array stands for: lineage in a process meets that of the store here."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from forward_lineage.arrays.graph import Node
from forward_lineage.relations.relation import LineageRelation


@dataclass(frozen=True)
class Origin:
    """A version of a saved thing that an array was read from, or saved as.

    Attributes:
        home: the folder of the saved things.
        name: of the thing.
        version: of it.
        relation: from the array's cells to the thing's rows; None: the cells are the rows.
        was_read: whether the array was read from the thing; else it was saved as the thing, and has lineage of its own.

    """

    home: str
    name: str
    version: int
    relation: LineageRelation | None = field(default=None, compare=False)
    was_read: bool = field(default=True, compare=False)


_ORIGINS: WeakKeyDictionary[Node, Origin] = WeakKeyDictionary()


def note_origin(node: Node, origin: Origin) -> None:
    """Note that a state of an array is a saved thing; what is made of it from now on is made of that."""
    _ORIGINS[node] = origin


def origin_of(node: Node, home: str) -> Origin | None:
    """Return the saved thing of a home that a state of an array is; None: it is none."""
    found = _ORIGINS.get(node)
    return found if found is not None and found.home == home else None
