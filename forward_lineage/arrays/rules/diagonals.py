"""Diagonals and triangles.   data: the cell; constants are made of nothing; control adds nothing."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, normal_axes
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import At, Rule, Steps, Stretch, boxes, lanes, reshaped, same
from forward_lineage.arrays.values import on_diagonal, triangle


@rule(np.diagonal, np.linalg.diagonal)
def diagonal(call: Call) -> None:
    """Two axes become one, which comes last: both follow it."""
    source = call.maybe("a") or call.input("x")
    first, second = normal_axes((call.plain.get("axis1", -2), call.plain.get("axis2", -1)), source.ndim)
    call.out.data(source, _diagonal(first, second, call["offset"]))


def _diagonal(first: int, second: int, offset: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        rest = [k for k in range(len(into)) if k not in (first, second)]
        along = {j: same(k, into[k]) for j, k in enumerate(rest)}
        down, right = At(1, max(-offset, 0)), At(1, max(offset, 0))
        along[len(rest)] = [Stretch(0, out[-1] - 1, {first: (down, down), second: (right, right)})]
        return boxes(out, into, along)

    return made


@rule(np.trace, np.linalg.trace)
def trace(call: Call) -> None:
    """The diagonal, which is added up."""
    source = call.maybe("a") or call.input("x")
    first, second = normal_axes((call.plain.get("axis1", -2), call.plain.get("axis2", -1)), source.ndim)
    offset = call["offset"]
    size = len(range(max(-offset, 0), min(source.shape[first], source.shape[second] - offset)))

    def made(out: Shape, into: Shape) -> Steps:
        diagonals = (*out, max(size, 0))
        return lanes([len(out)])(out, diagonals) + _diagonal(first, second, offset)(diagonals, into)

    call.out.data(source, made)


@rule(np.diag)
def diag(call: Call) -> None:
    """The diagonal of a matrix, or a matrix with a diagonal."""
    source = call.input("v")
    call.out.data(source, _diagonal(0, 1, call["k"]) if source.ndim == 2 else on_diagonal(call["k"]))


@rule(np.diagflat)
def diagflat(call: Call) -> None:
    """A matrix with the cells on its diagonal."""
    source = call.input("v")
    lane = (source.values.size,)
    made = on_diagonal(call["k"])
    call.out.data(source, lambda out, into: made(out, lane) + reshaped(lane, into))


@rule(np.tril, np.triu)
def triangles(call: Call) -> None:
    """The cells of the triangle; the others are zeros."""
    call.out.data(call.input("m"), triangle(call["k"], upper=call.name.endswith("triu")))
