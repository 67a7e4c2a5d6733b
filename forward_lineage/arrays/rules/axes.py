"""Axes in another order or number.   data: the cell; constants are made of nothing; control adds nothing."""

from __future__ import annotations

from math import prod

import numpy as np

from forward_lineage.arrays.calls import Call, Input, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import Rule, Steps, aligned, moved, reshaped
from udafs.errors import NotTracedError


@rule(np.reshape, np.ravel)
def reshape(call: Call) -> None:
    """The same cells in the same order, C or Fortran."""
    name = "a"
    order = call["order"]
    source = call.input(name)
    if order == "A":
        order = "F" if source.values.flags.fnc else "C"
    if order == "K":
        order = _memory_order(source)
    if order == "C":
        call.out.data(source, reshaped)
        return
    if order != "F":
        raise NotTracedError(
            f"{call.name} in an order of memory that is neither C nor Fortran", instead='Say order="C".'
        )
    call.out.data(source, _fortran)


def _memory_order(source: Input) -> str:
    flags = source.values.flags
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "K"


def _fortran(out: Shape, into: Shape) -> Steps:
    # Turned around, read in C order, turned around.
    turned, seen = out[::-1], into[::-1]
    return _around(out, turned) + reshaped(turned, seen) + _around(seen, into)


def _around(out: Shape, into: Shape) -> Steps:
    return moved(range(len(out))[::-1])(out, into)


@rule(np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.linalg.matrix_transpose)
def transpose(call: Call) -> None:
    """``transpose``, ``swapaxes``, ``moveaxis``: what each output axis was."""
    source = call.maybe("a") or call.input("x")
    call.out.data(source, moved(_order(call, source.ndim)))


def _order(call: Call, ndim: int) -> list[int]:
    axes = list(range(ndim))
    name = call.name.rpartition(".")[2]
    if name == "transpose":
        return axes[::-1] if call["axes"] is None else list(normal_axes(call["axes"], ndim))
    if name == "matrix_transpose":
        return [*axes[:-2], ndim - 1, ndim - 2]
    if name == "swapaxes":
        first, second = one_axis(call["axis1"], ndim), one_axis(call["axis2"], ndim)
        axes[first], axes[second] = axes[second], axes[first]
        return axes
    if name == "rollaxis":
        axis, start = one_axis(call["axis"], ndim), call["start"]
        start = start + ndim if start < 0 else start
        axes.remove(axis)
        axes.insert(start - 1 if axis < start else start, axis)
        return axes
    origin, goal = normal_axes(call["source"], ndim), normal_axes(call["destination"], ndim)
    order = [axis for axis in axes if axis not in origin]
    for place, axis in sorted(zip(goal, origin, strict=True)):
        order.insert(place, axis)
    return order


@rule(np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d)
def ones(call: Call) -> None:
    """Axes of length 1 come or go: the cells stay in their order."""
    given = call.given.get("arys", (call.given.get("a"),))
    for output, each in zip(call.outputs, given, strict=True):
        output.data(call.as_input(each), reshaped)


@rule(np.broadcast_to)
def broadcast_to(call: Call) -> None:
    """The cell that is broadcast."""
    call.out.data(call.input("array"), aligned)


@rule(np.broadcast_arrays)
def broadcast_arrays(call: Call) -> None:
    """The same of each array."""
    for output, each in zip(call.outputs, call.given["args"], strict=True):
        output.data(call.as_input(each), aligned)


@rule(np.meshgrid)
def meshgrid(call: Call) -> None:
    """Output i repeats its i-th array along the axes of the others."""
    for i, (output, each) in enumerate(zip(call.outputs, call.given["xi"], strict=True)):
        place = 1 - i if i < 2 and call["indexing"] == "xy" and len(call.outputs) > 1 else i
        source = call.as_input(each)
        if source.ndim == 1:
            output.data(source, _only(place))
        else:
            output.data(source, _flat_only(place))


def _only(axis: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        if out[axis] != into[0]:  # sparse=True leaves an array that is not its axis's one index
            return aligned(out, into)
        return moved([0 if j == axis else None for j in range(len(out))])(out, into)

    return made


def _flat_only(axis: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        lane = (prod(into),)
        return _only(axis)(out, lane) + reshaped(lane, into)

    return made


@rule(np.ix_)
def ix_(call: Call) -> None:
    """Each array along an axis of its own."""
    for output, each in zip(call.outputs, call.given["args"], strict=True):
        source = call.as_input(each)
        if source.values.dtype == bool:
            raise NotTracedError("numpy.ix_ of a tracked mask", instead="Give it np.flatnonzero(mask).")
        output.data(source, reshaped)
