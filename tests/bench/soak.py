"""A soak: a thousand different queries rewritten, run, saved, asked and dropped in one session; does anything grow?

    python -m tests.bench.soak
    python -m tests.bench.soak --queries 300 --every 30 --json soak.json

Every hundred queries, after a warm-up, garbage is collected on both sides and everything in `leaks.MEASURES` measured.
The same queries then run without us, in a program of its own: what Spark itself keeps grows there, too. Reported are
the first and last value, and the slope for each hundred queries with its standard error. The exit code is 1 if anything
grows beyond its scatter, and faster than without us.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.local import local_session
from tests.bench.leaks import MANAGED, MEASURES, NOT_JUDGED, Places, Slope, leaking, measured, slope
from tests.oracle.algebra import BaseTable
from tests.oracle.comparison import LONGEST
from tests.oracle.generation import many_cases
from tests.oracle.printing import rows_of, to_sql
from tests.oracle.session import JAVA_OPTIONS, PAGE
from tests.oracle.spark_answers import FAILURES, FAST_FOR_TINY_DATA
from tests.oracle.strategies import SCHEMAS, VALUES
from tests.spark_settings import configure

ROWS = 6
KINDS = ("with lineage", "without")

# What Spark remembers of queries for its pages; it fills up during the warm-up.
REMEMBERED = {
    f"spark__{what}": "20" for what in ("ui__retainedJobs", "ui__retainedStages", "sql__ui__retainedExecutions")
}

Once = Callable[[str, int], str]

# How far a query went. One whose text is as long as the oracle passes over is passed over here, too.
ASKED, NOT_SAVED, PASSED_OVER = "asked", "not saved", "too long"
THROUGH = (ASKED, NOT_SAVED)


# --- what the two programs do -------------------------------------------------------------------------------


def texts(seed: int) -> Iterator[str]:
    """Different queries over the three tables."""
    seen: set[str] = set()
    for _, (_, statement) in many_cases(10**9, seed):
        text = to_sql(statement)
        if text not in seen:
            seen.add(text)
            yield text


def write_tables(spark: SparkSession, folder: Path, seed: int) -> dict[str, Path]:
    """The tables that the queries read, a folder of Parquet each."""
    chance = random.Random(seed)
    found = {}
    for name, (columns, kinds) in SCHEMAS.items():
        rows = tuple((key, *(chance.choice(VALUES[kind]) for kind in kinds[1:])) for key in range(ROWS))
        found[name] = folder / name
        spark.sql(rows_of(BaseTable(columns, kinds, rows))).coalesce(1).write.parquet(str(found[name]))
    return found


def traced(spark: SparkSession, tables: dict[str, Path], home: Path) -> Once:
    """Everything that can be done to a query with lineage; says how far it went."""
    lineage = ForwardLineage(spark, home=home)
    for name, path in tables.items():
        lineage.register(name, path=path)

    def once(text: str, number: int) -> str:
        semantics = ("data", "control")[number % 2]
        if len(lineage.rewrite(text, semantics)) > LONGEST:
            return PASSED_OVER
        frame = lineage.sql(text, semantics)
        frame.collect()
        try:
            saved = lineage.save(frame, "soaked", semantics=semantics)
        except LineageError:
            return NOT_SAVED
        _ask(lineage, saved.rows, [table.name for table in saved.tables])
        lineage.drop("soaked")
        return ASKED

    return once


def _ask(lineage: ForwardLineage, rows: int, tables: Sequence[str]) -> None:
    lineage.result("soaked").collect()
    lineage.stale().collect()
    for table in tables:
        lineage.forward_ids(table, ids=[0, 3], result="soaked")
        lineage.impact(table, ids=[0]).collect()
        if rows:
            lineage.backward("soaked", rows=[0], table=table).collect()


def untraced(spark: SparkSession, tables: dict[str, Path], folder: Path) -> Once:
    """The same queries, run and written without lineage."""
    for name, path in tables.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def once(text: str, number: int) -> str:
        frame = spark.sql(text)
        frame.collect()
        try:
            frame.write.mode("overwrite").parquet(str(folder / "soaked"))
            spark.read.parquet(str(folder / "soaked")).collect()
        except FAILURES:
            return NOT_SAVED
        shutil.rmtree(folder / "soaked")
        return ASKED

    return once


def run(kind: str, queries: int, every: int, seed: int, scratch: Path) -> Iterator[dict[str, object]]:
    """Yield what was measured after each `every` queries, and what became of them."""
    spark = _session(scratch)
    places = Places(scratch / "temporary", scratch / "home")
    tables = write_tables(spark, scratch / "tables", seed)
    once = (traced if kind == KINDS[0] else untraced)(spark, tables, places.home)
    outcomes: Counter[str] = Counter()
    done = 0
    for text in texts(seed):
        try:
            outcome = once(text, done)
        except (LineageError, *FAILURES) as error:
            outcome = type(error).__name__
        outcomes[outcome] += 1
        if outcome not in THROUGH:
            continue
        done += 1
        if done % every == 0:
            yield {"queries": done, "outcomes": dict(outcomes), "measured": measured(spark, places)}
        if done == queries:
            break
    spark.stop()


def _session(scratch: Path) -> SparkSession:
    spark = local_session(
        "soak",
        master="local[2]",
        driver_memory="2g",
        log=scratch / "spark.log",
        spark__buffer__pageSize=PAGE,
        spark__local__dir=str(scratch / "temporary"),
        spark__sql__warehouse__dir=str(scratch / "warehouse"),
        **REMEMBERED,
    )
    configure(spark, {**FAST_FOR_TINY_DATA, **MANAGED})
    return spark


# --- running and reporting ----------------------------------------------------------------------------------


def program(kind: str, queries: int, every: int, seed: int) -> Iterator[dict[str, object]]:
    """Run one of the two in a process of its own, which writes nowhere else but into a folder that goes with it.

    Raises:
        RuntimeError: the program ended before it was through.

    """
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        temporary = Path(folder, "temporary")
        temporary.mkdir()
        options = f"{JAVA_OPTIONS} -Djava.io.tmpdir={temporary}"
        environment = {**os.environ, "TMPDIR": str(temporary), "SPARK_SUBMIT_OPTS": options}
        command = [sys.executable, "-m", "tests.bench.soak", "--only", kind, "--scratch", folder]
        command += ["--queries", str(queries), "--every", str(every), "--seed", str(seed)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                yield json.loads(line)
        if running.returncode:
            raise RuntimeError(f"the program {kind} ended with {running.returncode}")


def verdict(name: str, ours: Slope, plain: Slope) -> str:
    if name in NOT_JUDGED:
        return "not judged"
    if not ours.grows:
        return "0 within its scatter"
    return "GROWS" if ours.above(plain) else "as without us"


def report(points: dict[str, list[dict[str, float]]], every: int) -> Table:
    """A line for each thing that was measured: first and last value, slopes for each step."""
    table = Table(title=f"slopes for each {every} queries, ± standard error")
    table.add_column("")
    for title in ("first", "last", "slope", "slope without us"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    ours, plain = (points[kind] for kind in KINDS)
    for name in MEASURES:
        slopes = [slope([each[name] for each in side]) for side in (ours, plain)]
        cells = [f"{each.per_step:,.2f} ± {each.error:,.2f}" for each in slopes]
        table.add_row(name, f"{ours[0][name]:,.0f}", f"{ours[-1][name]:,.0f}", *cells, verdict(name, *slopes))
    return table


def after_warm_up(found: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Leave out the first fifth, in which caches fill and code is compiled."""
    return list(found[max(1, len(found) // 5) - 1 :])


@click.command()
@click.option("--queries", default=1_000, show_default=True, help="How many are run in each program.")
@click.option("--every", default=100, show_default=True, help="After how many everything is measured.")
@click.option("--seed", default=70_000_000, show_default=True, help="Of the queries.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write everything measured here, too.")
@click.option("--only", type=click.Choice(KINDS), hidden=True)  # what this program starts itself as
@click.option("--scratch", type=click.Path(path_type=Path), hidden=True)
def main(queries: int, every: int, seed: int, json_file: Path | None, only: str | None, scratch: Path | None) -> None:
    """Run many queries in one session, with lineage and without, and see what grows."""
    if queries // every < 4:
        raise click.UsageError("a slope needs at least four measurements: raise --queries or lower --every")
    if only is not None and scratch is not None:
        for point in run(only, queries, every, seed, scratch):
            print(json.dumps(point), flush=True)
        return
    points: dict[str, list[dict[str, object]]] = {kind: [] for kind in KINDS}
    console = Console(width=130)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for kind in KINDS:
            task = progress.add_task(kind, total=queries)
            for point in program(kind, queries, every, seed):
                points[kind].append(point)
                progress.update(task, completed=point["queries"])
                if json_file is not None:
                    json_file.write_text(json.dumps(points, indent=1), encoding="utf-8")
    steady = {kind: after_warm_up([point["measured"] for point in found]) for kind, found in points.items()}  # type: ignore[misc]
    for kind, found in points.items():
        console.print(f"{kind}: {found[-1]['outcomes']}")
    console.print(report(steady, every))
    sys.exit(1 if leaking(*steady.values()) else 0)


if __name__ == "__main__":
    main()
