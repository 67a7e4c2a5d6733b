"""The values of expressions for every base row: keys as places among their different values, the rest as numbers.

Spark computes every expression, except a few that Arrow and numpy compute like Spark. These are a plain column of a
file, and sums and products of decimals whose type in Spark says that nothing is rounded. An expression over one column
is computed by Spark for that column's different values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.columns.files import opened
from forward_lineage.relations.groups import narrowest
from forward_lineage.views.encoding import numbers
from udafs.errors import NotTracedError

MOST_VALUES = 1 << 20
"""Of a key or attribute, different ones."""
Array = npt.NDArray[Any]
_BATCH = 1 << 17
_CODED = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_date32, pa.types.is_decimal128)
SUMMED = (pa.types.is_integer, pa.types.is_decimal128, pa.types.is_floating)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of few different values.

    Attributes:
        values: the different ones, ascending, NULL last if there is one.
        codes: for each row the place of its value.

    """

    values: pa.Array
    codes: Array


@dataclass(frozen=True, eq=False)
class Valued:
    """A column of numbers.

    Attributes:
        kind: its type, as Spark gives it.
        values: int64, of decimals unscaled, or float64; 0 where there is none.
        valid: whether there is a value; None: there always is.

    """

    kind: pa.DataType
    values: Array
    valid: npt.NDArray[np.bool_] | None

    @property
    def most(self) -> int:
        """The largest of all, whatever its sign; of integers and decimals."""
        return max(abs(int(self.values.min(initial=0))), abs(int(self.values.max(initial=0))))


@dataclass
class Places:
    """The different values of a column, numbered as they come."""

    kind: pa.DataType
    rows: int
    _known: dict[Any, int] = field(default_factory=dict)
    _at: int = 0

    def __post_init__(self) -> None:
        self._codes = np.empty(self.rows, np.int32)

    def add(self, values: pa.Array, rows: slice | Array | None = None) -> None:
        """Take the values of the next rows, or of those that are named."""
        found = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values, null_encoding="encode")
        local = found.dictionary.to_pylist()
        if len(self._known) + len(local) > 2 * MOST_VALUES:
            raise NotTracedError("a key or attribute has too many different values")
        places = np.array([self._known.setdefault(value, len(self._known)) for value in (*local, None)], np.int32)
        at = pc.fill_null(found.indices, len(local)) if found.indices.null_count else found.indices
        where = slice(self._at, self._at + len(values)) if rows is None else rows
        self._codes[where] = places[np.asarray(at.to_numpy(zero_copy_only=False))]
        self._at += len(values)

    def different(self) -> pa.Array:
        """The different values, in the order of their numbers."""
        return pa.array(list(self._known), self.kind)

    def coded(self, values: pa.Array | None = None) -> Coded:
        """Number the values in their order.

        Args:
            values: others in the place of the different ones: an expression of each.

        """
        given = self.different() if values is None else values
        distinct = given.unique()
        if len(distinct) > MOST_VALUES:
            raise NotTracedError("a key or attribute has too many different values")
        order = _order(distinct)
        ranked = distinct.take(pa.array(order))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        of_value = rank[np.asarray(pc.index_in(given, distinct).to_numpy(zero_copy_only=False)).astype(np.int64)]
        kind = narrowest(max(len(order) - 1, 0))
        codes = of_value.astype(kind)[self._codes] if len(of_value) else self._codes.astype(kind)
        return Coded(ranked, codes)

    def valued(self, values: pa.Array) -> Valued:
        """The value of each row, from the values for the different ones."""
        few = valued(values)
        valid = None if few.valid is None else few.valid[self._codes]
        return Valued(few.kind, few.values[self._codes], valid)


def check_coded(kind: pa.DataType, what: str) -> None:
    """Check that a type can be a key or an attribute.

    Raises:
        NotTracedError: equal to Spark is not what is equal here.

    """
    if not any(test(kind) for test in _CODED):
        raise NotTracedError(f"{what} is of type {kind}")


def check_summed(kind: pa.DataType, what: str) -> None:
    """Check that a type can be added up.

    Raises:
        NotTracedError: it cannot.

    """
    if not any(test(kind) for test in SUMMED):
        raise NotTracedError(f"{what} is of type {kind}")


def valued(column: pa.Array) -> Valued:
    """Take the numbers of a column.

    Raises:
        NotTracedError: a decimal does not fit into 64 bits.

    """
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False)) if column.null_count else None
    if pa.types.is_decimal128(column.type) and len(column):
        words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
        narrow = words[1::2] == words[::2] >> 63
        if not np.all(narrow if valid is None else narrow | ~valid):
            raise NotTracedError("decimals do not fit into 64 bits")
    return Valued(column.type, numbers(column, floats=pa.types.is_floating(column.type)), valid)


def combined(operator: str, left: Valued, right: Valued, kind: pa.DataType) -> Valued:
    """Compute ``+``, ``-`` or ``*`` of decimals.

    Raises:
        NotTracedError: Spark might round, or numbers leave 64 bits, or are no decimals.

    """
    rounds = NotTracedError("an expression may be rounded")
    if not all(pa.types.is_decimal128(each) for each in (left.kind, right.kind, kind)):
        raise rounds
    scales = left.kind.scale, right.kind.scale
    valid = left.valid if right.valid is None else right.valid if left.valid is None else left.valid & right.valid
    if operator == "*":
        if kind.scale != sum(scales) or left.most * right.most >= min(2**63, 10**kind.precision):
            raise rounds
        return Valued(kind, left.values * right.values, valid)
    if kind.scale != max(scales):
        raise rounds
    up = [10 ** (kind.scale - scale) for scale in scales]
    if left.most * up[0] + right.most * up[1] >= min(2**63, 10**kind.precision):
        raise rounds
    one, other = left.values * up[0], right.values * up[1]
    return Valued(kind, one + other if operator == "+" else one - other, valid)


def batches_of(files: Sequence[Path], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read columns of files, one file after the other, text as dictionaries.

    Raises:
        DamagedError: one cannot be read.

    """
    for path in files:
        with opened(path, []) as parquet:
            texts = [name for name in columns if _is_text(parquet.schema_arrow.field(name).type)]
        with opened(path, texts) as parquet:
            yield from parquet.iter_batches(_BATCH, columns=list(columns))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_string_view(kind))


def _order(values: pa.Array) -> npt.NDArray[np.int64]:
    """The order of different values as Spark compares them: text by its bytes; NULL last."""
    if pa.types.is_string(values.type):
        listed = values.to_pylist()
        order = sorted(range(len(listed)), key=lambda at: (listed[at] is None, (listed[at] or "").encode()))
        return np.array(order, np.int64)
    return np.asarray(pc.sort_indices(values).to_numpy(zero_copy_only=False)).astype(np.int64)
