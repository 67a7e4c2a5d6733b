"""A small table that a query reads with ids, and a subquery of it without, is broadcast once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.spark_settings import DEFAULTS, configure
from tests.tiers import every_day

BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
PARTS = "facts f JOIN places p ON f.p = p.p"
SMALL = "p.kind = 3"


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    home = tmp_path_factory.mktemp("shared")
    random = np.random.default_rng(11)
    facts = pa.table({"k": np.arange(3000), "p": random.integers(0, 60, 3000), "v": random.integers(0, 100, 3000)})
    places = pa.table({"p": np.arange(50), "kind": np.arange(50) % 5, "w": random.integers(0, 9, 50)})
    session = spark.newSession()
    configure(session, DEFAULTS)
    lineage = ForwardLineage(session, home / "lineage_home")
    for name, table in (("facts", facts), ("places", places)):
        parquet.write_table(table, home / f"{name}.parquet")
        lineage.register(name, path=home / f"{name}.parquet")
    return lineage


@pytest.fixture(autouse=True)
def one_table_is_small(lineage: ForwardLineage) -> Iterator[None]:
    lineage.spark.conf.set(BROADCAST, "4k")
    yield
    lineage.spark.conf.unset(BROADCAST)


def answer(lineage: ForwardLineage, text: str) -> tuple[list[tuple[object, ...]], int]:
    """The rows with the ids of each table, in order; and how many exchanges Spark used again."""
    frame = lineage.sql(text)
    users = [f"`{column}`" for column in frame.columns[:-1]]
    tables = frame.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    found = frame.selectExpr(*users, *(f"dl_ids(DL.`{table}`) AS `ids of {table}`" for table in tables))
    rows = sorted(tuple(row) for row in found.collect())
    plan = found._jdf.queryExecution().executedPlan().toString().partition("Initial Plan")[0]
    return rows, plan.count("ReusedExchange")


# A query, and whether its subquery joins the same rows and no other columns of `places` than the query itself.
QUERIES = {
    "a scalar subquery": (
        f"SELECT k FROM {PARTS} WHERE {SMALL} AND v > (SELECT avg(f.v) FROM {PARTS} WHERE {SMALL})", True,
    ),
    "its columns in another order": (
        f"SELECT k, w FROM {PARTS} WHERE {SMALL} AND v > (SELECT max(w) + avg(f.v) FROM {PARTS} WHERE {SMALL})", True,
    ),
    "fewer columns": (
        f"SELECT k, w FROM {PARTS} WHERE {SMALL} AND v > (SELECT avg(f.v) FROM {PARTS} WHERE {SMALL})", True,
    ),
    "more columns": (
        f"SELECT k FROM {PARTS} WHERE {SMALL} AND v > (SELECT avg(f.v + w) FROM {PARTS} WHERE {SMALL})", False,
    ),
    "another condition": (
        f"SELECT k FROM {PARTS} WHERE {SMALL} AND v > (SELECT avg(f.v) FROM {PARTS} WHERE p.kind = 4)", False,
    ),
    "all columns, by their places": (
        f"""SELECT k FROM {PARTS} WHERE {SMALL} AND v > (
              SELECT avg(x) FROM (SELECT f.p AS x FROM {PARTS} WHERE {SMALL} UNION ALL SELECT 70))""", True,
    ),
    "an outer join": (
        f"""SELECT k FROM {PARTS} WHERE {SMALL} AND v > (
              SELECT count(p.p) / 20 FROM facts f LEFT JOIN (SELECT p FROM places p WHERE {SMALL}) p ON f.p = p.p)""",
        True,
    ),
    "a semi join": (
        f"""SELECT k FROM {PARTS} WHERE {SMALL} AND v > (
              SELECT avg(v) FROM facts f
              WHERE EXISTS (SELECT * FROM places p WHERE f.p = p.p AND p.p IS NOT NULL AND {SMALL}))""", True,
    ),
    "an anti join": (
        f"""SELECT k FROM {PARTS} WHERE {SMALL} AND v > (
              SELECT avg(v) FROM facts f
              WHERE NOT EXISTS (SELECT * FROM places p WHERE f.p = p.p AND p.p IS NOT NULL AND {SMALL}))""", True,
    ),
    "an anti join without what Spark adds to inner joins": (
        f"""SELECT k FROM {PARTS} WHERE {SMALL} AND v > (
              SELECT avg(v) FROM facts f WHERE NOT EXISTS (SELECT * FROM places p WHERE f.p = p.p AND {SMALL}))""",
        False,
    ),
    "a predicate": (
        f"SELECT k FROM {PARTS} WHERE {SMALL} AND v IN (SELECT v + 1 FROM {PARTS} WHERE {SMALL} AND k < 900)", True,
    ),
}  # fmt: skip


SELDOM = ("a scalar subquery", "fewer columns", "a predicate")


@pytest.mark.parametrize(
    ("text", "shared"),
    every_day(QUERIES.values(), lambda case: case not in [QUERIES[each] for each in SELDOM]),
    ids=QUERIES,
)
def test_one_broadcast_for_both(lineage: ForwardLineage, text: str, shared: bool) -> None:
    rows, reused = answer(lineage, text)
    assert (reused > 0) == shared
    plain = sorted(tuple(row) for row in lineage.spark.sql(text).collect())
    assert [row[: len(plain[0])] for row in rows] == plain
    lineage.spark.conf.set(BROADCAST, "-1")  # then no scan is looked at
    assert rows == answer(lineage, text)[0]


def test_large_tables_are_left_alone(lineage: ForwardLineage) -> None:
    """They are shuffled: an id more in each row, and nothing to share."""
    lineage.spark.conf.set(BROADCAST, "-1")
    text = QUERIES["a scalar subquery"][0]
    plan = lineage.sql(text)._jdf.queryExecution().optimizedPlan()
    assert plan.toString().count("dl_row_id(") == 2
    lineage.spark.conf.set(BROADCAST, "4k")
    plan = lineage.sql(text)._jdf.queryExecution().optimizedPlan()
    assert plan.toString().count("dl_row_id(") == 3
