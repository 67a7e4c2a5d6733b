"""`Cells`: some cells of an array, as boxes, indices or a mask."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Shape
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of, cells_in, mask_of, numbers_of
from udafs.errors import BadArgumentError


class Cells:
    """Some cells of an array: what questions are asked with and answered by.

    They are held as boxes, so an answer about a large array need not be listed: `len` counts, `boxes` tells, `indices`
    and `mask` list.

    Attributes:
        boxes: lattice boxes; on each axis `count` runs of `width` cells, the first at `start`, one every `step`.

    """

    __slots__ = ("boxes",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, boxes: LatticeBoxes) -> None:
        self.boxes = boxes

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        return tuple(self.boxes.shape)

    def indices(self) -> npt.NDArray[np.int64]:
        """Indices of the cells in C order: int64, shape (cells, axes)."""
        at = np.unravel_index(self.numbers(), self.shape) if self.shape else ()
        return np.stack(at, axis=1).astype(np.int64) if at else np.empty((len(self), 0), np.int64)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Flat C-order indices of the cells, ascending: int64, shape (cells,)."""
        return numbers_of(self.boxes)

    def mask(self) -> npt.NDArray[np.bool_]:
        """True where a cell is one of them: bool, the shape of the array."""
        return mask_of(self.boxes)

    def __len__(self) -> int:
        return cells_in(self.boxes)

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.numbers(), other.numbers())

    def __repr__(self) -> str:
        return f"Cells({len(self)} of {self.shape})"


Chosen: TypeAlias = Any
"""Cells as a user says them: `Cells`, a mask, an index or slices as between brackets, an integer array of shape
(cells, axes), or None for all."""


def chosen(shape: Shape, cells: Chosen) -> LatticeBoxes:
    """Return the boxes of cells as a user says them.

    Raises:
        BadArgumentError: they are no cells of such an array.

    """
    if cells is None:
        return LatticeBoxes.everything(shape)
    if isinstance(cells, Cells):
        cells = cells.boxes
    if isinstance(cells, LatticeBoxes) and tuple(cells.shape) != shape:
        raise BadArgumentError(
            f"cells of an array of shape {tuple(cells.shape)}, asked of one of shape {shape}",
            instead="Ask about cells of this array.",
        )
    if isinstance(cells, list):
        cells = np.asarray(cells)
        if cells.dtype != bool and cells.ndim == 1 and len(shape) == 1:
            cells = cells[:, None]
    if isinstance(cells, np.ndarray) and cells.dtype != bool and cells.ndim == 1 and len(shape) == 1:
        cells = cells[:, None]  # one axis: an index is a number
    return boxes_of(shape, cells)
