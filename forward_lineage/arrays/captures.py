"""Lineage of an operation as a user gives it: pairs, a function of an output index, a relation.   [DSLog, §III-A]"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.graph import Shape
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.provrc import encode
from forward_lineage.relations.relation import LineageRelation
from udafs.errors import BadArgumentError

PerCell: TypeAlias = Callable[..., Iterable[Any]]
Capture: TypeAlias = PerCell | LineageRelation | tuple[Any, Any] | None
"""Of one input and one output: a function of an output index that gives indices of the input; the pairs as two integer
arrays, output and input indices, each of shape (pairs, axes) or flat; a relation of flat indices; None for no cell."""


def relation_of(capture: Capture, out: Shape, into: Shape) -> LineageRelation:
    """Return the relation that a capture stands for.

    Raises:
        BadArgumentError: it is none of what `Capture` may be, or names cells that are not there.

    """
    if capture is None:
        return BoxRelation.nothing(out, into)
    if isinstance(capture, LineageRelation):
        _check_inside(capture, out, into)
        return capture
    if callable(capture):
        rows, ids = listed(capture, out, into)
    elif isinstance(capture, tuple) and len(capture) == 2:
        rows, ids = _flat(capture[0], out, "output"), _flat(capture[1], into, "input")
    else:
        raise BadArgumentError(
            f"a capture of type {type(capture).__name__}",
            instead="Give a function of an output index, two arrays of indices, a relation, or None.",
        )
    if rows.size != ids.size:
        raise BadArgumentError(f"{rows.size} output cells for {ids.size} input cells", instead="Give pairs.")
    return encode(out, into, rows, ids)


def listed(capture: PerCell, out: Shape, into: Shape) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Ask a function about every output cell: flat indices of all pairs."""
    found = [cells_of(capture, number, out, into) for number in range(prod(out))]
    counts = [each.size for each in found]
    ids = np.concatenate(found) if found else np.empty(0, np.int64)
    return np.repeat(np.arange(len(found)), counts), ids


def cells_of(capture: PerCell, number: int, out: Shape, into: Shape) -> npt.NDArray[np.int64]:
    """Ask a function about one output cell: flat indices of the input, ascending."""
    place = tuple(int(each) for each in np.unravel_index(number, out)) if out else ()
    given = list(capture(place))
    if not given:
        return np.empty(0, np.int64)
    return np.unique(_flat(np.array(given), into, "input"))


def _flat(indices: Any, shape: Shape, what: str) -> npt.NDArray[np.int64]:
    given = np.asarray(indices)
    if not given.size:
        return np.empty(0, np.int64)
    if given.dtype.kind not in "iu":
        raise BadArgumentError(f"{what} cells as {given.dtype}", instead="Name cells by integers, one for each axis.")
    if given.ndim == 1:
        flat, size = given.reshape(-1).astype(np.int64), prod(shape)
        if flat.min() < 0 or flat.max() >= size:
            raise BadArgumentError(
                f"{what} cells beyond the {size} that there are", instead="Count from 0, in C order."
            )
        return flat
    if given.ndim != 2 or given.shape[1] != len(shape):
        raise BadArgumentError(
            f"{what} cells with {given.shape[-1]} indices, in an array of {len(shape)} axes",
            instead="Give an index for each axis, or flat ones.",
        )
    try:
        found: npt.NDArray[np.int64] = np.ravel_multi_index(tuple(given.T.astype(np.int64)), shape).astype(np.int64)
    except ValueError as beyond:
        raise BadArgumentError(
            f"{what} cells that an array of shape {shape} does not have", instead="Count from 0, from the front."
        ) from beyond
    return found


def _check_inside(relation: LineageRelation, out: Shape, into: Shape) -> None:
    for cells, shape, what in ((relation.rows(), out, "output"), (relation.ids(), into, "input")):
        size = prod(shape)
        if cells and cells.below(size) != cells:
            raise BadArgumentError(
                f"a relation with {what} cells beyond the {size} that there are", instead="Count from 0."
            )
