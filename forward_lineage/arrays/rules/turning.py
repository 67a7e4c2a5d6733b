"""Cells turned around, shifted, repeated.   data: the cell; constants are made of nothing; control adds nothing."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    along_axes,
    boxes,
    everything,
    reshaped,
    shifted,
)
from forward_lineage.arrays.values import on_axis, up_to_index


@rule(np.flip, np.flipud, np.fliplr)
def flip(call: Call) -> None:
    """``flip``: each axis from behind."""
    source = call.input("m")
    name = call.name.rpartition(".")[2]
    axes = {"flipud": (0,), "fliplr": (1,)}.get(name) or normal_axes(call.plain.get("axis"), source.ndim)
    call.out.data(source, along_axes({k: [_from_behind(k, source.shape[k])] for k in axes}))


def _from_behind(axis: int, size: int) -> Stretch:
    return shifted(axis, 0, size, size - 1, -1)


@rule(np.rot90)
def rot90(call: Call) -> None:
    """A quarter turn k times: the axes change places, one of them from behind."""
    source = call.input("m")
    first, second = normal_axes(call["axes"], source.ndim)
    turns = call["k"] % 4
    order = list(range(source.ndim))
    if turns % 2:
        order[first], order[second] = order[second], order[first]
    behind = {0: (), 1: (second,), 2: (first, second), 3: (first,)}[turns]

    def made(out: Shape, into: Shape) -> Steps:
        along = {}
        for j, k in enumerate(order):
            at = At(-1, into[k] - 1) if k in behind else At()
            along[j] = [Stretch(0, into[k] - 1, {k: (at, at)})]
        return boxes(out, into, along)

    call.out.data(source, made)


@rule(np.roll)
def roll(call: Call) -> None:
    """Two stretches on each axis that is rolled."""
    source = call.input("a")
    shift, axis = call["shift"], call["axis"]
    if axis is None:
        flat = (source.values.size,)

        def made(out: Shape, into: Shape) -> Steps:
            turned = along_axes({0: _rolled(0, flat[0], int(np.sum(shift)))})
            return reshaped(out, flat) + turned(flat, flat) + reshaped(flat, into)

        call.out.data(source, made)
        return
    shifts: dict[int, int] = {}
    axes, amounts = np.broadcast_arrays(np.atleast_1d(axis), np.atleast_1d(shift))
    for k, amount in zip(normal_axes(axes.tolist(), source.ndim), amounts.tolist(), strict=True):
        shifts[k] = shifts.get(k, 0) + int(amount)
    call.out.data(source, along_axes({k: _rolled(k, source.shape[k], amount) for k, amount in shifts.items()}))


def _rolled(axis: int, size: int, shift: int) -> list[Stretch]:
    shift %= max(size, 1)
    return [shifted(axis, 0, shift, size - shift), shifted(axis, shift, size - shift, -shift)]


@rule(np.tile)
def tile(call: Call) -> None:
    """A stretch for each time that an axis is repeated."""
    source, reps = call.input("A"), call["reps"]
    times = np.atleast_1d(reps).tolist()
    ndim = max(len(times), source.ndim)
    times = [1] * (ndim - len(times)) + times
    seen = (1,) * (ndim - source.ndim) + source.shape

    def made(out: Shape, into: Shape) -> Steps:
        along = {k: [shifted(k, size * i, size, -size * i) for i in range(times[k])] for k, size in enumerate(seen)}
        return boxes(out, seen, along) + reshaped(seen, into)

    call.out.data(source, made)


@rule(np.repeat)
def repeat(call: Call) -> None:
    """Each cell so often; how often each of several is repeated decides where the next ones lie, under control."""
    source, times = call.input("a"), call.input("repeats")
    axis = 0 if call["axis"] is None else one_axis(call["axis"], source.ndim)
    before = reshaped if call["axis"] is None else None
    seen = (source.values.size,) if before else source.shape
    if times.values.size == 1:
        count = int(times.values.reshape(()))
        stretches = [Stretch(0, seen[axis] * count - 1, {axis: (At(1, 0, count), At(1, 0, count))})] if count else []
        call.out.data(source, _seen_as(seen, along_axes({axis: stretches or [Stretch(0, -1)]})))
        call.out.control(times, everything)
        return
    index = np.repeat(np.arange(seen[axis]), times.values)
    call.out.data(source, _seen_as(seen, on_axis(axis, index)))
    call.out.control(times, up_to_index(axis, index))
    call.out.decided_by(times, axis)


def _seen_as(seen: Shape, then: Rule) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        return then(out, seen) if seen == into else then(out, seen) + reshaped(seen, into)

    return made


@rule(np.resize)
def resize(call: Call) -> None:
    """The cells in their order, again and again."""
    source = call.input("a")
    size = source.values.size
    flat = (call.out.values.size,)

    def made(out: Shape, into: Shape) -> Steps:
        count = -(-flat[0] // size) if size else 0
        pieces = [shifted(0, i * size, min(size, flat[0] - i * size), -i * size) for i in range(count)]
        return reshaped(out, flat) + boxes(flat, (size,), {0: pieces or [Stretch(0, -1)]}) + reshaped((size,), into)

    call.out.data(source, made)


@rule(np.packbits, np.unpackbits)
def packbits(call: Call) -> None:
    """Of a byte its eight bits, those that there are; of a bit its byte, and nothing beyond the last one."""
    source, axis = call.input("a"), call["axis"]
    flat = axis is None
    at = 0 if flat else one_axis(axis, source.ndim)

    def made(out: Shape, into: Shape) -> Steps:
        seen = (source.values.size,) if flat else into
        if call.name.endswith(".packbits"):
            bounds, last = (At(8, 0), At(8, 7)), out[at] - 1
        else:
            bounds, last = (At(1, 0, 8), At(1, 0, 8)), min(out[at], 8 * seen[at]) - 1
        return along_axes({at: [Stretch(0, last, {at: bounds})]})(out, seen)

    call.out.data(source, made)
