"""A print of a value: equal prints say that nothing in the value has changed, as far as was looked, in bounded time.

A notebook's cell often changes a list or array in place, in a call that does not say so. Prints of before and after
show that. Looking at all of a large value would take longer than the cell, so each print has a budget. Past it, sizes
and the bytes at even distances are compared: a change between them does not show.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

Print = tuple[Any, ...]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_LONGEST = 100_000  # characters of a text that is its own print
_DEEPEST = 4
_SAMPLED = 256  # places of an array that is too large to read
_BYTES = 128  # of an array that cost as much as an element of a list


class Budget:
    """Elements that may still be looked at."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> bool:
        """Take some away; False if there are not so many."""
        if count > self.left:
            return False
        self.left -= count
        return True


def print_of(value: Any, budget: Budget, depth: int = 0) -> Print:
    """Return the print of a value.

    Args:
        value: anything.
        budget: how much may be looked at; what is used is taken from it.
        depth: how many containers it is in.

    Examples:
        >>> numbers = [1, 2]
        >>> before = print_of(numbers, Budget(100))
        >>> numbers.append(3)
        >>> before == print_of(numbers, Budget(100)), print_of(1, Budget(9)) == print_of(True, Budget(9))
        (False, False)

    """
    budget.left -= 1
    if isinstance(value, _PLAIN):
        return _plain(value)
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, FunctionType):
        return _of_function(value, budget, depth)
    looked = _looked_into(value, budget, depth) if depth < _DEEPEST and budget.left > 0 else None
    return looked or ("is", type(value).__name__, id(value))


def _looked_into(value: Any, budget: Budget, depth: int) -> Print | None:
    for kinds, read in _READ:
        if type(value) in kinds:
            return read(value, budget, depth)
    if isinstance(value, type) and value.__module__ == "__main__":
        own = {name: each for name, each in vars(value).items() if name not in ("__dict__", "__weakref__")}
        return ("class", value.__name__, *map(id, value.__bases__), *_dictionary(own, budget, depth))
    if type(value).__module__ == "__main__" and isinstance(getattr(value, "__dict__", None), dict):
        return ("object", id(type(value)), *_dictionary(vars(value), budget, depth))
    return _array(value, budget)


def tells(made: Print) -> bool:
    """Return whether equal prints of two values say that the values are equal, not only that they are one object."""
    return made[0] != "is" and all(tells(each) for each in made if isinstance(each, tuple) and each)


def _plain(value: Any) -> Print:
    if isinstance(value, str | bytes) and len(value) > _LONGEST:
        return ("long", len(value), hash(value))
    return (type(value).__name__, repr(value) if isinstance(value, float | complex | range | slice) else value)


def _sequence(value: Any, budget: Budget, depth: int) -> Print:
    if not budget.take(len(value)):
        return ("is", type(value).__name__, len(value), id(value))
    return (type(value).__name__, *_elements(value, budget, depth))


def _dictionary(value: dict[Any, Any], budget: Budget, depth: int) -> Print:
    if not budget.take(len(value)):
        return ("is", "dict", len(value), id(value))
    keys, values = tuple(value), tuple(value.values())
    return ("dict", _elements(keys, budget, depth), _elements(values, budget, depth))


def _elements(values: Sequence[Any], budget: Budget, depth: int) -> Print:
    """Print each of many values; of numbers or texts alone in one piece, as thousands of objects keep Python busy."""
    kinds = set(map(type, values))
    if kinds == {float}:
        budget.left -= len(values)
        return ("float", array("d", values).tobytes())
    if kinds in ({int}, {str}):
        budget.left -= len(values)
        return (kinds.pop().__name__, ("", *values))
    return ("each", *(print_of(each, budget, depth + 1) for each in values))


def _set(value: Any, budget: Budget, depth: int) -> Print:
    if not budget.take(len(value)):
        return ("is", type(value).__name__, len(value), id(value))
    return (type(value).__name__, frozenset(print_of(each, budget, depth + 1) for each in value))


_READ: tuple[tuple[tuple[type, ...], Callable[[Any, Budget, int], Print]], ...] = (
    ((list, tuple), _sequence),
    ((dict,), _dictionary),
    ((set, frozenset), _set),
)


def _array(value: Any, budget: Budget) -> Print | None:
    """Print an array of numpy, or a frame or series of pandas; None for anything else."""
    package = type(value).__module__.partition(".")[0]
    if package == "numpy" and hasattr(value, "tobytes") and hasattr(value, "shape"):
        return ("array", str(value.dtype), value.shape, _bytes(value, budget))
    if package == "pandas" and hasattr(value, "index"):
        names = tuple(map(str, getattr(value, "columns", ())))
        held = (_bytes(each, budget) for each in _columns(value))
        return ("pandas", value.shape, names, _index(value.index, budget), *held)
    return None


def _columns(value: Any) -> Iterable[Any]:
    """Yield the arrays of a frame or series; a series for each column would take longer than all the rest."""
    if getattr(value, "ndim", 2) == 1:
        return (value.array,)
    quick = getattr(value, "_iter_column_arrays", None)
    return quick() if quick is not None else (each.array for _, each in value.items())


def _index(index: Any, budget: Budget) -> Print:
    """Print an index; of one that only counts, its bounds, as its numbers are not there before somebody asks."""
    if type(index).__name__ == "RangeIndex":
        return ("range", index.start, index.stop, index.step)
    if type(index).__name__ == "MultiIndex":  # its tuples are not there before somebody asks, either
        return ("levels", *(("is", id(each)) for each in index.levels), *(_bytes(each, budget) for each in index.codes))
    return _bytes(index.array, budget)


def _bytes(array: Any, budget: Budget) -> Print:
    """Print an array of numpy's or pandas'. Of pandas' it is hashes, since its elements are made when they are read."""
    if type(array).__name__ in ("NumpyExtensionArray", "PandasArray"):
        array = array.to_numpy()  # what it is a shell of
    whole = budget.take(1 + array.nbytes // _BYTES)
    if not whole and array.ndim:
        array = array[:: max(1, array.shape[0] // _SAMPLED)]  # a view: nothing is copied
        array = array.reshape(array.shape[0], -1)[:, :16] if array.ndim > 1 else array
    if not hasattr(array, "tobytes"):
        try:
            array = sys.modules["pandas"].util.hash_array(array)
        except (TypeError, ValueError, NotImplementedError):  # an array of another package's, such as of shapes
            return ("is", type(array).__name__, len(array))
    if array.dtype.hasobject:
        return ("is", *map(id, array.reshape(-1)[:_SAMPLED].tolist()))
    held = array.reshape(-1).view("u1") if array.flags.c_contiguous and array.size else array.tobytes()
    return ("bytes" if whole else "is", zlib.crc32(held))


def _of_function(value: FunctionType, budget: Budget, depth: int) -> Print:
    """A function that was defined again, the same, is the same: code and defaults, not the line where it stands."""
    held = (value.__defaults__, value.__kwdefaults__, *(_contents(each) for each in value.__closure__ or ()))
    return ("function", _code(value.__code__), *(print_of(each, budget, depth + 1) for each in held))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _code(code: CodeType) -> Print:
    constants = tuple(
        _code(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts
    )
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
