"""Rows as functions of Python are given them, of pandas or Arrow: lineage taken off, and put on.

Columns of lineage are the last ones. The output of a function is left unchanged if it is no frame at all, or has no
column: Spark says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

Sets: TypeAlias = pa.Array
"""A column of lineage values, large_binary; NULL: the value before it in the partition holds."""


class Batches(Protocol):
    """How a kind of frame is taken apart and put together."""

    def split(self, rows: Any, columns: int) -> tuple[Any, list[Sets]]:
        """Return the first columns as a frame of their own, and the others, which are lineage."""

    def joined(self, rows: Any, names: Sequence[str], sets: Sequence[Sets], columns: int) -> Any:
        """Return a frame with lineage behind the columns that its schema has, so many; others stay behind it."""

    def places_changed(self, rows: Any) -> bool:
        """Say whether a frame knows that its rows are not in the order in which the function was given them."""


class ArrowBatches:
    """Record batches and tables of Arrow."""

    def __init__(self) -> None:
        self._type = pa.binary()  # of lineage as Spark has it, which a setting may make another

    def split(self, rows: Any, columns: int) -> tuple[Any, list[Sets]]:
        """Return the first columns as a frame of their own, and the others, which are lineage."""
        if rows.num_columns > columns:
            self._type = rows.schema.field(columns).type
        sets = [_one_array(rows.column(place)) for place in range(columns, rows.num_columns)]
        return rows.select(list(range(columns))), sets

    def joined(self, rows: Any, names: Sequence[str], sets: Sequence[Sets], columns: int) -> Any:
        """Return a frame with lineage behind the columns that its schema has, so many; others stay behind it."""
        if not isinstance(rows, pa.Table | pa.RecordBatch) or not rows.num_columns:
            return rows
        for name, values in zip(names, sets, strict=True):
            rows = rows.append_column(name, values.cast(self._type))
        return rows

    def places_changed(self, rows: Any) -> bool:
        """Say whether a frame knows that its rows are not in the order in which the function was given them.

        Arrow has nothing that says so.
        """
        return False


class PandasBatches:
    """Data frames of pandas."""

    def split(self, rows: Any, columns: int) -> tuple[Any, list[Sets]]:
        """Return the first columns as a frame of their own, and the others, which are lineage.

        The frame itself is given on, so that it is nobody's copy or view.
        """
        hidden = [rows.pop(name) for name in list(rows.columns[columns:])]
        return rows, [pa.array(values, pa.large_binary(), from_pandas=True) for values in hidden]

    def joined(self, rows: Any, names: Sequence[str], sets: Sequence[Sets], columns: int) -> Any:
        """Return a frame with lineage behind the columns that its schema has, so many; others stay behind it.

        Spark takes columns by name where one of them is a text, else by place.
        """
        if not hasattr(rows, "columns") or not len(rows.columns):
            return rows
        by_name = any(isinstance(each, str) for each in rows.columns)
        made = rows.copy(deep=False)
        for place, (name, values) in enumerate(zip(names, sets, strict=True)):
            label = name if by_name else -1 - place
            made.insert(min(columns, len(rows.columns)) + place, label, np.array(values.to_pylist(), np.object_))
        return made

    def places_changed(self, rows: Any) -> bool:
        """Say whether a frame knows that its rows are not in the order in which the function was given them.

        Pandas numbers the rows of a batch, and these numbers go with them when they are sorted.
        """
        index = getattr(rows, "index", None)
        if index is None or index.name is not None or getattr(index.dtype, "kind", "") != "i":
            return False
        return bool(index.is_unique and not index.is_monotonic_increasing)


def _one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return whole.cast(pa.large_binary())
