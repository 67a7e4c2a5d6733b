"""Questions about tracked arrays, answered step by step over compressed lineage.   [DSLog, §V]"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from forward_lineage.arrays.cells import Cells, Chosen, chosen
from forward_lineage.arrays.graph import Edge, Node, behind
from forward_lineage.arrays.handles import Handle
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of_set, merged, set_of
from forward_lineage.relations.lattice_shapes import reshaped
from udafs.errors import BadArgumentError, listed

Semantics = Literal["data", "control"]
Place = Handle | str
"""An array, in the state that it has now; or the name under which one was tracked."""


def backward(array: Handle, cells: Chosen = None, *, semantics: Semantics = "data") -> dict[str, Cells]:
    """Say which cells of tracked arrays some cells of an array were made of.

    Example:
        >>> x = track(np.arange(12.0).reshape(3, 4), "x")
        >>> backward(x.T.cumsum(axis=0), (1, 2))["x"].indices()
        array([[2, 0],
               [2, 1]])

    Args:
        array: an array that numpy made of tracked ones.
        cells: an index or slices as between brackets, a mask, an integer array of shape (cells, axes), `Cells`; None:
            all cells.
        semantics: "data" for the cells that went in; "control" for those, too, that decided which.

    Returns:
        for each tracked array that any cell of this one was made of, in the order of tracking: by its name, the cells.
        A name may stand for no cells: none of those asked for was made of it.

    Raises:
        BadArgumentError: the cells are not cells of the array, or two sources have one name.

    """
    control = _control(semantics)
    nodes = behind(_handle(array).node, control=control)
    found = _backward(array.node, chosen(array.shape, cells), nodes, control=control)
    sources = [each for each in reversed(nodes) if each.is_source]
    names = [each.name or "" for each in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadArgumentError(
            f"two tracked arrays are called {listed(twice)}", instead="Track each under its own name."
        )
    return {
        name: Cells(found.get(each, LatticeBoxes.nothing(each.shape)))
        for name, each in zip(names, sources, strict=True)
    }


def forward(source: Place, cells: Chosen, target: Handle, *, semantics: Semantics = "data") -> Cells:
    """Say which cells of an array were made of some cells of another.

    Example:
        >>> x = track(np.arange(6.0).reshape(2, 3), "x")
        >>> forward(x, (1, 2), x.sum(axis=0)).indices()
        array([[2]])

    Args:
        source: an array that `target` was made of, or the name of a tracked one.
        cells: as for `backward`.
        target: the array to look at.
        semantics: as for `backward`.

    Raises:
        BadArgumentError: the target was not made of it, or the cells are not cells of it.

    """
    control = _control(semantics)
    nodes = behind(_handle(target).node, control=control)
    begin = _found(source, nodes)
    if begin not in nodes:
        raise _no_path(source)
    shape = source.shape if isinstance(source, Handle) else begin.shape
    made = _forward(begin, chosen(shape, cells), nodes, control=control)
    return Cells(reshaped(made.get(target.node, LatticeBoxes.nothing(target.node.shape)), target.shape))


def prov_query(path: Sequence[Place], cells: Chosen = None, *, semantics: Semantics = "data") -> Cells:
    """Say which cells of the last array of a path are linked to some cells of the first.   [DSLog, §III-A]

    Example:
        >>> x = track(np.arange(4.0), "x")
        >>> y = np.cumsum(x)
        >>> z = y * 2
        >>> prov_query([z, y, x], 1).indices()
        array([[0],
               [1]])
        >>> prov_query([x, y, z], 1).indices()
        array([[1],
               [2],
               [3]])

    Args:
        path: two arrays or more; each was made of the next one, or the next one of it, directly or by way of others.
        cells: of the first array, as for `backward`.
        semantics: as for `backward`.

    Raises:
        BadArgumentError: two that follow each other are not linked, or the cells are not cells of the first.

    """
    control = _control(semantics)
    if len(path) < 2:
        raise BadArgumentError("a path of one array", instead="Give two arrays or more, in the order to follow.")
    graph = {node for each in path if isinstance(each, Handle) for node in behind(each.node, control=control)}
    nodes = [_found(each, graph) for each in path]
    first = path[0]
    asked = chosen(first.shape if isinstance(first, Handle) else nodes[0].shape, cells)
    for here, there, place in zip(nodes, nodes[1:], path[1:], strict=False):
        asked = _hop(here, there, asked, place, control=control)
    last = path[-1]
    return Cells(reshaped(asked, last.shape) if isinstance(last, Handle) else asked)


def _hop(here: Node, there: Node, asked: LatticeBoxes, place: Place, *, control: bool) -> LatticeBoxes:
    below = behind(here, control=control)
    if there in below:
        found = _backward(here, asked, below, control=control)
    else:
        above = behind(there, control=control)
        if here not in above:
            raise _no_path(place)
        found = _forward(here, asked, above, control=control)
    return found.get(there, LatticeBoxes.nothing(there.shape))


def explain(array: Handle) -> str:
    """Say how an array was made: a line for each state of an array behind it, the latest first.

    Example:
        >>> x = track(np.arange(3.0), "x")
        >>> print(explain(np.where(x > 1, x, 0)))
        numpy.where (3,) of x (3,) as data, numpy.greater (3,) as control
        numpy.greater (3,) of x (3,) as data
        x (3,) tracked

    """
    lines = []
    for node in behind(_handle(array).node, control=True):
        if not node.edges:
            lines.append(f"{_called(node)} {'tracked' if node.is_source else 'made of nothing'}")
            continue
        parts = dict.fromkeys(
            f"{_called(each.source)} as {'control' if each.control else 'data'}" for each in node.edges
        )
        lines.append(f"{_called(node)} of {', '.join(parts)}{f' ({node.told})' if node.told else ''}")
    return "\n".join(lines)


def _called(node: Node) -> str:
    return f"{node.name or node.operation} {node.shape}"


# ------------------------------------------------------------ the walk


def _backward(start: Node, asked: LatticeBoxes, nodes: Iterable[Node], *, control: bool) -> dict[Node, LatticeBoxes]:
    """Cells of each node that the cells asked for were made of (later nodes come first)."""
    found = {start: reshaped(asked, start.shape)}
    for node in nodes:
        if node not in found:
            continue
        for edge in node.edges:
            if edge.control and not control:
                continue
            made = _down(edge, found[node])
            if made:
                found[edge.source] = _both(found.get(edge.source), made)
    return found


def _forward(start: Node, asked: LatticeBoxes, nodes: Sequence[Node], *, control: bool) -> dict[Node, LatticeBoxes]:
    """Cells of each node that were made of the cells asked for; earlier nodes come first."""
    found = {start: reshaped(asked, start.shape)}
    for node in reversed(nodes):
        for edge in node.edges:
            if edge.source not in found or (edge.control and not control):
                continue
            made = _up(edge, found[edge.source], node)
            if made:
                found[node] = _both(found.get(node), made)
    return found


def _down(edge: Edge, cells: LatticeBoxes) -> LatticeBoxes:
    for place, step in enumerate(edge.steps):
        if isinstance(step, (BoxRelation, GatherRelation)):
            cells = step.backward_cells(cells)
        else:
            shape = _in_shape(edge, place)
            cells = boxes_of_set(shape, step.backward(set_of(cells)))
    return reshaped(cells, edge.source.shape)


def _up(edge: Edge, cells: LatticeBoxes, node: Node) -> LatticeBoxes:
    for place in reversed(range(len(edge.steps))):
        step = edge.steps[place]
        if isinstance(step, (BoxRelation, GatherRelation)):
            cells = step.forward_cells(cells)
        else:
            shape = node.shape if place == 0 else _in_shape(edge, place - 1)
            cells = boxes_of_set(shape, step.forward(set_of(cells)))
    return reshaped(cells, node.shape)


def _in_shape(edge: Edge, place: int) -> tuple[int, ...]:
    """The shape of what a step leads to: what the next one begins with, or the source."""
    after = edge.steps[place + 1] if place + 1 < len(edge.steps) else None
    return after.out_shape if isinstance(after, (BoxRelation, GatherRelation)) else edge.source.shape


def _both(first: LatticeBoxes | None, second: LatticeBoxes) -> LatticeBoxes:
    return second if first is None else merged(first.together(second))


# ------------------------------------------------------------ what is meant


def _control(semantics: str) -> bool:
    if semantics not in ("data", "control"):
        raise BadArgumentError(f"semantics {semantics!r}", instead='Say "data" or "control".')
    return semantics == "control"


def _handle(array: object) -> Handle:
    if not isinstance(array, Handle):
        raise BadArgumentError(
            f"{type(array).__name__} is not a tracked array",
            instead="Track its inputs, and compute it of the tracked ones.",
        )
    return array


def _found(place: Place, nodes: Iterable[Node]) -> Node:
    if not isinstance(place, str):
        return _handle(place).node
    named = [each for each in nodes if each.name == place]
    if len(named) != 1:
        raise BadArgumentError(
            f"{len(named) or 'no'} array{'s are' if len(named) > 1 else ' is'} called {place!r} behind this one",
            instead="Name a tracked array that it was made of, or give the array itself.",
        )
    return named[0]


def _no_path(place: Place) -> BadArgumentError:
    what = place if isinstance(place, str) else place.node.name or f"the array of shape {place.shape}"
    return BadArgumentError(
        f"no lineage leads to or from {what}",
        instead="Give arrays of which one was made of the other. One that has been written into since is named by the "
        "name under which it was tracked.",
    )
