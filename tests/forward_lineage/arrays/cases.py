"""Every operation with small inputs: what is tried against brute force, and what the paper's Table IX counts.

A case's parameters name its inputs, which stand in `POOL`. `flat` says why a small change of a cell that counts as data
need not show, `still` why a change of any size of a cell that counts need not: the pages say the same to users.
"""

# ruff: noqa: PLW0108 - the names of a lambda's parameters say which inputs it has

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forward_lineage import arrays

_rng = np.random.default_rng(49)


def _generic(*shape: int, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    return _rng.uniform(low, high, shape)


POOL: dict[str, np.ndarray] = {
    "x": _generic(3, 4),
    "y": _generic(3, 4),
    "p": _generic(3, 4, low=0.2, high=0.9),
    "big": _generic(3, 4, low=1.2, high=4.0),
    "q": _generic(3, 4, low=0.2, high=0.9),
    "row": _generic(4),
    "column": _generic(3, 1),
    "v": _generic(6),
    "u": _generic(3),
    "w": _generic(6, low=0.5, high=2.0),
    "three": _generic(4, 3),
    "other3": _generic(4, 3),
    "two": _generic(4, 2),
    "other2": _generic(4, 2),
    "s": _generic(3, 3) + 4 * np.eye(3),
    "s2": _generic(2, 2, 2) + 4 * np.eye(2),
    "t": _generic(2, 3, 2),
    "a": _generic(3, 4),
    "b": _generic(4, 2),
    "c": _generic(2, 3),
    "d": _generic(3, 2),
    "one": _generic(1, 4),
    "places": np.sort(_generic(6)),
    "mask": np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]]),
    "rows": np.array([True, False, True]),
    "line": np.array([False, True, True, False, True, False]),
    "index": np.array([2, 0, 1, 2]),
    "i2": np.array([[0, 2], [1, 1]]),
    "codes": np.array([2, 0, 1, 2, 0, 2]),
    "few": np.array([1.5, 0.5, 2.5, 1.5, 0.5, 1.5]),
    "others": np.array([0.5, 3.5, 2.5]),
    "zeros": np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0]),
    "number": np.array(1.7),
    "pos": _generic(3, 3) @ np.eye(3),
}
_half = _generic(3, 3)
POOL["pos"] = _half @ _half.T + 3 * np.eye(3)


@dataclass(frozen=True)
class Case:
    """A call of an operation.

    Attributes:
        name: the operation, and what is special about the call.
        run: the call; its parameters are names in `POOL`.
        flat: why data is more than small changes show; empty: it is not.
        still: why control is more than changes of any size show.
        choices: inputs that only decide, and decide otherwise after the smallest change.
        twin: it goes the way of another case by another name, and waits for the long tier.
        finite: infinities are left out, which LAPACK never ends with.

    """

    name: str
    run: Callable[..., Any]
    flat: str = ""
    still: str = ""
    choices: tuple[str, ...] = ()
    finite: bool = False
    twin: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def operation(self) -> str:
        return self.name.partition(" ")[0]

    def inputs(self) -> dict[str, np.ndarray]:
        return {name: POOL[name] for name in inspect.signature(self.run).parameters}


FLAT = "flat function: rounding, comparing, counting"
RANK = "order decides: another cell would show with other values"
SIGNS = "zero, one, and no more: real and imaginary parts of reals"
TAKEN = "the larger one is taken"
COMPLEX = "the same numbers, real or complex"
SHAPE = "a mask cell that comes or goes alone changes the shape"
CLOSE = "small differences vanish in rounding"


def _unary(names: str, argument: str = "p", **why: str) -> list[Case]:
    made = []
    for place, name in enumerate(names.split()):
        run = eval(f"lambda {argument}: getattr(np, name)({argument})", {"np": np, "name": name})
        made.append(Case(name, run, twin=place > 0, **why))
    return made


def _binary(names: str, **why: str) -> list[Case]:
    made = []
    for place, name in enumerate(names.split()):
        run = eval("lambda p, q: getattr(np, name)(p, q)", {"np": np, "name": name})
        made.append(Case(name, run, twin=place > 0, **why))
    return made


def _fill(x: Any, key: Any, value: Any) -> Any:
    """Write into a copy; plain and tracked arrays alike."""
    x = x.copy()
    x[key] = value
    return x


def _into(operation: Callable[..., Any], x: Any, *more: Any, **how: Any) -> Any:
    x = x.copy()
    operation(x, *more, **how)
    return x


ELEMENTWISE = [
    *_unary("sin cos tan arcsin arccos arctan degrees radians deg2rad rad2deg sinh cosh tanh arcsinh arctanh"),
    *_unary("arccosh", "big"),
    *_unary("around rint fix floor ceil trunc", flat=FLAT),
    *_unary("exp expm1 exp2 log log10 log2 log1p sinc reciprocal positive negative conj conjugate"),
    *_unary("sqrt cbrt square absolute fabs real i0 nan_to_num"),
    *_unary("angle", "x", flat=FLAT),
    *_unary("imag", flat=SIGNS, still=SIGNS),
    *_unary("real_if_close"),
    *_unary("spacing", flat=FLAT),
    *_unary("sign signbit isnan isinf isfinite", "x", flat=FLAT, still=FLAT),
    *_unary("iscomplex isreal isneginf isposinf", "x", flat=FLAT, still=FLAT),
    *_binary("hypot arctan2 logaddexp logaddexp2 add multiply divide power subtract true_divide float_power"),
    *_binary("fmod mod remainder", flat="the divisor of what is smaller"),
    *_binary("floor_divide", flat=FLAT),
    *_binary("nextafter", still=CLOSE, flat=CLOSE),
    *_binary("maximum fmax minimum fmin", flat=TAKEN),
    *_binary("copysign heaviside", flat=FLAT, still=FLAT),
    *_binary("greater less_equal", flat=FLAT),
    *_binary("equal", flat=FLAT, still=FLAT),
    *_binary("isclose", flat=FLAT, still=FLAT),
    Case("round", lambda p: np.round(p, 2), flat=FLAT),
    Case("clip", lambda x: np.clip(x, -1, 1), flat=FLAT),
    Case("clip of bounds", lambda x, row, y: np.clip(x, -abs(row) - 1, abs(y) + 1), flat=TAKEN, still=TAKEN),
    Case("modf", lambda x: np.modf(x), flat=FLAT),
    Case("divmod", lambda x, p: np.divmod(x, p), flat=FLAT),
    Case("emath.sqrt", lambda p: np.emath.sqrt(p), still=COMPLEX),
    Case("broadcasting", lambda x, row, column, number: x * row + column - number),
    Case("operators", lambda x, p: -x + 2 * p - x / p + p**2 + 1 / p),
    Case("astype", lambda x: x.astype(np.float32).astype(complex)),
    Case("astype function", lambda x: np.astype(x, np.float32))
    if hasattr(np, "astype")
    else Case("astype twice", lambda x: x.astype("f4")),
    Case("copy", lambda x: x.copy()),
    Case("in_place", lambda x, row: _into(lambda c: c.__iadd__(row), x)),
    Case("out", lambda x, row: _into(lambda c: np.multiply(c, row, out=c), x)),
    Case("out where", lambda x, row, mask: _into(lambda c: np.multiply(c, row, out=c, where=mask), x)),
    Case("polyval", lambda u, x: np.polyval(u, x)),
    Case("vander", lambda u: np.vander(u), flat=FLAT, still="the power 0 is 1"),
    Case("full_like", lambda x, row: np.full_like(x, row), still="only the shape of x"),
    Case("linspace", lambda u, column: np.linspace(u, column, 4, axis=1), flat="its ends", still="its ends"),
    Case("allclose", lambda x, y: np.allclose(x, y), flat=FLAT, still=FLAT),
    Case("array_equal", lambda x, y: np.array_equal(x, y), flat=FLAT, still=FLAT),
]

REDUCTIONS = [
    Case("sum", lambda x: np.sum(x, axis=0)),
    Case("sum keepdims", lambda t: t.sum(axis=(0, 2), keepdims=True)),
    Case("sum all", lambda t: t.sum()),
    Case("sum where", lambda x, mask: np.sum(x, axis=1, where=mask)),
    Case("sum initial", lambda x, number: np.sum(x, axis=1, initial=number)),
    Case("prod", lambda x: np.prod(x, axis=1)),
    Case("nansum", lambda x: np.nansum(x, axis=0)),
    Case("nanprod", lambda x: np.nanprod(x, axis=-1)),
    Case("mean", lambda x: np.mean(x, axis=1)),
    Case("std", lambda x: np.std(x, axis=0)),
    Case("var", lambda x: np.var(x, axis=1, ddof=1)),
    Case("nanmean", lambda x: np.nanmean(x, axis=1)),
    Case("nanstd", lambda x: np.nanstd(x, axis=1)),
    Case("max", lambda x: np.max(x, axis=1), flat=RANK),
    Case("amax", lambda x: np.amax(x, axis=0), flat=RANK),
    Case("amin", lambda x: np.amin(x, axis=0), flat=RANK),
    Case("nanmax", lambda x: np.nanmax(x, axis=0), flat=RANK),
    Case("ptp", lambda x: np.ptp(x, axis=0), flat=RANK),
    Case("median", lambda x: np.median(x, axis=0), flat=RANK),
    Case("nanmedian", lambda x: np.nanmedian(x, axis=1), flat=RANK),
    Case("quantile", lambda x: np.quantile(x, 0.3, axis=0), flat=RANK),
    Case("percentile", lambda x: np.percentile(x, [30, 60], axis=1), flat=RANK),
    Case("quantile of", lambda x, p: np.quantile(x, p[0], axis=0, keepdims=True), flat=RANK),
    Case("nanquantile", lambda x: np.nanquantile(x, 0.3, axis=1), flat=RANK),
    Case("all", lambda x: np.all(x, axis=1), flat=FLAT),
    Case("any", lambda x: np.any(x, axis=1), flat=FLAT, still=FLAT),
    Case("count_nonzero", lambda x: np.count_nonzero(x, axis=1), flat=FLAT),
    Case("average", lambda x, p: np.average(x, axis=1, weights=p)),
    Case("average of places", lambda x, row: np.average(x, axis=1, weights=abs(row))),
    Case("trapezoid", lambda x: np.trapezoid(x, axis=0, dx=0.5)),
    Case("trapezoid of places", lambda v, places: np.trapezoid(v, places)),
    Case("norm", lambda x: np.linalg.norm(x, axis=1)),
    Case("norm of a matrix", lambda t: np.linalg.norm(t, axis=(0, 1))),
    Case("cov", lambda x, y: np.cov(x, y)),
    Case("cov of columns", lambda x: np.cov(x, rowvar=False)),
    Case("corrcoef", lambda x: np.corrcoef(x), flat="a variable with itself", still="a variable with itself"),
    Case("add.reduce", lambda x: np.add.reduce(x)),
    Case("add.reduce all", lambda x: np.add.reduce(x, axis=None, keepdims=True)),
    Case(
        "maximum.reduce where",
        lambda x, mask: np.maximum.reduce(x, axis=1, where=mask, initial=-9),
        flat=RANK,
        still=RANK,
    ),
    Case("add.reduceat", lambda v: np.add.reduceat(v, [0, 4, 2])),
]

MOVES = [
    Case("reshape", lambda x: np.reshape(x, (2, 6))),
    Case("reshape order", lambda x: np.reshape(x, (2, 6), order="F")),
    Case("reshape of a copy", lambda x: x.T.reshape(-1)),
    Case("ravel", lambda x: np.ravel(x)),
    Case("ravel order", lambda t: np.ravel(t, order="F")),
    Case("flatten", lambda x: x.T.flatten()),
    Case("transpose", lambda t: np.transpose(t, (2, 0, 1))),
    Case("T", lambda x: x.T),
    Case("matrix_transpose", lambda t: np.matrix_transpose(t)),
    Case("moveaxis", lambda t: np.moveaxis(t, 0, -1)),
    Case("rollaxis", lambda t: np.rollaxis(t, 2)),
    Case("swapaxes", lambda t: t.swapaxes(0, 2)),
    Case("atleast_1d", lambda number, row: np.atleast_1d(number, row)),
    Case("atleast_2d", lambda row: np.atleast_2d(row)),
    Case("atleast_3d", lambda row: np.atleast_3d(row)),
    Case("broadcast_to", lambda row: np.broadcast_to(row, (3, 4))),
    Case("broadcast_arrays", lambda column, row: np.broadcast_arrays(column, row)),
    Case("expand_dims", lambda x: np.expand_dims(x, (0, 2))),
    Case("squeeze", lambda one: np.squeeze(one)),
    Case("meshgrid", lambda u, row: np.meshgrid(u, row)),
    Case("meshgrid ij", lambda u, row, v: np.meshgrid(u, row, v, indexing="ij", sparse=True)),
    Case("ix_", lambda u, row: np.ix_(u, row)),
    Case("flip", lambda t: np.flip(t, (0, 2))),
    Case("flip all", lambda x: np.flip(x)),
    Case("fliplr", lambda x: np.fliplr(x)),
    Case("flipud", lambda x: np.flipud(x)),
    Case("rot90", lambda x: np.rot90(x)),
    Case("rot90 twice", lambda x: np.rot90(x, 2)),
    Case("rot90 back", lambda t: np.rot90(t, 3, axes=(1, 2))),
    Case("roll", lambda x: np.roll(x, 1, axis=1)),
    Case("roll of all", lambda x: np.roll(x, 5)),
    Case("roll of two", lambda x: np.roll(x, (1, -1), axis=(0, 1))),
    Case("tile", lambda x: np.tile(x, (2, 1, 2))),
    Case("repeat", lambda x: np.repeat(x, 2, axis=1)),
    Case("repeat of all", lambda x: np.repeat(x, 2)),
    Case("repeat of each", lambda x: np.repeat(x, [1, 0, 2], axis=0)),
    Case("resize", lambda x: np.resize(x, (5, 3))),
    Case("diagonal", lambda x: np.diagonal(x, 1)),
    Case("diagonal of axes", lambda t: np.diagonal(t, -1, 1, 2)),
    Case("diag", lambda u: np.diag(u, -1)),
    Case("diag of a matrix", lambda x: np.diag(x)),
    Case("diagflat", lambda column: np.diagflat(column, 1)),
    Case("trace", lambda t: np.trace(t, 1, 1, 2)),
    Case("trace below", lambda x: np.trace(x, -1)),
    Case("tril", lambda x: np.tril(x)),
    Case("triu", lambda t: np.triu(t, 1)),
    Case("concatenate", lambda x, one: np.concatenate([x, one, x])),
    Case("concatenate flat", lambda x, row: np.concatenate([x, row], axis=None)),
    Case("stack", lambda u, v: np.stack([u, v[:3], u], axis=1)),
    Case("vstack", lambda x, row: np.vstack([x, row])),
    Case("hstack", lambda x, column: np.hstack([x, column])),
    Case("hstack of lines", lambda u, row: np.hstack([u, row])),
    Case("dstack", lambda x, y: np.dstack([x, y])),
    Case("column_stack", lambda u, d: np.column_stack([u, d])),
    Case("row_stack", lambda x, row: np.vstack([row, x])),
    Case("block", lambda s, column, u, number: np.block([[s, column], [u, number]])),
    Case("append", lambda x, one: np.append(x, one, axis=0)),
    Case("append flat", lambda x, row: np.append(x, row)),
    Case("split", lambda v: np.split(v, [2, 3])),
    Case("array_split", lambda x: np.array_split(x, 3, axis=1)),
    Case("hsplit", lambda x: np.hsplit(x, 2)),
    Case("unstack", lambda t: np.unstack(t, axis=1)),
    Case("pad", lambda x: np.pad(x, ((1, 0), (2, 1)))),
    Case("pad edge", lambda x: np.pad(x, 2, mode="edge")),
    Case("pad reflect", lambda v: np.pad(v, (3, 7), mode="reflect")),
    Case("pad symmetric", lambda x: np.pad(x, ((0, 1), (3, 2)), mode="symmetric")),
    Case("pad wrap", lambda v: np.pad(v, (2, 8), mode="wrap")),
    Case("delete", lambda x: np.delete(x, [0, 2], axis=1)),
    Case("delete flat", lambda x: np.delete(x, slice(2, 9, 2))),
    Case("insert", lambda x, u: np.insert(x, 1, u, axis=1)),
    Case("insert flat", lambda v, u: np.insert(v, [0, 3, 3], u)),
    Case("insert block", lambda x, d: np.insert(x, [1], d, axis=1)),
    Case(
        "trim_zeros",
        lambda zeros: np.trim_zeros(zeros),
        flat="zero stays zero",
        still="what may be the first that is not zero",
    ),
    Case("sliding_window_view", lambda v: np.lib.stride_tricks.sliding_window_view(v, 3)),
    Case("sliding_window_view 2", lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3))),
    Case("asarray", lambda x: arrays.asarray(x, float)),
    Case("asanyarray", lambda x: arrays.asanyarray(x)),
    Case("asfortranarray", lambda x: arrays.asfortranarray(x)),
    Case("ascontiguousarray", lambda x: arrays.ascontiguousarray(x.T)),
    Case("asarray_chkfinite", lambda x: arrays.asarray_chkfinite(x)),
    Case("require", lambda x: arrays.require(x, requirements="F")),
]

CHOICES = [
    Case("index", lambda t: t[1, ..., None, 0]),
    Case("index slices", lambda x: x[::-2, 1:]),
    Case("index of one", lambda x: x[-1, 2]),
    Case("index mask", lambda x, mask: x[mask], still=SHAPE),
    Case("index mask rows", lambda x, rows: x[rows, 1:], still=SHAPE),
    Case("index mask behind", lambda t, rows: t[:, rows], still=SHAPE),
    Case("index fancy", lambda x, index: x[index[:3] % 3, index[1:]]),
    Case("index fancy 2", lambda x, i2: x[i2]),
    Case("index fancy behind", lambda t, i2: t[:, i2, 1]),
    Case("index fancy apart", lambda t, index: t[index % 2, :, index % 2]),
    Case("index write", lambda x, u: _fill(x, (slice(None), 1), u)),
    Case("index write one", lambda x, number: _fill(x, (1, 2), number)),
    Case("index write steps", lambda v, u: _fill(v, slice(None, None, -2), u)),
    Case("index write mask", lambda x, mask: _fill(x, mask, 7.5)),
    Case("index write mask values", lambda v, line, u: _fill(v, line, u), still=SHAPE),
    Case("index write mask rows", lambda x, rows, row: _fill(x, rows, row), still="the same value twice"),
    Case("index write fancy", lambda v, index, row: _fill(v, index, row), still="any index may be written"),
    Case("take", lambda x, index: np.take(x, index % 3, axis=0)),
    Case("take flat", lambda x, i2: np.take(x, i2)),
    Case("take_along_axis", lambda x, i2: np.take_along_axis(x[:2], i2, axis=1)),
    Case("compress", lambda x, rows: np.compress(rows, x, axis=0), still=SHAPE),
    Case("extract", lambda x, mask: np.extract(mask, x), still=SHAPE),
    Case("where", lambda x, y, mask: np.where(mask, x, y)),
    Case("where of comparison", lambda x, row: np.where(x > row, x, row)),
    Case("choose", lambda index, row: np.choose(index, [row, 2 * row, row - 3])),
    Case("select", lambda x, y: np.select([x > 1, y > 0], [x, y], default=-8)),
    Case("nonzero", lambda x, mask: np.nonzero(np.where(mask, x, 0)), flat=FLAT, still=FLAT),
    Case("flatnonzero", lambda line: np.flatnonzero(line), still=SHAPE),
    Case("argwhere", lambda mask: np.argwhere(mask), still=SHAPE),
    Case("delete mask", lambda v, line: np.delete(v, line), still=SHAPE),
    Case("copyto", lambda x, row, mask: _into(np.copyto, x, row, where=mask)),
    Case("putmask", lambda x, mask, u: _into(np.putmask, x, mask, u)),
    Case("place", lambda x, mask, u: _into(np.place, x, mask, u), still="values are used again"),
    Case("put", lambda x, index, u: _into(np.put, x, index, u), still="any index may be written"),
    Case("put_along_axis", lambda x: _into(np.put_along_axis, x, np.array([[0], [1], [2]]), x[:, 3:] * 2, 1)),
    Case("fill_diagonal", lambda s, u: _into(np.fill_diagonal, s, u)),
    Case("add.at", lambda v, u: _into(np.add.at, v, [1, 4, 1], u)),
]

ORDERS = [
    Case("sort", lambda x: np.sort(x, axis=0)),
    Case("sort in place", lambda x: _into(lambda c: c.sort(axis=1), x)),
    Case("msort", lambda x: np.sort(x, axis=0)),
    Case("partition", lambda x: np.partition(x, 1, axis=1)),
    Case("argsort", lambda x: np.argsort(x, axis=1), flat=FLAT, still=RANK),
    Case("argpartition", lambda x: np.argpartition(x, 1, axis=1), flat=FLAT, still=RANK),
    Case("lexsort", lambda v, codes: np.lexsort((v, codes)), flat=FLAT, still=RANK),
    Case("argmax", lambda x: np.argmax(x, axis=0), flat=FLAT),
    Case("argmin", lambda x: np.argmin(x), flat=FLAT),
    Case("searchsorted", lambda places, u: np.searchsorted(places, u), flat=FLAT, still="a sorted array stays sorted"),
    Case("digitize", lambda x, places: np.digitize(x, places), flat=FLAT, still="edges stay sorted"),
    Case("interp", lambda u, places, v: np.interp(u, places, v), flat="beyond the ends", still="places stay sorted"),
    Case("unique", lambda few: np.unique(few), flat=FLAT, still=FLAT),
    Case("unique of generic", lambda x: np.unique(x)),
    Case(
        "unique all",
        lambda few: np.unique(few, return_index=True, return_inverse=True, return_counts=True),
        flat=FLAT,
        still=FLAT,
    ),
    Case("union1d", lambda few, others: np.union1d(few, others), flat=FLAT, still=FLAT),
    Case("intersect1d", lambda few, others: np.intersect1d(few, others), flat=FLAT, still=FLAT),
    Case("setdiff1d", lambda few, others: np.setdiff1d(few, others), flat=FLAT, still=FLAT),
    Case("setxor1d", lambda few, others: np.setxor1d(few, others), flat=FLAT, still=FLAT),
    Case("isin", lambda few, others: np.isin(few, others), choices=("others",), flat=FLAT, still=FLAT),
    Case("bincount", lambda codes, w: np.bincount(codes, w, minlength=4)),
    Case("bincount counts", lambda codes: np.bincount(codes, minlength=4)),
    Case("histogram", lambda x, places: np.histogram(x, places), flat=FLAT, still="edges stay sorted"),
    Case("histogram 2", lambda x, p: np.histogram(x, 3, weights=p), flat=FLAT, still="edges stay sorted"),
    Case("permutation", lambda x: arrays.permutation(np.random.default_rng(1), x)),
]

WINDOWS = [
    Case("cumsum", lambda x: np.cumsum(x, axis=1)),
    Case("cumsum flat", lambda x: np.cumsum(x)),
    Case("cumprod", lambda x: np.cumprod(x, axis=0)),
    Case("nancumsum", lambda x: np.nancumsum(x, axis=0)),
    Case("nancumprod", lambda x: np.nancumprod(x, axis=1)),
    Case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True)),
    Case("maximum.accumulate", lambda x: np.maximum.accumulate(x, axis=1), flat=RANK),
    Case(
        "unwrap",
        lambda x: np.unwrap(3 * x),
        flat="corrections are whole periods",
        still="corrections are whole periods",
    ),
    Case("diff", lambda x: np.diff(x, 2, axis=1)),
    Case("diff padded", lambda x, column: np.diff(x, axis=1, prepend=column, append=0.0)),
    Case("ediff1d", lambda x, u: np.ediff1d(x, to_begin=u, to_end=[9.0])),
    Case("gradient", lambda x: np.gradient(x)),
    Case("gradient of places", lambda v, places: np.gradient(v, places, edge_order=2)),
    Case("convolve", lambda v, u: np.convolve(v, u)),
    Case("convolve same", lambda u, v: np.convolve(u, v, "same")),
    Case("convolve even", lambda v, row: np.convolve(v, row, "same")),
    Case("convolve valid", lambda v, row: np.convolve(v, row, "valid")),
    Case("correlate", lambda v, u: np.correlate(v, u)),
    Case("correlate full", lambda u, v: np.correlate(u, v, "full")),
    Case("correlate same", lambda v, row: np.correlate(v, row, "same")),
    Case("correlate same turned", lambda row, v: np.correlate(row, v, "same")),
    Case("polyadd", lambda u, row: np.polyadd(u, row)),
    Case("polymul", lambda u, row: np.polymul(u, row), still="a zero in front is cut off"),
    Case("polyder", lambda row: np.polyder(row)),
    Case("polyint", lambda row: np.polyint(row, 2)),
]

PRODUCTS = [
    Case("dot", lambda a, b: np.dot(a, b)),
    Case("dot of lines", lambda u: np.dot(u, u)),
    Case("dot of a stack", lambda t, b: np.dot(t, b[:2])),
    Case("matmul", lambda a, b: a @ b),
    Case("matmul of a stack", lambda s2, t: s2 @ t.reshape(3, 2, 2)[0]),
    Case("matmul of a line", lambda u, a: u @ a),
    Case("multi_dot", lambda a, b, c: np.linalg.multi_dot([a, b, c])),
    Case("multi_dot of lines", lambda u, a, b: np.linalg.multi_dot([u, a, b])),
    Case("vdot", lambda x, y: np.vdot(x, y)),
    Case("inner", lambda x, row: np.inner(x, row)),
    Case("inner of matrices", lambda x, y: np.inner(x, y)),
    Case("outer", lambda u, column: np.outer(u, column)),
    Case("multiply.outer", lambda u, c: np.multiply.outer(u, c)),
    Case("kron", lambda c, d: np.kron(c, d)),
    Case("kron of lines", lambda u, c: np.kron(u, c)),
    Case("tensordot", lambda t, d: np.tensordot(t, d, axes=([1, 2], [0, 1]))),
    Case("einsum", lambda a, b: np.einsum("ij,jk->ki", a, b)),
    Case("einsum implicit", lambda a, b: np.einsum("ij,jk", a, b)),
    Case("einsum diagonal", lambda s: np.einsum("ii->i", s)),
    Case("einsum trace", lambda s, u: np.einsum("ii,j->j", s, u)),
    Case("einsum dots", lambda t, d: np.einsum("...ij,ij->...", t, d)),
    Case("cross", lambda three, other3: np.cross(three, other3)),
    Case("cross axes", lambda three, other3: np.cross(three.T, other3, axisa=0, axisc=0)),
    Case("vecdot", lambda x, row: np.vecdot(x, row)),
    Case("inv", lambda s: np.linalg.inv(s)),
    Case("det", lambda s2: np.linalg.det(s2)),
    Case("slogdet", lambda s: np.linalg.slogdet(s), flat=FLAT, still=FLAT),
    Case("pinv", lambda d: np.linalg.pinv(d)),
    Case("solve", lambda s, d: np.linalg.solve(s, d)),
    Case("solve a line", lambda s, u: np.linalg.solve(s, u)),
    Case("solve a stack", lambda s2, t: np.linalg.solve(s2, t[:, :2])),
    Case("lstsq", lambda x, y: np.linalg.lstsq(x.T, y.T), finite=True, flat=FLAT, still=FLAT),
    Case("eigvalsh", lambda pos: np.linalg.eigvalsh(pos), flat="one triangle is read", still="one triangle is read"),
    Case("eig", lambda s: np.linalg.eig(s), still=CLOSE, flat=CLOSE),
    Case("svd", lambda d: np.linalg.svd(d), still=CLOSE, flat=CLOSE),
    Case("qr", lambda x: np.linalg.qr(x.T)),
    Case("qr complete", lambda d: np.linalg.qr(d, "complete"), still=CLOSE),
    Case("cholesky", lambda pos: np.linalg.cholesky(pos)),
    Case("cholesky upper", lambda pos: np.linalg.cholesky(pos, upper=True)),
    Case("matrix_power", lambda s: np.linalg.matrix_power(s, 3)),
    Case("fft", lambda x: np.fft.fft(x, axis=0)),
    Case("rfft", lambda x: np.fft.rfft(x, n=3), still=CLOSE),
    Case("irfft", lambda x: np.fft.irfft(x, n=3)),
    Case("fft2", lambda t: np.fft.fft2(t, axes=(0, 1))),
    Case("fftshift", lambda v: np.fft.fftshift(v[:5])),
    Case("ifftshift", lambda v: np.fft.ifftshift(v[:5])),
    Case("polyfit", lambda places, v: np.polyfit(places, v, 2)),
    Case("roots", lambda row: arrays.roots(row), still=CLOSE, flat=CLOSE),
]

#: The same rules by other names.
#: What calls a function of the user's, or goes along an axis by values.
SEVERAL = [
    Case("apply_along_axis", lambda x: np.apply_along_axis(np.cumsum, 0, x)),
    Case("apply_along_axis of matrices", lambda t: np.apply_along_axis(lambda lane: np.outer(lane, lane[:1]), 1, t)),
    Case("apply_over_axes", lambda t: np.apply_over_axes(np.sum, t, [0, -1])),
    Case("piecewise", lambda x, mask: np.piecewise(x, [mask], [lambda part: part * 2, -1.0]), still=SHAPE),
    Case("pad mean", lambda x: np.pad(x, ((1, 2), (2, 1)), mode="mean")),
    Case("pad maximum", lambda x: np.pad(x, 2, mode="maximum", stat_length=((2, 1), (3, 2))), flat=RANK),
    Case("pad ramp", lambda x: np.pad(x, 2, mode="linear_ramp", end_values=3.0), flat="its ends", still="its ends"),
    Case("unique axis", lambda i2: np.unique(i2[[0, 1, 0]], True, True, True, axis=0), flat=FLAT, still=FLAT),
    Case("unique columns", lambda few: np.unique(few.reshape(2, 3)[:, [0, 1, 2, 0]], axis=1), flat=FLAT, still=FLAT),
    Case(
        "histogramdd",
        lambda x, w: np.histogramdd(x[:, :2], [2, [-4.0, 0.0, 4.0]], weights=w[:3])[0],
        flat=FLAT,
        still=FLAT,
    ),
    Case("histogramdd of arrays", lambda v, w: np.histogramdd([v, w], 2)[1][0], flat=RANK, still=RANK),
    Case("histogram2d of edges", lambda v, w: np.histogram2d(v, w, [[-4.0, 0.0, 4.0], 2]), flat=FLAT, still=FLAT),
    Case("packbits", lambda line, mask: (np.packbits(line), np.packbits(mask, axis=0)), flat=FLAT, still=FLAT),
    Case("unpackbits", lambda codes: np.unpackbits(codes.astype(np.uint8)[:, None], 1, 10), flat=FLAT, still=FLAT),
    Case("einsum of lists", lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0])),
    Case("einsum of lists and dots", lambda t: np.einsum(t, [..., 0])),
]

TWINS = [
    Case("array_equiv", lambda x, y: np.array_equiv(x, y), flat=FLAT, still=FLAT),
    Case("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0)),
    Case("dsplit", lambda t: np.dsplit(t, 2)),
    Case("vsplit", lambda x: np.vsplit(x, [1])),
    Case("zeros_like", lambda x: np.zeros_like(x), flat="only the shape", still="only the shape"),
    Case("ones_like", lambda x: np.ones_like(x), flat="only the shape", still="only the shape"),
    Case("fftn", lambda t: np.fft.fftn(t, axes=(1, 2))),
    Case("ifft", lambda x: np.fft.ifft(x, axis=1)),
    Case("hfft", lambda x: np.fft.hfft(x, axis=1), flat=SIGNS, still=SIGNS),
    Case("ihfft", lambda x: np.fft.ihfft(x, axis=1), flat=SIGNS, still=SIGNS),
    Case("ifft2", lambda x: np.fft.ifft2(x)),
    Case("ifftn", lambda t: np.fft.ifftn(t, axes=(0,))),
    Case("irfft2", lambda x: np.fft.irfft2(x), flat=CLOSE, still=CLOSE),
    Case("irfftn", lambda t: np.fft.irfftn(t, axes=(0, 1)), flat=CLOSE, still=CLOSE),
    Case("rfft2", lambda x: np.fft.rfft2(x), flat=CLOSE, still=CLOSE),
    Case("rfftn", lambda t: np.fft.rfftn(t, s=(2, 2), axes=(0, 1)), flat=CLOSE, still=CLOSE),
    Case("geomspace", lambda p, q: np.geomspace(p, q, 3), flat="its ends", still="its ends"),
    Case("logspace", lambda u, column: np.logspace(u, column[:, 0], 3, axis=-1), flat="its ends", still="its ends"),
    Case("histogram2d", lambda v, w: np.histogram2d(v, w, 2), flat=FLAT, still=FLAT),
    Case("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, 3), flat=RANK, still=RANK),
    Case("logn", lambda p: np.emath.logn(3, p), still=COMPLEX),
    Case("emath.log", lambda p: np.emath.log(p), still=COMPLEX),
    Case("emath.power", lambda p, q: np.emath.power(p, q), still=COMPLEX),
    Case("emath.arccos", lambda x: np.emath.arccos(x), still=COMPLEX),
    Case("cond", lambda s: np.linalg.cond(s), flat=CLOSE),
    Case("eigh", lambda pos: np.linalg.eigh(pos), flat="one triangle is read", still="one triangle is read"),
    Case("eigvals", lambda s: np.linalg.eigvals(s), flat=CLOSE, still=CLOSE),
    Case("matrix_norm", lambda t: np.linalg.matrix_norm(t)),
    Case("matrix_rank", lambda s: np.linalg.matrix_rank(s), flat=FLAT, still=FLAT),
    Case("svdvals", lambda s: np.linalg.svdvals(s), flat=CLOSE, still=CLOSE),
    Case("tensorinv", lambda s: np.linalg.tensorinv(s, ind=1)),
    Case("tensorsolve", lambda s, u: np.linalg.tensorsolve(s, u)),
    Case("vector_norm", lambda x: np.linalg.vector_norm(x, axis=0, keepdims=True)),
    Case("linalg.cross", lambda three, other3: np.linalg.cross(three, other3)),
    Case("linalg.diagonal", lambda t: np.linalg.diagonal(t, offset=-1)),
    Case("linalg.trace", lambda t: np.linalg.trace(t)),
    Case("linalg.matmul", lambda a, b: np.linalg.matmul(a, b)),
    Case("linalg.matmul of a line", lambda u, a: np.linalg.matmul(u, a)),
    Case("linalg.outer", lambda u, v: np.linalg.outer(u, v)),
    Case("linalg.tensordot", lambda a, b: np.linalg.tensordot(a, b, axes=1)),
    Case("linalg.vecdot", lambda x, y: np.linalg.vecdot(x, y)),
    Case("linalg.matrix_transpose", lambda t: np.linalg.matrix_transpose(t)),
    Case("matvec", lambda t, d: np.matvec(t, d[0])) if hasattr(np, "matvec") else Case("matvec", lambda t, d: t @ d[0]),
    Case("vecmat", lambda u, t: np.vecmat(u, t)) if hasattr(np, "vecmat") else Case("vecmat", lambda u, t: u @ t),
    Case("min", lambda x: np.min(x, axis=0), flat=RANK),
    Case("nanmin", lambda x: np.nanmin(x, axis=0), flat=RANK),
    Case("nanargmax", lambda x: np.nanargmax(x, axis=1), flat=FLAT),
    Case("nanargmin", lambda x: np.nanargmin(x, axis=0), flat=FLAT),
    Case("nanpercentile", lambda x: np.nanpercentile(x, 30, axis=0), flat=RANK),
    Case("nanvar", lambda x: np.nanvar(x, axis=0)),
    Case("poly", lambda u: arrays.poly(u), flat="the first coefficient is 1", still="the first coefficient is 1"),
    Case("polydiv", lambda row, u: np.polydiv(row, u), flat="the first quotient", still="the first quotient"),
    Case("polysub", lambda row, u: np.polysub(row, u)),
    Case("ravel_multi_index", lambda index: np.ravel_multi_index((index, index[::-1]), (5, 6))),
    Case("unravel_index", lambda i2: np.unravel_index(i2, (2, 3)), still="the quotient is flat"),
    Case("sort_complex", lambda v: np.sort_complex(v)),
    Case("unique_all", lambda few: np.unique_all(few), flat=FLAT, still=FLAT),
    Case("unique_counts", lambda few: np.unique_counts(few), flat=FLAT, still=FLAT),
    Case("unique_inverse", lambda few: np.unique_inverse(few), flat=FLAT, still=FLAT),
    Case("unique_values", lambda few: np.unique_values(few), flat=FLAT, still=FLAT),
    Case("mean of a mean", lambda x: np.std(x, axis=0, mean=np.mean(x, axis=0, keepdims=True))),
    Case("minimum.reduce of two", lambda t: np.minimum.reduce(t, axis=(0, 2)), flat=RANK),
    Case("trapezoid of dx", lambda x, number: np.trapezoid(x, dx=number)),
    Case("diff of none", lambda x: np.diff(x, 0)),
    Case("interp with a period", lambda u, places, v: np.interp(u, places, v, period=4.0), flat=CLOSE, still=CLOSE),
    Case(
        "interp of sides",
        lambda u, places, v, number: np.interp(u, places, v, left=number, right=-number),
        flat="beyond the ends",
        still="places stay sorted",
    ),
    Case("matrix_power of one", lambda s: np.linalg.matrix_power(s, 1)),
    Case("searchsorted with a sorter", lambda v, u: np.searchsorted(v, u, sorter=np.argsort(v)), flat=FLAT, still=FLAT),
    Case("histogram of density", lambda x: np.histogram(x, 3, density=True), flat=FLAT, still=FLAT),
    Case("add.outer.at", lambda x, u: _into(np.subtract.at, x, (slice(None), 1), u)),
]

CASES = [
    *ELEMENTWISE,
    *REDUCTIONS,
    *MOVES,
    *CHOICES,
    *ORDERS,
    *WINDOWS,
    *PRODUCTS,
    *SEVERAL,
    *(replace(each, twin=True) for each in TWINS),
]
