"""`capture="auto"`: with the rows where that costs little, later where whoever waits for the rows would notice it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from forward_lineage.spark.errors import spark_errors
from udafs.requests import ask

#: What the query reads, in bytes. To capture it with the rows takes about as long as they take again, to capture it
#: later everything is read once more. At this size either is about a second on two cores.
MOST_BYTES = 64 << 20


def costs_less_later(spark: SparkSession, sql: str) -> bool:
    """Tell whether the lineage of a query is left for later: if what it reads has more than `MOST_BYTES`.

    By Spark's own estimate, from the sizes of files; what is not known counts as large.

    Raises:
        LineageError: Spark's own complaint about the query.

    """
    with spark_errors(sql):
        return int(ask(spark, "size read", spark.sql(sql))) > MOST_BYTES
