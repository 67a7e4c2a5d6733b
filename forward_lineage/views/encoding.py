"""From columns of keys to numbers of bars, a batch at a time, and from columns of values to numbers.

Keys come in a form in which equal to Arrow is what is equal to Spark's GROUP BY: integers, strings, truth values; what
has another type was made one of these by Spark (`capture.encoded`). NULL is a key like others.
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


class Keys:
    """The bars of a view by their keys.

    Args:
        keys: for each key the values of all bars; no two bars have the same ones.

    """

    def __init__(self, keys: Sequence[pa.Array]) -> None:
        self._columns = [_Column(pc.unique(values)) for values in keys]
        self._bars = len(keys[0])
        self._strides = np.cumprod([1, *(column.size for column in self._columns)])[:-1]
        # As Python's integers: the product of many keys may leave 64 bits.
        self._cells = int(np.prod([column.size for column in self._columns], dtype=object))
        if self._cells >= 2**62:
            raise NotTracedError("a view with too many keys", instead="Group by fewer.")
        places = self._places(keys)
        self._order = np.argsort(places, kind="stable")
        self._sorted = places[self._order]
        self._table: Array | None = None
        if self._cells <= _LOOKED_UP:
            self._table = np.full(self._cells, -1, np.int64)
            self._table[places] = np.arange(self._bars)

    @property
    def distinct(self) -> bool:
        """Whether no two bars have the same keys."""
        return not np.any(np.diff(self._sorted) == 0)

    def bars(self, keys: Sequence[pa.Array]) -> Array:
        """Return the number of the bar of each row, −1 where there is none."""
        places = self._places(keys)
        if not self._bars:
            return np.full(places.size, -1)
        if self._table is not None:
            found = self._table[np.maximum(places, 0)]
        else:
            at = np.minimum(np.searchsorted(self._sorted, places), self._bars - 1)
            found = np.where(self._sorted[at] == places, self._order[at], -1)
        found[places < 0] = -1
        return found

    def _places(self, keys: Sequence[pa.Array]) -> Array:
        place = np.zeros(len(keys[0]), np.int64)
        unknown = np.zeros(len(keys[0]), np.bool_)
        for column, stride, values in zip(self._columns, self._strides.tolist(), keys, strict=True):
            number = column.numbered(values)
            unknown |= number < 0
            place += stride * number
        place[unknown] = -1
        return place


class _Column:
    """The different values of one key, numbered."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        self.size = max(len(values), 1)
        self._table: Array | None = None
        known = values.drop_null()
        if pa.types.is_integer(values.type) and len(known):
            ends = pc.min_max(known).as_py()
            self._first, self._last = ends["min"], ends["max"]
            if self._last - self._first < _LOOKED_UP:
                self._table = np.full(self._last - self._first + 1, -1, np.int64)
                there = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
                self._table[known.to_numpy().astype(np.int64) - self._first] = np.flatnonzero(there)

    def numbered(self, values: pa.Array) -> Array:
        """Return the number of each value, −1 of one that is not among them."""
        if self._table is not None and not values.null_count:
            looked_up = np.asarray(values.to_numpy(zero_copy_only=False)).astype(np.int64)
            inside = (looked_up >= self._first) & (looked_up <= self._last)
            return np.where(inside, self._table[np.where(inside, looked_up - self._first, 0)], -1)
        if pa.types.is_dictionary(values.type):  # each different value is looked for once
            found = pc.take(pc.index_in(values.dictionary, self._values), values.indices)
            null = pc.index_in(pa.nulls(1, self._values.type), self._values)[0]
            found = pc.if_else(values.indices.is_valid(), found, null)
        else:
            found = pc.index_in(values, self._values)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False)).astype(np.int64)


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
