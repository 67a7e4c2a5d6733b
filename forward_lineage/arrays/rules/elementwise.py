"""Cell by cell, and broadcasting.   data: the aligned cells; control adds nothing.

A flat function (floor, sign, a comparison), a factor of zero, the side that `maximum` did not take: such cells count,
as in SQL a column counts that a sum happens not to need. Another value of theirs could show.
"""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule, since, ufunc_rule
from forward_lineage.arrays.shapes import Rule, Steps, aligned, everything, moved


@ufunc_rule("__call__")
def ufunc(call: Call) -> None:
    """``f(x, y)``: the cells that are broadcast to the output's place."""
    for output in call.outputs:
        for place in range(call["ufunc"].nin):
            output.data(call.input(place), aligned)


@rule(
    *(np.angle, np.around, np.round, np.fix, np.real, np.imag, np.nan_to_num, np.sinc, np.i0),
    *(np.iscomplex, np.isreal, np.isneginf, np.isposinf, np.isclose, np.clip, np.copy),
    *since("astype"),
)
def function(call: Call) -> None:
    """The same for functions that are no ufuncs: all their arrays are broadcast."""
    for each in call.everything():
        call.out.data(each, aligned)


@rule(
    *(np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.logn, np.emath.power),
    *(np.emath.arccos, np.emath.arcsin, np.emath.arctanh, np.real_if_close),
)
def real_or_complex(call: Call) -> None:
    """The same; control adds all cells: any of them may make the result complex, and its numbers differ by rounding."""
    for each in call.everything():
        call.out.data(each, aligned)
        if not call.name.endswith("real_if_close") or each.values.dtype.kind == "c":
            call.out.control(each, everything)


@rule(np.zeros_like, np.ones_like, np.empty_like)
def like(call: Call) -> None:
    """Only the shape is taken: made of nothing."""
    for each in call.everything():
        call.out.unused(each)


@rule(np.full_like)
def full_like(call: Call) -> None:
    """The value that fills it, broadcast."""
    call.out.data(call.input("fill_value"), aligned)
    call.out.unused(call.input("a"))


@rule(np.linspace, np.logspace, np.geomspace)
def spaced(call: Call) -> None:
    """Every step is made of start and stop (and base), which are broadcast."""
    outputs = call.outputs
    for output, is_step in zip(outputs, (False, True), strict=False):
        axis = None if is_step else int(call["axis"]) % output.ndim
        for name in ("start", "stop", "base"):
            if name in call.given:
                output.data(call.input(name), _beside(axis))


def _beside(axis: int | None) -> Rule:
    """Aligned, apart from an axis that only the output has."""

    def made(out: Shape, into: Shape) -> Steps:
        if axis is None:
            return aligned(out, into)
        rest = (*out[:axis], *out[axis + 1 :])
        order: list[int | None] = list(range(len(rest)))
        order.insert(axis, None)
        return moved(order)(out, rest) + aligned(rest, into)

    return made


@rule(np.allclose, np.array_equal, np.array_equiv)
def whole(call: Call) -> None:
    """One answer about all cells."""
    for each in call.everything():
        call.out.data(each, everything)


@rule(np.vander)
def vander(call: Call) -> None:
    """Every power is of the row's cell, the power 0 as well."""
    call.out.data(call.input("x"), moved([0, None]))


@rule(np.unravel_index)
def unravel_index(call: Call) -> None:
    """Each index in each of the outputs."""
    for output in call.outputs:
        output.data(call.input("indices"), aligned)


@rule(np.ravel_multi_index)
def ravel_multi_index(call: Call) -> None:
    """The indices that are broadcast to its place."""
    for each in call.inputs("multi_index"):
        call.out.data(each, aligned)


@rule(np.polyval)
def polyval(call: Call) -> None:
    """The cell of x, and all coefficients."""
    call.out.data(call.input("x"), aligned)
    call.out.data(call.input("p"), everything)
