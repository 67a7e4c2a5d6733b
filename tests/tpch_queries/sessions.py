"""TPC-H in sessions of their own: in plain Spark, and traced."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tpch_queries import TABLES


def plain_session(spark: SparkSession, folder: Path) -> SparkSession:
    """Return a new session of the same application in which the eight tables have their names."""
    session = spark.newSession()
    for table in TABLES:
        session.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
    return session


def traced_session(spark: SparkSession, folder: Path, home: Path) -> ForwardLineage:
    """Return the lineage of a new session of the same application, the eight tables registered by position.

    A home knows them from one session to the next.
    """
    session = spark.newSession()
    lineage = ForwardLineage(session, home=home)
    for table in sorted(set(TABLES) - lineage.tables().keys()):
        lineage.register(table, path=folder / f"{table}.parquet")
    return lineage
