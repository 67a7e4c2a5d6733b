"""What tests do in a session that has the door, in its own process."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.results import meaning_of
from tests.cluster.processes import wait_for
from tests.forward_lineage.door.thrift_server import all_doors, doors_of
from tpch_queries import query

TABLES = ("nation", "region", "orders", "lineitem", "customer", "supplier", "part", "partsupp")


def opened(spark: SparkSession, tpch: Path) -> ForwardLineage:
    """Register TPC-H in the home that the application was started with."""
    lineage = ForwardLineage(spark, "home")
    for table in TABLES:
        if table not in lineage.tables():
            lineage.register(table, path=tpch / f"{table}.parquet")
    return lineage


def _same(asked: DataFrame, traced: DataFrame) -> bool:
    """Columns, what their metadata says but for the text itself, rows, lineage."""
    assert _columns(asked) == _columns(traced)
    assert _meaning(asked) == _meaning(traced)
    return sorted(map(str, asked.collect())) == sorted(map(str, traced.collect()))


def _columns(frame: DataFrame) -> list[tuple[object, ...]]:
    return [(field.name, field.dataType, field.nullable) for field in frame.schema]


def _meaning(frame: DataFrame) -> dict[str, object]:
    return {key: value for key, value in (meaning_of(frame) or {}).items() if key != "sql"}


def differing(spark: SparkSession, tpch: Path, names: list[str], semantics: str) -> list[str]:
    """Return the queries of TPC-H that come back otherwise than from `lineage.sql`."""
    lineage = opened(spark, tpch)
    spark.conf.set("spark.forward_lineage.semantics", semantics)
    texts = {name: query(name) for name in names}
    return [
        name
        for name, text in texts.items()
        if not _same(spark.sql(f"{text}\nWITH LINEAGE"), lineage.sql(text, semantics))
    ]


def forms(spark: SparkSession, tpch: Path) -> list[str]:
    """Ask in each form; return those whose answer is another than that of `lineage.sql`."""
    lineage = opened(spark, tpch)
    text = "SELECT n_regionkey, count(*) AS nations FROM nation GROUP BY n_regionkey"
    lineage.save(text, "per_region")
    asked = {
        f"{text} LINEAGE ON n_name": f"{text} LINEAGE ON n_name",
        f"{text} LINEAGE ON n_name WITH LINEAGE": f"{text} LINEAGE ON n_name",
        f"/* a */ {text} WITH -- b\n LINEAGE ;": text,
        "SELECT n_name FROM BACKWARD(per_region WHERE n_regionkey = 2, nation) WITH LINEAGE": (
            "SELECT n_name FROM BACKWARD(per_region WHERE n_regionkey = 2, nation)"
        ),
        "SELECT * FROM per_region WITH LINEAGE": "SELECT * FROM per_region",
        "SELECT 1 AS one WITH LINEAGE": "SELECT 1 AS one",
        "TABLE region WITH LINEAGE": "TABLE region",
    }
    found = [each for each, ours in asked.items() if not _same(spark.sql(each), lineage.sql(ours))]
    spark.sql(f"CREATE TEMPORARY VIEW by_door AS {text} WITH LINEAGE")
    lineage.sql(f"CREATE TEMPORARY VIEW by_python AS {text}")
    if not _same(spark.table("by_door"), spark.table("by_python")):
        found.append("temporary view")
    return found


def untouched(spark: SparkSession) -> list[list[object]]:
    """Run what Spark reads itself, whatever words are in it."""
    spark.sql("CREATE TEMPORARY VIEW with AS SELECT 1 AS a, 2 AS with")
    spark.sql("CREATE TEMPORARY VIEW u AS SELECT 1 AS a")
    texts = (
        "SELECT a FROM with lineage",
        "SELECT with lineage FROM with",
        "SELECT u.a FROM u JOIN with LINEAGE ON u.a = LINEAGE.a",
        "WITH LINEAGE AS (SELECT 5 AS x) SELECT x FROM LINEAGE",
    )
    assert all_doors() == doors_of(_java(spark))
    return [list(spark.sql(text).first() or ()) for text in texts]


def stored(spark: SparkSession, tpch: Path) -> dict[str, object]:
    """Make tables with DL, fill them, read them; say whether they hold and mean what those of `lineage.sql` do."""
    lineage = opened(spark, tpch)
    text = "SELECT n_regionkey, count(*) AS nations FROM nation WHERE n_nationkey < {} GROUP BY n_regionkey"
    spark.sql(f"CREATE TABLE by_door USING parquet AS {text.format(10)} WITH LINEAGE")
    spark.sql(f"INSERT INTO by_door {text.format(5)} WITH LINEAGE")
    lineage.sql(f"CREATE TABLE by_python USING parquet AS {text.format(10)}")
    lineage.sql(f"INSERT INTO by_python {text.format(5)}")
    meanings = [
        spark.sql(f"SHOW TBLPROPERTIES {name} ('forward_lineage.meaning')").collect()[0]["value"]
        for name in ("by_door", "by_python")
    ]
    through = "SELECT sum(nations) AS nations FROM {}"
    return {
        "meaning": meanings[0] == meanings[1],
        "rows": _same(spark.table("by_door"), spark.table("by_python")),
        "through": _same(
            spark.sql(f"{through.format('by_door')} WITH LINEAGE"), lineage.sql(through.format("by_python"))
        ),
        "not run twice": spark.table("by_door").count() == spark.table("by_python").count(),
    }


def complaints(spark: SparkSession, tpch: Path, texts: list[str]) -> list[tuple[str, str]]:
    """Say what is said of statements here, and by `lineage.sql`."""
    lineage = opened(spark, tpch)
    return [(_said(lambda t=text: spark.sql(t)), _said(lambda t=text: lineage.sql(t))) for text in texts]  # type: ignore[misc]


def parameters(spark: SparkSession, tpch: Path) -> str:
    """Ask with values of parameters."""
    opened(spark, tpch)
    return _said(lambda: spark.sql("SELECT * FROM nation WHERE n_nationkey = :k WITH LINEAGE", args={"k": 1}))


def to_be_read(spark: SparkSession, tpch: Path) -> list[list[object]]:
    """Ask for ids and for values."""
    opened(spark, tpch)
    spark.sql("SET spark.forward_lineage.ids = true")
    text = "SELECT n_regionkey, count(*) AS nations FROM nation WHERE n_regionkey = 1 GROUP BY n_regionkey"
    found = [spark.sql(f"{text} WITH LINEAGE").first(), spark.sql(f"{text} LINEAGE ON n_regionkey").first()]
    return [list(row["DL"]["nation"]) for row in found if row is not None]


def registered_meanwhile(spark: SparkSession, folder: Path) -> list[str]:
    """Ask, register and change tables in between; say what comes back."""
    numbers = folder / "numbers"
    spark.range(3).write.parquet(str(numbers))
    question = "SELECT count(*) AS n FROM numbers WITH LINEAGE"
    found = [_said(lambda: spark.sql(question))]
    ForwardLineage(spark, "home").register("numbers", path=numbers)
    found.append(str(spark.sql(question).first()["n"]))  # type: ignore[index]
    spark.range(3, 5).write.mode("append").parquet(str(numbers))
    found.append(_said(lambda: spark.sql(question)))
    ForwardLineage(spark, "home").refresh("numbers")
    found.append(str(spark.sql(question).first()["n"]))  # type: ignore[index]
    return found


def killed(spark: SparkSession, tpch: Path) -> tuple[int, int, bool]:
    """Kill the process that traces; say how many there are before and after, and whether it is another one."""
    opened(spark, tpch)
    spark.sql("SELECT * FROM region WITH LINEAGE").collect()
    before = doors_of(_java(spark))
    os.kill(before[0], signal.SIGKILL)
    wait_for("its end", lambda: before[0] not in doors_of(_java(spark)))
    assert spark.sql("SELECT * FROM region WITH LINEAGE").count() == 5
    after = doors_of(_java(spark))
    return len(before), len(after), before != after


def told_which_interpreter(spark: SparkSession, tpch: Path, folder: Path) -> tuple[str, bool, bool]:
    """Say in a session which interpreter is to trace and where the home is; return the answer, and what was heeded."""
    opened(spark, tpch)
    mark, script = folder / "mark", folder / "python"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for door in doors_of(_java(spark)):
        os.kill(door, signal.SIGKILL)
    wait_for("its end", lambda: doors_of(_java(spark)) == [])
    spark.sql(f"SET spark.forward_lineage.python = {script}")
    spark.sql(f"SET spark.forward_lineage.home = {folder}/home")
    row = spark.sql("SELECT r_name FROM region WHERE r_regionkey = 1 WITH LINEAGE").first()
    assert row is not None
    return row["r_name"], mark.exists(), (folder / "home").exists()


def stopped_while_it_works(spark: SparkSession, tpch: Path) -> tuple[str, int]:
    """Stop the process that traces, so that it takes too long; then let it go on."""
    opened(spark, tpch)
    spark.sql("SELECT * FROM region WITH LINEAGE").collect()
    [door] = doors_of(_java(spark))
    os.kill(door, signal.SIGSTOP)
    try:
        told = _said(lambda: spark.sql("SELECT r_name FROM region WITH LINEAGE"))
    finally:
        os.kill(door, signal.SIGCONT)
    return told, spark.sql("SELECT r_name FROM region WITH LINEAGE").count()


def refusal(spark: SparkSession) -> str:
    """Ask where nobody can answer."""
    return _said(lambda: spark.sql("SELECT 1 WITH LINEAGE"))


def asked_and_left(spark: SparkSession) -> list[int]:
    """Ask, and return the processes that trace: what becomes of them when this one is killed?"""
    spark.sql("SELECT 1 WITH LINEAGE").collect()
    return [_java(spark), *doors_of(_java(spark))]


def asked_and_stopped(spark: SparkSession) -> list[int]:
    """Ask, stop Spark, and return the processes that trace."""
    spark.sql("SELECT 1 WITH LINEAGE").collect()
    doors = doors_of(_java(spark))
    spark.stop()
    return doors


def _java(spark: SparkSession) -> int:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return int(gateway.jvm.java.lang.ProcessHandle.current().pid())


def _said(run: object) -> str:
    try:
        run()  # type: ignore[operator]
    except PySparkException as error:
        text = str(error).split("\n\nJVM stacktrace")[0]
        return re.sub(r"^\[[A-Z0-9_.]+\] ", "", text).split(" SQLSTATE")[0].strip()  # 3.5 has no name for ours
    except LineageError as error:
        return str(error)
    return ""
