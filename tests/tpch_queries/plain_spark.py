"""TPC-H in plain Spark: the tables as temporary views of a session of their own."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tpch_queries import TABLES


def plain_session(spark: SparkSession, folder: Path) -> SparkSession:
    """Return a new session of the same application in which the eight tables have their names."""
    session = spark.newSession()
    for table in TABLES:
        session.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
    return session
