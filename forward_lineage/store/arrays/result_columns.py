"""Columns of a saved result as a matrix of numbers, one row for each of its rows: exact, or refused with the cast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.catalog import no_such_column
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError, NotTracedError

_EXACT = 1 << 53
"""Integers beyond this are not all numbers of 64 bits with a floating point."""
_INTEGERS = {"tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}
_NUMPY = {**_INTEGERS, "boolean": np.bool_, "float": np.float32, "double": np.float64}
_CASTS = {"date": "unix_date({})", "timestamp": "unix_micros({})"}


def matrix_of(saved: SavedResult, columns: Sequence[str] | None) -> npt.NDArray[np.generic]:
    """Return columns of a result as an array of shape (rows, columns), in the order of its files.

    NULL is NaN in a column of floating-point numbers. The type is the one that holds all columns.

    Args:
        saved: the result.
        columns: their names, in order; None: all.

    Raises:
        BadArgumentError: there is no such column, or none is asked for.
        NotTracedError: a column has no numbers, or NULL where an integer or truth value must be, or an integer that the
            common type does not hold.
        DamagedError: a file is missing or damaged.

    """
    kinds = _chosen(saved, columns)
    for name, kind in kinds.items():
        if kind not in _NUMPY:
            cast = _CASTS.get(kind, "CAST({} AS DOUBLE)").format(f"`{name}`")
            raise NotTracedError(
                f"column {name} of {saved.name} is {kind}, and no type of numpy's numbers",
                instead=f"Save it as a number: {cast} AS `{name}`.",
            )
    if saved.rows and not saved.row_files:
        raise NotTracedError(f"an earlier release saved {saved.name}", instead="Save it again.")
    check_row_files(saved)
    found = np.empty((saved.rows, len(kinds)), np.result_type(*(_NUMPY[kind] for kind in kinds.values())))
    place = 0
    for file in saved.row_files:
        read = pq.read_table(saved.folder / file.path, columns=list(kinds), partitioning=None)
        for column, name in enumerate(kinds):
            found[place : place + file.rows, column] = _values(read.column(name), name, found.dtype)
        place += file.rows
    return found


def _chosen(saved: SavedResult, columns: Sequence[str] | None) -> dict[str, str]:
    """The columns that are asked for, as the result writes them, and their types."""
    if isinstance(columns, str) or (columns is not None and not columns):
        raise BadArgumentError("columns= is a list of names", instead='Write columns=["age", "spend"].')
    known = {name.lower(): (name, kind) for name, kind in saved.columns}
    found = {}
    for name in [name for name, _ in saved.columns] if columns is None else columns:
        if name.lower() not in known:
            raise no_such_column(saved.name, name, [each for each, _ in saved.columns])
        found[known[name.lower()][0]] = known[name.lower()][1]
    if columns is not None and len(found) < len(columns):
        raise BadArgumentError("columns= names a column twice", instead="Name each once.")
    return found


def _values(column: pa.ChunkedArray, name: str, into: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy())  # NULL is NaN there
    if column.null_count:
        raise NotTracedError(
            f"column {name} is {column.type} and has {column.null_count} NULLs, which no number of its type stands for",
            instead=f"Save CAST(`{name}` AS DOUBLE) AS `{name}`, where NULL is NaN; or leave the rows out.",
        )
    values = np.asarray(column.to_numpy())
    if into.kind == "f" and values.dtype == np.int64 and np.any((values > _EXACT) | (values < -_EXACT)):
        raise NotTracedError(
            f"column {name} has integers that numbers with a floating point, as other columns have, do not hold",
            instead=f"Save CAST(`{name}` AS DOUBLE) AS `{name}`, or make an array of its own of it.",
        )
    return values
