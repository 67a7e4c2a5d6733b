"""Batches of a stream merged into tables with lineage, each once, though the stream fails in the middle and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from forward_lineage import ForwardLineage
from tests.lakes.engines import CATALOG, FORMATS
from tests.streams import run_stream, write_incoming

_BATCHES = [[12, 77], [77, 5], [12, 12]]
_MERGE = """
    MERGE INTO {place} AS t
    USING (SELECT customer, count(*) AS n, batch FROM clicks WHERE batch = {number} GROUP BY customer, batch) AS s
    ON t.customer = s.customer
    WHEN MATCHED AND t.batch < s.batch THEN UPDATE SET n = t.n + s.n, batch = s.batch
    WHEN NOT MATCHED THEN INSERT (customer, n, batch) VALUES (s.customer, s.n, s.batch)
"""


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("fails_at", ["before", "after"])
def test_each_batch_is_merged_once(lineage: ForwardLineage, tmp_path: Path, kind: str, fails_at: str) -> None:
    spark, name = lineage.spark, f"clicks_of_customers_{fails_at}"
    place = f"spark_catalog.default.{name}" if kind == "delta" else f"{CATALOG}.db.{name}"
    spark.sql("SELECT 1 AS customer").coalesce(1).write.parquet(f"{tmp_path}/clicks/batch=-1")
    lineage.register("clicks", path=tmp_path / "clicks")
    made_of = "SELECT customer, count(*) AS n, batch FROM clicks GROUP BY customer, batch"
    lineage.sql(f"CREATE TABLE {place} USING {kind} AS {made_of}")
    write_incoming(spark, tmp_path, "customer", _BATCHES)
    fails = [1]

    def arrive(batch: DataFrame, number: int) -> None:
        folder = tmp_path / "clicks" / f"batch={number}"
        if not (folder / "_SUCCESS").exists():
            batch.write.mode("overwrite").parquet(str(folder))
        lineage.refresh("clicks")
        for when in ("before", "after"):
            if number == 1 and when == fails_at and fails:
                fails.clear()
                raise RuntimeError("stopped")
            if when == "before":
                lineage.sql(_MERGE.format(place=place, number=number))

    try:
        with pytest.raises(StreamingQueryException, match="stopped"):
            run_stream(spark, tmp_path, "customer", arrive)
        run_stream(spark, tmp_path, "customer", arrive)
        rows = lineage.sql(f"SELECT * FROM {place}").selectExpr("customer", "n", "batch", "dl_ids(DL.clicks) AS ids")
        found = {row.customer: (row.n, row.batch, _clicks(lineage, row.ids)) for row in rows.collect()}
    finally:
        spark.sql(f"DROP TABLE {place}")
    assert found == {
        1: (1, -1, [(1, -1)]),
        5: (1, 1, [(5, 1)]),
        12: (3, 2, [(12, 0), (12, 2), (12, 2)]),
        77: (2, 1, [(77, 0), (77, 1)]),
    }


def _clicks(lineage: ForwardLineage, ids: list[int]) -> list[tuple[int, int]]:
    """The rows of `clicks` that ids stand for, by tracing the table itself."""
    rows = lineage.sql("SELECT customer, batch FROM clicks").selectExpr("*", "dl_ids(DL.clicks)[0] AS id").collect()
    known = {row.id: (row.customer, row.batch) for row in rows}
    return sorted(known[each] for each in ids)
