"""TPC-DS, which nobody tuned for: each query plain and traced, in turns, by the clock and by seconds of CPU.

    python -m tests.bench.tpcds [--scale 1] [--queries q12,q46] [--runs 3] [--ways default,value,reference]
        [--semantics data] [--save] [--agree] [--json FILE]

Every run goes from the text to the last row, planning and every value of `DL` included. A figure is the least of the
runs, of ours and of the query alone. CPU is that of Spark's JVM and of this process: on a machine that others use it
says more than the clock. `--save` sets `save` against writing the rows as Parquet. `--agree` runs each query once a
way, and compares rows and lineage instead of times.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.settings import BY_REFERENCE
from tests.bench.harness import geometric_mean, run_all_columns
from tests.bench.jvm import JvmSeconds
from tests.tpcds_queries.data import generate
from tests.tpcds_queries.texts import NAMES, query, read_plainly, register

WAYS = {"default": None, "value": "false", "reference": "true"}
"""What `BY_REFERENCE` is set to, None where it is left alone."""
_SHORT = 1.0  # seconds


@dataclass
class Taken:
    """What a way of a query took, run by run: seconds on the clock, before anything ran, and of CPU."""

    query: str
    way: str
    clock: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    failed: str = ""


@dataclass(frozen=True)
class Bench:
    """Two sessions of one application over the same files, with lineage and without."""

    plain: SparkSession
    traced: SparkSession
    lineage: ForwardLineage
    text: Callable[[str], str]
    scratch: Path
    cpu: JvmSeconds

    @classmethod
    def over(cls, spark: SparkSession, folder: Path, scratch: Path) -> Bench:
        """Set them up."""
        plain, lineage = spark.newSession(), ForwardLineage(spark, home=scratch / "home")
        read_plainly(plain, folder)
        register(lineage, folder)
        return cls(plain, spark, lineage, partial(query, folder), scratch, JvmSeconds(spark))

    def frame(self, name: str, way: str, semantics: str) -> DataFrame:
        """Return a traced query, its lineage travelling that way."""
        self._set(way)
        return self.lineage.sql(self.text(name), semantics=semantics)

    def ways(self, name: str, ways: Sequence[str], semantics: Sequence[str], *, save: bool) -> dict[str, Work]:
        """Return what is run in turns; the first is the query alone."""
        text = self.text(name)
        if save:
            rows = str(self.scratch / "rows")
            found: dict[str, Work] = {
                "rows": lambda: [self.plain.sql(text).write.mode("overwrite").parquet(rows), time.perf_counter()][1]
            }
        else:
            found = {"query": lambda: run_frame(self.plain.sql(text))}
        for each in semantics:
            for way in ways:
                found[f"{way}, {each}"] = self._saved(name, way, each) if save else self._run(name, way, each)
        return found

    def _run(self, name: str, way: str, semantics: str) -> Work:
        return lambda: run_frame(self.frame(name, way, semantics))

    def _saved(self, name: str, way: str, semantics: str) -> Work:
        def work() -> float:
            self._set(way)
            self.lineage.save(self.text(name), "saved", semantics=semantics)
            return time.perf_counter()

        return work

    def _set(self, way: str) -> None:
        wanted = WAYS[way]
        if wanted is None:
            self.traced.conf.unset(BY_REFERENCE)
        else:
            self.traced.conf.set(BY_REFERENCE, wanted)


Work = Callable[[], float]
"""Runs something to its last row, and says when it was planned, by `time.perf_counter`."""


def run_frame(frame: DataFrame) -> float:
    """Run a frame to its last row, and say when it was planned."""
    planned = time.perf_counter()
    run_all_columns(frame)
    return planned


def measure(clock: JvmSeconds, name: str, works: dict[str, Work], runs: int) -> list[Taken]:
    """Run the ways of a query in turns, once to warm up; a way that fails is left out from then on.

    Args:
        clock: of CPU, beside that of this process.
        name: of the query.
        works: its ways.
        runs: of each.

    """
    found = {way: Taken(name, way) for way in works}
    for turn in range(1 + runs):
        order = [way for way in works if not found[way].failed]
        random.Random(f"{name}, turn {turn}").shuffle(order)
        for way in order:
            cpu, begun = clock.now() + time.process_time(), time.perf_counter()
            try:
                planned = works[way]()
            except Exception as failure:  # whatever it is, the others go on; it is printed
                found[way].failed = f"{type(failure).__name__}: {str(failure)[:300]}"
                continue
            if turn:
                found[way].clock.append(time.perf_counter() - begun)
                found[way].before.append(planned - begun)
                found[way].cpu.append(clock.now() + time.process_time() - cpu)
    return list(found.values())


def disagreements(bench: Bench, name: str, ways: Sequence[str], semantics: str) -> list[str]:
    """Return the ways whose rows or lineage are not those of the first one.

    Rows that tie at a LIMIT may be others; then both are right, and the rows are shown.
    """
    answers = {way: sorted(map(repr, bench.frame(name, way, semantics).collect())) for way in ways}
    first = answers[ways[0]]
    alone = len(bench.plain.sql(bench.text(name)).collect())
    found = [] if alone == len(first) else [f"{name}: {len(first)} rows, the query alone {alone}"]
    for way, rows in answers.items():
        if rows != first:
            differing = [(a[:300], b[:300]) for a, b in zip(rows, first, strict=False) if a != b][:1]
            found.append(f"{name}, {semantics}: {way} is not {ways[0]}: {len(rows)} rows, {len(first)}; {differing}")
    return found


def report(found: Sequence[Taken]) -> Table:
    """A line a query, a column a way: ratios by the clock and by CPU; below them the means."""
    ways = list(dict.fromkeys(each.way for each in found))
    base = {each.query: each for each in found if each.way == ways[0]}
    table = Table(title="from the text to the last row, divided by the query alone; clock / CPU")
    for title in ("query", f"{ways[0]}, s", *ways[1:]):
        table.add_column(title, justify="left" if title == "query" else "right")
    for name, alone in base.items():
        others = [next(each for each in found if (each.query, each.way) == (name, way)) for way in ways[1:]]
        table.add_row(name, f"{min(alone.clock, default=0):.2f}", *(_cell(each, alone) for each in others))
    table.add_section()
    for title, wanted in (("all", None), ("a second or more", True), ("shorter", False)):
        cells = [_summary([e for e in found if e.way == way and _is(e, base, wanted)], base) for way in ways[1:]]
        table.add_row(title, "", *cells)
    return table


def _is(taken: Taken, base: dict[str, Taken], long: bool | None) -> bool:
    alone = base[taken.query].clock
    return bool(taken.clock and alone) and long in (None, min(alone) >= _SHORT)


def _ratios(taken: Taken, alone: Taken) -> tuple[float, float]:
    return min(taken.clock) / min(alone.clock), min(taken.cpu) / max(min(alone.cpu), 0.01)


def _cell(taken: Taken, alone: Taken) -> str:
    if taken.failed or not alone.clock:
        return taken.failed.split(":")[0] or "–"
    clock, cpu = _ratios(taken, alone)
    return f"{clock:.2f} / {cpu:.2f}, {min(taken.before) * 1000:.0f} ms"


def _summary(taken: Sequence[Taken], base: dict[str, Taken]) -> str:
    ratios = [_ratios(each, base[each.query]) for each in taken]
    if not ratios:
        return "–"
    clock, cpu = zip(*ratios, strict=True)
    above = sum(each > 2 for each in clock)
    means = f"{geometric_mean(clock):.2f} / {geometric_mean(cpu):.2f}"
    return f"{means}, worst {max(clock):.2f} / {max(cpu):.2f}, {above} of {len(ratios)} above 2"


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=1.0, show_default=True)
@click.option("--queries", default="", help="Some of the queries, joined by commas.  [default: all]")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1))
@click.option("--ways", default="default", show_default=True, help=f"Of {', '.join(WAYS)}.")
@click.option("--semantics", default="data", show_default=True, help="Of data, control.")
@click.option("--save", is_flag=True, help="Save results, against writing the same rows.")
@click.option("--agree", is_flag=True, help="Compare the ways' rows and lineage, once each, instead of times.")
@click.option("--driver-memory", default="6g", show_default=True)
@click.option("--partitions", default=8, show_default=True, help="Of a shuffle.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(
    scale: float,
    queries: str,
    runs: int,
    ways: str,
    semantics: str,
    save: bool,
    agree: bool,
    driver_memory: str,
    partitions: int,
    json_path: Path | None,
) -> None:
    """Measure and print."""
    names = [name for name in NAMES if not queries or name in queries.split(",")]
    found, console, folder = list[Taken](), Console(width=200), generate(scale)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tpcds-")))
        spark = local_session("tpcds", master="local[2]", driver_memory=driver_memory, log=scratch / "spark.log")
        stack.callback(spark.stop)
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        bench = Bench.over(spark, folder, scratch)
        bench.plain.conf.set("spark.sql.shuffle.partitions", str(partitions))
        for name in names:
            if agree:
                told = [each for s in semantics.split(",") for each in disagreements(bench, name, ways.split(","), s)]
                console.print("\n".join(told) or f"{name}: the same", highlight=False)
                continue
            works = bench.ways(name, ways.split(","), semantics.split(","), save=save)
            taken = measure(bench.cpu, name, works, runs)
            found += taken
            cells = [f"{each.way} {_cell(each, taken[0])} {each.failed}" for each in taken[1:]]
            console.print(f"{name} {min(taken[0].clock, default=0):.2f} s: {'; '.join(cells)}", highlight=False)
            if json_path is not None:
                json_path.write_text(json.dumps([asdict(each) for each in found]) + "\n", encoding="utf-8")
    if found:
        console.print(report(found))


if __name__ == "__main__":
    main()
