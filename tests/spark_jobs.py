"""Which jobs Spark starts meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def jobs(spark: SparkSession) -> Iterator[list[int]]:
    """The jobs that this thread has started, once the block is left."""
    context, group, found = spark.sparkContext, uuid.uuid4().hex, list[int]()
    context.setJobGroup(group, "looked at by a test")
    try:
        yield found
        found += context.statusTracker().getJobIdsForGroup(group)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
