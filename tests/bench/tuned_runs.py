"""What `lineage.run` costs where it captures nothing: TPC-H, beside the queries as they are.

    python -m tests.bench.tuned_runs [--scale 1] [--runs 5] [--queries q2,q11]

In turns, from the text to the last row, over the names that `register` makes: the query; "run, without": a session
that may not spend a second on capturing, so that every run looks at the query and leaves it as it is; "run, behind":
one that captured before the turns that count, so that it uses the sketches, or says that they would not save enough.
Ratios with their intervals as in `users_clock`.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import click
from pyspark.sql import SparkSession
from rich.console import Console

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.harness import Turns, Variant, compare
from tests.bench.skipping import text_of
from tests.bench.users_clock import Clocked, clocked, report
from tpch_queries.data import default_folder, generate

_MOST = 1.05
_WARM_UP = 3  # most run the same plan: less is between them than between the first runs of a JVM


def tuned(spark: SparkSession, data: Path, home: Path, mode: str, seconds: float | None) -> ForwardLineage:
    """A lineage over TPC-H's tables, in a session of its own, that decides in some way."""
    lineage = ForwardLineage(spark.newSession(), home)
    for name in tpch_queries.TABLES:
        lineage.register(name, path=str(data / f"{name}.parquet"))
    lineage.tune(mode, seconds=seconds, least=0)
    return lineage


@click.command(help=__doc__)
@click.option("--scale", default=1.0, show_default=True)
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1))
@click.option("--queries", default=",".join(tpch_queries.names()), show_default="all")
@click.option("--memory", default="3g", show_default=True)
def main(scale: float, runs: int, queries: str, memory: str) -> None:
    """Measure and print."""
    data, console, found = generate(scale, default_folder(scale)), Console(width=140), list[Clocked]()
    with tempfile.TemporaryDirectory(prefix="tuned-runs-") as scratch:
        folder = Path(scratch)
        spark = local_session("tuned", master="local[2]", driver_memory=memory, log=folder / "spark.log")
        without = tuned(spark, data, folder / "without", "eager", 0)
        behind = tuned(spark, data, folder / "behind", "eager", None)
        for name in queries.split(","):
            sql = text_of(name)
            asked: list[tuple[str, ForwardLineage]] = [("run, without", without), ("run, behind", behind)]
            ways = [Variant("query", partial(without.spark.sql, sql))]
            ways += [Variant(way, partial(lineage.run, sql)) for way, lineage in asked]
            of_query = clocked(compare(spark, name, ways, Turns(runs, warm_up=_WARM_UP)))
            found += of_query
            ratios = ", ".join(f"{each.way} {each.ratio:.2f}" for each in of_query)
            said = "; ".join(f"{lineage.decisions()[-1].way}: {lineage.decisions()[-1].why}" for _, lineage in asked)
            console.print(f"{name}: {ratios}; {said}", highlight=False, markup=False)
        spark.stop()
    console.print(report(found, "tuned"))
    surely = [each for each in found if each.low > _MOST]  # whose whole interval is above
    for said, slower in (("slower", [each for each in found if each.ratio > _MOST]), ("surely slower", surely)):
        names = ", ".join(f"{each.query} ({each.way}) {each.ratio:.2f}" for each in slower)
        console.print(f"{said} than {_MOST}: {names or 'none'}")


if __name__ == "__main__":
    main()
