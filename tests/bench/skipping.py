"""What sketches save, and what it costs to find them: TPC-H, beside the paper's figures.   [Niu 2022, §9.2, figure 6]

    python -m tests.bench.skipping [--scale 1] [--runs 3] [--only q3,q18] [--ranges 400,4000,10000]
        [--layout generated,sorted] [--memory 3g] [--rough]

"use" is a query that reads only the rows in its sketches, "capture" the run that finds these, both as a ratio to the
query as it is, on the user's clock (text to rows), interleaved, medians; beside them the JVM's seconds of CPU. Each
answer is compared with that of the query as it is. Files are those of the generator (by primary key), or sorted by the
columns of the sketches, where these are others. The specification's LIMITs are put in, since they make most of these
queries selective.
`--rough` measures capture once, and warms nothing up.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.columns.ranges import Partition, Sketch
from forward_lineage.sketches.find_sketches import capture, capturing
from forward_lineage.sketches.sketched_scan import skipped, use
from forward_lineage.spark.local import local_session
from forward_lineage.tracing.column_ranges import KnownRanges
from tests.bench.harness import Turns, compare
from tests.bench.jvm import JvmSeconds
from tpch_queries.data import default_folder, generate

_BY_ORDER = {"lineitem": "l_orderkey", "orders": "o_orderkey", "customer": "c_custkey"}
#: The columns of the sketches: primary keys where these are safe, else what is grouped by.
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "q2": {"part": "p_partkey", "partsupp": "ps_partkey"},
    "q3": _BY_ORDER,
    "q5": {**_BY_ORDER, "supplier": "s_suppkey"},
    "q7": {**_BY_ORDER, "supplier": "s_suppkey"},
    "q8": {"part": "p_partkey", "lineitem": "l_orderkey", "orders": "o_orderkey"},
    "q10": {"lineitem": "l_orderkey", "orders": "o_custkey", "customer": "c_custkey"},
    "q17": {"lineitem": "l_partkey", "part": "p_partkey"},
    "q18": _BY_ORDER,
    "q19": {"lineitem": "l_orderkey", "part": "p_partkey"},
    "q20": {"lineitem": "l_partkey", "partsupp": "ps_partkey", "part": "p_partkey", "supplier": "s_suppkey"},
    "q21": {"lineitem": "l_orderkey", "orders": "o_orderkey"},
}
LIMITS = {"q2": 100, "q3": 10, "q10": 20, "q18": 100, "q21": 100}
#: The authors' published runs on Postgres, 10 GB, 10,000 ranges: use ÷ query, where given.
PAPER = {"q2": 1 / 2.8, "q3": 1 / 33, "q10": 1 / 22, "q18": 1 / 5.6, "q21": 1 / 26}
#: In which order the generator writes.
_GENERATED = {"l_orderkey", "o_orderkey", "c_custkey", "p_partkey", "ps_partkey", "s_suppkey"}


@dataclass
class Figures:
    """One query on one layout with so many ranges; ratios to the query as it is."""

    query: str
    layout: str
    ranges: int
    plain: float
    use: float
    capture: float
    cpu: Mapping[str, float]
    fragments: Mapping[str, int] = field(default_factory=dict)
    read: Mapping[str, float] = field(default_factory=dict)


def text_of(query: str) -> str:
    """Return a query with the LIMIT that the specification has."""
    limit = f"\nlimit {LIMITS[query]}" if query in LIMITS else ""
    return tpch_queries.query(query) + limit


def laid_out(spark: SparkSession, folder: Path, query: str, layout: str) -> dict[str, Path]:
    """Return the files of each table, sorted by the column of its sketch if need be."""
    files = {path.stem: path for path in folder.glob("*.parquet")}
    if layout == "sorted":
        for table, column in ATTRIBUTES[query].items():
            if column in _GENERATED:
                continue
            files[table] = folder.with_name(f"{folder.name}-sorted") / f"{table}-{column}"
            if not (files[table] / "_SUCCESS").exists():
                rows = spark.read.parquet(str(folder / f"{table}.parquet")).orderBy(column)
                rows.write.mode("overwrite").parquet(str(files[table]))
    return files


def measure(
    spark: SparkSession, folder: Path, query: str, layout: str, all_ranges: Sequence[int], turns: Turns, rough: bool
) -> Iterator[Figures]:
    """Run a query with and without sketches."""
    home = Path(tempfile.mkdtemp())
    lineage = ForwardLineage(spark, home)
    try:
        for table, path in laid_out(spark, folder, query, layout).items():
            lineage.register(table, path=str(path))
        for ranges in all_ranges:
            yield _measured(lineage, query, layout, ranges, turns, rough)
    finally:
        shutil.rmtree(home)


def _measured(lineage: ForwardLineage, query: str, layout: str, ranges: int, turns: Turns, rough: bool) -> Figures:
    spark, sql, parts = lineage.spark, text_of(query), lineage._parts
    known, tables = KnownRanges(parts.tables), parts.tables
    partitions = [
        Partition(table, column, known.bounds(tables.base_table(tables.registered(table)), column, ranges))
        for table, column in ATTRIBUTES[query].items()
    ]
    start, begun = time.perf_counter(), JvmSeconds(spark).now()
    sketches = capture(parts.statements, tables, sql, partitions)
    once = time.perf_counter() - start

    def plain() -> DataFrame:
        return spark.sql(sql)

    def used() -> DataFrame:
        return use(spark, sql, sketches)

    cpu = JvmSeconds(spark)
    cpu.seconds["capture"] = [cpu.now() - begun]
    variants = [cpu.variant("plain", plain), cpu.variant("use", used)]
    if not rough:
        variants.append(cpu.variant("capture", lambda: capturing(parts.statements, tables, sql, partitions)))
        _check(plain, used)
    found = {each.variant: statistics.median(each.clock) for each in compare(spark, query, variants, turns).timings}
    if rough:
        found["capture"] = once
        _check(plain, used)
    return Figures(
        query,
        layout,
        ranges,
        found["plain"],
        found["use"] / found["plain"],
        found["capture"] / found["plain"],
        {variant: statistics.median(seconds) for variant, seconds in cpu.seconds.items()},
        {table: len(sketch.fragments) for table, sketch in sketches.items()},
        {table: _part_read(spark, sketch) for table, sketch in sketches.items()},
    )


def _check(plain: Callable[[], DataFrame], used: Callable[[], DataFrame]) -> None:
    assert sorted(map(repr, plain().collect())) == sorted(map(repr, used().collect())), "another answer"


def _part_read(spark: SparkSession, sketch: Sketch) -> float:
    read = skipped(spark, sketch)
    return 1.0 if read is None else read.rows.read / max(1, read.rows.all)


@click.command(help=__doc__)
@click.option("--scale", default=1.0)
@click.option("--runs", default=3)
@click.option("--only", default=",".join(ATTRIBUTES))
@click.option("--ranges", default="400,4000,10000")
@click.option("--layout", default="generated,sorted")
@click.option("--memory", default="3g")
@click.option("--rough", is_flag=True)
def main(scale: float, runs: int, only: str, ranges: str, layout: str, memory: str, rough: bool) -> None:
    """Print a row for each query, layout and number of ranges."""
    folder = generate(scale, default_folder(scale))
    spark = local_session("skipping", master="local[2]", driver_memory=memory)
    console = Console(width=160)
    table = Table(
        "query",
        "files",
        "ranges",
        "plain, s",
        "use ÷ plain",
        "paper",
        "capture ÷ plain",
        "CPU s",
        "fragments",
        "rows read",
    )
    turns = Turns(runs, warm_up=0 if rough else 1)
    for query in only.split(","):
        for files in _layouts(query, layout.split(",")):
            for each in measure(spark, folder, query, files, [int(n) for n in ranges.split(",")], turns, rough):
                paper = f"{PAPER[query]:.2f}" if query in PAPER and each.ranges == 10_000 else ""
                row = (
                    *(
                        query,
                        files,
                        str(each.ranges),
                        f"{each.plain:.2f}",
                        f"{each.use:.2f}",
                        paper,
                        f"{each.capture:.2f}",
                    ),
                    _listed(each.cpu, ".1f"),
                    *(_listed(each.fragments, "d"), _listed(each.read, ".3f")),
                )
                console.print(*row, sep="  ")
                table.add_row(*row)
    console.print(table)


def _layouts(query: str, asked: Sequence[str]) -> list[str]:
    """Leave out files that are sorted as the generator writes them."""
    sorts = not _GENERATED.issuperset(ATTRIBUTES[query].values())
    return [each for each in asked if each != "sorted" or sorts or "generated" not in asked]


def _listed(values: Mapping[str, float], form: str) -> str:
    return " ".join(f"{table[:4]} {value:{form}}" for table, value in values.items())


if __name__ == "__main__":
    main()
