"""The first rows of a DataFrame, values as Spark writes them, lineage as sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, DataType

from forward_lineage.results import meaning_of
from forward_lineage.showing.model import Opened, Origin, ShownRow, ShownRows
from forward_lineage.spark.chosen_ids import among_listed, written
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.granules import entries_sql
from udafs.lineage_set import LineageSet

#: Longer values are cut before they leave Spark; nobody looks at more.
LONGEST = 1000
_LINEAGE = "lineage"
_ID = "__id"


def first_rows(frame: DataFrame, most: int, ids: int) -> ShownRows:
    """Compute the first rows of a frame.

    Args:
        frame: any; its last column may be the `DL` of `lineage.sql`.
        most: how many rows.
        ids: how many ids of a set are listed.

    Raises:
        FailedQueryError: Spark cannot compute it.

    """
    meaning = meaning_of(frame)
    users = len(frame.columns) - (meaning is not None)
    names = [f"c{place}" for place in range(users)]  # a result may have two columns of one name
    plain = frame.toDF(*names, *([_LINEAGE] if meaning is not None else []))
    texts = [text_of(plain[name], field.dataType).alias(name) for name, field in _fields(names, frame)]
    lineage = [plain[_LINEAGE]] if meaning is not None else []
    with spark_errors():
        found = plain.select(*texts, *lineage).take(most + 1)
    rows = [ShownRow(tuple(row[:users]), _origins(row[users], ids) if meaning else ()) for row in found[:most]]
    shown = ShownRows(tuple(frame.columns[:users]), tuple(rows), meaning is not None, more=len(found) > most)
    return _with_values(shown, frame.sparkSession, meaning)


def rows_by_id(frame: DataFrame) -> Opened:
    """Compute rows whose first column is their id."""
    users = frame.columns[1:]
    names = [f"c{place}" for place in range(len(users))]
    plain = frame.toDF(_ID, *names)
    texts = [text_of(plain[name], field.dataType) for name, field in _fields(names, frame, 1)]
    with spark_errors():
        found = plain.select(_ID, *texts).collect()
    return Opened(tuple(users), {row[0]: tuple(row[1:]) for row in found})


def text_of(column: Column, kind: DataType) -> Column:
    """Return a column as text, as Spark writes its values; bytes as hexadecimal digits."""
    written = F.concat(F.lit("0x"), F.lower(F.hex(column))) if isinstance(kind, BinaryType) else column.cast("string")
    return F.left(written, F.lit(LONGEST))


def _fields(names: list[str], frame: DataFrame, first: int = 0) -> Iterable[tuple[str, Any]]:
    return zip(names, frame.schema.fields[first : first + len(names)], strict=True)


def _origins(lineage: Any, ids: int) -> tuple[Origin, ...]:
    return tuple(Origin.of(table, LineageSet.from_bytes(value), ids) for table, value in lineage.asDict().items())


def _with_values(shown: ShownRows, spark: SparkSession, meaning: Mapping[str, Any] | None) -> ShownRows:
    granules: Mapping[str, Mapping[str, Any]] = (meaning or {}).get("granules") or {}
    opened = {table: _values(spark, read, listed_ids(shown, table)) for table, read in granules.items()}
    return shown if not opened else ShownRows(**{**vars(shown), "opened": opened})


def _values(spark: SparkSession, read: Mapping[str, Any], ids: list[int]) -> Opened:
    """The values of ids of LINEAGE ON."""
    if not ids:
        return Opened(tuple(read["expressions"]), {}, are_values=True)
    if "values" in read:
        entries = spark.range(1).select(F.expr(f"explode(CAST(array({written(ids)}) AS ARRAY<BIGINT>))").alias(_ID))
        frame = entries.select(_ID, *(F.expr(value) for value in read["values"]))
    else:
        entries = spark.sql(entries_sql(read))
        frame = entries.where(among_listed(_ID, ids)).select(_ID, *(name for name in entries.columns if name != _ID))
    return Opened(tuple(read["expressions"]), rows_by_id(frame).rows, are_values=True)


def listed_ids(shown: ShownRows, table: str) -> list[int]:
    """Return the ids of a table that are listed in any of the rows, ascending."""
    return sorted(
        {each for row in shown.rows for origin in row.origins if origin.table == table for each in origin.first}
    )
