"""What was slow outside of TPC-DS: PIVOT, and `backward` over a table that is partitioned by a column.

    python -m tests.bench.other_shapes [--rows 100000,1000000] [--runs 5]

PIVOT is traced from the text to the last row, against the query alone, and so is the same as `sum(…) FILTER`. The rows
of saved groups are asked for by `backward`, of a partitioned table against the same in one folder. Ways are run in
turns, and a figure is the least of the runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession
from rich.console import Console

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.jvm import JvmSeconds
from tests.bench.tpcds import Work, measure, report, run_frame

SHOPS = 6
_PIVOT = f"""
    SELECT * FROM (SELECT day, shop, amount FROM {{}})
    PIVOT (sum(amount) FOR shop IN ({", ".join(map(str, range(SHOPS)))}))
"""
_FILTERS = ", ".join(f"sum(amount) FILTER (WHERE shop = {each}) AS `{each}`" for each in range(SHOPS))
_SHAPES = {"PIVOT": _PIVOT, "FILTER": f"SELECT day, {_FILTERS} FROM {{}} GROUP BY day"}
_SAVED = "SELECT day, sum(amount) AS amount FROM {} GROUP BY day"
_QUESTIONS: dict[str, dict[str, Any]] = {
    "a condition": {"where": "day = 7"},
    "ten rows": {"rows": list(range(10))},
    "all rows": {},
}


def write(spark: SparkSession, folder: Path, rows: int) -> None:
    """Write a table twice: in one folder, and in one for each shop. Days have a hundred rows."""
    sales = spark.range(0, rows, 1, 2).selectExpr(
        "id", f"id * 7919 % {max(rows // 100, 1)} AS day", f"id % {SHOPS} AS shop", "id * 31 % 1000 AS amount"
    )
    sales.write.parquet(str(folder / "sales"))
    sales.repartition(2).write.partitionBy("shop").parquet(str(folder / "parted"))


def traced(lineage: ForwardLineage, plain: SparkSession, text: str) -> dict[str, Work]:
    """Return a query alone and traced."""
    return {"query": lambda: run_frame(plain.sql(text)), "traced": lambda: run_frame(lineage.sql(text))}


def asked(lineage: ForwardLineage, question: Mapping[str, Any]) -> dict[str, Work]:
    """Return `backward` over the table in one folder, and over the partitioned one."""
    return {
        "one folder": lambda: run_frame(lineage.backward("of_sales", **question)),
        "partitioned": lambda: run_frame(lineage.backward("of_parted", **question)),
    }


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--rows", "sizes", default="100000,1000000", show_default=True)
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1))
def main(sizes: str, runs: int) -> None:
    """Measure and print."""
    console = Console(width=160)
    for rows in map(int, sizes.split(",")):
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shapes-")))
            spark = local_session("shapes", master="local[2]", driver_memory="6g", log=scratch / "spark.log")
            stack.callback(spark.stop)
            spark.conf.set("spark.sql.shuffle.partitions", "8")
            write(spark, scratch, rows)
            plain, cpu = spark.newSession(), JvmSeconds(spark)
            plain.conf.set("spark.sql.shuffle.partitions", "8")
            lineage = ForwardLineage(spark, home=scratch / "home")
            for table in ("sales", "parted"):
                plain.read.parquet(str(scratch / table)).createTempView(table)
                lineage.register(table, path=scratch / table)
                lineage.save(_SAVED.format(table), f"of_{table}")
            shapes = {name: traced(lineage, plain, text.format("sales")) for name, text in _SHAPES.items()}
            questions = {name: asked(lineage, question) for name, question in _QUESTIONS.items()}
            for works in (shapes, questions):
                found = [each for name, ways in works.items() for each in measure(cpu, name, ways, runs)]
                failed = "\n".join(each.failed for each in found if each.failed)
                console.print(report(found), f"{rows:,} rows", failed)


if __name__ == "__main__":
    main()
