"""Rows with their ids, once as an engine reads them and once as we trace them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage

TRACKED = {"delta": "'delta.enableRowTracking' = 'true'", "iceberg": "'format-version' = '3'"}
"""The property that lets a table give ids."""
HIDDEN = {"delta": "_metadata.row_id", "iceberg": "_row_id"}
"""The id of a row, as its engine says it."""

Rows = set[tuple[object, ...]]


def read_by_engine(spark: SparkSession, kind: str, source: str) -> Rows:
    """Return the rows of what stands after FROM, each with the id that its engine says at the end."""
    return {tuple(row) for row in spark.sql(f"SELECT *, {HIDDEN[kind]} FROM {source}").collect()}


def traced(lineage: ForwardLineage, source: str) -> Rows:
    """Return the same by us: each row is made of itself alone."""
    frame = lineage.sql(f"SELECT * FROM {source}")
    (field,) = frame.schema["DL"].dataType.fieldNames()
    found = frame.selectExpr(*frame.columns[:-1], f"dl_ids(DL.`{field}`) AS ids").collect()
    assert all(len(row.ids) == 1 for row in found)
    rows = {(*row[:-1], row.ids[0]) for row in found}
    assert len(rows) == len(found)
    return rows
