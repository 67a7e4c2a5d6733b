"""Ids from an integer key: the id of a row is its key.   [Zhang 2007, §2: "we use the key as the lineage"]"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody gives it
from pyspark.sql.types import ByteType, IntegerType, IntegralType, LongType, ShortType

from forward_lineage.catalog import key_table
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.spark_tables import (
    columns_of,
    fingerprint,
    full_name,
    input_files,
    open_table,
    type_name,
)
from forward_lineage.spark_names import quoted
from udafs.errors import LineageError

INTEGER_TYPES = (ByteType, ShortType, IntegerType, LongType)


def from_key(spark: SparkSession, name: str, key: str, *, trusted: bool = False) -> Manifest:
    """Register a table or view by a unique, non-negative integer column.

    Args:
        spark: the session that knows the table.
        name: the table's name.
        key: the column.
        trusted: take uniqueness on trust; no row is read.

    Raises:
        LineageError: there is no such table or column, or the column is not such a key.

    """
    frame = open_table(spark, name)
    columns = columns_of(frame)
    identity = full_name(spark, name)
    table = key_table(name, [column for column, _ in columns], key, relation=identity)
    field = next(field for field in frame.schema.fields if field.name.lower() == key.lower())
    if not isinstance(field.dataType, IntegralType):
        raise LineageError(
            f"key {key} of {name} is {type_name(field.dataType).upper()}, not an integer",
            instead=f'Use key=["{key}"]: a dictionary then gives every value of it an id.',
        )
    if not trusted:
        check_unique_ids(frame, quoted(field.name), f"key {field.name} of {name}")
    return Manifest(
        name=name,
        provider="key",
        columns=columns,
        relation=table.relation,
        row_id=table.row_id,
        key=(field.name,),
        source={"table": name, "fingerprint": fingerprint(frame)},
        identity=identity,
        files=() if trusted else input_files(frame),
        trusted=trusted,
    )


def from_expression(spark: SparkSession, name: str, row_id: str, *, trusted: bool = False) -> Manifest:
    """Register a table by an expression that is a row id already, e.g. Delta's `_metadata.row_id` or Iceberg's `_row_id`.

    Args:
        spark: the session that knows the table.
        name: the table's name.
        row_id: Spark SQL over the table, its hidden columns included.
        trusted: take uniqueness on trust; no row is read.

    Raises:
        LineageError: there is no such table, or the expression is no integer, or not unique and non-negative.

    """


def check_unique_ids(frame: DataFrame, expression: str, what: str) -> None:
    """Check in one aggregate pass that an expression is never NULL, never negative and never twice the same.

    Args:
        frame: the rows.
        expression: Spark SQL over them, of an integer type.
        what: how messages call it.

    Raises:
        LineageError: it is; the message says which, how often, and gives an example.

    """
    groups = frame.select(F.expr(expression).cast("bigint").alias("id")).groupBy("id").agg(F.count("*").alias("n"))
    found = groups.agg(
        F.sum(F.when(F.col("id").isNull(), F.col("n"))).alias("nulls"),
        F.sum(F.when(F.col("id") < 0, F.col("n"))).alias("negatives"),
        F.min("id").alias("smallest"),
        F.sum(F.when(F.col("id").isNotNull() & (F.col("n") > 1), F.col("n") - 1)).alias("repeats"),
        F.min(F.when(F.col("n") > 1, F.col("id"))).alias("repeated"),
    ).first()
    assert found is not None  # noqa: S101 - an aggregate without groups has one row
    if found.nulls:
        raise LineageError(f"{what} is NULL in {_rows(found.nulls)}", instead=_OTHER_IDS)
    if found.negatives:
        raise LineageError(
            f"{what} is negative in {_rows(found.negatives)}, e.g. {found.smallest}", instead=_OTHER_IDS
        )
    if found.repeats:
        raise LineageError(
            f"{what} is not unique: {_rows(found.repeats)} repeat a value, e.g. {found.repeated}", instead=_OTHER_IDS
        )


_OTHER_IDS = "Use another key, several columns (key=[…]), or path= for ids by position."


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
