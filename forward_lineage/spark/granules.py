"""Granules in Spark: what the ids of `LINEAGE ON` stand for.   [Zhang 2007, §4.3]

Either an id is computed from the value, and the value from the id. Or it is the value's place in a dictionary (value_1,
…, value_k, __id), one row a granule, and ids are the numbers from 0. In both ids are in value order. A result of `sql`
brings the expressions or the query that read ids. A saved result has entries (id, values) as files of either kind,
since its ids must keep their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's own documentation uses

from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import field_of_dl, quoted
from forward_lineage.spark.own_parquet import write_parquet
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import BadArgumentError

_ID = "__id"


def decoded(frame: DataFrame, meaning: Mapping[str, Any] | None) -> DataFrame:
    """Replace the granule ids in `DL` by the values that they stand for.

    Args:
        frame: a result of a query with LINEAGE ON.
        meaning: what the metadata of its `DL` column says.

    Returns:
        the same rows; each field of `DL` is an array of values in ascending order. They are plain if LINEAGE ON has one
        expression over the table, and structs with one field an expression if it has several.

    Raises:
        BadArgumentError: the frame is no such result.
    """
    granules: Mapping[str, Mapping[str, Any]] = (meaning or {}).get("granules") or {}
    if not granules:
        raise BadArgumentError(
            "the ids of this result stand for rows, not for values",
            instead="Ask for values with … LINEAGE ON, or read base rows with lineage.rows(table, ids).",
        )
    fields = {table: F.col(LINEAGE_COLUMN)[table] for table in granules}
    for number, (table, read) in enumerate(granules.items()):
        if "values" in read:
            fields[table] = _computed(table, read)
        else:
            frame = frame.crossJoin(F.broadcast(_in_one_array(frame.sparkSession, read, number)))
            fields[table] = _values(number, fields[table])
    tables = frame.select(f"{LINEAGE_COLUMN}.*").columns  # in their order
    lineage = F.struct(*(fields[table].alias(table) for table in tables))
    return frame.withColumn(LINEAGE_COLUMN, lineage).drop(*(_array(number) for number in range(len(granules))))


def entries_sql(read: Mapping[str, Any]) -> str:
    """Return the query (value_1, …, value_k, __id) of a table's granules.

    Args:
        read: what the metadata of `DL` says of the table.

    """
    return str(read["entries"] if "values" in read else read["dictionary"])


def _computed(table: str, read: Mapping[str, Any]) -> Column:
    """Return the values of ids that are values themselves."""
    values = list(read["values"])
    if len(values) > 1:
        named = (f"{value} AS {quoted(each)}" for value, each in zip(values, read["expressions"], strict=True))
        values = [f"struct({', '.join(named)})"]
    return F.expr(f"transform(dl_ids({field_of_dl(table)}), {_ID} -> {values[0]})")


def _in_one_array(spark: SparkSession, dictionary: Mapping[str, Any], number: int) -> DataFrame:
    """Return one row with one array: what id i stands for is at place i, since ids are dense and in value order."""
    entries = spark.sql(dictionary["dictionary"])
    columns = [F.col(_value(i)).alias(expression) for i, expression in enumerate(dictionary["expressions"])]
    value = columns[0] if len(columns) == 1 else F.struct(*columns)
    pairs = F.sort_array(F.collect_list(F.struct(F.col(_ID), value.alias("value"))))
    return entries.agg(pairs.alias(_array(number)))


def _values(number: int, lineage: Column) -> Column:
    ids = F.call_function("dl_ids", lineage)
    entries = F.col(_array(number))
    return F.transform(ids, lambda each: entries[each.cast("int")]["value"])


def _array(number: int) -> str:
    return f"__granules_{number}"


def write_dictionary(spark: SparkSession, sql: str, folder: Path, expressions: int) -> list[Path]:
    """Write a dictionary as Parquet files: the id, then the values.

    Args:
        spark: the session.
        sql: the dictionary's query.
        folder: where to, to be made.
        expressions: how many values an entry has.

    Returns:
        the files, by name; not brought to the disk yet.

    Raises:
        LineageError: what Spark says about the query.

    """
    with spark_errors(sql):
        write_parquet(spark.sql(sql).select(_ID, *map(_value, range(expressions))), folder)
    return sorted(folder.glob("*.parquet"))


def entries_of_rows(rows: DataFrame, entries: DataFrame, expressions: Sequence[str]) -> DataFrame:
    """Return the entries of a dictionary whose granules some rows lie in.

    Args:
        rows: rows of the table, with its columns.
        entries: the dictionary; its values are in columns called like the expressions.
        expressions: those of the clause over this table, as SQL.

    """
    names = [f"__{_value(i)}" for i in range(len(expressions))]
    asked = rows.select(*(F.expr(each).alias(name) for each, name in zip(expressions, names, strict=True))).distinct()
    same = [entries[quoted(each)].eqNullSafe(asked[name]) for each, name in zip(expressions, names, strict=True)]
    return entries.join(asked, on=same, how="left_semi")


def _value(position: int) -> str:
    return f"value_{position + 1}"
