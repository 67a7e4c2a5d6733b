"""Column lineage of TPC-H's queries, and of harder ones over its tables, is that of Spark's analysed plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage.frontend.rewriting import query_of
from forward_lineage.frontend.statement import parse
from forward_lineage.openlineage.columns import column_lineage
from forward_lineage.openlineage.scopes import Unknown
from rewrites.tables import BaseTable, View
from tests.forward_lineage.openlineage.spark_columns import columns_of

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
N = "(SELECT n_regionkey AS k, n_name FROM nation)"
R = "(SELECT r_regionkey AS k, r_name FROM region)"
HARDER = [
    "SELECT * FROM nation JOIN region ON n_regionkey = r_regionkey",
    f"SELECT * FROM {N} JOIN {R} USING (k)",
    f"SELECT * FROM {N} RIGHT JOIN {R} USING (k)",
    f"SELECT * FROM {N} NATURAL FULL JOIN {R}",
    "SELECT n_name || r_name AS both, upper(both) AS up FROM nation, region",
    "SELECT n_comment AS n_name, n_name AS again FROM nation",
    "SELECT sum(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS running FROM orders",
    "SELECT rank() OVER w AS r, max(o_comment) OVER w AS m FROM orders WINDOW w AS (ORDER BY o_orderdate)",
    "SELECT c_name, (SELECT max(o_totalprice) FROM orders WHERE o_custkey = c_custkey) AS best FROM customer",
    "WITH a AS (SELECT n_name AS x FROM nation), b AS (SELECT x, 1 AS y FROM a) SELECT b.*, a.x AS z FROM a, b",
    "SELECT n_name AS x, n_nationkey FROM nation UNION ALL SELECT r_name, r_regionkey FROM region",
    "SELECT n_regionkey, count(*) AS n, max(struct(n_name, n_comment)).n_name AS last FROM nation GROUP BY ALL",
    "SELECT CASE WHEN n_regionkey = 1 THEN n_name END AS c, n_nationkey IN (1, 2) AS i FROM nation",
    "SELECT aggregate(array(n_nationkey), 0L, (s, x) -> s + x + n_regionkey) AS s FROM nation",
    "SELECT x.n_name, y.n_comment FROM nation x LEFT SEMI JOIN region ON true JOIN nation y USING (n_nationkey)",
    "SELECT region_of, count(*) AS n FROM nation_view GROUP BY region_of",
]
VIEW = "SELECT n_name, r_name AS region_of FROM nation JOIN region ON n_regionkey = r_regionkey"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tpch: Path) -> Any:
    """What names mean: TPC-H's tables as views over files, and a view over these."""
    known: dict[str, BaseTable | View] = {}
    for name in TABLES:
        frame = spark.read.parquet(str(tpch / f"{name}.parquet"))
        frame.createOrReplaceTempView(name)
        known[name] = BaseTable(name, tuple(frame.columns), name, "0")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW nation_view AS {VIEW}")
    known["nation_view"] = View("nation_view", ("n_name", "region_of"), VIEW)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("sql", [*map(tpch_queries.query, tpch_queries.names()[:22]), *HARDER])
def test_as_spark_has_it(spark: SparkSession, tables: Any, sql: str) -> None:
    frame = spark.sql(sql)
    ours = column_lineage(query_of(parse(sql).tree), lambda parts: tables.get(parts[-1].lower()), frame.columns)
    sparks = dict(zip(frame.columns, columns_of(frame), strict=True))
    assert not [made for made in ours.values() if isinstance(made, Unknown)]
    assert {name: {field.lower() for _, field in made} for name, made in ours.items()} == sparks  # type: ignore[union-attr]
