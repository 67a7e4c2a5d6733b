"""Arrays joined, cut, padded.   data: the cell; constants are made of nothing; control adds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule, since
from forward_lineage.arrays.shapes import Rule, Steps, Stretch, along_axes, boxes, mapped, reshaped, same, shifted
from udafs.errors import NotTracedError


@rule(np.concatenate)
def concatenate(call: Call) -> None:
    """Each array in its place of the axis."""
    sources = call.inputs("arrays")
    if call["axis"] is None:
        _joined(call.out, [(each, (each.values.size,)) for each in sources], 0)
    else:
        _joined(call.out, [(each, each.shape) for each in sources], one_axis(call["axis"], call.out.ndim))


@rule(np.append)
def append(call: Call) -> None:
    """The same of two arrays."""
    parts = [call.input("arr"), call.input("values")]
    if call["axis"] is None:
        _joined(call.out, [(each, (each.values.size,)) for each in parts], 0)
    else:
        _joined(call.out, [(each, each.shape) for each in parts], one_axis(call["axis"], call.out.ndim))


@rule(np.vstack, np.hstack, np.dstack, np.column_stack)
def stacks(call: Call) -> None:
    """The same, each array seen with as many axes as needed."""
    name = call.name.rpartition(".")[2]
    sources = call.inputs("tup")
    parts = []
    for each in sources:
        size = each.values.size
        seen = {
            "vstack": (1, size) if each.ndim < 2 else each.shape,
            "hstack": (size,) if each.ndim < 1 else each.shape,
            "column_stack": (size, 1) if each.ndim < 2 else each.shape,
            "dstack": (1, size, 1) if each.ndim < 2 else (*each.shape, 1) if each.ndim == 2 else each.shape,
        }[name]
        parts.append((each, seen))
    axis = {"vstack": 0, "column_stack": 1, "dstack": 2}.get(name, 0 if len(parts[0][1]) == 1 else 1)
    _joined(call.out, parts, axis)


@rule(np.stack)
def stack(call: Call) -> None:
    """Each array at an index of a new axis."""
    axis = one_axis(call["axis"], call.out.ndim)
    sources = call.inputs("arrays")
    _joined(call.out, [(each, (*each.shape[:axis], 1, *each.shape[axis:])) for each in sources], axis)


@rule(np.block)
def block(call: Call) -> None:
    """Arrays joined on the last axis, these on the one before, and so on."""
    for source, corner, seen in _placed(call, call.given["arrays"], call.out.ndim)[0]:
        call.out.data(source, _at_corner(corner, seen))


_Placed = list[tuple[Input, tuple[int, ...], Shape]]


def _placed(call: Call, given: object, ndim: int, level: int = 0) -> tuple[_Placed, Shape]:
    """Arrays with their corners, and the shape of all together; nested lists join on axes from the last one back."""
    if not isinstance(given, list):
        source = call.as_input(given)
        seen = (1,) * (ndim - source.ndim) + source.shape
        return [(source, (0,) * ndim, seen)], seen
    axis = ndim - _depth(given)
    placed: _Placed = []
    shapes, offset = [], 0
    for each in given:
        inner, shape = _placed(call, each, ndim)
        placed += [(s, (*c[:axis], c[axis] + offset, *c[axis + 1 :]), seen) for s, c, seen in inner]
        offset += shape[axis]
        shapes.append(shape)
    return placed, (*shapes[0][:axis], offset, *shapes[0][axis + 1 :])


def _depth(given: object) -> int:
    return 1 + _depth(given[0]) if isinstance(given, list) else 0


def _joined(output: Output, parts: Sequence[tuple[Input, Shape]], axis: int) -> None:
    offset = 0
    for source, seen in parts:
        corner = tuple(offset if k == axis else 0 for k in range(len(seen)))
        output.data(source, _at_corner(corner, seen))
        offset += seen[axis]


def _at_corner(corner: Sequence[int], seen: Shape) -> Rule:
    """The input, seen in a shape, lies in the output from a corner on."""

    def made(out: Shape, into: Shape) -> Steps:
        along = {k: [shifted(k, first, seen[k], -first)] for k, first in enumerate(corner)}
        placed = boxes(out, seen, along)
        return placed if seen == into else placed + reshaped(seen, into)

    return made


@rule(np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
def split(call: Call) -> None:
    """Each piece from where the one before ended."""
    source = call.input("ary")
    name = call.name.rpartition(".")[2]
    axis = {"vsplit": 0, "dsplit": 2, "hsplit": 1 if source.ndim > 1 else 0}.get(name)
    axis = one_axis(call["axis"], source.ndim) if axis is None else axis
    cuts = call["indices_or_sections"]
    starts = (
        np.append(0, cuts) if np.ndim(cuts) else np.append(0, np.cumsum([each.shape[axis] for each in call.outputs]))
    )
    for output, start in zip(call.outputs, starts.tolist(), strict=False):
        first = slice(start, None).indices(source.shape[axis])[0]
        output.data(source, along_axes({axis: [shifted(axis, 0, output.shape[axis], first)]}))


@rule(*since("unstack"))
def unstack(call: Call) -> None:
    """Each index of an axis by itself."""
    source = call.input("x")
    axis = one_axis(call["axis"], source.ndim)
    for i, output in enumerate(call.outputs):
        output.data(source, _at_index(axis, i))


def _at_index(axis: int, i: int) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        rest = [k for k in range(len(into)) if k != axis]
        along = {j: same(k, into[k]) for j, k in enumerate(rest)}
        return boxes(out, into, along, {axis: (i, i)})

    return made


@rule(np.pad)
def pad(call: Call) -> None:
    """The cell that is repeated there, or the lane of which it is a mean; nothing where a constant fills."""
    source = call.input("array")
    mode, more = call["mode"], call["kwargs"]
    widths = _pad_widths(call["pad_width"], source.ndim)
    if mode == "constant":
        along = {k: [shifted(k, before, source.shape[k], -before)] for k, (before, _) in enumerate(widths)}
        call.out.data(source, along_axes(along))
        if call.frozen.keys() - {id(call.given["array"])}:
            raise NotTracedError("numpy.pad with tracked constants", instead="Join the arrays with np.concatenate.")
        return
    if mode in _OF_LANES or mode == "linear_ramp":
        call.out.data(source, _padded_by_lanes(widths, _stretches(mode, more, source.ndim)))
        return
    if mode not in _PADDED or more.get("reflect_type", "even") != "even":
        raise NotTracedError(
            f"numpy.pad with mode {mode!r}",
            instead=f"Use one of {', '.join((*_PADDED, *_OF_LANES, 'linear_ramp'))}, or register it.",
        )
    call.out.data(source, along_axes({k: _padded(k, source.shape[k], widths[k], mode) for k in range(source.ndim)}))


_OF_LANES = ("mean", "median", "maximum", "minimum")
_PADDED = ("constant", "edge", "reflect", "symmetric", "wrap", "empty")


def _padded(axis: int, size: int, width: tuple[int, int], mode: str) -> list[Stretch]:
    if mode == "empty":
        return [shifted(axis, width[0], size, -width[0])]
    return mapped(axis, np.pad(np.arange(size), width, mode=mode))  # type: ignore[call-overload]


def _stretches(mode: str, more: Mapping[str, Any], ndim: int) -> list[tuple[int | None, int | None]]:
    """How many cells of a lane what is put before and behind it is made of, for each axis; None: all."""
    if mode == "linear_ramp":  # from a number to the first cell
        return [(1, 1)] * ndim
    given = more.get("stat_length")
    return [(None, None)] * ndim if given is None else [*_pad_widths(given, ndim)]


def _padded_by_lanes(widths: Sequence[tuple[int, int]], lengths: Sequence[tuple[int | None, int | None]]) -> Rule:
    """One axis after the other, each of what the axes before made."""

    def made(out: Shape, into: Shape) -> Steps:
        steps: Steps = ()
        for axis, width in enumerate(widths):
            along = _with_stretches(axis, into[axis], width, lengths[axis])
            steps = along_axes({axis: along})(out[: axis + 1] + into[axis + 1 :], out[:axis] + into[axis:]) + steps
        return steps

    return made


def _with_stretches(
    axis: int, size: int, width: tuple[int, int], lengths: tuple[int | None, int | None]
) -> list[Stretch]:
    first, last = (size if each is None else min(each, size) for each in lengths)
    end = width[0] + size
    return [
        Stretch(0, width[0] - 1 if first else -1, {axis: (0, first - 1)}),
        shifted(axis, width[0], size, -width[0]),
        Stretch(end, end + width[1] - 1 if last else -1, {axis: (size - last, size - 1)}),
    ]


def _pad_widths(given: object, ndim: int) -> list[tuple[int, int]]:
    if isinstance(given, dict):
        widths = {axis % ndim: each for axis, each in given.items()}
        return [(int(w[0]), int(w[1])) for w in (np.broadcast_to(widths.get(k, 0), 2) for k in range(ndim))]
    return [(int(before), int(behind)) for before, behind in np.broadcast_to(np.asarray(given), (ndim, 2))]
