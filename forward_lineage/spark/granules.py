"""Read the ids of a `LINEAGE ON` result as the values they stand for.   [Zhang 2007, §4.3, variable granularity]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's own documentation uses

from forward_lineage.frontend import Granularity
from forward_lineage.results import LINEAGE_COLUMN
from udafs.errors import LineageError


def described_granules(granules: Mapping[str, Granularity]) -> dict[str, Any]:
    """Return what the metadata of `DL` keeps of a LINEAGE ON clause, as JSON-able data, by table."""
    return {table: asdict(granularity) for table, granularity in granules.items()}


def decoded(frame: DataFrame, meaning: Mapping[str, Any] | None) -> DataFrame:
    """Replace the granule ids in `DL` by the values that they stand for.

    Args:
        frame: a result of a query with LINEAGE ON.
        meaning: what the metadata of its `DL` column says.

    Returns:
        the same rows; each field of `DL` is an array of values in ascending order: plain ones where LINEAGE ON has one
        expression over the table, structs with one field an expression where it has several.

    Raises:
        LineageError: the frame is no such result.
    """
    granules: Mapping[str, Mapping[str, Any]] = (meaning or {}).get("granules") or {}
    if not granules:
        raise LineageError(
            "the ids of this result stand for rows, not for values",
            instead="Ask for values with … LINEAGE ON, or read base rows with lineage.rows(table, ids).",
        )
    fields = {table: F.col(LINEAGE_COLUMN)[table] for table in granules}
    for number, (table, granularity) in enumerate(granules.items()):
        frame = frame.crossJoin(F.broadcast(_dictionary(frame, granularity, number)))
        fields[table] = _values(number, fields[table])
    lineage = F.struct(*(values.alias(table) for table, values in fields.items()))
    return frame.withColumn(LINEAGE_COLUMN, lineage).drop(*(_column(number) for number in range(len(granules))))


def _dictionary(frame: DataFrame, granularity: Mapping[str, Any], number: int) -> DataFrame:
    """Return one row with one array: what id i stands for is at place i, since ids are dense and in value order."""
    entries = frame.sparkSession.sql(granularity["dictionary"])
    expressions = granularity["expressions"]
    columns = [F.col(f"value_{i + 1}").alias(expression) for i, expression in enumerate(expressions)]
    value = columns[0] if len(columns) == 1 else F.struct(*columns)
    pairs = F.sort_array(F.collect_list(F.struct(F.col("__id"), value.alias("value"))))
    return entries.agg(pairs.alias(_column(number)))


def _values(number: int, lineage: Column) -> Column:
    ids = F.call_function("dl_ids", lineage)
    entries = F.col(_column(number))
    return F.transform(ids, lambda each: entries[each.cast("int")]["value"])


def _column(number: int) -> str:
    return f"__granules_{number}"
