"""Rows and versions of a table as its engine says them, and the same rows as we trace them."""

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


def version_now(spark: SparkSession, kind: str, table: str) -> int | None:
    """Return the number of a table's version, or of its snapshot; None: a table of Iceberg's has none yet."""
    if kind == "delta":
        return int(spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version)
    found = spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()
    return int(found[0].snapshot_id) if found else None


def rollback(kind: str, table: str, version: int) -> str:
    """Return the statement that puts a table, by its full name, back to a version."""
    if kind == "delta":
        return f"RESTORE TABLE {table} TO VERSION AS OF {version}"
    catalog, _, name = table.partition(".")
    return f"CALL {catalog}.system.set_current_snapshot(table => '{name}', snapshot_id => {version})"


def traced(lineage: ForwardLineage, source: str) -> Rows:
    """Return the same by us: each row is made of itself alone."""
    frame = lineage.sql(f"SELECT * FROM {source}")
    (field,) = frame.schema["DL"].dataType.fieldNames()
    found = frame.selectExpr(*frame.columns[:-1], f"dl_ids(DL.`{field}`) AS ids").collect()
    assert all(len(row.ids) == 1 for row in found)
    rows = {(*row[:-1], row.ids[0]) for row in found}
    assert len(rows) == len(found)
    return rows
