"""Consuming queries over TPC-H results, each against the same over a join with `lineage_of(result, table)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from pyspark.sql import DataFrame

import tpch_queries
from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import rows_with_lineage
from tests.tiers import every_day

YEARLY = "SELECT l_orderkey % 4 AS part, count(*) AS n, sum(revenue) AS revenue FROM q3 GROUP BY 1"
PER_BAR = """
    SELECT year(l_shipdate) AS y, month(l_shipdate) AS m, l_returnflag, sum(l_quantity) AS qty, count(*) AS n
    FROM {lineitem} WHERE l_shipmode = 'AIR' GROUP BY 1, 2, l_returnflag
"""
# A query; which of its rows; a table of the query; what is asked of that table's rows.
DRILLED = [
    ("q1", "l_linestatus = 'F' AND l_returnflag = 'N'", "lineitem", PER_BAR.format(lineitem="{rows}")),
    ("q1", "l_returnflag = 'R'", "lineitem", PER_BAR.format(lineitem="{rows}")),
    (
        "q3",
        "l_orderkey % 2 = 0",
        "orders",
        "SELECT o_orderpriority, count(*) AS n FROM {rows} GROUP BY o_orderpriority",
    ),
    ("q3", "revenue > 200000", "customer", "SELECT c_custkey, c_name FROM {rows}"),
    ("yearly", "part IN (1, 3)", "lineitem", "SELECT l_shipmode, avg(l_tax) AS tax FROM {rows} GROUP BY l_shipmode"),
    (
        "q10",
        "c_nationkey % 2 = 0",
        "nation",
        "SELECT n_name, count(*) AS c FROM {rows} n, customer c WHERE c_nationkey = n_nationkey GROUP BY n_name",
    ),
]


RESULTS = {
    "q1": tpch_queries.query("q1"),
    "q3": tpch_queries.query("q3"),
    "q10": tpch_queries.query("q10").replace("n_name,", "n_name, c_nationkey,"),
    "yearly": YEARLY,
}


@pytest.fixture(scope="module")
def saved(traced: ForwardLineage) -> Callable[[str], ForwardLineage]:
    """Saves a result when it is first asked for, what it reads before it."""

    @cache
    def with_result(name: str) -> ForwardLineage:
        if name == "yearly":
            with_result("q3")
        traced.save(RESULTS[name], name)
        return traced

    return with_result


def by_join(lineage: ForwardLineage, result: str, where: str, table: str) -> DataFrame:
    """The rows of a table, with ids, that some rows of a result were made of."""
    rows = lineage.rows(result).where(where).selectExpr("row_id AS row")
    ids = lineage.table(f"lineage_of({result}, {table})").join(rows, "row").select("id").distinct()
    return lineage.rows(table).join(ids.withColumnRenamed("id", "row_id"), "row_id")


def plain(lineage: ForwardLineage, sql: str, rows: DataFrame) -> list[tuple[object, ...]]:
    rows.drop("row_id").createOrReplaceTempView("joined_rows")
    return sorted(map(tuple, lineage.spark.sql(sql.format(rows="joined_rows")).collect()), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize(("result", "where", "table", "sql"), every_day(DRILLED, DRILLED[2:5]))
def test_the_same_over_a_join(
    saved: Callable[[str], ForwardLineage], result: str, where: str, table: str, sql: str
) -> None:
    lineage = saved(result)
    joined = by_join(lineage, result, where, table)
    found = rows_with_lineage(lineage.sql(sql.format(rows=f"BACKWARD({result} WHERE {where}, {table})")))
    assert found
    assert [row for row, _ in found] == plain(lineage, sql, joined)
    chosen = {row.row_id for row in joined.select("row_id").collect()}
    of_rows = [set(ids[table]) for _, ids in found]
    assert set().union(*of_rows) <= chosen
    if "WHERE" not in sql:
        assert set().union(*of_rows) == chosen


@pytest.mark.slow
def test_linked_brushing(saved: Callable[[str], ForwardLineage]) -> None:
    lineage = saved("yearly")
    assert saved("q3") is lineage
    brushed = lineage.sql("SELECT * FROM FORWARD(BACKWARD(yearly WHERE part = 1, lineitem) WHERE l_tax < 0.01, q3)")
    items = by_join(lineage, "yearly", "part = 1", "lineitem").where("l_tax < 0.01").selectExpr("row_id AS id")
    rows = lineage.table("lineage_of(q3, lineitem)").join(items, "id").select("row").distinct().collect()
    assert rows
    assert sorted(ids["q3"] for _, ids in rows_with_lineage(brushed)) == sorted([row.row] for row in rows)
