"""A window whose order leaves rows equal may give other rows each time it runs: a stage over it is computed once.

Adaptive execution plans each reading of a stage anew. Where two of them were computed apart, a row of the one was not
found in the other, now and then: so the same frame is read several times.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.settings import BY_REFERENCE
from tests.spark_settings import INTERPRETED, configured

TABLES = {
    "o": "SELECT int(id) AS id, if(id % 11 = 0, null, id * 7 % 5) AS k, id * 13 % 17 AS a,"
    " if(id % 6 = 0, null, id * 5 % 7) AS b FROM range(1, 25)",
    "c": "SELECT int(id) AS id, id % 6 AS k, id * 3 % 8 AS a, id * 11 % 9 AS b FROM range(1, 13)",
}
# Joined so that Spark, which knows the sizes of what it has computed, turns the sides of a join round.
JOINED = (
    "SELECT coalesce(x.k, y.k) AS k, x.a, y.b, i1, i2, i3, i4"
    " FROM (SELECT q.k, p.a, q.a AS b, p.id AS i1, q.id AS i2 FROM o p JOIN o q ON p.k = q.k) x"
    " JOIN (SELECT coalesce(p.k, q.k) AS k, p.a, q.b, p.id AS i3, q.id AS i4 FROM o p FULL JOIN c q ON p.a = q.b) y"
    " ON x.a = y.b"
)
FRAME = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
QUERIES = {
    "an order with ties": f"SELECT k, i1, sum(a) OVER (PARTITION BY k ORDER BY a, b {FRAME}) AS s FROM ({JOINED})",
    "no order": f"SELECT k, i1, count(a) OVER (PARTITION BY k) AS n FROM ({JOINED})",
}
TIMES = 6


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    session = spark.newSession()
    for name, rows in TABLES.items():
        session.sql(rows).createOrReplaceTempView(name)
    lineage = ForwardLineage(session, tmp_path_factory.mktemp("once"))
    for name in TABLES:
        lineage.register(name, key="id")
    with configured(session, {**INTERPRETED, "spark.sql.adaptive.enabled": "true", BY_REFERENCE: "true"}):
        yield lineage


@pytest.mark.parametrize("query", QUERIES)
def test_each_row_of_a_stage_is_there_each_time(lineage: ForwardLineage, query: str) -> None:
    frame = lineage.sql(QUERIES[query])
    asked = frame.selectExpr("*", "dl_size(DL.o) AS rows")
    counts = {len(asked.collect()) for _ in range(TIMES)}
    assert counts == {lineage.spark.sql(QUERIES[query]).count()}
