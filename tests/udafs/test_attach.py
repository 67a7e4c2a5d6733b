"""The kernel in sessions that already run, in executors of their own, and in the spark-sql shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from udafs.attach import attach
from udafs.build import CACHE_VARIABLE, build_kernel

REPOSITORY = Path(__file__).parents[2]


def test_attached_twice_to_a_running_session(spark: SparkSession) -> None:
    assert spark.range(3).count() == 3
    attach(spark)
    attach(spark)
    assert spark.sql("SELECT dl_ids(dlunion(id)) FROM range(3)").first() == ([0, 1, 2],)
    assert spark.range(4).selectExpr("dl_size(dlunion(id))").first() == (4,)
    experimental = spark._jsparkSession.experimental()
    for added, ours in (
        (experimental.extraStrategies(), "LineageAggregation"),
        (experimental.extraOptimizations(), "RowPositionPushdown"),
    ):
        names = [added.apply(i).getClass().getName() for i in range(added.size())]
        assert len([name for name in names if ours in name]) == 1


def test_each_session_is_attached_by_itself(spark: SparkSession) -> None:
    attach(spark)
    other = spark.newSession()
    with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE"):
        other.sql("SELECT dl_of(1)")
    attach(other)
    assert other.sql("SELECT dl_ids(dl_of(1))").first() == ([1],)
    assert spark.sql("SELECT dl_ids(dl_of(2))").first() == ([2],)


IN_A_CLUSTER = """
import sys
from pathlib import Path
from forward_lineage.spark.local import local_session
from tests.spark_settings import CLUSTER
from tests.task_errors import REFUSED
from udafs.attach import attach

spark = local_session("attach", log=Path(sys.argv[1]), **{**CLUSTER, "master": "local-cluster[1,1,1024]"})
assert spark.range(0, 10, 1, 4).count() == 10  # runs, executors are up
attach(spark)
rows = spark.sql(
    "SELECT id % 300 AS k, dlunion(id) AS d, dl_of(max(id)) AS m FROM range(0, 3000, 1, 4) GROUP BY 1"
).selectExpr("k", "dl_ids(d) AS ids", "dl_contains(d, k) AS has", "dl_intersects(d, m) AS meets").collect()
assert len(rows) == 300
assert all(row.ids == list(range(row.k, 3000, 300)) and row.has and row.meets for row in rows), rows[:3]
spark.conf.set("spark.forward_lineage.hash_aggregation", "false")
sizes = spark.sql("SELECT dl_size(dlunion(dl_of(id))) AS n FROM range(0, 1000, 1, 4) GROUP BY id % 200").distinct()
assert sizes.collect() == [(5,)]
try:
    spark.sql("SELECT dlunion(id - 1) FROM range(0, 4, 1, 4)").collect()
except Exception as error:
    assert "row id -1 is negative" in str(error), error
    assert isinstance(error, REFUSED), type(error)
else:
    raise AssertionError("no error")
print("all well")
"""


@pytest.mark.long  # every day executors of a cluster have the kernel, in tests/cluster/test_tpch.py
@pytest.mark.timeout(900)  # a Spark of its own, on a machine that may be busy
def test_executors_of_their_own(tmp_path: Path) -> None:
    cache = tmp_path / "it's a cache"
    cache.mkdir()
    shutil.copy(build_kernel(), cache)
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CLUSTER, str(tmp_path / "log")],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=880, check=False,
        env={**os.environ, CACHE_VARIABLE: str(cache)},
    )  # fmt: skip
    assert done.stdout.endswith("all well\n"), done.stderr[-3000:]


@pytest.mark.long  # every day the shell of docs/spark-sql-shell.md is tried
@pytest.mark.timeout(900)
def test_in_the_spark_sql_shell(tmp_path: Path) -> None:
    home = Path(pyspark.__file__).parent
    statement = (
        "SELECT dl_ids(dlunion(id)), dl_encoding(dl_of(3)) FROM range(5);"
        "EXPLAIN SELECT dlunion(id) FROM range(5) GROUP BY id % 2; DESCRIBE FUNCTION dlunion"
    )
    done = subprocess.run(
        [
            str(home / "bin" / "spark-sql"), "--master", "local[2]", "--jars", str(build_kernel()),
            "--conf", "spark.sql.extensions=forwardlineage.LineageExtensions", "--conf", "spark.ui.enabled=false",
            "--conf", "spark.sql.catalogImplementation=in-memory", "-e", statement,
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=880, check=False,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    assert "[0,1,2,3,4]\tset\n" in done.stdout, done.stderr[-3000:]
    assert "poolvalue" in done.stdout, "the extension brings the planner strategy too"
    assert "Returns the union of the row ids" in done.stdout


def test_a_second_time_nothing_takes_the_place_of_anything(spark: SparkSession) -> None:
    """Spark's log would have a warning for each function."""
    session = spark.newSession()
    registry = session._jsparkSession.sessionState().functionRegistry()

    def info() -> Any:
        every = registry.listFunction()
        names = (every.apply(place) for place in range(every.size()))
        return next(registry.lookupFunction(name).get() for name in names if name.funcName() == "dl_size")

    attach(session)
    before = info()
    attach(session)
    assert info().equals(before)
