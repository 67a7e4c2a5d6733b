"""From columns of keys to numbers of bars, a batch at a time, and from columns of values to numbers.

Keys come in a form in which Arrow and Spark's GROUP BY agree on equality: integers, strings, truth values. Values of
another type were made one of these by Spark (`Question.keys`). NULL is a key like others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.views.membership import Array
from udafs.errors import NotTracedError

_LOOKED_UP = 1 << 22  # a table of so many numbers is rather made than searched
#: Where the numbers of several keys are added up, one that is not among the bars leaves any sum below zero.
_UNKNOWN = -(1 << 56)
_MOST_CELLS = 1 << 55


class Keys:
    """The bars of a view by their keys.

    The place of a combination of keys is a sum, of one number for each of them; a bar is found by its place.

    Args:
        keys: for each key the values of all bars; no two bars have the same ones.

    """

    def __init__(self, keys: Sequence[pa.Array]) -> None:
        self._columns: list[_Column] = []
        cells, self._bars = 1, len(keys[0])
        for values in keys:
            different = pc.unique(values)
            self._columns.append(_Column(different, cells))
            cells *= max(len(different), 1)
            if cells > _MOST_CELLS:
                raise NotTracedError("a view with too many keys", instead="Group by fewer.")
        places = self._places(keys)
        self._order = np.argsort(places, kind="stable")
        self._sorted = places[self._order]
        self._table: Array | None = None
        if cells <= _LOOKED_UP:
            self._table = np.full(cells + 1, -1, np.int32)  # the last one is found at -1
            self._table[places] = np.arange(self._bars)

    @property
    def distinct(self) -> bool:
        """Whether no two bars have the same keys."""
        return not np.any(np.diff(self._sorted) == 0)

    def bars(self, keys: Sequence[pa.Array]) -> Array:
        """Return the number of the bar of each row, −1 where there is none."""
        places = np.maximum(self._places(keys), -1)
        if len(keys) == 1:  # bars are numbered in the order of their only key
            return places
        if self._table is not None:
            return self._table[places]
        if not self._bars:
            return places
        at = np.minimum(np.searchsorted(self._sorted, places), self._bars - 1)
        return np.where(self._sorted[at] == places, self._order[at], -1)

    def _places(self, keys: Sequence[pa.Array]) -> Array:
        first, *others = (column.numbers(values) for column, values in zip(self._columns, keys, strict=True))
        for each in others:
            first += each
        return first


class _Column:
    """The different values of one key, numbered.

    Args:
        values: them.
        stride: by how much the numbers of two neighbours differ.

    """

    def __init__(self, values: pa.Array, stride: int) -> None:
        self._values = values
        self._numbers = np.append(stride * np.arange(len(values)), _UNKNOWN)  # what is not there is found at -1
        self._table: Array | None = None
        known = values.drop_null()
        if pa.types.is_integer(values.type) and len(known):
            ends = pc.min_max(known).as_py()
            self._first, self._size = ends["min"], ends["max"] - ends["min"] + 1
            if self._size <= _LOOKED_UP:
                self._table = np.full(self._size + 1, _UNKNOWN)  # what is out of reach is found behind all others
                there = np.flatnonzero(np.asarray(values.is_valid().to_numpy(zero_copy_only=False)))
                self._table[known.to_numpy().astype(np.int64) - self._first] = self._numbers[there]

    def numbers(self, values: pa.Array) -> Array:
        """Return the number of each value, far below zero of one that is not among them."""
        if self._table is not None and not values.null_count:
            away = np.asarray(values.to_numpy(zero_copy_only=False)).astype(np.int64)
            away -= self._first
            at = np.minimum(away.view(np.uint64), np.uint64(self._size))  # below the first is far away, too
            return np.take(self._table, at.view(np.int64))
        if pa.types.is_dictionary(values.type):  # each different value is looked for once
            found = self._found(pa.concat_arrays([values.dictionary, pa.nulls(1, values.dictionary.type)]))
            null = len(values.dictionary)
            at = pc.fill_null(values.indices, null) if values.null_count else values.indices
            return np.take(found, np.asarray(at.to_numpy(zero_copy_only=False)))
        return self._found(values)

    def _found(self, values: pa.Array) -> Array:
        at = pc.fill_null(pc.index_in(values, self._values), -1)
        found: Array = self._numbers[np.asarray(at.to_numpy(zero_copy_only=False))]
        return found


def numbers(values: pa.Array, *, floats: bool) -> npt.NDArray[Any]:
    """Return values as int64, of decimals the unscaled ones, or as float64; 0 where there is none.

    Args:
        values: a column of integers, decimals or floats; unscaled, they fit into 64 bits.
        floats: whether they are floats.

    """
    if pa.types.is_decimal128(values.type):
        pairs = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
        return np.where(np.asarray(values.is_valid().to_numpy(zero_copy_only=False)), pairs[::2], 0)
    filled = pc.fill_null(values, 0) if values.null_count else values
    return np.asarray(filled.to_numpy(zero_copy_only=False)).astype(np.float64 if floats else np.int64)
