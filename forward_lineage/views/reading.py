"""The rows of a table, batch by batch: from its own Parquet files where they will do, else as Spark computes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812
from sqlglot import exp

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.spark.errors import spark_errors
from forward_lineage.views.capture import Batch
from forward_lineage.views.membership import Array
from forward_lineage.views.questions import ID, Question
from udafs.errors import DamagedError

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

Columns = Mapping[str, tuple[str, pa.DataType]]
"""For each column of `questions.rows_sql` the column of the files that it is, and its type."""


def as_they_stand(manifest: Manifest, views: Sequence[Question]) -> Columns | None:
    """Return which columns of a table's files its views need; None where files do not say it all.

    Args:
        manifest: the table.
        views: over it.

    """
    if not manifest.provider.by_position or not manifest.files:
        return None
    names = {name.lower(): name for name, _ in manifest.columns}
    found: dict[str, tuple[str, pa.DataType]] = {}
    for number, view in enumerate(views):
        if view.asked.condition is not None:
            return None
        keys = zip(view.asked.keys, view.key_types, strict=True)
        wanted = [(f"key{place}", key, kind) for place, (key, kind) in enumerate(keys)]
        for place, argument in view.asked.arguments.items():
            wanted.append((f"value{place}", argument, view.kinds[place] or T.NullType()))
        for name, expression, kind in wanted:
            arrow = _arrow_type(kind, key=name.startswith("key"))
            if arrow is None or not _is_plain(expression, view) or expression.name.lower() not in names:
                return None
            found[f"v{number}_{name}"] = names[expression.name.lower()], arrow
    return found if all(_has(file.path, found) for file in manifest.files) else None


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
    try:
        with pq.ParquetFile(path, read_dictionary=texts) as parquet:
            yield from parquet.iter_batches(_BATCH, columns=sorted({name for name, _ in columns.values()}))
    except (OSError, pa.ArrowException) as error:
        raise DamagedError(f"{path} cannot be read: {error}", instead="Put the file back as it was.") from None


def written(spark: SparkSession, sql: str, folder: Path) -> list[Path]:
    """Let Spark compute rows and write them to a folder; returns the files."""
    with spark_errors():
        spark.sql(sql).write.parquet(str(folder))
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
                mine: Array = batch.column(ID).to_numpy()
                read = {name: batch.column(name) for name in batch.schema.names if name != ID}
                yield mine if ids is None else np.searchsorted(ids, mine), read


def _is_plain(expression: exp.Expr, view: Question) -> bool:
    if not isinstance(expression, exp.Column):
        return False
    return not expression.table or expression.table.lower() == view.asked.alias.lower()


def _arrow_type(kind: T.DataType, *, key: bool) -> pa.DataType | None:
    if isinstance(kind, T.DecimalType) and not key:
        return pa.decimal128(kind.precision, kind.scale)
    if (key and not isinstance(kind, _KEYS)) or kind.simpleString().startswith("string collate"):
        return None
    return _AS_IT_STANDS.get(type(kind))


def _has(path: str, columns: Columns) -> bool:
    """Whether a file has the columns, of the types that Spark reads from it."""
    with suppress(OSError, pa.ArrowException):
        schema = pq.read_schema(path)
        return all(name in schema.names and schema.field(name).type == kind for name, kind in columns.values())
    return False


def _comparable(values: pa.Array) -> pa.Array:
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
