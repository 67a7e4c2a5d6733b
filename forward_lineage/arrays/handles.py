"""The inside of a tracked array: values, the buffer that they lie in, and which cells of it they show."""

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
        deciding: what decided which cells are shown, and how many: of `trim_zeros` all cells.

    """

    __slots__ = ("_seen", "buffer", "deciding", "made_by", "shown", "steps")

    def __init__(
        self,
        values: npt.NDArray[Any],
        buffer: Buffer,
        steps: Steps = (),
        made_by: str = "",
        deciding: tuple[Edge, ...] = (),
    ) -> None:
        self.shown = values
        self.buffer = buffer
        self.steps = steps
        self.made_by = made_by
        self.deciding = deciding
        self._seen: tuple[Node, Node] | None = None  # the state of the buffer, and how it is seen from here

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.shown.shape

    @property
    def node(self) -> Node:
        """What the cells hold now."""
        state = self.buffer.state
        if not self.steps and not self.deciding:
            return state
        if self._seen is None or self._seen[0] is not state:
            seen = Node(self.shape, [Edge(state, self.steps), *self.deciding], operation=self.made_by)
            for axis in range(len(self.shape)) if self.deciding else ():
                seen.lengths[axis] = tuple(each.source for each in self.deciding)
            self._seen = (state, seen)
        return self._seen[1]

    def showing(self, values: npt.NDArray[Any], steps: Steps, made_by: str, deciding: tuple[Edge, ...] = ()) -> Handle:
        """An array that shows some of these cells; `steps` lead from its cells to those of this one."""
        before = tuple(Edge(each.source, steps + each.steps, control=True) for each in self.deciding)
        return type(self)(values, self.buffer, steps + self.steps, made_by, deciding + before)

    def write(self, node: Node) -> None:
        """Note that all cells shown have been written; the values are there already."""
        self.buffer.write(node, self.steps)

    def alike(self, values: Any, node: Node) -> Handle:
        """An array of the same kind in a buffer of its own."""
        return type(self)(np.asarray(values), Buffer(node))
