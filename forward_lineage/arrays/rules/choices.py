"""Cells that other cells choose: masks, indices, conditions.   data: the chosen cell; control adds what chose it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from forward_lineage.arrays.calls import Call, Input, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    aligned,
    boxes,
    everything,
    reshaped,
)
from forward_lineage.arrays.values import gather, kept, on_axis, up_to_chosen


@rule(np.take)
def take(call: Call) -> None:
    """The cells that are named; control adds their index."""
    source, index = call.input("a"), call.input("indices")
    mode = call["mode"]
    axis = None if call["axis"] is None else one_axis(call["axis"], source.ndim)
    size = source.values.size if axis is None else source.shape[axis]
    named = np.arange(size).take(index.values, mode=mode)
    call.out.data(source, gather(named) if axis is None else _on_axis(axis, named))
    first = axis or 0
    along = {first + j: [Stretch(0, n - 1, {j: (At(), At())})] for j, n in enumerate(index.shape)}
    call.out.control(index, lambda out, into: boxes(out, into, along))


def _on_axis(axis: int, named: np.ndarray) -> Rule:
    """An axis becomes those of the indices."""

    def made(out: Shape, into: Shape) -> Steps:
        seen = (*into[:axis], named.size, *into[axis + 1 :])
        return reshaped(out, seen) + on_axis(axis, named.reshape(-1))(seen, into)

    return made


@rule(np.take_along_axis)
def take_along_axis(call: Call) -> None:
    """The cell of the lane that is named; control adds its index."""
    source, index = call.input("arr"), call.input("indices")
    cells = np.arange(source.values.size).reshape(source.shape)
    call.out.data(source, gather(np.take_along_axis(cells, index.values, call["axis"])))
    call.out.control(index, reshaped if call["axis"] is None else aligned)


@rule(np.compress)
def compress(call: Call) -> None:
    """The indices of an axis that are let in; control adds the mask up to it."""
    source, mask = call.input("a"), call.input("condition")
    axis = None if call["axis"] is None else one_axis(call["axis"], source.ndim)
    places = np.flatnonzero(mask.values)
    call.out.data(source, gather(places) if axis is None else on_axis(axis, places))
    call.out.control(mask, up_to_chosen(mask.values, axis or 0))
    call.out.decided_by(mask, axis or 0)


@rule(np.extract)
def extract(call: Call) -> None:
    """The cells that are let in; control adds the mask up to it."""
    source, mask = call.input("arr"), call.input("condition")
    call.out.data(source, gather(np.flatnonzero(mask.values)))
    call.out.control(mask, up_to_chosen(mask.values, 0))
    call.out.decided_by(mask)


@rule(np.where)
def where(call: Call) -> None:
    """The branch that is taken; control adds the condition. With a condition alone, `nonzero`."""
    condition = call.input("condition")
    if call.given["x"] is None and call.given["y"] is None:
        named(call, condition)
        return
    mask = np.broadcast_to(condition.values.astype(bool), call.out.shape)
    call.out.data(call.input("x"), _where(mask))
    call.out.data(call.input("y"), _where(~mask))
    call.out.control(condition, aligned)


def _where(mask: np.ndarray) -> Rule:
    return lambda out, into: kept(mask)(out, out) + aligned(out, into)


@rule(np.choose)
def choose(call: Call) -> None:
    """The cell of the array that is named; control adds the name."""
    index, arrays = call.input("a"), _sequence(call, "choices")
    number = np.arange(len(arrays)).take(index.values, mode=call["mode"])
    for place, each in enumerate(arrays):
        call.out.data(each, _where(np.broadcast_to(number == place, call.out.shape)))
    call.out.control(index, aligned)


def _sequence(call: Call, name: str) -> list[Input]:
    given: Any = call.given[name]
    return call.inputs(name) if isinstance(given, (list, tuple)) else [call.as_input(each) for each in given]


@rule(np.select)
def select(call: Call) -> None:
    """The first branch whose condition holds; control adds the conditions up to it."""
    conditions, arrays = call.inputs("condlist"), call.inputs("choicelist")
    open_ = np.ones(call.out.shape, bool)
    for condition, each in zip(conditions, arrays, strict=True):
        mask = np.broadcast_to(condition.values, call.out.shape)
        call.out.control(condition, _where(open_.copy()))
        call.out.data(each, _where(open_ & mask))
        open_ &= ~mask
    call.out.data(call.input("default"), _where(open_))


@rule(np.nonzero)
def nonzero(call: Call) -> None:
    """The cell whose place is told; control adds the cells before it."""
    named(call, call.input("a"))


@rule(np.flatnonzero, np.argwhere)
def flatnonzero(call: Call) -> None:
    """The same, all indices in one array."""
    named(call, call.input("a"))


def named(call: Call, source: Input) -> None:
    """Outputs that tell the places of cells, on their first axis: data the cell, control the cells before it."""
    places = np.flatnonzero(source.values)

    def cell(out: Shape, into: Shape) -> Steps:
        lane, flat = out[:1], (prod(into),)
        first = boxes(out, lane, {0: [Stretch(0, lane[0] - 1, {0: (At(), At())})]})
        return first + gather(places)(lane, flat) + reshaped(flat, into)

    for output in call.outputs:
        output.data(source, cell)
        output.control(source, up_to_chosen(source.values, 0))
        output.decided_by(source)


@rule(np.delete)
def delete(call: Call) -> None:
    """The cells that stay; control adds a mask up to it, or all indices: each moves what lies behind it."""
    source = call.input("arr")
    axis = 0 if call["axis"] is None else one_axis(call["axis"], source.ndim)
    seen = (source.values.size,) if call["axis"] is None else source.shape
    stays = np.delete(np.arange(seen[axis]), call["obj"])
    by_axis = on_axis(axis, stays)
    call.out.data(source, lambda out, into: by_axis(out, seen) + reshaped(seen, into))
    if not isinstance(call["obj"], slice):
        gone = call.input("obj")
        call.out.control(gone, up_to_chosen(~gone.values, axis) if gone.values.dtype == bool else everything)
        call.out.decided_by(gone, axis)


@rule(np.insert)
def insert(call: Call) -> None:
    """The cells in their new places, and those that are put between; control adds all places."""
    source, values = call.input("arr"), call.input("values")
    axis = 0 if call["axis"] is None else one_axis(call["axis"], source.ndim)
    seen = (source.values.size,) if call["axis"] is None else source.shape
    new = call.out.shape[axis] - seen[axis]
    places = call["obj"]
    old = np.insert(np.arange(seen[axis]), places, np.full(new, -1))
    put = np.insert(np.full(seen[axis], -1), places, np.arange(new))
    from_old, from_new = on_axis(axis, old), on_axis(axis, put)
    call.out.data(source, lambda out, into: from_old(out, seen) + reshaped(seen, into))

    def inserted(out: Shape, into: Shape) -> Steps:
        block = (*seen[:axis], new, *seen[axis + 1 :])
        shown = (1,) * (len(seen) - len(into)) + into
        if np.ndim(places) == 0 and not isinstance(
            places, slice
        ):  # then numpy moves the first axis of the values there
            turned = (*shown[1 : axis + 1], shown[0], *shown[axis + 1 :])
            order = [*range(1, axis + 1), 0, *range(axis + 1, len(shown))]
            return from_new(out, block) + aligned(block, turned) + _moved(order, turned, shown) + reshaped(shown, into)
        return from_new(out, block) + aligned(block, shown) + reshaped(shown, into)

    call.out.data(values, inserted)
    if not isinstance(places, slice):
        call.out.control(call.input("obj"), everything)


def _moved(order: Sequence[int], out: Shape, into: Shape) -> Steps:
    return boxes(out, into, {j: [Stretch(0, into[k] - 1, {k: (At(), At())})] for j, k in enumerate(order)})


@rule(np.trim_zeros)
def trim_zeros(call: Call) -> None:
    """The cells that stay; control adds all of them: any may be the first that is not zero."""
    source = call.input("filt")
    axes = range(source.ndim) if call.plain.get("axis") is None else [one_axis(call["axis"], source.ndim)]
    first = dict.fromkeys(range(source.ndim), 0)
    if "f" in call["trim"].lower():
        used = np.argwhere(source.values)
        first |= {k: int(used[:, k].min()) if used.size else 0 for k in axes}
    along = {k: [Stretch(0, n - 1, {k: (At(1, first[k]), At(1, first[k]))})] for k, n in enumerate(call.out.shape)}
    call.out.data(source, lambda out, into: boxes(out, into, along))
    call.out.control(source, everything)
    for k in axes:
        call.out.decided_by(source, k)
