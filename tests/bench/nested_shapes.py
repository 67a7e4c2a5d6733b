"""Kin of the shapes of `tests.bench.by_reference`: joined back, deduplicated, nested, under both semantics.

    python -m tests.bench.nested_shapes [--rows 1000000] [--groups 1000] [--runs 3] [--only "full join"]

Each at `--rows` rows of each table and at half of them, groups fixed. In turns: the query; `sql`, all of the user's
columns computed and `dl_size` of every table for the first rows; the text of `rewrite` likewise; `affected` by one row
of `sales`; writing the rows, and `save`. Printed are ratios, of `save` to writing and else to the query, and what twice
the rows cost.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.by_reference import Size, chosen, looked_at, write_tables

WARM_UP = 1  # turns that do not count
WAYS = {"sql": "query", "text": "query", "affected": "query", "save": "written"}  # and what each is compared with


@dataclass(frozen=True)
class Kin:
    """A query, and under which semantics it is traced."""

    sql: str
    semantics: str = "data"


_TOTALS = "SELECT item, day, sum(amount) AS a FROM sales GROUP BY item, day"
_RUNNING = "SELECT item, day, sum(sum(amount)) OVER (PARTITION BY item ORDER BY day) AS r FROM sales GROUP BY item, day"
_ABOVE_ITS_AVERAGE = (
    "SELECT s.k, s.amount FROM sales s WHERE s.amount > 1.8 * (SELECT avg(t.amount) FROM sales t WHERE t.item = s.item)"
)
KIN = {
    "left join": Kin(
        "SELECT u.k, g.a FROM u LEFT JOIN (SELECT item, max(amount) AS a FROM sales GROUP BY item) g ON u.w = g.item"
    ),
    "full join": Kin(
        "SELECT coalesce(x.item, y.w) AS i, x.a, y.b FROM (SELECT item, sum(amount) AS a FROM sales GROUP BY item) x"
        " FULL JOIN (SELECT w, sum(k) AS b FROM u GROUP BY w) y ON x.item = y.w"
    ),
    "DISTINCT": Kin(
        "SELECT s.day, sum(s.amount) AS t FROM sales s JOIN (SELECT DISTINCT w FROM u) d ON s.item = d.w GROUP BY s.day"
    ),
    "UNION": Kin(
        "SELECT s.k, s.amount FROM sales s JOIN (SELECT item FROM sales UNION SELECT w FROM u) d ON s.item = d.item"
        " WHERE s.amount > 9000"
    ),
    "window joined back": Kin(
        f"SELECT s.k, r.r FROM sales s JOIN ({_RUNNING}) r USING (item, day) WHERE s.amount > 9000"
    ),
    "correlated aggregate": Kin(_ABOVE_ITS_AVERAGE),
    "correlated aggregate (control)": Kin(_ABOVE_ITS_AVERAGE, "control"),
    "the same grouped": Kin(
        f"SELECT k % 7 AS x, sum(amount) AS s FROM ({_ABOVE_ITS_AVERAGE}) GROUP BY k % 7", "control"
    ),
    "the same sorted": Kin(f"{_ABOVE_ITS_AVERAGE} ORDER BY s.amount, s.k", "control"),
    "IN (control)": Kin(
        "SELECT w, sum(k) AS s FROM u WHERE w IN (SELECT item FROM sales GROUP BY item HAVING max(v) > 9000)"
        " GROUP BY w",
        "control",
    ),
    "EXISTS (control)": Kin(
        "SELECT w, sum(k) AS s FROM u WHERE EXISTS (SELECT 1 FROM sales s WHERE s.item = u.w AND s.amount > 10000)"
        " GROUP BY w",
        "control",
    ),
    "EXISTS of an expression": Kin(
        "SELECT w % 10 AS x, count(*) AS n FROM u WHERE EXISTS (SELECT 1 FROM sales s WHERE s.item = u.w % 100)"
        " GROUP BY w % 10",
        "control",
    ),
    "three deep": Kin(
        "SELECT w % 10 AS x, max(t) AS t FROM (SELECT u.w, u.k % 7 AS m, sum(g.a) AS t FROM u JOIN"
        f" (SELECT item, sum(a) AS a FROM ({_TOTALS}) GROUP BY item) g ON u.w = g.item GROUP BY u.w, u.k % 7)"
        " GROUP BY w % 10"
    ),
}


@dataclass(frozen=True)
class Figures:
    """Median seconds of each way at one size."""

    name: str
    rows: int
    seconds: dict[str, float]


def measure(spark: SparkSession, folder: Path, size: Size, names: Sequence[str], runs: int) -> Iterator[Figures]:
    """Time each way of each query, in turns."""
    spark = spark.newSession()  # whose names are those of one home
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    write_tables(spark, folder, size)
    lineage = ForwardLineage(spark, folder / "home")
    for table in ("sales", "u"):
        lineage.register(table, path=folder / table)
    for name in names:
        ways = _ways(spark, lineage, KIN[name], folder)
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(WARM_UP + runs):
            for way, work in ways.items():
                begun = time.perf_counter()
                work()
                taken[way].append(time.perf_counter() - begun)
        yield Figures(name, size.rows, {way: median(each[WARM_UP:]) for way, each in taken.items()})


def _ways(spark: SparkSession, lineage: ForwardLineage, kin: Kin, folder: Path) -> dict[str, Callable[[], object]]:
    sql, semantics = kin.sql, kin.semantics
    return {
        "query": lambda: _run(spark.sql(sql)),
        "sql": lambda: _run(looked_at(lineage.sql(sql, semantics))),
        "text": lambda: _run(looked_at(spark.sql(lineage.rewrite(sql, semantics)))),
        "affected": lambda: _run(lineage.affected(sql, "sales", "k = 4711", semantics)),
        "written": lambda: spark.sql(sql).write.mode("overwrite").parquet(str(folder / "rows")),
        "save": lambda: lineage.save(sql, "saved", semantics=semantics),
    }


def _run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def report(found: Sequence[Figures]) -> Table:
    """A line for each query and size."""
    table = Table(title="kin of the shapes: ratios, and in brackets what twice the rows cost")
    for title in ("query", "rows", "query, s", "written, s", *WAYS):
        table.add_column(title, justify="left" if title == "query" else "right")
    for each in found:
        half = next((one for one in found if (one.name, one.rows) == (each.name, each.rows // 2)), None)
        cells = []
        for way, against in WAYS.items():
            slope = f" ({each.seconds[way] / half.seconds[way]:.2f})" if half else ""
            cells.append(f"{each.seconds[way] / each.seconds[against]:.2f}{slope}")
        plain = (f"{each.seconds[way]:.2f}" for way in ("query", "written"))
        table.add_row(each.name, f"{each.rows:,}", *plain, *cells)
    most = max(each.rows for each in found)
    largest = [each.seconds for each in found if each.rows == most]
    means = (geometric_mean(each[way] / each[against] for each in largest) for way, against in WAYS.items())
    table.add_row("geometric mean", f"{most:,}", "", "", *(f"{mean:.2f}" for mean in means))
    return table


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of each of the two tables.")
@click.option("--groups", default=1_000, show_default=True)
@click.option("--runs", default=3, show_default=True)
@click.option("--only", default=",".join(KIN), show_default=True, help="Queries.")
@click.option("--driver-memory", default="4g", show_default=True, help="Heap of Spark.")
def main(rows: int, groups: int, runs: int, only: str, driver_memory: str) -> None:
    """Measure and print."""
    names = chosen(only, KIN, "query")
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="nested-shapes-") as scratch:
        spark = local_session(
            "nested shapes", master="local[2]", driver_memory=driver_memory, log=Path(scratch) / "spark.log"
        )
        try:
            for each in (rows // 2, rows):
                found += measure(spark, Path(scratch) / str(each), Size(each, groups), names, runs)
        finally:
            spark.stop()
    Console(width=140).print(report(found))


if __name__ == "__main__":
    main()
