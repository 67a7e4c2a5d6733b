"""What LINEAGE ON costs, by the kind of column: a query of TPC-H and the same with the clause, on the user's clock.

    python -m tests.bench.lineage_on [--scale 0.1] [--runs 5] [--only date,code]

Interleaved, medians; a time is from the text to the last row, parsing and rewriting included. "ids" says whether values
are ids by themselves or a dictionary gives them. "first" is the very first run with the clause in the session, when the
table may have to be looked at, divided by the median of the plain query.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.results import meaning_of
from forward_lineage.spark.local import local_session
from tests.bench.experiments import WEEKS
from tests.bench.harness import Turns, Variant, compare, geometric_mean, run_all_columns
from tpch_queries.data import generate

BAR = 1.3
CLAUSES = {
    "int": "LINEAGE ON lineitem.l_linenumber",
    "bigint": "LINEAGE ON lineitem.l_orderkey",
    "date": "LINEAGE ON lineitem.l_shipdate",
    "decimal": "LINEAGE ON lineitem.l_extendedprice",
    "code": "LINEAGE ON lineitem.l_shipmode",
    "date, int": "LINEAGE ON lineitem.l_commitdate, CAST(lineitem.l_linenumber AS SMALLINT)",
    "weeks": WEEKS,
    "text": "LINEAGE ON lineitem.l_comment",
}
QUERIES = ("q1", "q3", "q6", "q12")


@dataclass(frozen=True)
class Figures:
    """One query under one clause: seconds of the plain query, ratios to it, and where ids come from."""

    clause: str
    query: str
    ids: str
    plain: float
    ratio: float
    first: float


def measure(
    spark: SparkSession, lineage: ForwardLineage, clauses: Sequence[str], queries: Sequence[str], turns: Turns
) -> Iterator[Figures]:
    """Run each query under each clause, in turns with the query alone."""
    for clause in clauses:
        for query in queries:
            text = tpch_queries.query(query)
            traced = f"{text}\n{CLAUSES[clause]}"

            def alone(text: str = text) -> DataFrame:
                return spark.sql(text)

            def with_clause(traced: str = traced) -> DataFrame:
                return lineage.sql(traced)

            run_all_columns(alone())
            first = _seconds(lambda: run_all_columns(with_clause()))
            found = compare(spark, query, [Variant("plain", alone), Variant("lineage on", with_clause)], turns)
            plain, ours = (statistics.median(each.clock) for each in found.timings)
            yield Figures(clause, query, _ids(with_clause()), plain, ours / plain, first / plain)


def _ids(frame: DataFrame) -> str:
    meaning = meaning_of(frame) or {}
    return "values" if all("values" in each for each in meaning["granules"].values()) else "dictionary"


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(found: Sequence[Figures]) -> Table:
    """A line for each clause and query."""
    table = Table(title=f"LINEAGE ON, divided by the query alone; the bar is {BAR}")
    for title in ("clause", "query", "ids", "plain, s", "ratio", "first", "bar"):
        table.add_column(title, justify="left" if title in ("clause", "query", "ids") else "right")
    for each in found:
        met = "met" if each.ratio <= BAR else "missed"
        table.add_row(
            each.clause, each.query, each.ids, f"{each.plain:.2f}", f"{each.ratio:.2f}", f"{each.first:.2f}", met
        )
    return table


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=0.1, show_default=True)
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1))
@click.option("--only", default=";".join(CLAUSES), show_default=True, help="Clauses, joined by semicolons.")
@click.option("--queries", default=",".join(QUERIES), show_default=True)
def main(scale: float, runs: int, only: str, queries: str) -> None:
    """Measure and print."""
    clauses = [name.strip() for name in only.split(";")]
    if unknown := [name for name in clauses if name not in CLAUSES]:
        raise click.UsageError(f"no clause is called {', '.join(unknown)}; there are {'; '.join(CLAUSES)}")
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="lineage-on-") as scratch:
        spark = local_session("lineage on", driver_memory="4g", log=Path(scratch) / "spark.log")
        lineage = ForwardLineage(spark, Path(scratch) / "home")
        try:
            for file in sorted(generate(scale).glob("*.parquet")):
                lineage.register(file.stem, path=file)
            for figures in measure(spark, lineage, clauses, queries.split(","), Turns(runs)):
                found.append(figures)
                print(figures, flush=True)
        finally:
            spark.stop()
    Console(width=120).print(report(found))
    for ids in ("values", "dictionary"):
        if ratios := [each.ratio for each in found if each.ids == ids]:
            print(f"{ids}: geometric mean {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
