"""Hundreds of instances of a few parameterised queries, with sketches and without.   [Niu 2022, §9.3 f., figure 7]

    python -m tests.bench.self_tuning [--share 0.05] [--instances 800] [--mode adaptive] [--dates] [--json FILE]

First S-Q1 to S-Q5: plain, captured, used, in turns. Then the workload: S-Q1, S-Q3 and S-Q4 with HAVING in place of
their LIMIT, as the paper has it; which one, and the bound, are drawn at random, so that a hundredth of the rows is
aggregated to what is returned, in the mean. That is how the paper measures how selective a sketch is; a hundredth of
the *users* would lie in all of 10,000 ranges of 12.5 million. With `--dates` rows before a day do not count, either,
which is drawn as well, and makes sketches serve fewer instances. Every instance is run by `lineage.run` and by
`spark.sql`, in turns, each for as many seconds as it takes; checks, capturing and all the rest count. Rows are compared
each time.

Printed are total seconds, how many instances used, captured, or did neither, and the slowest ratio of an instance that
did not capture, beside the paper's figure: about three times faster in all.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import track
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.stack_overflow import PAPER, QUERIES, TABLES, WANTED, write_tables

_FASTER_IN_ALL = 3.0  # the paper's figure
_TEMPLATE = (
    "SELECT u_id, u_displayname, count(*) AS cnt FROM {table}, users WHERE {owner} = u_id{since}"
    " GROUP BY u_id, u_displayname HAVING count(*) >= {least}"
)
_OWNERS = {"comments": "c_userid", "posts": "p_owneruserid", "badges": "b_userid"}


@dataclass
class Workload:
    """What was measured of all instances.

    Attributes:
        plain: seconds of each, run as it is.
        ours: seconds of each, run by `lineage.run`.
        ways: how each was run.
        deciding: seconds of `ours` until there was a DataFrame: what is added to a run that is left as it is, at most.
        different: the queries whose rows were others.

    """

    plain: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    ways: list[str] = field(default_factory=list)
    deciding: list[float] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    @property
    def faster(self) -> float:
        """How many times faster all of it was."""
        return sum(self.plain) / sum(self.ours)

    def deciding_of(self, way: str) -> list[float]:
        """Seconds of deciding over those of the query, of those that were run in a way."""
        all_of = zip(self.deciding, self.plain, self.ways, strict=True)
        return [deciding / plain for deciding, plain, each in all_of if each == way]

    def ratio_of(self, way: str) -> float | None:
        """Median over plain of those that were run in a way."""
        ratios = [
            ours / plain for ours, plain, each in zip(self.ours, self.plain, self.ways, strict=True) if each == way
        ]
        return median(ratios) if ratios else None


def bounds_of(spark: SparkSession, table: str, selectivity: float) -> int:
    """How many rows of a table a user has at least, where such users have so small a part of all."""
    groups = spark.sql(f"SELECT count(*) AS cnt FROM {table} GROUP BY {_OWNERS[table]}").toArrow()
    counts = np.sort(groups.column("cnt").to_numpy())[::-1]
    return int(counts[np.searchsorted(np.cumsum(counts), selectivity * counts.sum())])


def instances(thresholds: Mapping[str, int], count: int, seed: int, *, dates: bool) -> list[str]:
    """Draw templates and parameters."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        table = draw.choice(list(thresholds))
        day = f"{draw.randrange(2010, 2014)}-{draw.randrange(1, 13):02}-01"
        since = f" AND {_OWNERS[table][0]}_creationdate >= DATE'{day}'" if dates else ""
        least = max(2, int(thresholds[table] * draw.gauss(1.0, 0.15)))
        found.append(_TEMPLATE.format(table=table, owner=_OWNERS[table], since=since, least=least))
    return found


def run_workload(spark: SparkSession, lineage: ForwardLineage, queries: Sequence[str], console: Console) -> Workload:
    """Run every instance in both ways, which goes first drawn at random."""
    found, draw = Workload(), random.Random(0)
    for sql in track(queries, "instances", console=console):
        ways: list[tuple[list[float], Callable[[str], DataFrame]]] = [
            (found.plain, spark.sql),
            (found.ours, lineage.run),
        ]
        rows = []
        for seconds, run in draw.sample(ways, 2):
            begun = time.perf_counter()
            rows.append(run(sql).toArrow())
            seconds.append(time.perf_counter() - begun)
        decision = lineage.decisions()[-1]
        found.ways.append(str(decision.way))
        found.deciding.append(decision.seconds)
        if not _same(*rows):
            found.different.append(sql)
    return found


def _same(a: pa.Table, b: pa.Table) -> bool:
    keys = [(name, "ascending") for name in a.column_names]
    return bool(a.sort_by(keys).equals(b.sort_by(keys)))


def compare_queries(
    spark: SparkSession, lineage: ForwardLineage, runs: int, low: int, high: int
) -> list[dict[str, Any]]:
    """S-Q1 to S-Q5: plain, captured first, then used; medians."""
    found = []
    for name, text in QUERIES.items():
        sql = text.format(low=low, high=high)
        spark.sql(sql).toArrow()
        equal = _same(lineage.run(sql).toArrow(), spark.sql(sql).toArrow())
        decision = lineage.decisions()[-1]
        plain, ours = [], []
        for _ in range(runs):
            plain.append(_seconds(spark.sql, sql))
            ours.append(_seconds(lineage.run, sql))
        base = median(plain)
        found.append(
            {
                "query": name,
                "plain": base,
                "use": median(ours) / base,
                "capture": decision.seconds / base,
                "paper": PAPER[name],
                "equal": equal,
                "said": str(lineage.decisions()[-1]),
            }
        )
    return found


def _seconds(run: Callable[[str], DataFrame], sql: str) -> float:
    begun = time.perf_counter()
    run(sql).toArrow()
    return time.perf_counter() - begun


def report(console: Console, found: Sequence[dict[str, Any]], workload: Workload) -> None:
    """Print what was measured beside the paper's figures."""
    table = Table("query", "plain, s", "use ÷ plain", "paper", "capture ÷ plain", "equal", title="S-Q1 to S-Q5")
    for each in found:
        figures = f"{each['plain']:.2f}", f"{each['use']:.2f}", f"{each['paper']:.2f}", f"{each['capture']:.2f}"
        table.add_row(each["query"], *figures, "yes" if each["equal"] else "NO")
    console.print(table)
    for each in found:
        console.print(f"  {each['query']}: {each['said']}", markup=False)
    ways = {way: workload.ways.count(way) for way in ("use", "capture", "plain")}
    worse = "" if workload.faster >= _FASTER_IN_ALL else ": worse"
    console.print(
        f"{len(workload.plain)} instances: plain {sum(workload.plain):.1f} s, ours {sum(workload.ours):.1f} s,"
        f" {workload.faster:.2f} times faster in all (the paper about {_FASTER_IN_ALL:.0f}{worse});"
        f" {ways['use']} used, {ways['capture']} captured, {ways['plain']} plain; {len(workload.different)} different"
    )
    for way in ways:
        if (ratio := workload.ratio_of(way)) is not None:
            deciding = workload.deciding_of(way)
            console.print(
                f"  {way}: median of ours ÷ plain {ratio:.2f}; deciding alone {median(deciding):.3f} of plain in the"
                f" median, {max(deciding):.3f} at most"
            )


@click.command()
@click.option("--share", default=0.05, show_default=True, help="Of the archive's rows.")
@click.option("--instances", "count", default=800, show_default=True)
@click.option("--runs", default=3, show_default=True, help="Of S-Q1 to S-Q5.")
@click.option("--mode", default="adaptive", show_default=True, type=click.Choice(["adaptive", "eager"]))
@click.option("--selectivity", default=0.01, show_default=True, help="The part of the rows that matters.")
@click.option("--dates", is_flag=True, help="Draw a day, too, before which rows do not count.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(
    *, share: float, count: int, runs: int, mode: str, selectivity: float, dates: bool, json_path: Path | None
) -> None:
    """Measure and print."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="self-tuning-") as scratch:
        folder = Path(scratch)
        spark = local_session("self-tuning", master="local[2]", driver_memory="6g", log=folder / "spark.log")
        spark.conf.set("spark.sql.shuffle.partitions", "8")
        write_tables(spark, folder, share)
        lineage = ForwardLineage(spark, folder / "home")
        for name in TABLES:
            lineage.register(name, path=folder / name)
        lineage.tune("eager", least=0)
        found = compare_queries(spark, lineage, runs, *(round(each * share) for each in WANTED))
        lineage.tune(mode, least=0)
        thresholds = {table: bounds_of(spark, table, selectivity) for table in _OWNERS}
        workload = run_workload(spark, lineage, instances(thresholds, count, 1, dates=dates), console)
        spark.stop()
    report(console, found, workload)
    if json_path is not None:
        json_path.write_text(json.dumps({"queries": found, "workload": vars(workload)}, indent=1))


if __name__ == "__main__":
    main()
