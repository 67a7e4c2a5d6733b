"""A session for the statements of one file: schema, settings, views and home of its own, gone when the file ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.session import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.names import in_backticks

SCHEMA = "checked"
#: No view of ours under this beginning is anybody else's.
HIDDEN = "__check_"


def start(scratch: Path, master: str, memory: str) -> SparkSession:
    """Start Spark with a catalog and a warehouse of its own.

    Args:
        scratch: an empty folder; whatever Spark writes lies in it.
        master: Spark master.
        memory: heap of its Java process, e.g. ``4g``.

    """
    return local_session(
        "forward-lineage check",
        master=master,
        driver_memory=memory,
        log=scratch / "spark.log",
        spark__sql__warehouse__dir=str(scratch / "warehouse"),
        spark__local__dir=str(scratch / "local"),
        spark__sql__catalogImplementation="in-memory",
        spark__driver__maxResultSize="64m",
        spark__forward_lineage__guard="true",
    )


@contextmanager
def session_for_a_file(spark: SparkSession, scratch: Path) -> Iterator[ForwardLineage]:
    """Open a session that shares nothing with the one before but Spark itself."""
    session, home = spark.newSession(), scratch / "home"
    _empty(spark)
    spark.sql(f"CREATE DATABASE {SCHEMA}")
    session.sql(f"USE {SCHEMA}")
    try:
        yield ForwardLineage(session, home)
    finally:
        with suppress(Exception):  # what is left is dropped before the next file
            _empty(spark)
        shutil.rmtree(home, ignore_errors=True)


def _empty(spark: SparkSession) -> None:
    """Drop what a file may have made for all sessions: schemas, tables, cached rows, global views."""
    spark.catalog.clearCache()
    for schema in spark.sql("SHOW SCHEMAS").collect():
        if schema[0] != "default":
            spark.sql(f"DROP SCHEMA IF EXISTS {in_backticks(schema[0])} CASCADE")
    for table in spark.catalog.listTables("default"):
        kind = "VIEW" if table.tableType == "VIEW" else "TABLE"
        if not table.isTemporary:
            spark.sql(f"DROP {kind} IF EXISTS default.{in_backticks(table.name)}")
    for function in spark.sql("SHOW USER FUNCTIONS IN default").collect():
        spark.sql(f"DROP FUNCTION IF EXISTS {function[0]}")
    _drop_global_views(spark)


def _drop_global_views(spark: SparkSession) -> None:
    catalog: Any = spark._jsparkSession.sessionState().catalog()
    names = catalog.globalTempViewManager().listViewNames("*")
    for place in range(names.size()):
        spark.catalog.dropGlobalTempView(names.apply(place))


def copy_of(session: SparkSession) -> SparkSession:
    """Return a session with this one's views, settings, variables and current schema, whose changes it does not see."""
    cloned: Any = session._jsparkSession.cloneSession()
    return SparkSession(session.sparkContext, cloned)
