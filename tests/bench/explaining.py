"""What `compare` and `why_not` cost on TPC-H, results saved twice with 1,000 corrected rows between.

    python -m tests.bench.explaining [--scale 1] [--runs 5]

Customers and orders are copies with a key, so the rows of before are kept. Asked are one row of the revenue by customer
group and year, and one order that a condition keeps out. Figures are medians on the user's clock, warm. What `why_not`
costs is also a ratio to the query, restricted to the asked rows.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.demo.tpch_data import generate
from forward_lineage.spark.local import local_session

REVENUE = (
    "SELECT c_mktsegment, c_nationkey, year(o_orderdate) AS y, sum(o_totalprice) AS revenue, count(*) AS n "
    "FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY c_mktsegment, c_nationkey, year(o_orderdate)"
)
LARGE = (
    "SELECT o_orderkey, c_name, o_totalprice FROM customer JOIN orders ON c_custkey = o_custkey "
    "WHERE o_totalprice > 400000"
)
KEYS = {"customer": "c_custkey", "orders": "o_orderkey"}
CORRECTED = (
    "CAST(CASE WHEN o_orderkey % 32 = 1 AND o_orderkey <= 32000 THEN o_totalprice + 100 "
    "ELSE o_totalprice END AS DECIMAL(15, 2))"
)


def median(runs: int, ask: Callable[[], object]) -> float:
    """Return the median of some runs in seconds, after one that is not counted."""
    ask()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def saved_twice(spark: SparkSession, lineage: ForwardLineage, data: Path, folder: str) -> None:
    """Register, save, correct 1,000 orders, and save again."""
    for name, key in KEYS.items():
        spark.read.parquet(f"{data}/{name}.parquet").createOrReplaceTempView(f"{name}_rows")
        lineage.register(name, source=f"{name}_rows", key=key)
    lineage.save(REVENUE, "revenue", keep_versions=True)
    rows = spark.read.parquet(f"{data}/orders.parquet")
    columns = [f"{CORRECTED} AS {name}" if name == "o_totalprice" else name for name in rows.columns]
    rows.selectExpr(*columns).write.parquet(f"{folder}/corrected")
    corrected = spark.read.parquet(f"{folder}/corrected")
    corrected.createOrReplaceTempView("orders_rows")
    lineage.register("orders", source=corrected, key=KEYS["orders"])
    lineage.save(REVENUE, "revenue", keep_versions=True)
    lineage.save(LARGE, "large")


@click.command()
@click.option("--scale", default=1.0, show_default=True)
@click.option("--runs", default=5, show_default=True)
def main(scale: float, runs: int) -> None:
    """Measure both."""
    data = generate(scale)
    spark = local_session("explaining", master="local[2]", driver_memory="4g")
    with tempfile.TemporaryDirectory() as home:
        lineage = ForwardLineage(spark, Path(home) / "home")
        saved_twice(spark, lineage, data, home)
        changed = lineage.compare("revenue", by=["o_orderpriority"])
        key = changed.rows[0].key
        where = " AND ".join(f"{name} = {value!r}" for name, value in key.items())
        one = median(runs, lambda: lineage.compare("revenue", where=where, by=["o_orderpriority"]))
        order = spark.sql("SELECT min(o_orderkey) FROM orders_rows WHERE o_totalprice < 1000").collect()[0][0]
        missing = median(runs, lambda: lineage.why_not("large", table="orders", ids=[order]))
        restricted = f"{LARGE} AND o_orderkey = {order}"
        for name in KEYS:
            restricted = restricted.replace(f" {name} ", f" {name}_rows ")
        query = median(runs, lambda: spark.sql(restricted).collect())
        print(f"compare, one of {len(changed.rows):,} rows that differ: {one * 1000:,.0f} ms (bar: 500 ms)")
        print(f"the query restricted to the asked row: {query * 1000:,.0f} ms")
        print(f"why_not: {missing * 1000:,.0f} ms, {missing / query:.2f} runs of that query (bar: 2)")
    spark.stop()


if __name__ == "__main__":
    main()
