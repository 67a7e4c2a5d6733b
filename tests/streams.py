"""Streams over Parquet files for tests: a file a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def write_incoming(spark: SparkSession, folder: Path, column: str, batches: Sequence[Sequence[int]]) -> None:
    """Write a file for each batch, with a column of integers."""
    for number, values in enumerate(batches):
        rows = spark.createDataFrame([(each,) for each in values], f"{column} INT")
        rows.coalesce(1).write.parquet(f"{folder}/incoming/{number}")


def run_stream(spark: SparkSession, folder: Path, column: str, arrive: Callable[[DataFrame, int], None]) -> None:
    """Run a stream over all files of `write_incoming`; started again, it goes on where it was."""
    read = spark.readStream.schema(f"{column} INT").option("maxFilesPerTrigger", 1).parquet(f"{folder}/incoming/*")
    writer = read.writeStream.foreachBatch(arrive).option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()
