"""The rows of a saved result whose keys are among some, found in its files: no statement of Spark has to run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forward_lineage.relations.relation import Numbers
from forward_lineage.store.library.saved_result import SavedResult
from udafs.lineage_set import LineageSet

MOST_ROWS = 10_000_000
"""Of a result that is looked through here; Spark looks through larger ones."""


def rows_with_keys(saved: SavedResult, columns: Sequence[int], keys: pa.Table) -> LineageSet | None:
    """Return the numbers of the rows whose keys are among some; NULL is equal to NULL.

    Args:
        saved: a version of a result, in files of this machine.
        columns: the places of the keys among its columns.
        keys: some keys, in columns in the same order.

    Returns:
        the numbers; None: the result is too large, or Arrow cannot compare these types.

    """
    if saved.rows > MOST_ROWS:
        return None
    found = [np.empty(0, np.int64)]
    for file in saved.row_files:
        table = pq.ParquetFile(saved.folder / file.path)
        rows = table.read([table.schema_arrow.names[column] for column in columns])
        try:
            found.append(np.flatnonzero(among(rows, keys)) + file.first_row)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return None
    return LineageSet(np.concatenate(found))


def among(rows: pa.Table, keys: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell for each row whether it is among the keys, which have the same columns; NULL is equal to NULL."""
    # Column by column: the place, among the keys, of what was read so far.
    place, places = np.zeros(rows.num_rows, np.int64), np.zeros(keys.num_rows, np.int64)
    known = 1
    for column, wanted in zip(rows.columns, keys.columns, strict=True):
        values = wanted.cast(column.type).combine_chunks().unique()
        here = place * (len(values) + 1) + _places(column, values)
        different, places = np.unique(
            places * (len(values) + 1) + _places(wanted.cast(column.type), values), return_inverse=True
        )
        known = different.size
        at = np.searchsorted(different, here)
        place = np.where(different[np.minimum(at, known - 1)] == here, at, known)
    return place < known


def _places(column: pa.ChunkedArray, values: pa.Array) -> Numbers:
    """Return the place of each value among some; behind the last one for others."""
    places: Numbers = pc.fill_null(pc.index_in(column, value_set=values), len(values)).to_numpy().astype(np.int64)
    return places
