"""A Spark for a campaign: one that runs for long, and only tiny queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.oracle.spark_answers import fast_for_tiny_data
from tests.spark_context import for_small_jobs

# Of two gigabytes most is young: nearly everything is garbage at once. A campaign is long enough for the full compiler.
JAVA_OPTIONS = "-XX:+UseSerialGC -Xms2g -Xmn1200m -XX:ReservedCodeCacheSize=512m -XX:CICompilerCount=2"

# What every sort and every aggregate takes at first, 64 MB unless told otherwise.
PAGE = "256k"

# What campaigns compile once.
_CLASSES = Path(__file__).parents[2] / ".data"

# Spark looks its closures up as files, one jar after another: those that it looks for come first.
SOUGHT_FIRST = ("spark-core_*", "spark-sql_*", "spark-catalyst_*", "spark-sql-api_*", "spark-common-utils_*")


@contextmanager
def oracle_session(scratch: Path) -> Iterator[SparkSession]:
    """The session of a process of its own; everything that it writes goes into a folder that somebody removes."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{JAVA_OPTIONS} -Djava.io.tmpdir={scratch}")
    with for_small_jobs(_CLASSES):
        spark = local_session(
            "oracle",
            master="local[2]",
            driver_memory="2g",
            log=scratch / "spark.log",
            spark__driver__extraClassPath=":".join(map(str, _sought_first())),
            spark__buffer__pageSize=PAGE,
            spark__forward_lineage__by_reference="true",  # tables of few rows; "weighed" is a setting of its own
            spark__forward_lineage__update="partly",  # or all of a result would be made again
            spark__local__dir=str(scratch),
            spark__sql__warehouse__dir=str(scratch / "warehouse"),
        )
    try:
        with fast_for_tiny_data(spark) as session:
            ForwardLineage(session, home=scratch / "home")  # brings dlunion and the rest
            yield session
    finally:
        spark.stop()


def _sought_first() -> list[Path]:
    jars = Path(pyspark.__file__).parent / "jars"
    return [jar for pattern in SOUGHT_FIRST for jar in sorted(jars.glob(f"{pattern}.jar"))]
