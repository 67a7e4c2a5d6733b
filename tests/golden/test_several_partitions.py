"""What stays outermost orders, spreads and cuts the same rows as in plain Spark, over several partitions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import rewrite_sql
from tests.oracle.spark_answers import FAST_FOR_TINY_DATA
from tests.spark_settings import configure
from udafs.attach import attach

CATALOG = Catalog()
CATALOG.register("wide", ("id", "k", "v"), key="id")
CATALOG.register("other", ("oid", "k"), key="oid")
# query → keys that leave no ties but equal rows, so that Spark has no choice of rows within a partition
QUERIES = {
    "SELECT DISTINCT k FROM wide": "k",
    "SELECT DISTINCT k, v FROM wide": "k, v",
    "SELECT DISTINCT k, count(*) AS v FROM wide GROUP BY k, v": "k, v",
    "SELECT DISTINCT k, v, max(id) OVER (PARTITION BY k, v) AS m FROM wide": "k, v, m",
    "SELECT k, v FROM wide UNION SELECT k, oid FROM other": "k, v",
    "SELECT k FROM wide UNION ALL SELECT k FROM other": "k",
    "SELECT k FROM wide INTERSECT SELECT k FROM other": "k",
    "SELECT k FROM wide EXCEPT SELECT k FROM other": "k",
    "(SELECT k, v, id FROM wide WHERE v < 9)": "k, v, id",
}
CLAUSES = (
    "SORT BY {keys} LIMIT 7",
    "CLUSTER BY {keys} LIMIT 7",
    "DISTRIBUTE BY k SORT BY {keys} LIMIT 9 OFFSET 4",
)


@pytest.fixture(scope="module")
def partitioned(spark: SparkSession) -> Iterator[SparkSession]:
    """Tables in four partitions, shuffled into four."""
    session = spark.newSession()
    attach(session)
    configure(session, FAST_FOR_TINY_DATA)
    session.conf.set("spark.sql.shuffle.partitions", "4")
    session.conf.set("spark.sql.adaptive.enabled", "false")  # partitions of other sizes would be merged otherwise
    session.range(0, 120, 1, 4).selectExpr("id", "id * 7 % 23 AS k", "id % 11 AS v").createTempView("wide")
    session.range(0, 40, 1, 4).selectExpr("id AS oid", "id * 5 % 31 AS k").createTempView("other")
    yield session


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("query", QUERIES)
def test_the_rows_are_those_of_plain_spark(query: str, clause: str, partitioned: SparkSession) -> None:
    sql = f"{query} {clause.format(keys=QUERIES[query])}"
    plain = [tuple(row) for row in partitioned.sql(sql).collect()]
    traced = [tuple(row)[:-1] for row in partitioned.sql(rewrite_sql(sql, CATALOG)).collect()]
    assert sorted(traced) == sorted(plain)
    assert traced == plain
