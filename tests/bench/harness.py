"""Measure variants of one query against each other: interleaved, after warm-up, medians, ratios to the first.

Variants take turns in an order drawn anew for each turn, so that what drifts on the machine drifts for all of them, and
nobody always comes first, or always after the same other one: a run pays for what the one before did to the caches and
the compiler. Absolute seconds are kept, but only ratios within one run mean anything.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from forward_lineage import LineageError


@dataclass(frozen=True)
class Variant:
    """One way to answer the query.

    Attributes:
        name: the column's title in the table of ratios.
        prepare: makes the DataFrame: parsing, rewriting, analysis. Timed apart from running it.
        finish: puts away what a run leaves behind, such as cached rows; not timed.

    """

    name: str
    prepare: Callable[[], DataFrame]
    finish: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Turns:
    """How often each variant of a query runs.

    Attributes:
        runs: timed runs, at least.
        seconds: a query whose first variant has run for less than this goes on, so that a short one, which suffers most
            from what else happens on the machine, has a median of more runs; up to `MOST` times `runs`.
        warm_up: runs before those that are timed: code generation, the JIT compiler, the files in memory.

    """

    MOST: ClassVar[int] = 3

    runs: int
    seconds: float = 0.0
    warm_up: int = 1

    def enough(self, timed: Sequence[float]) -> bool:
        """Whether those seconds, of the first variant's timed runs, will do."""
        return len(timed) >= self.runs and (sum(timed) >= self.seconds or len(timed) >= self.MOST * self.runs)


@dataclass
class Timing:
    """What was measured of one variant, seconds per run, warm-up runs left out.

    Attributes:
        variant: its name.
        run: seconds to compute all rows and columns.
        prepare: seconds until there was a DataFrame to run.
        peak: bytes: the fullest the JVM's heap was during each run, garbage of that run included.
        refused: the message, when the variant could not be run at all; the other fields are then empty.

    """

    variant: str
    run: list[float] = field(default_factory=list)
    prepare: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    refused: str | None = None

    @property
    def median(self) -> float | None:
        """Median seconds of a run; None when nothing was measured."""
        return statistics.median(self.run) if self.run else None

    @property
    def clock(self) -> list[float]:
        """Seconds from text to rows, of each run."""
        return [prepare + run for prepare, run in zip(self.prepare, self.run, strict=True)]


@dataclass(frozen=True)
class Comparison:
    """Variants of one query; the first is what the others are divided by."""

    query: str
    timings: tuple[Timing, ...]

    def ratio(self, variant: str) -> float | None:
        """Return median over the first variant's median; None when either was not measured."""
        base = self.timings[0].median
        other = next(timing for timing in self.timings if timing.variant == variant).median
        return None if base is None or other is None else other / base


def run_all_columns(data: DataFrame) -> None:
    """Compute every row and every column and throw them away; `count()` would let Spark drop the columns."""
    data.write.format("noop").mode("overwrite").save()


def compare(spark: SparkSession, query: str, variants: Sequence[Variant], turns: Turns) -> Comparison:
    """Run each variant, in turns, until there are enough.

    Args:
        spark: any session of the application; garbage is collected in its JVM between runs, so that nobody pays for
            the garbage of the variant before.
        query: a name, for the record; with the turn's number it decides the order.
        variants: the first is the one to compare with.
        turns: how many.

    """
    timings = [Timing(variant.name) for variant in variants]
    for turn in itertools.count():
        if timings[0].refused or turns.enough(timings[0].run):
            break
        pairs = list(zip(variants, timings, strict=True))
        random.Random(f"{query}, turn {turn}").shuffle(pairs)
        for variant, timing in pairs:
            if timing.refused is not None:
                continue
            _collect_garbage(spark)
            try:
                prepare, run = _time(variant)
            except LineageError as refusal:
                timing.refused = str(refusal)
                continue
            if turn >= turns.warm_up:
                timing.prepare.append(prepare)
                timing.run.append(run)
                timing.peak.append(_peak_of_heap(spark))
            variant.finish()
    return Comparison(query, tuple(timings))


def compare_all(
    spark: SparkSession,
    queries: Sequence[tuple[str, Sequence[Variant]]],
    turns: Turns,
    *,
    console: Console | None = None,
) -> list[Comparison]:
    """Compare the variants of several queries, one query after another, with a progress bar on standard error."""
    comparisons = []
    with Progress(console=console or Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measuring", total=len(queries))
        for name, variants in queries:
            progress.update(task, description=f"measuring {name}")
            comparisons.append(compare(spark, name, variants, turns))
            progress.advance(task)
    return comparisons


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Return the geometric mean, the one mean that suits ratios; None for no ratios."""
    return statistics.geometric_mean(ratios) if ratios else None


def table_of_ratios(title: str, comparisons: Sequence[Comparison]) -> Table:
    """Lay comparisons out: a line a query, a column a variant, ratios to the first; geometric mean and worst below."""
    names = [timing.variant for timing in comparisons[0].timings]
    table = Table(title=title)
    table.add_column("query")
    table.add_column(f"{names[0]}, s", justify="right")
    for name in names[1:]:
        table.add_column(name, justify="right")
    for comparison in comparisons:
        base = comparison.timings[0].median
        cells = [_ratio(comparison.ratio(name), comparison.timings[at]) for at, name in enumerate(names[1:], start=1)]
        table.add_row(comparison.query, "–" if base is None else f"{base:.2f}", *cells)
    for label, summary in (("geometric mean", geometric_mean), ("worst", lambda found: max(found, default=None))):
        columns = [[c.ratio(name) for c in comparisons] for name in names[1:]]
        known = [summary([ratio for ratio in column if ratio is not None]) for column in columns]
        if label == "geometric mean":
            table.add_section()
        table.add_row(label, "", *("–" if value is None else f"{value:.2f}" for value in known))
    return table


def as_json(comparisons: Sequence[Comparison]) -> list[dict[str, object]]:
    """Return everything measured as plain lists and dictionaries: seconds of each run, medians and ratios."""
    return [
        {
            "query": comparison.query,
            "variants": [
                {
                    "name": timing.variant,
                    "run_seconds": timing.run,
                    "prepare_seconds": timing.prepare,
                    "peak_bytes": timing.peak,
                    "median_seconds": timing.median,
                    "ratio": comparison.ratio(timing.variant),
                    "refused": timing.refused,
                }
                for timing in comparison.timings
            ],
        }
        for comparison in comparisons
    ]


def _time(variant: Variant) -> tuple[float, float]:
    start = time.perf_counter()
    data = variant.prepare()
    prepared = time.perf_counter()
    run_all_columns(data)
    return prepared - start, time.perf_counter() - prepared


def _collect_garbage(spark: SparkSession) -> None:
    jvm = spark._jvm  # PySpark has no public way to ask for a collection
    assert jvm is not None
    jvm.System.gc()
    for pool in _heap(spark):
        pool.resetPeakUsage()


def _peak_of_heap(spark: SparkSession) -> int:
    """Bytes that the heap's pools held at their fullest since the last collection that was asked for."""
    return sum(int(pool.getPeakUsage().getUsed()) for pool in _heap(spark))


def _heap(spark: SparkSession) -> list[Any]:
    jvm = spark._jvm
    assert jvm is not None
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    return [pool for pool in pools if pool.getType().name() == "HEAP"]


def _ratio(value: float | None, timing: Timing) -> str:
    if timing.refused is not None:
        return "refused"
    return "–" if value is None else f"{value:.2f}"
