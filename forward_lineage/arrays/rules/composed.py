"""Functions that call a function of the user's: done step by step over tracked arrays, so each step says its own.

A function that leaves numpy is refused there: `float(x)` raises as it does outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.registry import composed
from udafs.errors import NotTracedError

Function = Callable[..., Any]


@composed(np.apply_along_axis)
def apply_along_axis(func1d: Function, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the function on each lane; put the results side by side."""
    array: Any = _array(arr)
    axis = np.lib.array_utils.normalize_axis_index(axis, array.ndim)
    lanes = np.moveaxis(array, axis, -1)
    front = lanes.shape[:-1]
    if 0 in front:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [_array(func1d(lanes[place], *args, **kwargs)) for place in np.ndindex(front)]
    whole = _stacked(made, array).reshape(front + made[0].shape)
    order = list(range(whole.ndim))
    return np.transpose(whole, order[:axis] + order[len(front) :] + order[axis : len(front)])


def _stacked(parts: list[Any], array: Any) -> Any:
    """Parts behind each other, as long and of the type as the first one is."""
    first = parts[0]
    whole: Any = np.stack([each if each.shape == first.shape else np.broadcast_to(each, first.shape) for each in parts])
    if isinstance(array, Handle) and not isinstance(whole, Handle):
        whole = np.array(whole, like=array)  # type: ignore[call-overload]
    return whole.astype(first.dtype, copy=False)


@composed(np.apply_over_axes)
def apply_over_axes(func: Function, a: Any, axes: Any) -> Any:
    """Call the function along one axis after the other."""
    made: Any = _array(a)
    ndim = made.ndim
    for axis in np.atleast_1d(axes).tolist():
        place = axis + ndim if axis < 0 else axis
        after: Any = func(made, place)
        if after.ndim != made.ndim:
            after = np.expand_dims(after, place)
        if after.ndim != made.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        made = after
    return made


@composed(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """``y[condition] = function(x[condition])``, one after the other, over zeros."""
    array: Any = _array(x)
    if array.ndim == 0:
        raise NotTracedError("numpy.piecewise of a single number", instead="Give it an axis: x[None].")
    conditions = _conditions(array, condlist, len(funclist))
    tracked = next((each for each in (array, *conditions, *funclist) if isinstance(each, Handle)), None)
    made: Any = np.zeros(array.shape, array.dtype, like=tracked)  # type: ignore[arg-type]
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            made[condition] = function
            continue
        chosen = array[condition]
        # numpy does not call the function with nothing; that the condition holds nowhere is a choice all the same.
        made[condition] = function(chosen, *args, **kw) if chosen.size else 0
    return made


def _conditions(array: Any, given: Any, wanted: int) -> list[Any]:
    """The conditions, and where one is missing, that none of them holds."""
    several = given.ndim > array.ndim if isinstance(given, np.ndarray) else _has_axes(given[0])
    found = [_array(each).astype(bool, copy=False) for each in (given if several else [given])]
    n = len(found)
    if wanted not in (n, n + 1):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    return found if wanted == n else [*found, ~reduce(or_, found)]


def _has_axes(given: Any) -> bool:
    return isinstance(given, list) or (isinstance(given, (np.ndarray, Handle)) and len(given.shape) > 0)


def _array(given: Any) -> Any:
    return given if isinstance(given, Handle) else np.asanyarray(given)
