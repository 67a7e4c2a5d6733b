"""A lane becomes one cell.   data: the whole lane, as in SQL the whole group, also for max; control adds nothing.

Of `max`, `median` or `nansum` a change of one cell may not show; it counts, since it would with other values.
With ``where=mask`` data are the cells that the mask lets in, and control adds the lane's mask.
"""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule, ufunc_rule
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    aligned,
    boxes,
    everything,
    lanes,
    moved,
)
from forward_lineage.arrays.values import kept, stretches_of_lanes
from udafs.errors import NotTracedError


@rule(
    *(np.sum, np.prod, np.max, np.min, np.mean, np.std, np.var, np.ptp, np.all, np.any, np.count_nonzero),
    *(
        np.amax,
        np.amin,
        np.nansum,
        np.nanprod,
        np.nanmax,
        np.nanmin,
        np.nanmean,
        np.nanstd,
        np.nanvar,
        np.median,
        np.nanmedian,
    ),
)
def reduction(call: Call) -> None:
    """``sum``, ``max``, ``median``, ``std``, ``any`` and their kin, and those that leave NaN out."""
    source = call.input("a")
    axes = normal_axes(call["axis"], source.ndim)
    _reduce(call, call.out, source, axes)
    call.out.data(call.maybe("initial"), everything)
    by_lane = lanes(axes, kept=call.keeps_axes)
    call.out.data(call.maybe("mean"), lambda out, into: by_lane(out, source.shape) + aligned(source.shape, into))


def _reduce(call: Call, output: Output, source: Input, axes: tuple[int, ...], front: int = 0) -> None:
    by_lane = lanes(axes, kept=call.keeps_axes, front=front)
    where = call.maybe("where")
    if where is None or (where.values.ndim == 0 and where.node is None and bool(where.values)):
        output.data(source, by_lane)
        return
    mask = np.broadcast_to(where.values, source.shape)

    def let_in(out: Shape, into: Shape) -> Steps:
        return by_lane(out, into) + kept(mask)(into, into)

    def decided(out: Shape, into: Shape) -> Steps:
        return by_lane(out, source.shape) + aligned(source.shape, into)

    output.data(source, let_in)
    output.control(where, decided)


@ufunc_rule("reduce")
def ufunc_reduce(call: Call) -> None:
    """``np.add.reduce(x, axis=0)``."""
    source = call.input(0)
    axis = call.given.get("axis", call.given.get(1, 0))
    _reduce(call, call.out, source, normal_axes(axis, source.ndim))
    call.out.data(call.maybe("initial"), everything)


@ufunc_rule("reduceat")
def ufunc_reduceat(call: Call) -> None:
    """``np.add.reduceat(x, starts)``: the cells from a start to before the next; control adds the two starts."""
    source, starts = (call.input(place) for place in (0, 1))
    axis = one_axis(call.given.get("axis", call.given.get(2, 0)), source.ndim)
    first = starts.values.astype(np.int64)
    end = np.append(first[1:], source.shape[axis])
    last = np.where(end > first, end - 1, first)
    call.out.data(source, stretches_of_lanes(axis, first, last))
    place = np.arange(first.size)
    call.out.control(starts, _along(axis, place, np.minimum(place + 1, first.size - 1)))


def _along(axis: int, first: np.ndarray, last: np.ndarray) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        lane = (out[axis],)
        return moved_to_lane(axis)(out, lane) + stretches_of_lanes(0, first, last)(lane, into)

    return made


def moved_to_lane(axis: int) -> Rule:
    """Of an output only its index on one axis."""

    def made(out: Shape, into: Shape) -> Steps:
        return moved([0 if j == axis else None for j in range(len(out))])(out, into)

    return made


@rule(np.average)
def average(call: Call) -> None:
    """The lane, and its weights; the sum of these, where it is asked for, of the weights alone."""
    source, weights = call.input("a"), call.maybe("weights")
    axes = normal_axes(call["axis"], source.ndim)
    call.outputs[0].data(source, lanes(axes, kept=call.keeps_axes))
    for output in call.outputs:
        if weights is not None:
            output.data(weights, _weights(axes, source, call.keeps_axes))


def _weights(axes: tuple[int, ...], source: Input, keeps: bool) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        if into == source.shape:
            return lanes(axes, kept=keeps)(out, into)
        return everything(out, into)  # one weight for each place of the lane, the same in all lanes

    return made


@rule(np.quantile, np.percentile, np.nanquantile, np.nanpercentile)
def quantile(call: Call) -> None:
    """The lane, and the quantile that is asked for, on an axis in front for each of several."""
    source, asked, weights = call.input("a"), call.input("q"), call.maybe("weights")
    axes = normal_axes(call["axis"], source.ndim)
    if asked.ndim > 1 and len(axes) != 1 and len(axes) < source.ndim and ".nan" in call.name:
        raise NotTracedError(
            f"{call.name} of {len(axes)} axes with quantiles of {asked.ndim} axes, which numpy gives in an odd order",
            instead="Ask for the quantiles as one line, np.ravel(q), and reshape the result.",
        )
    call.out.data(source, lanes(axes, kept=call.keeps_axes, front=asked.ndim))
    call.out.data(asked, moved([*range(asked.ndim), *[None] * (call.out.ndim - asked.ndim)]))
    if weights is not None:
        whole = weights.shape == source.shape
        call.out.data(weights, lanes(axes, kept=call.keeps_axes, front=asked.ndim) if whole else everything)


@rule(np.trapezoid)
def trapezoid(call: Call) -> None:
    """The lane, and the lane's places."""
    source, places = call.input("y"), call.maybe("x")
    axis = one_axis(call["axis"], source.ndim)
    call.out.data(source, lanes([axis]))
    if places is not None:
        call.out.data(places, lanes([axis]) if places.shape == source.shape else everything)
    if call["dx"] is not None:
        call.out.data(call.input("dx"), everything)


@rule(np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm)
def norm(call: Call) -> None:
    """The lane, or the matrix."""
    source = call.input("x")
    axis = (-2, -1) if call.name.endswith("matrix_norm") else call["axis"]
    call.out.data(source, lanes(normal_axes(axis, source.ndim), kept=call.keeps_axes))


@rule(np.cov, np.corrcoef)
def covariance(call: Call) -> None:
    """Two variables, all observations of both; of a correlation the same."""
    rows = call["rowvar"]
    sources = [call.input("m" if "m" in call.given else "x"), call.maybe("y")]
    before = 0
    for source in sources:
        if source is None:
            continue
        count = _variables(source, rows)
        for axis in (0, 1):
            call.out.data(source, _variable(axis, before, count, rows))
        before += count
    for name in ("fweights", "aweights"):
        call.out.data(call.maybe(name), everything)


def _variables(source: Input, rows: bool) -> int:
    if source.ndim < 2:
        return 1
    # A single row is one variable, whatever was asked for.
    return source.shape[0] if rows or source.shape[0] == 1 else source.shape[1]


def _variable(axis: int, before: int, count: int, rows: bool) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        if not out:
            return everything(out, into)
        if len(into) < 2:
            return boxes(out, into, {axis: [Stretch(before, before)]}, {k: (0, n - 1) for k, n in enumerate(into)})
        mine = 0 if rows or into[0] == 1 else 1
        at = At(1, -before)
        along = {axis: [Stretch(before, before + count - 1, {mine: (at, at)})]}
        return boxes(out, into, along, {1 - mine: (0, into[1 - mine] - 1)})

    return made
