"""What the door of DataFrames costs beside that of SQL: the queries of TPC-H traced through both, on the user's clock.

    python -m tests.bench.dataframes [--scale 1] [--runs 3] [--queries q1,q3] [--semantics control]

Interleaved, medians; a time is from the text, or from `trace(frame)`, to the last row with its lineage. "prepare" is
what of it passes before anything runs: analysis, writing the SQL, comparing plans, rewriting. Making a DataFrame call
by call is the user's own, with lineage or without, and so is no part of the ratio; the last column has it in it.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.harness import Turns, Variant, compare, geometric_mean
from tests.forward_lineage.dataframes.tpch_frames import FRAMES
from tests.tpch_queries.sessions import traced_session
from tpch_queries.data import generate

BAR = 1.05


@dataclass(frozen=True)
class Figures:
    """One query: seconds through each door, those with the DataFrame made anew, and what it took to prepare."""

    query: str
    sql: float
    frame: float
    made: float
    sql_prepare: float
    frame_prepare: float

    @property
    def ratio(self) -> float:
        return self.frame / self.sql


def measure(lineage: ForwardLineage, queries: Sequence[str], semantics: str, turns: Turns) -> Iterator[Figures]:
    """Trace each query through both doors, in turns."""
    for query in queries:
        frame = FRAMES[query](lineage.spark.table)

        def by_sql(query: str = query) -> DataFrame:
            return lineage.sql(tpch_queries.query(query), semantics)

        def by_frame(frame: DataFrame = frame) -> DataFrame:
            return lineage.trace(frame, semantics)

        def made(query: str = query) -> DataFrame:
            return lineage.trace(FRAMES[query](lineage.spark.table), semantics)

        doors = [Variant("sql", by_sql), Variant("frame", by_frame), Variant("made", made)]
        found = compare(lineage.spark, query, doors, turns)
        if refused := [each.refused for each in found.timings if each.refused]:
            raise click.ClickException(f"{query}: {refused[0]}")
        times = [statistics.median(each.clock) for each in found.timings]
        prepared = [statistics.median(each.prepare) for each in found.timings[:2]]
        yield Figures(query, *times, *prepared)


def report(found: Sequence[Figures]) -> Table:
    """A line for each query; geometric mean and worst below."""
    table = Table(title=f"Capture through trace(DataFrame), divided by capture through sql(text); the bar is {BAR}")
    for title in ("query", "sql, s", "trace, s", "ratio", "prepare sql, s", "prepare trace, s", "made anew, s"):
        table.add_column(title, justify="left" if title == "query" else "right")
    for each in found:
        seconds = (f"{each.sql_prepare:.2f}", f"{each.frame_prepare:.2f}", f"{each.made:.2f}")
        table.add_row(each.query, f"{each.sql:.2f}", f"{each.frame:.2f}", f"{each.ratio:.3f}", *seconds)
    table.add_section()
    ratios = [each.ratio for each in found]
    mean = geometric_mean(ratios)
    table.add_row("geometric mean", "", "", "–" if mean is None else f"{mean:.3f}")
    table.add_row("worst", "", "", f"{max(ratios):.3f}")
    return table


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=1.0, show_default=True)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1))
@click.option("--seconds", default=0.0, show_default=True, help="Short queries run more often, up to this time.")
@click.option("--queries", default=",".join(FRAMES), show_default=True)
@click.option("--semantics", type=click.Choice(["data", "control"]), default="data", show_default=True)
@click.option("--memory", default="4g", show_default=True, help="Of the driver.")
def main(scale: float, runs: int, seconds: float, queries: str, semantics: str, memory: str) -> None:
    """Measure and print."""
    if unknown := [name for name in queries.split(",") if name not in FRAMES]:
        raise click.UsageError(f"no query is called {', '.join(unknown)}; there are {', '.join(FRAMES)}")
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="dataframes-") as scratch:
        spark = local_session("dataframes", driver_memory=memory, log=Path(scratch) / "spark.log")
        try:
            lineage = traced_session(spark, generate(scale), Path(scratch) / "home")
            for figures in measure(lineage, queries.split(","), semantics, Turns(runs, seconds)):
                found.append(figures)
                print(f"{figures.query}: {figures.ratio:.3f}", flush=True)
        finally:
            spark.stop()
    Console(width=120).print(report(found))


if __name__ == "__main__":
    main()
