"""What the user waits for: from a text to its last row, plain Spark and ours, over TPC-H or the Walmart queries.

    python -m tests.bench.users_clock [--workload tpch] [--scale 1] [--runs 5] [--queries q2,q11] [--json FILE]

In turns: the query; `sql`, and the text that `rewrite` gave, under each semantics. Planning is in the figures, for
`sql` also reading, rewriting and the guard; so is every value of `DL`. A ratio is the median of those within a turn,
with the interval in which the true median lies with at least 93 % (of five runs, all). Behind it, milliseconds before
anything runs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from statistics import median

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from forward_lineage.spark.local import local_session
from tests.bench.harness import Comparison, Turns, Variant, compare, geometric_mean
from tests.bench.sessions import Sessions
from tests.bench.workloads import WORKLOADS

#: The most that a ratio may be: in the geometric mean, and of any query.
BARS = {
    ("tpch", "data"): (1.03, 1.25),
    ("tpch", "control"): (1.2, 2.0),
    ("walmart", "data"): (None, 1.5),
    ("tpch over delta", "data"): (1.05, 1.3),
    ("tpch over iceberg", "data"): (1.05, 1.3),
}
CONFIDENCE = 0.93


@dataclass(frozen=True)
class Clocked:
    """One way to have a query's lineage, against the query.

    Attributes:
        query: its name.
        way: `sql` or `rewrite`, and the semantics.
        plain: seconds of the query, median.
        ratio: median of the ratios within a turn.
        low: the lower end of their interval.
        high: the upper end.
        before: seconds until there was a DataFrame, median.

    """

    query: str
    way: str
    plain: float
    ratio: float
    low: float
    high: float
    before: float


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The narrowest pair of order statistics between which the median lies with `CONFIDENCE`; all, if too few."""
    ordered, n = sorted(values), len(values)
    left_out, outside = 0, 0.0
    while 2 * (left_out + 1) < n and 1 - 2 * (outside + comb(n, left_out) / 2**n) >= CONFIDENCE:
        outside += comb(n, left_out) / 2**n
        left_out += 1
    first = max(left_out - 1, 0)
    return ordered[first], ordered[n - 1 - first]


def variants(sessions: Sessions, text: str, semantics: Sequence[str]) -> list[Variant]:
    """The query alone, then each way to have its lineage."""
    found = [Variant("query", lambda: sessions.plain.sql(text))]
    for each in semantics:
        rewritten = sessions.lineage.rewrite(text, each)

        def run(rewritten: str = rewritten) -> DataFrame:
            return sessions.spark.sql(rewritten)

        found += [Variant(f"sql, {each}", sessions.traced(text, each, "auto")), Variant(f"rewrite, {each}", run)]
    return found


def clocked(comparison: Comparison) -> list[Clocked]:
    """The ways of one comparison against its first."""
    base, *others = comparison.timings
    found = []
    for timing in others:
        if timing.refused is not None:
            continue
        ratios = [ours / plain for ours, plain in zip(timing.clock, base.clock, strict=True)]
        place = comparison.query, timing.variant, median(base.clock)
        found.append(Clocked(*place, median(ratios), *interval(ratios), median(timing.prepare)))
    return found


def report(found: Sequence[Clocked], workload: str) -> Table:
    """A line a query, a column a way; below them the means, the worst, and the bars."""
    ways = list(dict.fromkeys(each.way for each in found))
    table = Table(title=f"{workload}: from the text to the last row, divided by the query alone")
    table.add_column("query")
    table.add_column("query, s", justify="right")
    for way in ways:
        table.add_column(way, justify="right")
    for query in dict.fromkeys(each.query for each in found):
        of_query = {each.way: each for each in found if each.query == query}
        plain = next(iter(of_query.values())).plain
        table.add_row(query, f"{plain:.2f}", *(_cell(of_query.get(way)) for way in ways))
    table.add_section()
    for title, summary, place in (("geometric mean", geometric_mean, 0), ("worst", max, 1)):
        ratios = [[each.ratio for each in found if each.way == way] for way in ways]
        bars = [BARS.get((workload, way.rsplit(", ", 1)[1]), (None, None))[place] for way in ways]
        cells = [_against(summary(each), bar) for each, bar in zip(ratios, bars, strict=True)]  # type: ignore[operator]
        table.add_row(title, "", *cells)
    return table


def _cell(each: Clocked | None) -> str:
    if each is None:
        return "refused"
    return f"{each.ratio:.2f} ({each.low:.2f}–{each.high:.2f}), {each.before * 1000:.0f} ms"


def _against(value: float, bar: float | None) -> str:
    return f"{value:.2f}" if bar is None else f"{value:.2f} (bar {bar}: {'met' if value <= bar else 'missed'})"


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--workload", default="tpch", show_default=True, type=click.Choice(sorted(WORKLOADS)))
@click.option("--scale", default=1.0, show_default=True)
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1))
@click.option("--queries", default="", help="Some of the queries, joined by commas.  [default: all]")
@click.option("--semantics", default="data,control", show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(workload: str, scale: float, runs: int, queries: str, semantics: str, json_path: Path | None) -> None:
    """Measure and print."""
    work = WORKLOADS[workload]
    names = [name for name in work.names if not queries or name in queries.split(",")]
    folder, found, console = work.generate(scale), list[Clocked](), Console(width=160)
    with tempfile.TemporaryDirectory(prefix="users-clock-") as scratch:
        spark = local_session("clock", master="local[2]", driver_memory="6g", log=Path(scratch) / "spark.log")
        try:
            sessions = Sessions.over(work, spark, folder, Path(scratch) / "home")
            for name in names:
                ways = variants(sessions, work.query(name), semantics.split(","))
                found += clocked(compare(spark, name, ways, Turns(runs)))
                shown = [f"{each.way} {each.ratio:.2f}" for each in found if each.query == name]
                console.print(f"{name}: {', '.join(shown)}", highlight=False)
        finally:
            spark.stop()
    console.print(report(found, workload))
    if json_path is not None:
        json_path.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
