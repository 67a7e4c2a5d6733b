"""Batches of a stream arrive, and results are brought up to date after each; one that comes twice counts once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.shared_state import drop_views
from tests.streams import run_stream, write_incoming


def test_batches(spark: SparkSession, tmp_path: Path) -> None:
    lineage = ForwardLineage(spark, tmp_path / "home")
    clicks, ways = tmp_path / "clicks", []
    spark.createDataFrame([(12,)], "who INT").write.parquet(f"{clicks}/batch=-1")
    lineage.register("clicks_of_stream", path=clicks)
    lineage.save("SELECT who, count(*) AS n FROM clicks_of_stream GROUP BY who", "clicks_by_who")
    lineage.save("SELECT batch FROM clicks_of_stream WHERE who = 12", "clicks_of_12")
    write_incoming(spark, tmp_path, "who", [[77], [12], [77]])

    def arrive(batch: DataFrame, number: int) -> None:
        for _ in range(2 if number == 0 else 1):  # as after a failure
            batch.write.mode("overwrite").parquet(f"{clicks}/batch={number}")
            lineage.refresh("clicks_of_stream")
            ways.append({row.result: row.way for row in lineage.update().collect()})

    run_stream(spark, tmp_path, "who", arrive)
    assert len(ways) == 4 and lineage.stale().count() == 0
    assert sorted(map(tuple, lineage.result("clicks_by_who").collect())) == [(12, 2), (77, 2)]
    assert lineage.result("clicks_of_12").count() == 2
    assert "untouched" in {each["clicks_of_12"] for each in ways}
    assert lineage.backward("clicks_by_who", where="who = 77", table="clicks_of_stream").count() == 2
    drop_views(spark)


@pytest.mark.parametrize("at", ["before its rows are written", "before they are appended", "when all is done"])
def test_a_stream_that_fails_and_goes_on(spark: SparkSession, tmp_path: Path, at: str) -> None:
    """Each batch is appended once, and keeps the ids that it had, wherever the stream stops."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    clicks, fails = tmp_path / "clicks", [True]
    spark.createDataFrame([(0,)], "who INT").coalesce(1).write.parquet(f"{clicks}/batch=-1")
    lineage.register("clicks_of_stream", path=clicks)
    write_incoming(spark, tmp_path, "who", [[77], [12], [5]])

    def fail(here: str, number: int) -> None:
        if number == 1 and here == at and fails:
            fails.clear()
            raise RuntimeError(f"stopped {at}")

    def arrive(batch: DataFrame, number: int) -> None:
        fail("before its rows are written", number)
        folder = clicks / f"batch={number}"
        if not (folder / "_SUCCESS").exists():
            batch.write.mode("overwrite").parquet(str(folder))
        lineage.refresh("clicks_of_stream")
        fail("before they are appended", number)
        sql = f"SELECT who FROM clicks_of_stream WHERE batch = {number}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a batch that is there already
            lineage.save(sql, "arrived", mode="append", batch=number)
        fail("when all is done", number)

    with pytest.raises(StreamingQueryException, match=f"stopped {at}"):
        run_stream(spark, tmp_path, "who", arrive)
    run_stream(spark, tmp_path, "who", arrive)
    assert [row.who for row in lineage.result("arrived").collect()] == [77, 12, 5]
    for who, batch in ((77, 0), (12, 1), (5, 2)):
        found = lineage.backward("arrived", where=f"who = {who}").collect()
        assert [(row.who, row.batch) for row in found] == [(who, batch)]
    assert lineage.stale().count() == 0
    drop_views(spark)
