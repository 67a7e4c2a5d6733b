"""What `dlunion` costs an aggregation: the query with it, and with `collect_set`, over the same query without.

    python -m tests.bench.kernel --scale 1 --runs 5

Groups of three kinds over lineitem: few and large (TPC-H Q1), one for each order, one for each part. The ids are row
positions. "as an object" is the aggregation as Spark plans it by itself (`spark.forward_lineage.hash_aggregation` off);
"ids carried" reads the ids and keeps one a group.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.harness import Turns, Variant, compare_all, table_of_ratios
from tpch_queries.data import generate

Q1 = """
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount),
  count(*) {lineage}
FROM lineitem_ids WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus"""
QUERIES = {
    "few groups (Q1)": Q1,
    "a group an order": "SELECT l_orderkey, sum(l_extendedprice) {lineage} FROM lineitem_ids GROUP BY l_orderkey",
    "a group a part": "SELECT l_partkey, sum(l_extendedprice) {lineage} FROM lineitem_ids GROUP BY l_partkey",
}
FUNCTIONS = {
    "without": "",
    "ids carried": ", max(id) AS id",
    "dlunion": ", dlunion(id) AS dl",
    "dlunion as an object": ", dlunion(id) AS dl",
    "collect_set": ", collect_set(id) AS ids",
}


def session_for(spark: SparkSession, lineitem: Path, home: Path, *, hashed: bool) -> SparkSession:
    """Return a session with the kernel and the view `lineitem_ids`."""
    session = spark.newSession()
    lineage = ForwardLineage(session, home)
    lineage.register("lineitem", path=lineitem)
    session.conf.set("spark.forward_lineage.hash_aggregation", str(hashed).lower())
    table = lineage.registrations.base_table(lineage.tables()["lineitem"])
    session.sql(f"SELECT *, {table.row_id} AS id FROM {table.relation}").createOrReplaceTempView("lineitem_ids")
    return session


@click.command(help=__doc__)
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--runs", default=5, show_default=True, help="Timed runs of each variant, after one to warm up.")
@click.option("--only", default="", help="Part of the name of the queries to run.")
def main(scale: float, runs: int, only: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session("kernel bench", master="local[2]", driver_memory="4g", log=Path(folder) / "spark.log")
        lineitem = generate(scale) / "lineitem.parquet"
        sessions = {
            hashed: session_for(spark, lineitem, Path(folder) / str(hashed), hashed=hashed) for hashed in (True, False)
        }

        def variant(query: str, name: str) -> Variant:
            session = sessions[name != "dlunion as an object"]
            sql = query.format(lineage=FUNCTIONS[name])
            prepare: Callable[[], DataFrame] = lambda: session.sql(sql)  # noqa: E731
            return Variant(name, prepare)

        queries = [
            (title, [variant(query, name) for name in FUNCTIONS]) for title, query in QUERIES.items() if only in title
        ]
        comparisons = compare_all(spark, queries, Turns(runs))
        Console().print(table_of_ratios(f"dlunion over lineitem, scale {scale:g}", comparisons))
        spark.stop()


if __name__ == "__main__":
    main()
