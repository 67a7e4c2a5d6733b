"""Rows that were computed beside Spark, and their lineage, as files of a saved result."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.store.library.saved_result import SegmentEntry
from forward_lineage.store.saving.execution import Target, Written, no_rows, parquet_schema
from forward_lineage.store.saving.merging import settle
from forward_lineage.store.saving.tasks import MOST_RUNS, RowWriter, TaskFiles, write_segment


@dataclass(frozen=True, eq=False)
class Computed:
    """The query that is to be saved.

    Attributes:
        sql: a query that gives these rows, in some order, with this lineage.
        table: the registration of the only table that they are made of.
        rows: the rows, in the columns of the query.
        lineage: for each row the ids of the table's rows.

    """

    sql: str
    table: Manifest
    rows: pa.Table
    lineage: RunsRelation


def write_computed(computed: Computed, target: Target, spark: SparkSession) -> Written:
    """Write rows and lineage.

    Args:
        computed: them.
        target: where to.
        spark: the session, which says how columns are kept.

    """
    folder = target.folder
    arrow = parquet_schema(target.schema, target.name, spark)
    (folder / "rows").mkdir()
    rows = RowWriter(folder, "rows/.computed", arrow)
    for batch in computed.rows.to_batches():
        rows.add(batch.columns)
    written = rows.close()
    if written is None:
        return Written((no_rows(folder, arrow, 0),), ((),))
    segments: list[SegmentEntry] = []
    first = 0
    for count, part in computed.lineage.split(written.rows, MOST_RUNS):
        path = f"lineage/0/.computed-{len(segments)}"
        segments.append(write_segment(folder, path, part, first_row=first, rows=count, form=target.form))
        first += count
    files, settled = settle(folder, [TaskFiles([written], [segments])], 0, target.form)
    return Written(tuple(files), tuple(map(tuple, settled)))
