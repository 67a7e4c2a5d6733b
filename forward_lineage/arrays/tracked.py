"""`TrackedArray`: an array whose every cell says what it was made of.

It is a duck array, not a subclass of `numpy.ndarray`: of a subclass `np.asarray` or `rng.permutation` would make a
plain array, and the lineage would be lost without a word. Here whatever would leave numpy's protocols raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from forward_lineage.arrays import rules as _rules
from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.dispatch import (
    call_function,
    call_ufunc,
    carried,
    frozen_inputs,
    plain,
    without_rule,
)
from forward_lineage.arrays.graph import Node
from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.indexing import read_item, write_item
from forward_lineage.arrays.registry import name_of
from udafs.errors import NotTracedError

assert _rules  # importing them registers them

#: Methods that are functions of numpy's, called with the array first.
_METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "choose",
        "conj",
        "conjugate",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "ptp",
        "ravel",
        "repeat",
        "round",
        "searchsorted",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "var",
    ]
)
#: What of an array leaves lineage behind, where numpy has it.
_LEAVING = frozenset(
    (
        "data",
        "ctypes",
        "tobytes",
        "tofile",
        "dump",
        "dumps",
        "tolist",
        "item",
        "flat",
        "base",
        "view",
        "resize",
        "byteswap",
    )
)


#: Functions that numpy hands to a tracked array only with ``like=x``.
_MADE_LIKE: frozenset[Any] = frozenset[Any](
    (
        *(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require),
        *(np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange, np.tri),
    )
)


class TrackedArray(Handle, NDArrayOperatorsMixin):
    """An array whose every cell says what it was made of; `track` makes one.

    It has numpy's operators, indices, methods and functions. `values` is the plain array, read-only.

    Example:
        >>> x = track(np.arange(6.0).reshape(2, 3), "x")
        >>> backward(x.sum(axis=0), 2)["x"].indices()
        array([[0, 2],
               [1, 2]])

    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    # ------------------------------------------------------------ what it is

    @property
    def values(self) -> npt.NDArray[Any]:
        """The plain array, read-only: the way out of lineage."""
        seen = self.shown.view()
        seen.flags.writeable = False
        return seen

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a cell."""
        return self.shown.dtype

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.shown.ndim

    @property
    def size(self) -> int:
        """How many cells."""
        return self.shown.size

    @property
    def itemsize(self) -> int:
        """Bytes of a cell."""
        return self.shown.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all cells."""
        return self.shown.nbytes

    @property
    def T(self) -> TrackedArray:  # noqa: N802 - numpy's name
        """The array with its axes turned around; a view."""
        return self.transpose()

    @property
    def mT(self) -> TrackedArray:  # noqa: N802 - numpy's name
        """Each matrix turned around; a view."""
        return _of(np.matrix_transpose, self)

    @property
    def real(self) -> TrackedArray:
        """The real parts."""
        return _of(np.real, self)

    @property
    def imag(self) -> TrackedArray:
        """The imaginary parts."""
        return _of(np.imag, self)

    def __len__(self) -> int:
        return len(self.shown)

    def __repr__(self) -> str:
        name = self.node.name
        said = np.array2string(self.shown, separator=", ", prefix="TrackedArray(")
        return f"TrackedArray({said}{f', name={name!r}' if name else ''})"

    # ------------------------------------------------------------ numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if function in _MADE_LIKE:
            return _made_like(function, args, kwargs)
        return call_function(function, args, kwargs)

    def __getitem__(self, key: Any) -> TrackedArray:
        return read_item(self, key)  # type: ignore[return-value]

    def __setitem__(self, key: Any, value: Any) -> None:
        write_item(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(np, name)
            if isinstance(function, np.ufunc):
                return lambda *args, **kwargs: function(self, *args, **kwargs)
            return lambda *args, **kwargs: call_function(function, (self, *args), kwargs)
        if name in _LEAVING:
            raise _left(f"{name} of a tracked array")
        raise AttributeError(f"a tracked array has no attribute {name!r}")

    # ------------------------------------------------------------ methods that are not functions

    def transpose(self, *axes: Any) -> TrackedArray:
        """As numpy's: axes one by one, as a tuple, or none to turn them around."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes or None
        return _of(np.transpose, self, order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> TrackedArray:
        """As numpy's: lengths one by one, or as a tuple."""
        wanted = shape[0] if len(shape) == 1 else shape
        return _of(np.reshape, self, wanted, order=order, **({} if copy is None else {"copy": copy}))

    def flatten(self, order: str = "C") -> TrackedArray:
        """As numpy's: a copy with one axis."""
        return _of(np.ravel, self, order).copy()

    def copy(self, order: str = "C") -> TrackedArray:
        """As numpy's: the same cells in memory of its own."""
        return _of(np.copy, self, order)

    def astype(self, dtype: npt.DTypeLike, **how: Any) -> TrackedArray:
        """As numpy's: the same cells as another type."""
        return carried(self, self.shown.astype(dtype, **how), "astype")  # type: ignore[return-value]

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **how: Any) -> TrackedArray:  # noqa: A002
        """As numpy's: either bound may be left out."""
        return _of(np.clip, self, min, max, out=out, **how)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> TrackedArray:
        """As numpy's: the cells, or those of an axis, where a condition holds."""
        return _of(np.compress, condition, self, axis=axis, out=out)

    def fill(self, value: Any) -> None:
        """As numpy's: write one value into all cells."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, **how: Any) -> None:
        """As numpy's: sort in place."""
        self[...] = _of(np.sort, self, axis=axis, kind=kind, **how)

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect") -> None:
        """As numpy's: partition in place."""
        self[...] = _of(np.partition, self, kth, axis=axis, kind=kind)

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """As numpy's: write at flat indices."""
        np.put(self, indices, values, mode=mode)  # type: ignore[arg-type]

    def __copy__(self) -> TrackedArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> TrackedArray:
        return self.copy()

    # ------------------------------------------------------------ the ways out, which are all one

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise _left("a plain array of a tracked one")

    def __bool__(self) -> NoReturn:
        raise _left("the truth of a tracked array")

    def __int__(self) -> NoReturn:
        raise _left("an int of a tracked array")

    def __float__(self) -> NoReturn:
        raise _left("a float of a tracked array")

    def __complex__(self) -> NoReturn:
        raise _left("a complex number of a tracked array")

    def __index__(self) -> NoReturn:
        raise _left("an index of a tracked array")

    def __iter__(self) -> NoReturn:
        raise _left(
            "iterating over a tracked array", "np.unstack(x) gives its rows, tracked; x.values the plain array."
        )

    def __format__(self, form: str) -> str:
        if form:
            raise _left("a number of a tracked array as text")
        return str(self)

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise _left(
            "a rounded number of a tracked array", "np.round(x) is tracked; round(x.values.item()) is a plain number."
        )

    def __contains__(self, item: Any) -> NoReturn:
        raise _left("`in` a tracked array", "(x == item).any() is tracked; x.values is the plain array.")

    def __reduce__(self) -> NoReturn:
        raise _left("a pickle of a tracked array")


def _made_like(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TrackedArray:
    """``np.zeros(3, like=x)``: an array made of nothing; ``np.asarray(x, like=x)``: the cells of x."""
    if args and isinstance(args[0], TrackedArray) and not frozen_inputs((args[1:], kwargs)):
        return carried(args[0], function(args[0].shown, *args[1:], **kwargs), function.__name__)  # type: ignore[return-value]
    if frozen_inputs((args, kwargs)):
        raise without_rule(name_of(function))
    return constant(function(*args, **kwargs))


def _of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> TrackedArray:
    """A function of numpy's of tracked arrays."""
    made: TrackedArray = call_function(function, args, kwargs)
    return made


def _left(what: str, instead: str = "") -> NotTracedError:
    return NotTracedError(
        f"{what} would have no lineage",
        instead=instead
        or "Use numpy's functions and operators on it, which keep it; x.values is the plain array, without lineage. "
        "To write into a plain array, make it a tracked one first: forward_lineage.arrays.constant(array).",
    )


def constant(array: npt.ArrayLike) -> TrackedArray:
    """Make an array that is made of nothing, to write tracked cells into.

    Example:
        >>> x = track(np.arange(3.0), "x")
        >>> y = constant(np.zeros(5))
        >>> y[1:4] = x
        >>> backward(y, 1)["x"].indices()
        array([[0]])

    Args:
        array: its values are copied.

    """
    values = np.array(plain(array))
    return TrackedArray(values, Buffer(Node(values.shape, operation="constant")))
