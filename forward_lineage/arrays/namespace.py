"""Functions of numpy's that numpy does not hand to a tracked array: call these in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.dispatch import call_function, carried
from forward_lineage.arrays.handles import Handle


def _kept(name: str, function: Callable[..., npt.NDArray[Any]], array: Any, *more: Any, **how: Any) -> Any:
    if not isinstance(array, Handle):
        return function(array, *more, **how)
    values = function(array.shown, *more, **how)
    return array if values is array.shown else carried(array, values, name)


def asarray(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.asarray`, tracked: the same cells; a plain array stays one.

    Example:
        >>> x = track(np.arange(3), "x")
        >>> backward(asarray(x, float), 1)["x"].indices()
        array([[1]])

    """
    return _kept("numpy.asarray", np.asarray, array, *more, **how)


def asanyarray(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.asanyarray`, tracked: see `asarray`."""
    return _kept("numpy.asanyarray", np.asanyarray, array, *more, **how)


def ascontiguousarray(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.ascontiguousarray`, tracked: see `asarray`."""
    return _kept("numpy.ascontiguousarray", np.ascontiguousarray, array, *more, **how)


def asfortranarray(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.asfortranarray`, tracked: see `asarray`."""
    return _kept("numpy.asfortranarray", np.asfortranarray, array, *more, **how)


def asarray_chkfinite(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.asarray_chkfinite`, tracked: see `asarray`."""
    return _kept("numpy.asarray_chkfinite", np.asarray_chkfinite, array, *more, **how)


def require(array: Any, *more: Any, **how: Any) -> Any:
    """`numpy.require`, tracked: see `asarray`."""
    return _kept("numpy.require", np.require, array, *more, **how)


def permutation(rng: np.random.Generator, array: Any, axis: int = 0) -> Any:
    """Permute an axis as ``rng.permutation(array, axis)`` does, tracked: as `numpy.take` with the places drawn.

    Example:
        >>> x = track(np.arange(3), "x")
        >>> y = permutation(np.random.default_rng(5), x)
        >>> backward(y, 0)["x"].indices().tolist() == [[y.values[0]]]
        True

    Args:
        rng: where the places are drawn from; it ends in the state that numpy would leave it in.
        array: tracked or plain.
        axis: which is permuted.

    """
    if not isinstance(array, Handle):
        return rng.permutation(array, axis=axis)
    return np.take(array, rng.permutation(array.shown.shape[axis]), axis=axis)  # type: ignore[call-overload]


def roots(polynomial: Any) -> Any:
    """`numpy.roots`, tracked; numpy itself iterates over what it is given before it asks.

    Example:
        >>> x = track(np.array([1.0, -3.0, 2.0]), "x")
        >>> len(backward(roots(x), 0)["x"])
        3

    """
    return call_function(np.roots, (polynomial,), {}) if isinstance(polynomial, Handle) else np.roots(polynomial)


def poly(zeros: Any) -> Any:
    """`numpy.poly`, tracked; numpy itself iterates over what it is given before it asks.

    Example:
        >>> x = track(np.array([1.0, 2.0]), "x")
        >>> len(backward(poly(x), 1)["x"])
        2

    """
    return call_function(np.poly, (zeros,), {}) if isinstance(zeros, Handle) else np.poly(zeros)
