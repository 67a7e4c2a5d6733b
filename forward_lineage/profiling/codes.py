"""An attribute as numbers: which of its different values does each row have?   [Smoke, §6.5.2, Q_ug,attr]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.relations.groups import narrowest
from udafs.errors import NotTracedError

Array = npt.NDArray[np.integer]
Known = npt.NDArray[np.bool_] | None
"""For each row whether it is compared; None: all are."""

#: The numbers of two attributes are put into one of 64 bits.
MOST_ROWS = 2**30
_TEXT_LIMIT = 2**31 - 1
_DENSE_ENOUGH = 4


@dataclass(frozen=True, eq=False)
class Codes:
    """The values of an attribute.

    Attributes:
        codes: for each row the number of its value, of the narrowest unsigned type; `len(values)` for NULL.
        values: the different ones, NULL not among them, numbered from 0.

    """

    codes: Array
    values: pa.Array

    @property
    def count(self) -> int:
        """How many numbers there are, that of NULL included."""
        return len(self.values) + 1

    def known(self) -> Known:
        """For each row whether it has a value."""
        known = self.codes != len(self.values)
        return None if bool(known.all()) else known

    def shown(self, codes: Array) -> pa.Array:
        """Return the values of some numbers, NULL for its number."""
        null = np.asarray(codes) == len(self.values)
        return self.values.take(pa.array(np.where(null, 0, codes).astype(np.int64), mask=null))


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by the values of several attributes.

    Attributes:
        of: the group of each row, from 0.
        count: numbers of groups are below; some may have no row.
        known: which rows are in a group.

    """

    of: Array
    count: int
    known: Known


def encoded(column: pa.ChunkedArray) -> Codes:
    """Number the different values of a column, in the order in which they come.

    Args:
        column: its values, row after row; those that are one to Spark are equal but for zeros and NaN.

    """
    if pa.types.is_floating(column.type):
        floats = _encoded(pa.chunked_array([_bits(chunk) for chunk in column.chunks], pa.int64()))
        values = floats.values.to_numpy().view(np.float64)
        return Codes(floats.codes, pa.array(values).cast(column.type))
    return _encoded(column)


def _encoded(column: pa.ChunkedArray) -> Codes:
    if not pa.types.is_dictionary(column.type):
        listed = pa.concat_arrays([*column.chunks, pa.array([], column.type)]).dictionary_encode()
        count = len(listed.dictionary)
        return Codes(_numbers(listed, np.arange(count), count), listed.dictionary)
    listed = _joined([chunk.dictionary for chunk in column.chunks], column.type.value_type).dictionary_encode()
    codes = np.empty(len(column), narrowest(len(listed.dictionary)))
    row = seen = 0
    for chunk in column.chunks:  # each brings a dictionary of its own
        number = listed.indices[seen : seen + len(chunk.dictionary)].to_numpy()
        codes[row : row + len(chunk)] = _numbers(chunk, number, len(listed.dictionary))
        row, seen = row + len(chunk), seen + len(chunk.dictionary)
    return Codes(codes, listed.dictionary)


def _numbers(chunk: pa.DictionaryArray, number: npt.NDArray[Any], null: int) -> Array:
    """The number of the value of each row, given that of each value in the dictionary, and that of NULL."""
    numbers = np.append(number, null).astype(narrowest(null))
    at = pc.fill_null(chunk.indices, number.size) if chunk.null_count else chunk.indices
    found: Array = numbers[at.to_numpy(zero_copy_only=False)]
    return found


def _joined(dictionaries: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    if kind == pa.string() and sum(each.nbytes for each in dictionaries) > _TEXT_LIMIT:
        kind = pa.large_string()
    return pa.concat_arrays([pa.array([], kind), *(each.cast(kind) for each in dictionaries)])


def _bits(values: pa.Array) -> pa.Array:
    """Floats as integers that are equal where the floats are: −0.0 is 0.0, and every NaN the same."""
    floats = np.asarray(pc.fill_null(values, 0).to_numpy(zero_copy_only=False)).astype(np.float64) + 0.0
    floats[np.isnan(floats)] = np.nan
    null = np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    return pa.array(floats.view(np.int64), mask=null)


def grouped(columns: Sequence[Codes], *, nulls_equal: bool) -> Groups:
    """Put rows into groups that agree on all attributes.

    Args:
        columns: at least one.
        nulls_equal: whether NULL is a value like others; else rows with one are in no group.

    """
    known: Known = None
    if not nulls_equal:
        for column in columns:
            known = both(known, column.known())
    of, count = columns[0].codes, columns[0].count
    for column in columns[1:]:
        of = of.astype(np.int64) * column.count + column.codes
        count *= column.count
        if count > _DENSE_ENOUGH * max(of.size, 1):
            listed = pa.array(of).dictionary_encode()
            of, count = listed.indices.to_numpy(), len(listed.dictionary)
    return Groups(of, count, known)


def both(one: Known, other: Known) -> Known:
    """Return the rows that are compared by both."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def checked_rows(rows: int, table: str) -> int:
    """Return how many rows there are.

    Raises:
        NotTracedError: too many.

    """
    if rows > MOST_ROWS:
        raise NotTracedError(f"{table} has {rows:,} rows, {MOST_ROWS:,} are the most", instead="Register a part of it.")
    return rows
