"""Rows and lineage of a traced query, written: as one statement, or part by part."""

from __future__ import annotations

from pyspark.sql import SparkSession

from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.store.saving.execution import Target, write_result
from forward_lineage.store.saving.staging import Kept, NotStagedError, Staging
from forward_lineage.store.saving.traced_query import TracedQuery


def written(spark: SparkSession, query: TracedQuery, target: Target, first_stage: int = 0) -> tuple[Kept, bool]:
    """Run a query and write its rows and the lineage that is captured with them.

    Args:
        spark: the session.
        query: what to run.
        target: where to.
        first_stage: the number of the first stage.

    Returns:
        the written parts, and whether they were written part by part: then each part read the tables for itself.

    Raises:
        LineageError: Spark's own complaint about the query; a column cannot be kept.

    """
    if query.parts:
        staging = Staging(spark, target, first_stage)
        try:
            return staging.save(query.parts, query.prefix, query.schema, target.first_row), True
        except NotStagedError:
            staging.clear()
    tables = query.written
    found = write_result(query.rows(), LINEAGE_COLUMN if tables else None, tables, target)
    return Kept(found.row_files, dict(zip(tables, found.segments, strict=True))), False
