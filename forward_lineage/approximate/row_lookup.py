"""Looking a tuple up in a table: in those of its files that may have it, else by Spark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.table_columns import Kinds
from forward_lineage.columns import files
from forward_lineage.columns.files import ID, Asked, Columns
from forward_lineage.columns.rows import rows_of
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted

_BATCH = 1 << 17


class RowLookup:
    """Finds a row that has some values.

    Args:
        tables: what is registered.

    """

    def __init__(self, tables: RegisteredTables) -> None:
        self._tables = tables

    def files(self, manifest: Manifest, kinds: Kinds) -> list[DataFile] | None:
        """Return the files that have rows, by the ids of these; None if files do not say what Spark reads."""
        return None if _plain(manifest, kinds) is None else _files(manifest)

    def of(
        self, manifest: Manifest, kinds: Kinds, values: Mapping[str, object], may: npt.NDArray[np.bool_] | None
    ) -> tuple[int | None, str]:
        """Return the id of a row that has some values, if there is one, and in words where it was looked for.

        Args:
            manifest: of the table.
            kinds: of the columns that are asked for, free or not.
            values: those that are not free, by column.
            may: for each file that has rows whether it may have such a row; None: each may.

        Raises:
            DamagedError: a file cannot be read.

        """
        columns = _plain(manifest, kinds)
        if columns is None:
            return self.by_spark(manifest, kinds, values), "looked up by Spark"
        there = _files(manifest)
        left = [file for place, file in enumerate(there) if may is None or may[place]]
        for count, file in enumerate(left, 1):
            row = _row_in(file, columns, values)
            if row is not None:
                return row, f"looked up in {count:,} of {len(there):,} files"
        return None, f"looked up in {len(left):,} of {len(there):,} files"

    def by_spark(self, manifest: Manifest, kinds: Kinds, values: Mapping[str, object]) -> int | None:
        """Return the id of a row that has some values, if there is one; a Spark job."""
        with spark_errors():
            rows = self._tables.spark.sql(f"SELECT * FROM {rows_of(self._tables.base_table(manifest))}")
            same = [F.col(quoted(kinds[name].name)) == F.lit(value) for name, value in values.items()]
            kept = rows.where(reduce(lambda one, other: one & other, same)) if same else rows
            found = kept.select(ID).limit(1).collect()
        return int(found[0][0]) if found else None


def _plain(manifest: Manifest, kinds: Kinds) -> Columns | None:
    """The columns in the table's own files, if these say what Spark reads: days may be of an old calendar."""
    if any(each.width or isinstance(each.kind, T.DateType | T.DecimalType) for each in kinds.values()):
        return None
    return files.as_they_stand(manifest, {name: Asked(each.name, each.kind, key=False) for name, each in kinds.items()})


def _files(manifest: Manifest) -> list[DataFile]:
    return sorted((file for file in manifest.files if file.rows), key=lambda file: file.offset)


def _row_in(file: DataFile, columns: Columns, values: Mapping[str, object]) -> int | None:
    """The id of the first row of a file that has some values."""
    if not values:
        return file.offset
    wanted, first = {columns[name][0]: (value, columns[name][1]) for name, value in values.items()}, file.offset
    with files.opened(file.path, []) as parquet:
        for batch in parquet.iter_batches(_BATCH, columns=list(wanted)):
            same = [_equal(batch.column(name), value, kind) for name, (value, kind) in wanted.items()]
            found = np.flatnonzero(pc.fill_null(reduce(pc.and_, same), False).to_numpy(zero_copy_only=False))
            if found.size:
                return first + int(found[0])
            first += batch.num_rows
    return None


def _equal(column: pa.Array, value: object, kind: pa.DataType) -> pa.Array:
    if isinstance(value, float):
        doubles = column.cast(pa.float64())
        return pc.is_nan(doubles) if math.isnan(value) else pc.equal(doubles, value)
    if pa.types.is_integer(kind):
        return pc.equal(column.cast(pa.int64()), value)
    return pc.equal(column, value)
