"""Batches of a stream arrive, and results are brought up to date after each; one that comes twice counts once."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.shared_state import drop_views


def test_batches(spark: SparkSession, tmp_path: Path) -> None:
    lineage = ForwardLineage(spark, tmp_path / "home")
    clicks, ways = tmp_path / "clicks", []
    spark.createDataFrame([(12,)], "who INT").write.parquet(f"{clicks}/batch=-1")
    lineage.register("clicks_of_stream", path=clicks)
    lineage.save("SELECT who, count(*) AS n FROM clicks_of_stream GROUP BY who", "clicks_by_who")
    lineage.save("SELECT batch FROM clicks_of_stream WHERE who = 12", "clicks_of_12")
    for number, row in enumerate([77, 12, 77]):
        spark.createDataFrame([(row,)], "who INT").coalesce(1).write.parquet(f"{tmp_path}/incoming/{number}")

    def arrive(batch: DataFrame, number: int) -> None:
        for _ in range(2 if number == 0 else 1):  # as after a failure
            batch.write.mode("overwrite").parquet(f"{clicks}/batch={number}")
            lineage.refresh("clicks_of_stream")
            ways.append({row.result: row.way for row in lineage.update().collect()})

    stream = spark.readStream.schema("who INT").option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/incoming/*")
    writer = stream.writeStream.foreachBatch(arrive).option("checkpointLocation", f"{tmp_path}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()
    assert len(ways) == 4 and lineage.stale().count() == 0
    assert sorted(map(tuple, lineage.result("clicks_by_who").collect())) == [(12, 2), (77, 2)]
    assert lineage.result("clicks_of_12").count() == 2
    assert "untouched" in {each["clicks_of_12"] for each in ways}
    assert lineage.backward("clicks_by_who", where="who = 77", table="clicks_of_stream").count() == 2
    drop_views(spark)
