"""Polynomials by their coefficients.   data: the coefficients that meet; control only where zeros are cut."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call
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
    of_rows,
    product_rows,
    window,
)


@rule(np.polyadd, np.polysub)
def polyadd(call: Call) -> None:
    """The coefficients of the same power: they are aligned at the end."""
    for name in ("a1", "a2"):
        source = call.input(name)
        size = source.values.size
        first = call.out.values.size - size
        stretch = Stretch(first, first + size - 1, {0: (At(1, -first), At(1, -first))})
        call.out.data(source, _as_line(along_axes({0: [stretch]})))


@rule(np.polymul)
def polymul(call: Call) -> None:
    """The coefficients whose powers add up; control adds those in front: zeros there are cut off."""
    first, second = call.input("a1"), call.input("a2")
    size = call.out.values.size
    cut = [int(np.argmax(each.values != 0)) if each.values.any() else each.values.size - 1 for each in (first, second)]
    for source, other, at in ((first, second, 0), (second, first, 1)):
        lowest = cut[at] - (other.values.size - 1 - cut[1 - at])
        call.out.data(source, _as_line(along_axes({0: window(0, size, lowest, cut[at])})))
        call.out.control(source, everything)


def _as_line(then: Rule) -> Rule:
    """A number is a polynomial of one coefficient."""
    return lambda out, into: then(out, into or (1,))


@rule(np.polydiv, np.roots, np.poly)
def whole(call: Call) -> None:
    """All coefficients, or all roots."""
    for output in call.outputs:
        for each in call.everything():
            output.data(each, everything)


@rule(np.polyder, np.polyint)
def polyder(call: Call) -> None:
    """The coefficient that moves; the constants of an integral."""
    source, times = call.input("p"), call["m"]
    kept = min(source.values.size, call.out.values.size)
    call.out.data(source, _as_line(along_axes({0: [Stretch(0, kept - 1, {0: (At(), At())})]})))
    constants = call.maybe("k")
    if constants is not None and constants.ndim:
        size = call.out.values.size
        at = At(1, times - size)
        call.out.data(constants, along_axes({0: [Stretch(size - times, size - 1, {0: (at, at)})]}))
    elif constants is not None:
        size = call.out.values.size
        call.out.data(constants, lambda out, into: boxes(out, into, {0: [Stretch(size - times, size - 1)]}))


@rule(np.polyfit)
def polyfit(call: Call) -> None:
    """All places and weights, and the own column of what is fitted; control adds all columns, as of `lstsq`."""
    places, heights = call.input("x"), call.input("y")
    for output in call.outputs:
        output.data(places, everything)
        output.data(call.maybe("w"), everything)
        output.data(heights, _column if heights.ndim == 2 else everything)
        output.control(heights, everything)


def _column(out: Shape, into: Shape) -> Steps:
    along = {len(out) - 1: [Stretch(0, into[1] - 1, {1: (At(), At())})]}
    return of_rows(out, into, product_rows(out, into, along, {0: (0, into[0] - 1)}))
