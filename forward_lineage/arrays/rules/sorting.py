"""Order.   data: the cell that went in, or that is named; control adds the lane, which decided its place."""

from __future__ import annotations

from math import prod

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import Rule, Steps, aligned, everything, lanes
from forward_lineage.arrays.values import gather, kept, neighbours


@rule(np.sort, np.partition, np.sort_complex)
def sort(call: Call) -> None:
    """The cell that went in; control adds the lane."""
    source = call.input("a")
    axis = call.plain.get("axis", -1)
    if call.name.endswith(".partition"):
        order = np.argpartition(source.values, call["kth"], axis=axis, kind=call["kind"])
    else:
        # Of equal cells any may be told: the values are the same. Of a stable sort it is the one that went there.
        stable = call.plain.get("stable") or call.plain.get("kind") in ("stable", "mergesort")
        order = np.argsort(source.values, axis=axis, kind="stable" if stable else None)
    if call.name.endswith(".partition") or source.values.dtype.kind not in "biufcmMSU":
        _checked(call, source, order)  # two sorts of numbers give the same values, whatever way they took
    _by_order(call.out, source, order, axis)


def _checked(call: Call, source: Input, order: np.ndarray) -> None:
    axis = call.plain.get("axis", -1)
    came = np.take_along_axis(source.values, order, axis)
    if not np.array_equal(came, call.out.values, equal_nan=came.dtype.kind in "fc"):
        order[...] = _matching(source.values, call.out.values, order, axis)


def _matching(values: np.ndarray, done: np.ndarray, order: np.ndarray, axis: int | None) -> np.ndarray:
    """An order that gives what came out, where numpy's argpartition took another way than its partition."""
    by_value = np.argsort(values, axis=axis, kind="stable")
    place = np.argsort(np.argsort(done, axis=axis, kind="stable"), axis=axis, kind="stable")
    found: np.ndarray = np.take_along_axis(by_value, place, axis)
    return found


@rule(np.argsort, np.argpartition)
def argsort(call: Call) -> None:
    """The cell that is named; control adds the lane."""
    _by_order(call.out, call.input("a"), call.out.values, call["axis"])


def _by_order(output: Output, source: Input, order: np.ndarray, axis: int | None) -> None:
    output.data(source, gather(_along(order, source.shape, axis)))
    output.control(
        source, everything if axis is None or not source.ndim else lanes([one_axis(axis, source.ndim)], kept=True)
    )


def _along(order: np.ndarray, shape: Shape, axis: int | None) -> np.ndarray:
    if axis is None or not shape:
        return order
    cells = np.arange(prod(shape)).reshape(shape)
    place = one_axis(axis, len(shape))
    first = cells[tuple(slice(0, 1) if k == place else slice(None) for k in range(len(shape)))]  # of each lane
    return order * prod(shape[place + 1 :]) + first


@rule(np.lexsort)
def lexsort(call: Call) -> None:
    """The cell of each key that is named; control adds the lanes of all keys."""
    given = call.given["keys"]
    axis = call["axis"]
    if isinstance(given, (list, tuple)):
        for each in call.inputs("keys"):
            _by_order(call.out, each, call.out.values, axis)
        return
    keys = call.as_input(given)
    lane = one_axis(axis, keys.ndim - 1) + 1
    for number in range(keys.shape[0]):
        part = np.arange(keys.values.size).reshape(keys.shape)[number]
        call.out.data(keys, gather(np.take_along_axis(part, call.out.values, lane - 1)))
    call.out.control(keys, lanes([0, lane], kept=False) if keys.ndim == 2 else everything)


@rule(np.argmax, np.argmin, np.nanargmax, np.nanargmin)
def argmax(call: Call) -> None:
    """The cell that is named; control adds the lane."""
    source = call.input("a")
    axes = normal_axes(call["axis"], source.ndim)
    keeps = call.keeps_axes
    by_lane = lanes(axes, kept=keeps)

    def cell(out: Shape, into: Shape) -> Steps:
        if len(axes) == len(into):
            return gather(np.broadcast_to(call.out.values, out))(out, into)
        named = call.out.values if keeps else np.expand_dims(call.out.values, axes[0])
        return gather(np.take_along_axis(np.arange(prod(into)).reshape(into), named, axes[0]))(out, into)

    call.out.data(source, cell)
    call.out.control(source, by_lane)


@rule(np.searchsorted)
def searchsorted(call: Call) -> None:
    """The value that is looked for; control adds all of the sorted array."""
    call.out.data(call.input("v"), aligned)
    call.out.control(call.input("a"), everything)
    call.out.control(call.maybe("sorter"), everything)


@rule(np.digitize)
def digitize(call: Call) -> None:
    """The value; control adds all edges."""
    call.out.data(call.input("x"), aligned)
    call.out.control(call.input("bins"), everything)


@rule(np.interp)
def interp(call: Call) -> None:
    """The value, and the points on both sides of it; control adds all points' places."""
    x, places, heights = call.input("x"), call.input("xp"), call.input("fp")
    period = call.maybe("period")
    call.out.data(x, aligned)
    low, high = _bracket(x.values, places.values, None if period is None else period.values)
    for points in (places, heights):
        call.out.data(points, neighbours(low, high))
    call.out.control(places, everything)
    size = places.values.size
    for name, outside in (("left", x.values < places.values[:1].min()), ("right", x.values > places.values[-1:].max())):
        bound = call.maybe(name)
        if bound is not None and size and period is None:
            call.out.data(bound, _where(outside))
    if period is not None:
        call.out.data(period, everything)


def _where(mask: np.ndarray) -> Rule:
    return lambda out, into: kept(np.broadcast_to(mask, out))(out, out) + aligned(out, into)


def _bracket(x: np.ndarray, places: np.ndarray, period: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The points before and behind each value, by their places in what was given; at the ends one point."""
    if period is None:
        at = np.searchsorted(places, x, side="right")
        last = places.size - 1
        low, high = np.clip(at - 1, 0, last), np.clip(at, 0, last)
        # On the last point numpy returns its height.
        return low.reshape(-1), np.where(at == 0, low, high).reshape(-1)
    turned = places % period
    order = np.argsort(turned)
    at = np.searchsorted(turned[order], x % period, side="right")
    return order[(at - 1) % places.size].reshape(-1), order[at % places.size].reshape(-1)
