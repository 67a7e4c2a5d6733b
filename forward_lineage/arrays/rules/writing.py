"""Functions that write into an array.   data: what was written, or was there; control adds what chose the place."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import ufunc_rule, writing
from forward_lineage.arrays.shapes import Rule, Steps, aligned, everything
from forward_lineage.arrays.values import gather, kept, pairs, prefix


@writing("dst", np.copyto)
def copyto(call: Call) -> None:
    """The aligned cell of the source; with ``where=mask`` only there, and control adds the mask."""
    target, source, where = call.input("dst"), call.input("src"), call.maybe("where")
    if where is None or (where.node is None and where.values.ndim == 0 and bool(where.values)):
        call.out.data(source, aligned)
        return
    mask = np.broadcast_to(where.values, target.shape)
    call.out.data(target, kept(~mask))
    call.out.data(source, lambda out, into: kept(mask)(out, out) + aligned(out, into))
    call.out.control(where, aligned)


@writing("a", np.putmask)
def putmask(call: Call) -> None:
    """Where the mask is true the value of the same number, values being repeated; control adds the mask's cell."""
    target, mask, values = call.input("a"), call.input("mask"), call.input("values")
    on = mask.values.astype(bool).reshape(-1)
    place = np.arange(on.size)
    _placed(call.out, target, values, np.where(on, place % max(values.values.size, 1), -1))
    call.out.control(mask, lambda out, into: ())


@writing("arr", np.place)
def place(call: Call) -> None:
    """Where the mask is true the next value; control adds the mask up to there."""
    target, mask, values = call.input("arr"), call.input("mask"), call.input("vals")
    on = mask.values.astype(bool).reshape(-1)
    _placed(call.out, target, values, np.where(on, (np.cumsum(on) - 1) % max(values.values.size, 1), -1))
    call.out.control(mask, (lambda out, into: ()) if values.values.size == 1 else _before)


def _before(out: Shape, into: Shape) -> Steps:
    flat = (int(np.prod(into)),)
    return prefix(flat, flat)


@writing("a", np.put)
def put(call: Call) -> None:
    """At the flat indices the values; control adds all indices."""
    target, index, values = call.input("a"), call.input("ind"), call.input("v")
    size = target.values.size
    flat = np.arange(size).take(index.values.reshape(-1), mode=call["mode"])
    number = np.full(size, -1)
    number[flat] = np.arange(flat.size) % max(values.values.size, 1)
    _placed(call.out, target, values, number)
    call.out.control(index, everything)


@writing("arr", np.put_along_axis)
def put_along_axis(call: Call) -> None:
    """At the places of each lane the values; control adds all places."""
    target, index, values = call.input("arr"), call.input("indices"), call.input("values")
    number = np.full(target.shape, -1)
    spread = np.arange(index.values.size).reshape(index.shape)
    np.put_along_axis(number, index.values, spread, call["axis"])

    def written(out: Shape, into: Shape) -> Steps:
        return gather(number)(out, index.shape) + aligned(index.shape, into)

    call.out.data(target, kept(number < 0))
    call.out.data(values, written)
    call.out.control(index, everything)


@writing("a", np.fill_diagonal)
def fill_diagonal(call: Call) -> None:
    """On the diagonal the values, one after the other."""
    target, values = call.input("a"), call.input("val")
    number = np.full(target.shape, -1)
    shape = target.shape
    diagonal = number.reshape(-1)[: None if call["wrap"] or len(shape) > 2 else shape[1] * shape[1]]
    step = 1 + int(np.cumprod(shape[:0:-1])[: len(shape) - 1].sum()) if len(shape) > 2 else shape[1] + 1
    count = diagonal[::step].size
    diagonal[::step] = np.arange(count) % max(values.values.size, 1)
    _placed(call.out, target, values, number)


def _placed(output: Output, target: Input, values: Input, number: np.ndarray) -> None:
    """Each cell has the value of that flat number; where it is −1 the cell is what it was."""
    output.data(target, kept((number < 0).reshape(target.shape)))
    output.data(values, gather(number))


@ufunc_rule("at")
def ufunc_at(call: Call) -> None:
    """``np.add.at(x, index, values)``: the cell, and all values that were put there; control adds all indices."""
    given = dict(enumerate(call.given.values()))
    target, key = call.as_input(given[0]), call.plain[1]
    chosen = np.arange(target.values.size).reshape(target.shape)[key]
    call.out.data(target, aligned)
    if call["ufunc"].nin > 1:
        call.out.data(call.as_input(given[2]), _gathered(chosen))
    for each in call.everything():
        if each.array is not given[0] and (len(given) < 3 or each.array is not given[2]):
            call.out.control(each, everything)


def _gathered(chosen: np.ndarray) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        return pairs(chosen, np.arange(chosen.size))(out, chosen.shape) + aligned(chosen.shape, into)

    return made
