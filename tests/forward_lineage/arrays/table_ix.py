"""The operations of the paper's Table IX: each as a call over two sizes, and what reuse may say of it.

`SHAPES` is the truth about dim_sig: every operation whose lineage the shapes alone decide. `SIZES` is that about
gen_sig: of these, the ones that a fixed number of boxes says for all sizes, in the paper's terms, ranges and shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forward_lineage import arrays

Call = tuple[Callable[..., Any], Callable[[int, int], list[tuple[int, ...]]]]


def _one(r: int, c: int) -> list[tuple[int, ...]]:
    return [(r, c)]


def _two(r: int, c: int) -> list[tuple[int, ...]]:
    return [(r, c), (r, c)]


UNARY = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "degrees", "radians", "deg2rad", "rad2deg"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "around", "rint", "fix", "floor", "ceil"),
    *("trunc", "exp", "expm1", "exp2", "log", "log10", "log2", "log1p", "sinc", "spacing", "reciprocal"),
    *("positive", "negative", "angle", "real", "imag", "conj", "conjugate", "sqrt", "cbrt", "square"),
    *("absolute", "fabs", "nan_to_num"),
)
BINARY = (
    *("hypot", "arctan2", "logaddexp", "logaddexp2", "nextafter", "add", "multiply", "divide", "power"),
    *("subtract", "true_divide", "floor_divide", "float_power", "fmod", "mod", "remainder", "maximum"),
    *("fmax", "minimum", "fmin"),
)
SAME = ("asarray", "asanyarray", "asfortranarray", "ascontiguousarray", "asarray_chkfinite", "require")

LANES = (
    *("prod", "sum", "nanprod", "nansum", "cumsum", "cumprod", "nancumsum", "nancumprod", "amax", "amin", "median"),
    *("mean", "std", "var", "diff"),
)


def _down(name: str) -> Callable[..., Any]:
    return lambda a: getattr(np, name)(a, axis=0)


ELEMENT: dict[str, Call] = {
    **{name: (getattr(np, name), _one) for name in UNARY},
    **{name: (getattr(np, name), _two) for name in BINARY},
    **{name: (getattr(arrays, name), _one) for name in SAME},
    "round_": (np.round, _one),
    "real_if_close": (np.real_if_close, _one),
    "clip": (lambda a: np.clip(a, 0.3, 0.6), _one),
}

COMPLEX: dict[str, Call] = {
    "unwrap": (lambda a: np.unwrap(a, axis=1), _one),
    **{name: (_down(name), _one) for name in LANES},
    "ediff1d": (np.ediff1d, lambda r, c: [(r,)]),
    "cross": (np.cross, lambda r, c: [(r, 3), (r, 3)]),
    "trapz": (lambda a: np.trapezoid(a, axis=1), _one),
    "convolve": (np.convolve, lambda r, c: [(r + 6,), (3,)]),
    "interp": (lambda x, xp, fp: np.interp(x, np.sort(xp), fp), lambda r, c: [(r,), (c,), (c,)]),
    "dot": (np.dot, lambda r, c: [(r, c), (c, r + 1)]),
    "multi_dot": (lambda a, b, d: np.linalg.multi_dot([a, b, d]), lambda r, c: [(r, c), (c, 3), (3, r)]),
    "vdot": (np.vdot, _two),
    "inner": (np.inner, _two),
    "outer": (np.outer, lambda r, c: [(r,), (c,)]),
    "kron": (np.kron, lambda r, c: [(r,), (c,)]),
    "unique": (np.unique, lambda r, c: [(r,)]),
    "sort": (lambda a: np.sort(a, axis=0), _one),
    "msort": (lambda a: np.sort(a, axis=0), _one),
    "partition": (lambda a: np.partition(a, 1, axis=0), _one),
    "percentile": (lambda a: np.percentile(a, 20, axis=0), _one),
    "quantile": (lambda a: np.quantile(a, 0.4, axis=1), _one),
    "correlate": (lambda a, v: np.correlate(a, v, "same"), lambda r, c: [(r + 6,), (3,)]),
    "reshape": (lambda a: np.reshape(a, (a.shape[1], a.shape[0])), _one),
    "ravel": (np.ravel, _one),
    "moveaxis": (lambda a: np.moveaxis(a, 0, 1), _one),
    "swapaxes": (lambda a: np.swapaxes(a, 0, 1), _one),
    "atleast_1d": (np.atleast_1d, _one),
    "atleast_2d": (np.atleast_2d, lambda r, c: [(r,)]),
    "broadcast_to": (lambda a: np.broadcast_to(a, (3, a.shape[0])), lambda r, c: [(r,)]),
    "expand_dims": (lambda a: np.expand_dims(a, 1), lambda r, c: [(r,)]),
    "squeeze": (np.squeeze, lambda r, c: [(1, r)]),
    "concatenate": (lambda a, b: np.concatenate([a, b]), lambda r, c: [(r, c), (c, c)]),
    "block": (lambda a, b: np.block([[a, b], [b, a]]), _two),
    "stack": (lambda a, b: np.stack([a, b], axis=1), lambda r, c: [(r,), (r,)]),
    "vstack": (lambda a, b: np.vstack([a, b]), lambda r, c: [(r, c), (c, c)]),
    "hstack": (lambda a, b: np.hstack([a, b]), lambda r, c: [(r, c), (r, r)]),
    "column_stack": (lambda a, b: np.column_stack([a, b]), lambda r, c: [(r, c), (r,)]),
    "row_stack": (lambda a, b: np.vstack([a, b]), lambda r, c: [(r, c), (c,)]),
    "tile": (lambda a: np.tile(a, (2, 2)), _one),
    "repeat": (lambda a: np.repeat(a, 2, axis=1), _one),
    "delete": (lambda a: np.delete(a, 1, axis=0), _one),
    "insert": (lambda a: np.insert(a, 1, 0, axis=1), _one),
    "append": (lambda a, b: np.append(a, b, axis=1), lambda r, c: [(r, c), (r, r)]),
    "resize": (lambda a: np.resize(a, (a.shape[1], a.shape[0])), _one),
    "trim_zeros": (lambda a: np.trim_zeros(np.maximum(a - 0.5, 0)), lambda r, c: [(r,)]),
    "flip": (lambda a: np.flip(a, 0), _one),
    "fliplr": (np.fliplr, _one),
    "flipud": (np.flipud, _one),
    "roll": (lambda a: np.roll(a, 1, axis=1), _one),
    "rot90": (np.rot90, _one),
}

#: Which cell goes where depends on values: of data, for control is a lane or all cells anyway.
BY_VALUES = {"interp", "unique", "sort", "msort", "partition", "trim_zeros"}
#: As many boxes as there are rows, or groups of them; and repeats, which a shift does not say.
BY_ROWS = {"kron", "reshape", "ravel", "resize", "repeat"}

#: Rows and columns to call each with; a size that comes first is learned from, one that comes late may be predicted.
CALLED_WITH = [(4, 3), (5, 7), (7, 4), (6, 9), (8, 6), (9, 8), (10, 5)]
OPERATIONS = ELEMENT | COMPLEX
SHAPES = OPERATIONS.keys() - BY_VALUES
SIZES = SHAPES - BY_ROWS
