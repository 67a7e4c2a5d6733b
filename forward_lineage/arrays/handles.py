"""What every tracked array is underneath: values, the buffer that they lie in, and which cells of it they show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.graph import Edge, Node, Shape
from forward_lineage.arrays.shapes import Steps


class Handle:
    """Values and where their lineage is kept.

    Attributes:
        shown: the values, in the user's memory layout; ours to write.
        buffer: what they lie in.
        steps: from the cells shown to those of the buffer; none: it is the buffer.
        made_by: the operation that made a view of it.

    """

    __slots__ = ("_seen", "buffer", "made_by", "shown", "steps")

    def __init__(self, values: npt.NDArray[Any], buffer: Buffer, steps: Steps = (), made_by: str = "") -> None:
        self.shown = values
        self.buffer = buffer
        self.steps = steps
        self.made_by = made_by
        self._seen: tuple[Node, Node] | None = None  # the state of the buffer, and how it is seen from here

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.shown.shape

    @property
    def node(self) -> Node:
        """What the cells hold now."""
        state = self.buffer.state
        if not self.steps:
            return state
        if self._seen is None or self._seen[0] is not state:
            self._seen = (state, Node(self.shape, [Edge(state, self.steps)], operation=self.made_by))
        return self._seen[1]

    def write(self, node: Node) -> None:
        """Note that all cells shown have been written; the values are there already."""
        self.buffer.write(node, self.steps)

    def alike(self, values: Any, node: Node) -> Handle:
        """An array of the same kind in a buffer of its own."""
        return type(self)(np.asarray(values), Buffer(node))
