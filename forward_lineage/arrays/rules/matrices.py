"""Matrices as a whole, and transforms of a lane.   data: the matrix, or the lane; control adds nothing beyond it.

Which rows are exchanged while solving is decided by the matrix, which is data anyway.
"""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, normal_axes, one_axis
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule
from forward_lineage.arrays.shapes import (
    At,
    Flat,
    Rule,
    Steps,
    Stretch,
    along_axes,
    everything,
    of_rows,
    product_rows,
    same,
    shifted,
)


@rule(
    *(np.linalg.inv, np.linalg.pinv, np.linalg.det, np.linalg.slogdet, np.linalg.cond, np.linalg.matrix_rank),
    *(np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.svd, np.linalg.svdvals),
)
def whole_matrix(call: Call) -> None:
    """The whole matrix; of a stack of them the one in its place."""
    source = next(iter(call.given.values()))
    for output in call.outputs:
        output.data(call.as_input(source), _matrix)
        for name in ("rcond", "rtol", "tol"):
            output.data(call.maybe(name), everything)


def _matrix(out: Shape, into: Shape) -> Steps:
    along = {k: same(k, into[k]) for k in range(len(into) - 2)}
    whole = {k: (0, into[k] - 1) for k in range(max(len(into) - 2, 0), len(into))}
    return of_rows(out, into, product_rows(out, into, along, whole))


@rule(np.linalg.matrix_power)
def matrix_power(call: Call) -> None:
    """The whole matrix; of the first power the cell, of the zeroth nothing."""
    power = call["n"]
    call.out.unused(call.input("a"))
    if power:
        call.out.data(call.input("a"), along_axes({}) if power == 1 else _matrix)


@rule(np.linalg.solve)
def solve(call: Call) -> None:
    """The whole matrix, and the own column of the right-hand side."""
    matrix, right = call.input("a"), call.input("b")
    vector = right.ndim == 1
    batch = call.out.ndim - (1 if vector else 2)
    call.out.data(matrix, _solved(batch, matrix.ndim - 2, None))
    call.out.data(right, _solved(batch, 0 if vector else right.ndim - 2, None if vector else -1))


def _solved(batch: int, mine: int, column: int | None) -> Rule:
    """Axes in front are broadcast; the first of the others is whole, the second whole or the output's column."""

    def made(out: Shape, into: Shape) -> Steps:
        along, fixed = {}, {}
        for k in range(len(into)):
            j = k + batch - mine
            if k < mine:
                if into[k] == 1 and out[j] != 1:
                    fixed[k] = (0, 0)
                else:
                    along[j] = [Stretch(0, out[j] - 1, {k: (At(), At())})]
            elif k == len(into) - 1 and column is not None:
                along[len(out) - 1] = [Stretch(0, out[-1] - 1, {k: (At(), At())})]
            else:
                fixed[k] = (0, into[k] - 1)
        return of_rows(out, into, product_rows(out, into, along, fixed))

    return made


@rule(np.linalg.lstsq)
def lstsq(call: Call) -> None:
    """The whole matrix, and of solution and residuals the own column of the right-hand side.

    Control adds all columns: LAPACK scales them together where one holds numbers too large or too small.
    """
    matrix, right = call.input("a"), call.input("b")
    for place, output in enumerate(call.outputs):
        output.data(matrix, everything)
        if place < 2:
            output.data(right, _last_axis if right.ndim == 2 else everything)
            output.control(right, everything)
        output.unused(right)


def _last_axis(out: Shape, into: Shape) -> Steps:
    along = {len(out) - 1: [Stretch(0, into[1] - 1, {1: (At(), At())})]}
    return of_rows(out, into, product_rows(out, into, along, {0: (0, into[0] - 1)}))


@rule(np.linalg.tensorsolve, np.linalg.tensorinv)
def whole_tensor(call: Call) -> None:
    """All cells."""
    for each in call.everything():
        call.out.data(each, everything)


@rule(np.linalg.cholesky)
def cholesky(call: Call) -> None:
    """Of L[i, j] the row A[i, 0 … j], and of the rows before j, and of j, what is left of the diagonal and on it."""
    upper = bool(call["upper"])

    def made(out: Shape, into: Shape) -> Steps:
        batch = len(into) - 2
        row, column = (batch + 1, batch) if upper else (batch, batch + 1)
        front = {k: same(k, into[k]) for k in range(batch)}
        rows = []
        size = into[-1]
        for i in range(size):
            # Row i of A reaches L[i, j] for j ≤ i, up to j; and all of the rows below, in columns from i on.
            own = front | {row: [Stretch(i, i)], column: [Stretch(0, i, {column: (0, At())})]}
            rows += product_rows(out, into, own, {row: (i, i)})
            for below in range(i + 1, size):
                on = front | {row: [Stretch(below, below)], column: [Stretch(i, below)]}
                rows += product_rows(out, into, on, {row: (i, i), column: (0, i)})
        return of_rows(out, into, rows)

    call.out.data(call.input("a"), made)


@rule(np.linalg.qr)
def qr(call: Call) -> None:
    """Column j of Q is made of the columns up to j; R[i, j] of those up to i, and of j; below are zeros.

    The last direction of as many columns as rows, or more, is what the others leave: of reals its sign is fixed.
    """
    source = call.input("a")
    reach = np.arange(min(source.shape[-2:]))
    if source.shape[-2] <= source.shape[-1] and source.values.dtype.kind != "c":
        reach[-1:] -= 1
    if call["mode"] == "raw":
        for output in call.outputs:
            output.data(source, _matrix)
        return
    *orthogonal, upper = call.outputs
    for output in orthogonal:
        output.data(source, _columns(reach))
    upper.data(source, _upper(reach))


def _front(into: Shape) -> dict[int, list[Stretch]]:
    return {k: same(k, into[k]) for k in range(len(into) - 2)}


def _columns(reach: Flat) -> Rule:
    """Output column j is made of the columns up to ``reach[j]``, one beyond them of all."""

    def made(out: Shape, into: Shape) -> Steps:
        row, column = len(into) - 2, len(into) - 1
        rows = []
        for j in range(out[-1]):
            last = int(reach[j]) if j < reach.size else into[-1] - 1
            if last >= 0:
                whole = {row: (0, into[row] - 1), column: (0, last)}
                rows += product_rows(out, into, _front(into) | {column: [Stretch(j, j)]}, whole)
        return of_rows(out, into, rows)

    return made


def _upper(reach: Flat) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        row, column = len(into) - 2, len(into) - 1
        whole = {row: (0, into[row] - 1)}
        rows = []
        for i in range(min(out[-2], into[-1])):
            own = _front(into) | {row: [Stretch(i, i)]}
            rows += product_rows(out, into, own | {column: [Stretch(i, out[-1] - 1, {column: (At(), At())})]}, whole)
            last = int(reach[i]) if i < reach.size else into[-1] - 1
            if last >= 0:
                before = whole | {column: (0, last)}
                rows += product_rows(out, into, own | {column: [Stretch(i, out[-1] - 1)]}, before)
        return of_rows(out, into, rows)

    return made


# ------------------------------------------------------------ Fourier


def _fft_functions(names: str) -> list[object]:
    return [getattr(np.fft, name) for name in names.split()]


@rule(*_fft_functions("fft ifft rfft irfft hfft ihfft"))
def transform(call: Call) -> None:
    """The lane, as far as ``n`` lets it in."""
    source = call.input("a")
    axis = one_axis(call["axis"], source.ndim)
    call.out.data(source, _transformed({axis: _needed(call, call["n"], source.shape[axis], call.out.shape[axis])}))


def _needed(call: Call, n: int | None, size: int, made: int) -> int:
    """How many cells of the lane are read."""
    name = call.name.rpartition(".")[2]
    if name.startswith(("irfft", "hfft")):
        return min(made // 2 + 1, size)
    return size if n is None else min(int(n), size)


@rule(*_fft_functions("fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn"))
def transform_axes(call: Call) -> None:
    """All cells along the axes."""
    source, sizes = call.input("a"), call["s"]
    axes = call["axes"]
    if axes is None:
        axes = range(source.ndim) if sizes is None else range(-len(sizes), 0)
    axes = normal_axes(tuple(axes), source.ndim)
    needed = {}
    for place, axis in enumerate(axes):
        n = None if sizes is None or sizes[place] == -1 else sizes[place]
        size = source.shape[axis]
        last = place == len(axes) - 1 and call.name.rpartition(".")[2].startswith("irfft")
        needed[axis] = min(call.out.shape[axis] // 2 + 1, size) if last else size if n is None else min(int(n), size)
    call.out.data(source, _transformed(needed))


def _transformed(needed: dict[int, int]) -> Rule:
    def made(out: Shape, into: Shape) -> Steps:
        along = {k: same(k, into[k]) for k in range(len(into)) if k not in needed}
        return of_rows(out, into, product_rows(out, into, along, {k: (0, n - 1) for k, n in needed.items()}))

    return made


@rule(np.fft.fftshift, np.fft.ifftshift)
def shift(call: Call) -> None:
    """A roll by half of each axis."""
    source = call.input("x")
    stretches = {}
    for axis in normal_axes(call["axes"], source.ndim):
        size = source.shape[axis]
        by = size // 2 if call.name.endswith(".fftshift") else size - size // 2
        by %= max(size, 1)
        stretches[axis] = [shifted(axis, 0, by, size - by), shifted(axis, by, size - by, -by)]
    call.out.data(source, along_axes(stretches))
