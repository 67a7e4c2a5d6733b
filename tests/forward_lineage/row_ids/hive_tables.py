"""Tables of a Hive metastore; a program of its own, because a process has one kind of catalog."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from forward_lineage import ForwardLineage
from forward_lineage.results import trusted_tables
from forward_lineage.spark.local import local_session
from udafs.errors import LineageError


def said(call: Callable[[], object]) -> str:
    """Return what a refusal says; empty when there is none."""
    try:
        call()
    except LineageError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(scratch: str) -> None:
    """Print what is said of tables that Hive's SerDe reads, and of one that Spark reads itself."""
    spark = local_session(
        "Hive tables",
        master="local[1]",
        driver_memory="1g",
        log=Path(scratch) / "spark.log",
        spark__sql__catalogImplementation="hive",
        spark__sql__shuffle__partitions="1",
        spark__sql__warehouse__dir=f"{scratch}/warehouse",
        spark__hadoop__javax__jdo__option__ConnectionURL=f"jdbc:derby:;databaseName={scratch}/metastore;create=true",
        spark__hadoop__datanucleus__schema__autoCreateAll="true",
        spark__hadoop__hive__metastore__schema__verification="false",
    )
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", f"{scratch}/derby.log")
    lineage = ForwardLineage(spark, Path(scratch) / "home")
    for table, storage in (("text", "TEXTFILE"), ("columns", "PARQUET")):
        spark.sql(f"CREATE TABLE {table} (k INT, g STRING) STORED AS {storage}")
        spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'a'), (3, 'b')")
    found = {
        "key": said(lambda: lineage.register("text", key="k")),
        "dictionary": said(lambda: lineage.register("text", key=["k"])),
        "position": said(lambda: lineage.register("text")),
        "copy": [row.row_id for row in _copied(lineage).rows("copied").collect()],
    }
    lineage.register("text", key="k", trusted=True)
    lineage.register("columns", key="k")
    for table in ("text", "columns"):
        lineage.save(f"SELECT g, count(*) AS n FROM {table} GROUP BY g", f"of_{table}")
        spark.sql(f"INSERT OVERWRITE {table} VALUES (3, 'a'), (1, 'b'), (2, 'c')")
    found["on trust"] = trusted_tables(lineage.backward("of_text", where="g = 'a'"))
    found["noticed"] = said(lambda: lineage.backward("of_columns", where="g = 'a'"))
    found["stale"] = [tuple(row) for row in lineage.stale().collect()]
    print(json.dumps(found))
    spark.stop()


def _copied(lineage: ForwardLineage) -> ForwardLineage:
    lineage.register("copied", source="text", order_by="k")
    return lineage


if __name__ == "__main__":
    main(*sys.argv[1:])
