"""Rows of a group that stand together already are grouped in one step, as Spark groups the user's; others in two."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark_settings import configured
from tests.udafs.test_functions import session

__all__ = ["session"]

HASHED = "spark.forward_lineage.hash_aggregation"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
SHUFFLED = {THRESHOLD: "-1"}
LARGE = {THRESHOLD: "100m"}
JOINED = "r {} s ON r.a = s.a"
LINEAGE = "count(*) AS n, dlunion(r.k) AS dl"

TOGETHER = {
    "inner": f"SELECT r.a, {LINEAGE} FROM {JOINED.format('JOIN')} GROUP BY r.a",
    "inner, by the other side": f"SELECT s.a, {LINEAGE} FROM {JOINED.format('JOIN')} GROUP BY s.a",
    "left": f"SELECT r.a, {LINEAGE}, dlunion(s.k) AS of_s FROM {JOINED.format('LEFT JOIN')} GROUP BY r.a",
    "right": f"SELECT s.a, {LINEAGE} FROM {JOINED.format('RIGHT JOIN')} GROUP BY s.a",
    "semi": f"SELECT a, {LINEAGE} FROM {JOINED.format('LEFT SEMI JOIN')} GROUP BY a",
    "anti": f"SELECT a, {LINEAGE} FROM {JOINED.format('LEFT ANTI JOIN')} GROUP BY a",
    "by more columns": f"SELECT r.a, r.v, {LINEAGE} FROM {JOINED.format('JOIN')} GROUP BY r.v, r.a",
    "under another name": "SELECT b, count(*) AS n, dlunion(k) AS dl FROM"
    f" (SELECT r.a AS b, r.k FROM {JOINED.format('JOIN')} WHERE r.v > s.v) GROUP BY b",
    "with a filter": f"SELECT r.a, sum(r.v) FILTER (WHERE r.v > 3) AS n, dlunion(r.k) FILTER (WHERE r.v < 9) AS dl"
    f" FROM {JOINED.format('JOIN')} GROUP BY r.a",
    "behind a window": "SELECT a, max(top) AS n, dlunion(k) AS dl FROM"
    " (SELECT *, max(v) OVER (PARTITION BY a ORDER BY v) AS top FROM r) GROUP BY a",
    "behind a grouping": "SELECT a, count(*) AS n, dlunion(k) AS dl FROM (SELECT a, max(k) AS k FROM r GROUP BY a)"
    " WHERE a > 2 GROUP BY a",
    "of all rows in the join": f"SELECT r.a, {LINEAGE} FROM {JOINED.format('JOIN')} AND r.v > s.v GROUP BY r.a",
}
APART = {
    "by fewer columns": f"SELECT r.a, {LINEAGE} FROM r JOIN s ON r.a = s.a AND r.v = s.v GROUP BY r.a",
    "by others": f"SELECT r.v, {LINEAGE} FROM {JOINED.format('JOIN')} GROUP BY r.v",
    "left, by the side with NULLs": f"SELECT s.a, {LINEAGE} FROM {JOINED.format('LEFT JOIN')} GROUP BY s.a",
    "full": f"SELECT r.a, {LINEAGE} FROM {JOINED.format('FULL JOIN')} GROUP BY r.a",
    "by an expression": f"SELECT r.a + 1 AS b, {LINEAGE} FROM {JOINED.format('JOIN')} GROUP BY r.a + 1",
    "not of equals": f"SELECT r.a, {LINEAGE} FROM r JOIN s ON r.a < s.a GROUP BY r.a",
    "all rows": f"SELECT {LINEAGE} FROM {JOINED.format('JOIN')}",
    "no join": f"SELECT a, {LINEAGE} FROM r GROUP BY a",
    "a union": "SELECT a, count(*) AS n, dlunion(k) AS dl FROM (SELECT a, k FROM r UNION ALL SELECT a, k FROM s)"
    " GROUP BY a",
}


@pytest.fixture(scope="module", autouse=True)
def tables(session: SparkSession) -> Iterator[None]:
    for name, rows in (("r", 400), ("s", 300)):
        frame = session.range(rows).selectExpr("id AS k", "IF(id % 50 = 7, NULL, id * 7 % 41) AS a", "id * 3 % 17 AS v")
        frame.createOrReplaceTempView(name)
    yield
    for name in "rs":
        session.catalog.dropTempView(name)


def steps(session: SparkSession, query: str) -> int:
    plan = session.sql(query)._jdf.queryExecution().sparkPlan().toString()
    return len(re.findall(r"Aggregate\([^\n]*dlunion\(", plan))


def exchanges(session: SparkSession, query: str) -> int:
    with configured(session, {"spark.sql.adaptive.enabled": "false"}):
        return session.sql(query)._jdf.queryExecution().executedPlan().toString().count("Exchange ")


def rows(session: SparkSession, query: str) -> list[str]:
    return sorted(map(repr, session.sql(query).collect()))


@pytest.mark.parametrize("query", TOGETHER.values(), ids=TOGETHER)
def test_one_step(session: SparkSession, query: str) -> None:
    plain = re.sub(r"dlunion\(\w*\.?(\w+)\)", "max(0)", query)
    with configured(session, SHUFFLED):
        assert steps(session, query) == 1
        assert exchanges(session, query) == exchanges(session, plain)
        found = rows(session, query)
        with configured(session, {HASHED: "false"}):
            assert rows(session, query) == found


@pytest.mark.parametrize("query", APART.values(), ids=APART)
def test_two_steps(session: SparkSession, query: str) -> None:
    with configured(session, SHUFFLED):
        assert steps(session, query) == 2
        found = rows(session, query)
        with configured(session, {HASHED: "false"}):
            assert rows(session, query) == found


def test_a_side_that_is_broadcast_leaves_the_others_where_they_are(session: SparkSession) -> None:
    behind = "FROM (SELECT r.* FROM r JOIN large ON r.a = large.a) AS r JOIN s ON r.v = s.v"
    session.range(100_000).selectExpr("id % 41 AS a").createOrReplaceTempView("large")
    try:
        with configured(session, {THRESHOLD: "3000"}):  # bytes: between the sizes of s and r
            assert steps(session, f"SELECT r.a, {LINEAGE} {behind} GROUP BY r.a") == 1
            assert steps(session, f"SELECT r.v, {LINEAGE} {behind} GROUP BY r.v") == 2
        with configured(session, LARGE):  # and where all are broadcast rows stay where they were read
            assert steps(session, f"SELECT r.a, {LINEAGE} {behind} GROUP BY r.a") == 2
            assert steps(session, TOGETHER["inner"]) == 2
    finally:
        session.catalog.dropTempView("large")


def test_keys_of_all_columns_that_a_grouping_needs(session: SparkSession) -> None:
    """Where Spark is told so, it clusters by all columns, whatever it was guessed that it does."""
    query = TOGETHER["by more columns"]
    with configured(session, SHUFFLED):
        found = rows(session, query)
        with configured(session, {"spark.sql.requireAllClusterKeysForDistribution": "true"}):
            assert rows(session, query) == found
