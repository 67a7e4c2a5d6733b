"""The rows of a table: from its own Parquet files where they will do, else as Spark computes them.

Rows are counted from 0 in the order of their ids, whichever way they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.own_parquet import write_parquet
from udafs.errors import DamagedError

Ids = npt.NDArray[np.int64]
Batch = tuple[slice | npt.NDArray[np.integer], Mapping[str, pa.Array]]
"""Which rows, counted from 0 in the order of their ids, and columns by the names under which they were asked for."""

_BATCH = 1 << 17
#: Types that Arrow reads from a file as Spark does, in the Arrow type that says so.
_AS_IT_STANDS: dict[type[T.DataType], pa.DataType] = {
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.StringType: pa.string(),
    T.BooleanType: pa.bool_(),
    T.DateType: pa.date32(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
}
_KEYS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.StringType, T.BooleanType, T.DateType)
#: The column of ids in files that Spark wrote for us.
ID = "__dl_row_id"


class Asked(NamedTuple):
    """A column that is to be read.

    Attributes:
        column: of the table; None: an expression, which files do not have.
        kind: what Spark says of its type.
        key: whether its values are compared, and not only added up.

    """

    column: str | None
    kind: T.DataType
    key: bool = True


Columns = Mapping[str, tuple[str, pa.DataType]]
"""For each name under which it was asked for the column of the files that it is, and its type."""


def as_they_stand(manifest: Manifest, wanted: Mapping[str, Asked]) -> Columns | None:
    """Return which columns of a table's files are wanted; None where files do not say it all.

    Args:
        manifest: the table.
        wanted: columns of it.

    """
    if not manifest.provider.by_position or not manifest.files or not manifest.near:
        return None
    names = {name.lower(): name for name, _ in manifest.columns}
    if len(names) < len(manifest.columns):  # `a` and `A`: Spark's settings say which is meant
        return None
    found: dict[str, tuple[str, pa.DataType]] = {}
    for name, (column, kind, key) in wanted.items():
        arrow = _arrow_type(kind, key=key)
        if arrow is None or column is None or column.lower() not in names or is_of_folders(manifest, column):
            return None
        found[name] = names[column.lower()], arrow
    return found if all(_has(file.path, found) for file in manifest.files) else None


def ids_by_position(manifest: Manifest) -> tuple[Ids | None, int]:
    """Return the ids of a table's rows, ascending, None if they are 0, 1, 2, …; and how many there are."""
    files = sorted((file.offset, file.rows) for file in manifest.files if file.rows)
    rows = sum(count for _, count in files)
    if not files or files[-1][0] + files[-1][1] == rows:
        return None, rows
    return np.concatenate([np.arange(first, first + count) for first, count in files]), rows


def of_files(manifest: Manifest, columns: Columns) -> Iterator[Batch]:
    """Read the files of a table, in the order of its ids.

    Raises:
        DamagedError: one cannot be read.

    """
    first = 0
    for file in sorted(manifest.files, key=lambda file: file.offset):
        for batch in _batches(file.path, columns):
            read = {name: _comparable(batch.column(column)) for name, (column, _) in columns.items()}
            yield slice(first, first + batch.num_rows), read
            first += batch.num_rows


def _batches(path: str, columns: Columns) -> Iterator[pa.RecordBatch]:
    texts = sorted({name for name, kind in columns.values() if pa.types.is_string(kind)})
    with opened(path, texts) as parquet:
        yield from parquet.iter_batches(_BATCH, columns=sorted({name for name, _ in columns.values()}))


def whole_column(manifest: Manifest, column: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Read a column of a table's files, row after row in the order of the ids; strings as dictionaries.

    Raises:
        DamagedError: a file cannot be read.

    """
    paths = [file.path for file in sorted(manifest.files, key=lambda file: file.offset)]
    return column_of(paths, column, kind)


def column_of(paths: Sequence[Path | str], column: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Read a column of some files, one after the other; strings as dictionaries."""
    read = pa.dictionary(pa.int32(), kind) if pa.types.is_string(kind) else kind
    chunks: list[pa.Array] = []
    for path in paths:
        with opened(path, [column] if read != kind else []) as parquet:
            chunks += parquet.read(columns=[column]).column(column).chunks
    return pa.chunked_array(chunks, read)


@contextmanager
def opened(path: Path | str, texts: Sequence[str]) -> Iterator[pq.ParquetFile]:
    """Open a file that is to be read.

    Args:
        path: of it.
        texts: the columns that are read as dictionaries.

    Raises:
        DamagedError: it cannot be read, now or in the block.

    """
    try:
        with pq.ParquetFile(path, read_dictionary=texts) as parquet:
            yield parquet
    except (OSError, pa.ArrowException) as error:
        raise DamagedError(f"{path} cannot be read: {error}", instead="Put the file back as it was.") from None


def written(spark: SparkSession, sql: str, folder: Path) -> list[Path]:
    """Let Spark compute rows and write them to a folder; returns the files."""
    with spark_errors():
        write_parquet(spark.sql(sql), folder)
    return sorted(folder.glob("*.parquet"))


def ids_in(files: Sequence[Path]) -> npt.NDArray[np.int64]:
    """Return the ids in files that were written, ascending."""
    found = [pq.read_table(file, columns=[ID]).column(0).to_numpy() for file in files]
    return np.sort(np.concatenate([np.empty(0, np.int64), *found]))


def of_written(files: Sequence[Path], ids: npt.NDArray[np.int64] | None) -> Iterator[Batch]:
    """Read files that were written.

    Args:
        files: as `written` returned them.
        ids: of all rows, ascending; None: they are 0, 1, 2, ….

    """
    for path in files:
        with pq.ParquetFile(path) as parquet:
            for batch in parquet.iter_batches(_BATCH):
                mine: Ids = batch.column(ID).to_numpy()
                read = {name: batch.column(name) for name in batch.schema.names if name != ID}
                yield mine if ids is None else np.searchsorted(ids, mine), read


def _arrow_type(kind: T.DataType, *, key: bool) -> pa.DataType | None:
    if isinstance(kind, T.DecimalType) and not key:
        return pa.decimal128(kind.precision, kind.scale)
    if (key and not isinstance(kind, _KEYS)) or kind.simpleString().startswith("string collate"):
        return None
    return _AS_IT_STANDS.get(type(kind))


def is_of_folders(manifest: Manifest, column: str) -> bool:
    """Tell whether folders say what is in a column, `year=2024`: Spark then believes them, whatever the files have."""
    begins = f"{column.lower()}="
    return any(part.lower().startswith(begins) for file in manifest.files for part in Path(file.path).parts[:-1])


def _has(path: str, columns: Columns) -> bool:
    return has_columns(path, dict(columns.values()))


def has_columns(path: str, kinds: Mapping[str, pa.DataType]) -> bool:
    """Tell whether a file has columns, of the types that Spark reads from it.

    Args:
        path: the file.
        kinds: types by name. Text is read as dictionaries, which are of strings whatever form its writer noted.

    """
    with suppress(OSError, pa.ArrowException):
        schema = pq.read_schema(path)
        return all(name in schema.names and _read_as(schema.field(name).type) == kind for name, kind in kinds.items())
    return False


def _read_as(kind: pa.DataType) -> pa.DataType:
    return pa.string() if kind == pa.string_view() else kind


def _comparable(values: pa.Array) -> pa.Array:
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
