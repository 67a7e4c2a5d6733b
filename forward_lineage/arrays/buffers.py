"""Buffers: memory that several arrays may show, the state it has, and writing into it."""

from __future__ import annotations

from math import prod

import numpy as np

from forward_lineage.arrays.graph import Edge, Node, Shape
from forward_lineage.arrays.shapes import At, Flat, Steps, Stretch, boxes, of_rows, product_rows, same
from forward_lineage.arrays.values import gather
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation


class Buffer:
    """Memory that one or more tracked arrays show.

    Attributes:
        state: what it holds now; the cells are those of the array that the buffer was made for.

    """

    __slots__ = ("state",)

    def __init__(self, state: Node) -> None:
        self.state = state

    def write(self, node: Node, steps: Steps) -> None:
        """Let the buffer hold what was written through a view of it.

        Args:
            node: what the view holds now, all of it.
            steps: from the cells of the view to those of the buffer; none: the view shows all, in order.

        """
        lengths = self.state.lengths
        if not steps:
            node.lengths = lengths if node.shape == self.state.shape else node.lengths
            self.state = node
            return
        node.lengths = {}  # what was written is as long as the view, or numpy had refused it
        into_view, rest = _turned(node.shape, self.state.shape, steps)
        edges = [Edge(node, into_view), *([] if rest is None else [Edge(self.state, rest)])]
        self.state = Node(self.state.shape, edges, operation=node.operation)
        self.state.lengths = lengths


def _turned(view: Shape, buffer: Shape, steps: Steps) -> tuple[Steps, Steps | None]:
    """From cells of the buffer to those of the view that shows them, and to themselves where it shows none."""
    if not prod(view):
        return (BoxRelation.nothing(buffer, view),), ()
    region = _region(view, buffer, steps)
    if region is not None:
        return _turned_box(view, buffer, region)
    seen = np.arange(prod(view))
    for step in steps:
        seen = _followed(step, seen)
    turned = np.full(prod(buffer), -1)
    turned[seen] = np.arange(seen.size)
    rest = np.where(turned < 0, np.arange(turned.size), -1)
    return gather(turned)(buffer, view), gather(rest)(buffer, buffer)


def _followed(step: LineageRelation, cells: Flat) -> Flat:
    rows, ids = step.pairs()  # of a view each row has one id
    found: Flat = ids[np.searchsorted(rows, cells)]
    return found


Region = list[tuple[int, At]]
"""For each axis of the buffer the axis of the view that it follows, −1 for none, and where it is."""


def _region(view: Shape, buffer: Shape, steps: Steps) -> Region | None:
    """A view that shows a box of the buffer, some axes turned around or in another order; None: it does not."""
    found: Region = [(axis, At()) for axis in range(len(view))]
    shape = view
    for step in steps:
        if not isinstance(step, BoxRelation) or step.first.shape[0] != 1 or step.out_shape != shape:
            return None
        if np.any(step.low.divisor != 1) or not all(map(np.array_equal, step.low, step.high)):
            return None
        if np.any(step.first[0] != 0) or np.any(step.last[0] + 1 != np.array(shape, np.int64)):
            return None
        axes, scales, offsets = (each[0].tolist() for each in (step.axis, step.low.scale, step.low.offset))
        found = [_after(found, *each) for each in zip(axes, scales, offsets, strict=True)]
        shape = step.in_shape
    followed = [axis for axis, _ in found if axis >= 0]
    plain = shape == buffer and len(set(followed)) == len(followed) and all(abs(at.s) == 1 for j, at in found if j >= 0)
    return found if plain else None


def _after(before: Region, axis: int, scale: int, offset: int) -> tuple[int, At]:
    if axis < 0:
        return -1, At(0, offset)
    follows, at = before[axis]
    return follows, At(at.s * scale, at.c * scale + offset)


def _turned_box(view: Shape, buffer: Shape, region: Region) -> tuple[Steps, Steps | None]:
    along, box = {}, []
    for k, (j, at) in enumerate(region):
        count = view[j] if j >= 0 else 1
        first = at.c if j < 0 or at.s > 0 else at.c - (count - 1)
        box.append((first, first + count - 1))
        turned = At(at.s, -at.s * at.c)  # b = s · k + c, and s is 1 or −1
        along[k] = [Stretch(first, first + count - 1, {j: (turned, turned)} if j >= 0 else {})]
    shown = {j for j, _ in region}
    fixed = {j: (0, 0) for j in range(len(view)) if j not in shown}
    return boxes(buffer, view, along, fixed), _outside(buffer, box)


def _outside(shape: Shape, box: list[tuple[int, int]]) -> Steps | None:
    """All cells but those of a box, each as itself; None: there are no others."""
    rows = []
    inside: dict[int, list[Stretch]] = {}
    for axis, (first, last) in enumerate(box):
        around = [Stretch(0, first - 1, {axis: (At(), At())}), Stretch(last + 1, shape[axis] - 1, {axis: (At(), At())})]
        rest = {k: same(k, shape[k]) for k in range(axis + 1, len(shape))}
        rows += product_rows(shape, shape, inside | {axis: around} | rest)
        inside[axis] = [Stretch(first, last, {axis: (At(), At())})]
    return of_rows(shape, shape, rows) if rows else None
