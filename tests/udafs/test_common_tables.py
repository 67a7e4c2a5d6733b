"""CTEs where Spark of some versions loses its way: with the kernel each has the answer that all versions have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark_programs import interpreted

REPOSITORY = Path(__file__).resolve().parents[2]
# Each reads a CTE that is evaluated once, below a projection that has been added to the query.
MERGED = {
    "alone": "SELECT (SELECT max(id) FROM s) AS a, (SELECT min(id) FROM s) AS b, (SELECT count(*) FROM s) AS n",
    "in rows": "SELECT id AS a, (SELECT max(id) FROM s) AS b, (SELECT min(id) FROM s WHERE r >= 0) AS n FROM range(2)",
    "of two, one of which reads the other": (
        "SELECT (SELECT max(id) FROM s) AS a, (SELECT min(id) FROM s) AS b, (SELECT max(id) FROM t) AS n"
    ),
    "in a subquery with one of its own": (
        "SELECT * FROM (WITH u AS (SELECT id, rand() AS r FROM range(4)) SELECT (SELECT max(id) FROM s) AS a, (SELECT"
        " min(id) FROM s) AS b, (SELECT max(u.id) + min(u.id) FROM u) + (SELECT max(id) - min(id) FROM u) AS n)"
    ),
}
ANSWERS = {
    "alone": [(8, 0, 9)],
    "in rows": [(0, 8, 0), (1, 8, 0)],
    "of two, one of which reads the other": [(8, 0, 8)],
    "in a subquery with one of its own": [(8, 0, 6)],
}
WITH = (
    "WITH s AS (SELECT id, rand() AS r FROM range(9)), t AS (SELECT s.id, rand() AS q FROM s JOIN range(9) USING (id)) "
)


@pytest.mark.parametrize("name", MERGED)
def test_subqueries_that_spark_merges(session: SparkSession, name: str) -> None:
    frame = session.sql(WITH + MERGED[name]).withMetadata("n", {"of": "the result"})
    assert sorted(tuple(row) for row in frame.collect()) == ANSWERS[name]


IN_A_YOUNG_PROCESS = """
import sys
from pathlib import Path

from forward_lineage.spark.local import local_session
from udafs.attach import attach
from udafs.build import build_kernel

log, way = Path(sys.argv[1]), sys.argv[2]
extended = {"spark__jars": str(build_kernel()), "spark__sql__extensions": "forwardlineage.LineageExtensions"}
given = extended if way == "extension" else {}
spark = local_session("young", master="local[1]", driver_memory="1g", log=log, **given)
if way == "attach":
    attach(spark)
spark.sql("WITH c AS (SELECT id % 2 AS a, id % 3 AS b, sum(id) AS v FROM range(9) GROUP BY 1, 2) SELECT * FROM c"
    ).createOrReplaceTempView("common")
by = [spark.sql(f"WITH c AS (SELECT {k} AS k, sum(v) AS v FROM common GROUP BY 1) SELECT k, v FROM c") for k in "ab"]
assert sorted(map(tuple, by[0].union(by[1]).collect())) == [(0, 9), (0, 20), (1, 12), (1, 16), (2, 15)]
s = "WITH s AS (SELECT id, rand() AS r FROM range(9)) SELECT (SELECT max(id) FROM s) AS a, (SELECT min(id) FROM s) AS b"
assert spark.sql(s).withMetadata("b", {"of": "the result"}).collect() == [(8, 0)]
print("all well")
"""


@pytest.mark.slow  # a Spark of its own
@pytest.mark.parametrize("way", ["attach", "extension"])
def test_the_first_queries_of_a_process(tmp_path: Path, way: str) -> None:
    """In 4.1 what reads one of the first CTEs of a process may be given another one."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_YOUNG_PROCESS, str(tmp_path / "log"), way],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=280, check=False, env=interpreted(os.environ),
    )  # fmt: skip
    assert done.stdout.endswith("all well\n"), done.stderr[-3000:]
