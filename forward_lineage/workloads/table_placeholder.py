"""A table under the name that stands for a function in questions, while Spark is asked about these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import put_back, spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.workloads.shape import PLACE
from rewrites.tables import BaseTable


@contextmanager
def placed_table(tables: RegisteredTables, manifest: Manifest) -> Iterator[BaseTable]:
    """Let `PLACE` mean the rows of a table; yields how these are read."""
    base = tables.base_table(manifest)
    columns = ", ".join(map(quoted, base.columns))
    with spark_errors():
        tables.spark.sql(f"SELECT {columns} FROM {base.relation}").createOrReplaceTempView(PLACE)
    try:
        yield base
    finally:
        with put_back():
            tables.spark.catalog.dropTempView(PLACE)
