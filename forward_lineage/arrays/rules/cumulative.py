"""Prefixes and windows of a lane.   data: the prefix or window; control adds nothing.

`unwrap` adds a correction that all cells before may have caused, so it counts as a prefix.
"""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule, since, ufunc_rule
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    along_axes,
    boxes,
    everything,
    of_rows,
    product_rows,
    reshaped,
    window,
)
from forward_lineage.arrays.values import placed
from udafs.errors import NotTracedError


@rule(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
def cumulative(call: Call) -> None:
    """The cells up to this one."""
    source = call.input("a")
    if call["axis"] is None:
        flat = (source.values.size,)
        call.out.data(source, lambda out, into: _prefix(0)(out, flat) + reshaped(flat, into))
    else:
        call.out.data(source, _prefix(one_axis(call["axis"], source.ndim)))


def _prefix(axis: int, shift: int = 0) -> Rule:
    """Index b is made of 0 … b − shift of its lane."""

    def made(out: Shape, into: Shape) -> Steps:
        return along_axes({axis: [Stretch(shift, out[axis] - 1, {axis: (0, At(1, -shift))})]})(out, into)

    return made


@rule(*since("cumulative_sum cumulative_prod"))
def cumulative_sum(call: Call) -> None:
    """The same, with or without the empty sum in front."""
    source = call.input("x")
    axis = 0 if call["axis"] is None else one_axis(call["axis"], source.ndim)
    call.out.data(source, _prefix(axis, 1 if call["include_initial"] else 0))


@ufunc_rule("accumulate")
def ufunc_accumulate(call: Call) -> None:
    """``np.add.accumulate(x)``."""
    given, source = call.given, call.input(0)
    call.out.data(source, _prefix(one_axis(given.get("axis", given.get(1, 0)), source.ndim)))


@rule(np.unwrap)
def unwrap(call: Call) -> None:
    """The cells up to this one."""
    source = call.input("p")
    call.out.data(source, _prefix(one_axis(call["axis"], source.ndim)))
    call.out.data(call.maybe("period"), everything)


@rule(np.diff)
def diff(call: Call) -> None:
    """Of the n-th difference n + 1 cells, over what was put in front and behind, too."""
    source, n = call.input("a"), call["n"]
    if n == 0:
        call.out.data(source, along_axes({}))
        return
    axis = one_axis(call["axis"], source.ndim)
    parts = [part for part in (call.maybe("prepend"), source, call.maybe("append")) if part is not None]
    offset = 0
    for part in parts:
        seen = part.shape or (*source.shape[:axis], 1, *source.shape[axis + 1 :])
        count = seen[axis]
        by_window = {axis: window(axis, call.out.shape[axis], -offset, n - offset)}
        call.out.data(part, _windowed(by_window, seen))
        offset += count


def _windowed(by_axis: dict[int, list[Stretch]], seen: Shape) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        found = boxes_of(by_axis, out, seen)
        return found if seen == into else found + _spread(seen, into)

    return made


def boxes_of(by_axis: dict[int, list[Stretch]], out: Shape, into: Shape) -> Steps:
    """What holds on some axes is given, the others are the same."""
    return along_axes({k: each or [Stretch(0, -1)] for k, each in by_axis.items()})(out, into)


def _spread(seen: Shape, into: Shape) -> Steps:
    return everything(seen, into) if not into else reshaped(seen, into)


@rule(np.ediff1d)
def ediff1d(call: Call) -> None:
    """Two cells that follow each other, between what was put at the ends."""
    source = call.input("ary")
    begin, end = call.maybe("to_begin"), call.maybe("to_end")
    before = 0 if begin is None else begin.values.size
    count = max(source.values.size - 1, 0)
    flat = (source.values.size,)

    def differences(out: Shape, into: Shape) -> Steps:
        stretch = Stretch(before, before + count - 1, {0: (At(1, -before), At(1, 1 - before))})
        return boxes(out, flat, {0: [stretch]}) + reshaped(flat, into)

    call.out.data(source, differences)
    for part, first in ((begin, 0), (end, before + count)):
        if part is not None:
            call.out.data(part, placed(first, part.values.size))


@rule(np.gradient)
def gradient(call: Call) -> None:
    """The cells on both sides; at the ends two cells, or three. Uneven spacing adds the cell, and its places."""
    source, spacing = call.input("f"), call.given["varargs"]
    axes = normal_axes(call["axis"], source.ndim)
    for i, (output, axis) in enumerate(zip(call.outputs, axes, strict=True)):
        step = call.as_input(spacing[i if len(spacing) > 1 else 0]) if spacing else None
        uneven = step is not None and step.ndim == 1 and bool((np.diff(step.values) != np.diff(step.values)[0]).any())
        for stretches in _sides(axis, source.shape[axis], call["edge_order"], uneven):
            output.data(source, along_axes({axis: stretches}))
        if step is not None:
            output.data(step, everything if not uneven else _places(axis, call["edge_order"]))


def _sides(axis: int, size: int, order: int, uneven: bool) -> list[list[Stretch]]:
    ends = [Stretch(0, 0, {axis: (0, order)}), Stretch(size - 1, size - 1, {axis: (size - 1 - order, size - 1)})]
    offsets = (-1, 0, 1) if uneven else (-1, 1)
    return [ends, *([Stretch(1, size - 2, {axis: (At(1, by), At(1, by))})] for by in offsets)]


def _places(axis: int, order: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        size = into[0]
        inner = Stretch(1, size - 2, {0: (At(1, -1), At(1, 1))})
        ends = [Stretch(0, 0, {0: (0, order)}), Stretch(size - 1, size - 1, {0: (size - 1 - order, size - 1)})]
        return boxes(out, into, {axis: [ends[0], inner, ends[1]]})

    return made


@rule(np.convolve, np.correlate)
def convolve(call: Call) -> None:
    """The window of one, and the part of the other that lies on the first."""
    first, second = call.input("a"), call.input("v")
    turned = call.name.endswith("correlate")
    n, m = first.values.size, second.values.size
    mode = call["mode"]
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    swapped = turned and m > n  # then numpy correlates the other way round, and turns the result
    same = min(n, m) // 2 if swapped else (min(n, m) - 1) // 2
    skipped = {"full": 0, "same": same, "valid": min(n, m) - 1}[mode]
    size = call.out.values.size
    # Full convolution at b: the a[i] with b − m < i ≤ b, and v[b − i].
    call.out.data(first, along_axes({0: window(0, size, skipped - m + 1, skipped)}))
    if not turned:
        call.out.data(second, along_axes({0: window(0, size, skipped - n + 1, skipped)}))
        return
    # Correlation is convolution with v from behind.
    call.out.data(second, _from_behind(window(0, size, skipped - n + 1, skipped), m))


def _from_behind(stretches: list[Stretch], size: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        turned = boxes(into, into, {0: [Stretch(0, size - 1, {0: (At(-1, size - 1), At(-1, size - 1))})]})
        return boxes(out, into, {0: stretches}) + turned

    return made


@rule(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(call: Call) -> None:
    """The cell that the window has at its place: the window's place and the place in it, added up."""
    source = call.input("x")
    given = call["window_shape"]
    sizes = (int(given),) if isinstance(given, (int, np.integer)) else tuple(given)
    axes = normal_axes(call["axis"], source.ndim)
    if len(set(axes)) != len(axes):
        raise NotTracedError("two windows along one axis", instead="Slide one over the other's result.")

    def made(out: Shape, into: Shape) -> Steps:
        steps: Steps = ()
        shape = out
        for place in reversed(range(len(axes))):  # the last window axis is the last of the output
            inner = (*into, *sizes[:place])
            wider = list(inner)
            for axis, size in zip(axes[:place], sizes[:place], strict=True):
                wider[axis] -= size - 1
            steps += _unslid(axes[place], sizes[place], shape, tuple(wider))
            shape = tuple(wider)
        return steps

    call.out.data(source, made)


def _unslid(axis: int, window: int, out: Shape, into: Shape) -> Steps:
    """One window axis, the last of the output, added to the axis that it slides along."""
    last = len(out) - 1
    rows = []
    for place in range(window):
        along = {k: [Stretch(0, out[k] - 1, {k: (At(1, place if k == axis else 0),) * 2})] for k in range(last)}
        rows += product_rows(out, into, along | {last: [Stretch(place, place)]})
    return of_rows(out, into, rows)
