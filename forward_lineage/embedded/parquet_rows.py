"""Rows of Parquet files as Spark reads them, by Arrow: columns of types that both read alike, counted from 0 in a file.

Columns that a folder's name gives are read from it (`partition_values`). Files that Spark might read in another way
raise `NeedsSpark`: files of several schemas, and days of the old calendar. CHAR and collations that are noted in a file
do so, too.   [Spark 4: ParquetFileFormat, ParquetSchemaConverter, DataSourceUtils.datetimeRebaseSpec]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.partition_values import partition_values

Places = npt.NDArray[np.int64]
_SPARKS_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NOTED = (b"__CHAR_VARCHAR_TYPE_STRING", b"__COLLATIONS", b"EXISTS_DEFAULT")
_NEW_CALENDAR = date(1600, 1, 1)
_PLAIN = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}


@dataclass(frozen=True)
class DataFileRows:
    """A file of rows.

    Attributes:
        path: of it.
        rows: how many it is known to have.
        first: the number of its first row, in whatever its rows are counted by.
        root: the folder of the table, below which names of folders are values of columns; None: there is none.

    """

    path: str
    rows: int
    first: int
    root: str | None = None

    def batches(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Yield the columns of a group of rows after another, each with the place of its first row in the file.

        Raises:
            NeedsSpark: Spark may read other values, or the file cannot be read.

        """
        with self._opened(columns) as (file, given):
            at = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                yield at, _arrays(file, group, columns, given)
                at += rows

    def picked(self, places: Places, columns: Mapping[str, pa.DataType]) -> pa.Table:
        """Return rows by their places in the file, ascending; only the groups of rows that have some are read.

        Raises:
            NeedsSpark: as for `batches`.

        """
        schema = pa.schema(list(columns.items()))
        parts = [schema.empty_table()]
        with self._opened(columns) as (file, given):
            at = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                mine = places[(places >= at) & (places < at + rows)] - at
                if mine.size:
                    found = _arrays(file, group, columns, given)
                    arrays = [found[name].take(pa.array(mine)) for name in columns]
                    parts.append(pa.table(arrays, schema=schema))
                at += rows
        return pa.concat_tables(parts)

    @contextmanager
    def _opened(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[pq.ParquetFile, Mapping[str, pa.Scalar]]]:
        try:
            with pq.ParquetFile(self.path) as file:
                given = partition_values(self.path, self.root, columns)
                self._check(file, columns, given)
                yield file, given
        except (OSError, pa.ArrowException) as error:
            raise NeedsSpark(f"{self.path}, which cannot be read here: {error}") from None

    def _check(self, file: pq.ParquetFile, columns: Mapping[str, pa.DataType], given: Mapping[str, pa.Scalar]) -> None:
        if file.metadata.num_rows != self.rows:
            raise NeedsSpark(f"{self.path} has {file.metadata.num_rows} rows, not {self.rows}")
        noted = (file.metadata.metadata or {}).get(_SPARKS_SCHEMA, b"")
        if any(word in noted for word in _NOTED):
            raise NeedsSpark(f"{self.path}, which notes more of its columns than their types")
        schema = file.schema_arrow
        names = [name.lower() for name in schema.names]
        for name, kind in columns.items():
            if name in given:
                if name.lower() in names:
                    raise NeedsSpark(f"{self.path}, which has the column {name} of a folder, too")
                continue
            if name not in schema.names or names.count(name.lower()) > 1:
                raise NeedsSpark(f"{self.path}, which has no column {name} or several")
            if _plain(schema.field(name).type) != kind:
                raise NeedsSpark(f"{name} in {self.path}, a {schema.field(name).type}")


def concatenated(tables: Sequence[pa.Table], columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the rows of tables one after another, if there are none a table without rows."""
    return pa.concat_tables([pa.schema(list(columns.items())).empty_table(), *tables])


def _arrays(
    file: pq.ParquetFile, group: int, columns: Mapping[str, pa.DataType], given: Mapping[str, pa.Scalar]
) -> dict[str, pa.Array]:
    rows = file.metadata.row_group(group).num_rows
    inside = [name for name in columns if name not in given]
    read = file.read_row_group(group, columns=inside) if inside else None
    found = {name: pa.repeat(value, rows) for name, value in given.items()}
    return found | {name: _array(read, name, columns[name]) for name in inside if read is not None}


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _PLAIN.get(kind, kind)


def _array(read: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    column = read.column(name)
    if column.type != kind:
        column = column.cast(kind)
    found = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(found, pa.ChunkedArray):  # more text than one array holds
        raise NeedsSpark(f"{name}, whose values are too long")
    if pa.types.is_date32(kind):
        first = pc.min(found).as_py()
        if first is not None and first < _NEW_CALENDAR:
            raise NeedsSpark(f"{name}, which has days of an old calendar")
    return found
