"""A Spark for a campaign: one that runs for long, and only tiny queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.oracle.spark_answers import fast_for_tiny_data

JAVA_OPTIONS = "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"


@contextmanager
def oracle_session(scratch: Path) -> Iterator[SparkSession]:
    """The session of a process of its own; everything that it writes goes into a folder that somebody removes."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{JAVA_OPTIONS} -Djava.io.tmpdir={scratch}")
    spark = local_session(
        "oracle",
        master="local[2]",
        driver_memory="2g",
        log=scratch / "spark.log",
        spark__local__dir=str(scratch),
        spark__sql__warehouse__dir=str(scratch / "warehouse"),
    )
    try:
        with fast_for_tiny_data(spark) as session:
            ForwardLineage(session, home=scratch / "home")  # brings dlunion and the rest
            yield session
    finally:
        spark.stop()
