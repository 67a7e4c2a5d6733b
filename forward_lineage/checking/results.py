"""The collected result of a query: rows that can be compared, and the lineage of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from forward_lineage.checking.values import Value, read_row
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.spark.errors import from_spark
from udafs.errors import LineageError

_WRITTEN = (
    BinaryType, BooleanType, DateType, DayTimeIntervalType, NumericType, StringType, TimestampNTZType, TimestampType,
    YearMonthIntervalType,
)  # fmt: skip
_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_NO_MEMORY = ("OutOfMemoryError", "Java heap space", "UNABLE_TO_ACQUIRE_MEMORY", "GC overhead limit")
#: What Spark says of a result that the driver will not hold.
_TOO_LARGE = "spark.driver.maxResultSize"


@dataclass(frozen=True)
class Result:
    """The rows of a query.

    Attributes:
        columns: names and types of the user's columns.
        rows: the user's columns, in the order in which they came.
        tables: the traced tables; none without lineage.
        lineage: for each row the lineage values in those tables; no bytes where an outer join has no row.

    """

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Value]
    tables: Sequence[str] = ()
    lineage: Sequence[Sequence[bytes]] = ()


def collect(frame: DataFrame, *, traced: bool = False) -> Result:
    """Run a query and collect what it gives.

    Args:
        frame: the query.
        traced: whether its last column may be `DL`.

    """
    fields = list(frame.schema.fields)
    tables = _tables(fields[-1]) if traced and fields else []
    if tables:
        fields.pop()
    names = [f"c{place}" for place in range(len(fields))]
    renamed = frame.toDF(*names, *(["dl"] if tables else []))
    values = [_written(name, field.dataType) for name, field in zip(names, fields, strict=True)]
    types = [_type_written(field.dataType) for field in fields]
    row = F.to_json(F.struct(*values), _OPTIONS) if values else F.lit("{}")
    parts = [F.col("dl").getField(place_name).alias(f"l{n}") for n, place_name in enumerate(tables)]
    found = renamed.select(row.alias("r"), *parts).collect()
    columns = [(field.name, field.dataType.simpleString()) for field in fields]
    rows = [read_row(each[0], types) for each in found]
    return Result(
        columns, rows, tables, [tuple(bytes(part or b"") for part in each[1:]) for each in found] if tables else []
    )


def _tables(last: StructField) -> list[str]:
    """The tables of `DL`; none where a query that reads no base row has a column of the user's that is called so."""
    sets = last.dataType
    if last.name != LINEAGE_COLUMN or not isinstance(sets, StructType):
        return []
    return sets.fieldNames() if all(isinstance(field.dataType, BinaryType) for field in sets) else []


def json_of(frame: DataFrame, places: Sequence[int]) -> list[str]:
    """Return the values of some columns, by number, as one text a row."""
    names = [f"c{place}" for place in range(len(frame.columns))]
    kinds = [field.dataType for field in frame.schema.fields]
    values = [_written(names[place], kinds[place]) for place in places]
    return [each[0] for each in frame.toDF(*names).select(F.to_json(F.struct(*values), _OPTIONS)).collect()]


def _written(name: str, kind: DataType) -> Column:
    return F.col(name) if _has_json(kind) else F.col(name).cast("string").alias(name)


def _type_written(kind: DataType) -> DataType:
    return kind if _has_json(kind) else StringType()


def _has_json(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_json(kind.elementType)
    if isinstance(kind, MapType):
        return _has_json(kind.keyType) and _has_json(kind.valueType)
    if isinstance(kind, StructType):
        return all(_has_json(field.dataType) for field in kind.fields)
    return isinstance(kind, _WRITTEN)


class SparkIsGoneError(Exception):
    """The Java process has ended: nothing can be asked of it any more."""


@dataclass(frozen=True)
class Failure:
    """Why something failed.

    Attributes:
        why: in one line.
        condition: what Spark calls it, if it does.
        no_memory: whether memory ran out.
        too_large: whether the result is too large to be collected.
        ours: whether it is a refusal of ours, not a failure.

    """

    why: str
    condition: str = ""
    no_memory: bool = False
    too_large: bool = False
    ours: LineageError | None = None


def failure_of(error: Exception) -> Failure:
    """Say what an exception means.

    Raises:
        SparkIsGoneError: the Java process has ended.

    """
    if _spark_is_gone():
        raise SparkIsGoneError(str(error)) from None
    text = str(error)
    no_memory = any(word in text for word in _NO_MEMORY)
    if isinstance(error, LineageError):
        condition = getattr(error, "condition", None) or ""
        return Failure(" ".join(text.split()), condition, no_memory, _TOO_LARGE in text, error)
    if isinstance(error, Py4JJavaError | PySparkException):
        said = from_spark(error)
        return Failure(said.what, said.condition or "", no_memory, _TOO_LARGE in text)
    return Failure(f"{type(error).__name__}: {' '.join(text.split())[:300]}", no_memory=no_memory)


def _spark_is_gone() -> bool:
    context: Any = SparkContext._active_spark_context
    try:
        return context is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def lineage_of(result: Result, place: int) -> Mapping[str, bytes]:
    """Return the lineage of a row by table."""
    return dict(zip(result.tables, result.lineage[place], strict=True))
