"""Sets as sorted arrays: int64, strictly ascending, so that every operation is a pass or two of numpy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from udafs.delta import MAX_ID, Ids
from udafs.errors import BadArgumentError

_WHAT_IDS_ARE = f"Give integers from 0 to {MAX_ID}, in any order."


def from_any(ids: Iterable[int] | npt.NDArray[np.integer]) -> Ids:
    """Some ids checked, sorted, each once, as an array of its own.

    Raises:
        BadArgumentError: an id is negative, above 2^63 − 1, or not an integer.

    """
    array = _as_array(ids)
    if not array.size:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _not_ids(array)
    if array.dtype.kind == "u" and int(array.max()) > MAX_ID:
        raise BadArgumentError(f"a row id beyond {MAX_ID}: {int(array.max())}", instead=_WHAT_IDS_ARE)
    unique = sorted_distinct(array.astype(np.int64))
    if unique[0] < 0:
        raise BadArgumentError(f"a negative row id: {int(unique[0])}", instead=_WHAT_IDS_ARE)
    return unique


def _as_array(ids: Iterable[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.generic]:
    try:
        return np.asarray(ids if isinstance(ids, np.ndarray | list | tuple) else list(ids))
    except OverflowError as error:
        raise BadArgumentError(f"a row id beyond {MAX_ID}", instead=_WHAT_IDS_ARE) from error


def _not_ids(array: npt.NDArray[np.generic]) -> BadArgumentError:
    found = f"{array.dtype} of {array.ndim} dimensions"
    if array.dtype.kind in "fO" and array.ndim == 1:
        # Python integers beyond 64 bits make numpy choose float64 or object.
        return BadArgumentError(
            f"row ids are integers from 0 to {MAX_ID}, found {array.tolist()[0]!r} …", instead=_WHAT_IDS_ARE
        )
    return BadArgumentError(f"row ids are one-dimensional integers, found {found}", instead=_WHAT_IDS_ARE)


def sorted_distinct(numbers: Ids) -> Ids:
    """Numbers in ascending order, each once: what `np.unique` does by hashing, many times as slow."""
    if np.all(numbers[1:] > numbers[:-1]):
        return numbers
    return _distinct(np.sort(numbers))


def _distinct(ids: Ids) -> Ids:
    """Of ascending ids, each once."""
    keep = np.ones(ids.size, bool)
    np.not_equal(ids[1:], ids[:-1], out=keep[1:])
    return ids[keep]


def union(first: Ids, second: Ids) -> Ids:
    """The ids of either."""
    # The stable sort finds the two ascending runs and merges them.
    return _distinct(np.sort(np.concatenate([first, second]), kind="stable"))


def intersection(first: Ids, second: Ids) -> Ids:
    """The ids of both."""
    both: Ids = np.intersect1d(first, second, assume_unique=True)
    return both


def difference(first: Ids, second: Ids) -> Ids:
    """The ids of the first that the second has not."""
    if not second.size:
        return first
    at = np.searchsorted(second, first)
    at[at == second.size] = 0
    alone: Ids = first[second[at] != first]
    return alone


def symmetric_difference(first: Ids, second: Ids) -> Ids:
    """The ids of one of the two only."""
    alone: Ids = np.setxor1d(first, second, assume_unique=True)
    return alone


def bit_length(ids: Ids) -> int:
    """How many bits the largest takes."""
    return int(ids[-1]).bit_length() if ids.size else 0
