"""Crossfilter, every bar highlighted once: the paper's experiment, and what people would pick.   [Smoke, Fig. 12, 13]

    python -m tests.bench.crossfilter [--rows 12000000] [--sample 12] [--rounds 3] [--no-rivals]

Each of the bars of all views is highlighted, one after another, from no brush: the answer has the counts of the three
other views. A bar's time is the median of some rounds on the user's clock; beside the most of them stands the most of
what they took of the processor, because a machine that is busy with other things lets one bar in thousands wait.

Rivals get the dense codes that our views are kept as, in memory, two threads each, and answer a sample of bars, from
the largest of each view to the smallest; their answers are compared with ours.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple, TypeVar

import click
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.views.cubes import Limits
from forward_lineage.views.engine import Engine, engine_of
from forward_lineage.views.engine_files import cubes_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import ROWS
from forward_lineage.views.membership import Dense
from tests.bench import ontime
from tests.conftest import REPOSITORY

T = TypeVar("T")
BAR_OF_ALL, BAR_OF_MEDIAN = 0.100, 0.005
THREADS = 2

Bar = tuple[int, int]
"""The number of a view, and of a bar in it."""
Counts = dict[int, np.ndarray]
"""For each other view how many rows each of its bars has."""


class Time(NamedTuple):
    """Seconds of the user's clock, and of the processor in all threads."""

    clock: float = 0.0
    processor: float = 0.0


@dataclass
class Way:
    """A way to answer.

    Attributes:
        name: what it is called.
        made: seconds until every bar can be answered so, from dense codes.
        size: bytes kept for it.
        times: of each bar that was asked.
        all_bars: whether that is every bar.
        paper: what the paper has for it.

    """

    name: str
    made: Time = field(default_factory=Time)
    size: int = 0
    times: list[Time] = field(default_factory=list)
    all_bars: bool = False
    paper: str = ""


def timed(work: Callable[[], object]) -> float:
    return measured(work).clock


def measured(work: Callable[[], object], rounds: int = 1) -> Time:
    """The medians of some rounds."""
    found = []
    for _ in range(rounds):
        start, started = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - start, time.process_time() - started))
    clock, processor = zip(*found, strict=True)
    return Time(statistics.median(clock), statistics.median(processor))


def every_bar(linked: LinkedViews) -> list[Bar]:
    """All bars that have rows, view by view."""
    memberships = linked.engine.memberships
    return [(view, int(bar)) for view, each in enumerate(memberships) for bar in np.flatnonzero(each.sizes[:-1])]


def sampled(linked: LinkedViews, count: int) -> list[Bar]:
    """Some bars of each view, from the largest to the smallest."""
    found = []
    for view, each in enumerate(linked.engine.memberships):
        by_size = np.argsort(-each.sizes[:-1], kind="stable")
        places = np.unique(np.linspace(0, by_size.size - 1, max(2, count // len(linked.names))).astype(int))
        found += [(view, int(bar)) for bar in by_size[places]]
    return found


# ---------------------------------------------------------------- ours


def brushed(linked: LinkedViews, bars: Sequence[Bar], rounds: int) -> list[Time]:
    return [measured(partial(linked.brush, linked.names[view], [bar]), rounds) for view, bar in bars]


def by_rows(engine: Engine, bars: Sequence[Bar], rounds: int) -> list[Time]:
    """Answer bars from their rows only."""

    def answer(view: int, bar: int) -> None:
        chosen = np.zeros(engine.memberships[view].bars + 1, np.bool_)
        chosen[bar] = True
        others = [each for each in range(len(engine.memberships)) if each != view]
        plans = engine.plans({view: chosen}, others)
        engine.run(next(plan for plan in plans if plan.way == "rows"), others)

    return [measured(partial(answer, *bar), rounds) for bar in bars]


def answered(linked: LinkedViews, bar: Bar) -> Counts:
    answer = linked.brush(linked.names[bar[0]], [bar[1]])
    return {view: answer[name] for view, name in enumerate(linked.names) if view != bar[0]}


# ---------------------------------------------------------------- rivals


@dataclass(frozen=True)
class Codes:
    """What rivals are given: for each view the bar of each row, and how many bars there are."""

    columns: tuple[np.ndarray, ...]
    bars: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(each.nbytes for each in self.columns)

    def table(self) -> pa.Table:
        return pa.table({f"v{view}": np.asarray(column) for view, column in enumerate(self.columns)})


def lazy_scan(codes: Codes) -> Callable[[Bar], Counts]:
    """Look at every row, with numpy, in batches."""

    def answer(bar: Bar) -> Counts:
        view, number = bar
        found = {other: np.zeros(count, np.int64) for other, count in enumerate(codes.bars) if other != view}
        for first in range(0, codes.columns[0].size, 1 << 16):
            rows = np.flatnonzero(codes.columns[view][first : first + (1 << 16)] == number) + first
            for other, counts in found.items():
                np.add.at(counts, codes.columns[other][rows].astype(np.intp), 1)
        return found

    return answer


class Duck:
    """DuckDB runs the three queries again."""

    def __init__(self, codes: Codes) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {THREADS}")
        self.connection.execute("SET memory_limit = '3GB'")
        self.bars = codes.bars
        self.connection.register("given", codes.table())
        self.connection.execute("CREATE TABLE t AS SELECT * FROM given")
        self.connection.unregister("given")

    def answer(self, bar: Bar) -> Counts:
        view, number = bar
        return {other: self._counts(other, f"SELECT v{other}, count(*) FROM t WHERE v{view} = {number} GROUP BY 1")
                for other in range(len(self.bars)) if other != view}  # fmt: skip

    def cube(self, view: int) -> None:
        """What Mosaic makes when a view becomes the active one: each other view by its bars."""
        for other in range(len(self.bars)):
            if other != view:
                self.connection.execute(
                    f"CREATE OR REPLACE TABLE cube_{view}_{other} AS "
                    f"SELECT v{view} AS a, v{other} AS b, count(*) AS n FROM t GROUP BY ALL"
                )

    def update(self, bar: Bar) -> Counts:
        view, number = bar
        query = "SELECT b, sum(n)::BIGINT FROM cube_{}_{} WHERE a = {} GROUP BY 1"
        others = [other for other in range(len(self.bars)) if other != view]
        return {other: self._counts(other, query.format(view, other, number)) for other in others}

    def cells(self) -> int:
        pairs = [(a, b) for a in range(len(self.bars)) for b in range(len(self.bars)) if a != b]
        return sum(self._one(f"SELECT count(*) FROM cube_{a}_{b}") for a, b in pairs)

    def _one(self, sql: str) -> int:
        row = self.connection.execute(sql).fetchone()
        assert row is not None
        return int(row[0])

    def _counts(self, other: int, sql: str) -> np.ndarray:
        bars, counts = self.connection.execute(sql).fetchnumpy().values()
        found = np.zeros(self.bars[other], np.int64)
        found[np.asarray(bars)] = counts
        return found


def with_polars(codes: Codes) -> Callable[[Bar], Counts]:
    """Polars runs the three queries again."""
    frame = pl.from_arrow(codes.table())
    assert isinstance(frame, pl.DataFrame)

    def answer(bar: Bar) -> Counts:
        view, number = bar
        others = [other for other in range(len(codes.bars)) if other != view]
        left = frame.lazy().filter(pl.col(f"v{view}") == number)
        answers = pl.collect_all([left.group_by(f"v{other}").len() for other in others])
        found = {}
        for other, each in zip(others, answers, strict=True):
            found[other] = np.zeros(codes.bars[other], np.int64)
            found[other][each[f"v{other}"].to_numpy()] = each["len"].to_numpy()
        return found

    return answer


class FullCube:
    """All four views in one cube, as rows (bars, count) sorted by the bars: immediate for none, a scan of it for
    all."""

    def __init__(self, codes: Codes) -> None:
        self.bars = codes.bars
        key = np.zeros(codes.columns[0].size, np.uint32)
        for column, count in zip(codes.columns, codes.bars, strict=True):
            key *= np.uint32(count + 1)
            key += column
        key.sort()
        new = np.ones(key.size, np.bool_)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        cells = key[new]
        del key
        first = np.flatnonzero(new).astype(np.uint32)
        self.counts = np.diff(first, append=np.uint32(new.size))
        self.columns = []
        for count in reversed(codes.bars):
            self.columns.insert(0, (cells % np.uint32(count + 1)).astype(np.min_scalar_type(count)))
            cells //= np.uint32(count + 1)

    @property
    def size(self) -> int:
        return self.counts.nbytes + sum(each.nbytes for each in self.columns)

    def answer(self, bar: Bar) -> Counts:
        view, number = bar
        rows = np.flatnonzero(self.columns[view] == number)
        found = {}
        for other, count in enumerate(self.bars):
            if other != view:
                weights = self.counts[rows].astype(np.float64)
                found[other] = np.bincount(self.columns[other][rows], weights, count).astype(np.int64)
        return found


# ---------------------------------------------------------------- the experiment


class Experiment:
    """One table, and its views in all ways."""

    def __init__(self, spark: SparkSession, home: Path, rows: int, sample: int) -> None:
        self.console = Console(width=150)
        self.spark, self.rows = spark, rows
        self.lineage = ForwardLineage(spark, home)
        files = ontime.generate(REPOSITORY / ".data" / "ontime" / str(rows), rows)
        self.lineage.register("ontime", path=files)
        self._open(home)
        self.sample = sampled(self.linked, sample)
        self.ways: list[Way] = []

    def _open(self, home: Path) -> None:
        plain = timed(lambda: [self.spark.sql(sql).collect() for sql in ontime.VIEWS.values()])
        made = timed(lambda: self.lineage.views(ontime.VIEWS))
        start = time.perf_counter()
        self.linked = self.lineage.views(ontime.VIEWS)
        again = time.perf_counter() - start
        kept = sum(file.stat().st_size for file in (home / "views").rglob("*") if file.is_file())
        self.console.print(
            f"{self.rows:,} rows, {len(every_bar(self.linked)):,} bars with rows. The four plain Spark queries "
            f"{plain:.1f} s; lineage.views(…) {made:.1f} s ({made / plain:.2f}), of which the queries are a part; "
            f"opened again {again:.2f} s. Kept: {kept / self.rows:.2f} bytes a row."
        )

    @property
    def codes(self) -> Codes:
        memberships = [each for each in self.linked.engine.memberships if isinstance(each, Dense)]
        return Codes(tuple(each.codes for each in memberships), tuple(each.bars for each in memberships))

    def ours(self, rounds: int) -> None:
        """Every bar, in our ways."""
        bars, engine, codes = every_bar(self.linked), self.linked.engine, self.codes
        few = measured(lambda: cubes_of(engine.memberships, engine.parts, (), Limits(share=0)))
        all_ = measured(lambda: cubes_of(engine.memberships, engine.parts, (), Limits()))
        small = sum(cube.counted[ROWS].nbytes for cube in engine.cubes if prod(cube.shape) <= Limits.cells)
        whole = sum(cube.counted[ROWS].nbytes for cube in engine.cubes)
        self.console.print(
            f"Cubes that one brush needs: {_both(few)} s, {small / 2**20:.0f} MB; "
            f"with those for two brushes {_both(all_)} s, {whole / 2**20:.0f} MB."
        )
        rows_only = engine_of(engine.memberships, engine.parts)
        pairs = list(zip(codes.columns, codes.bars, strict=True))
        index = measured(lambda: [Dense.of(np.asarray(column), count) for column, count in pairs])
        indexed = sum(array.nbytes for each in engine.memberships for array in each.arrays().values())
        brushed(self.linked, bars[:100], 1)
        in_cubes, from_rows = brushed(self.linked, bars, rounds), by_rows(rows_only, bars, rounds)
        self.ways += [
            Way("ours", few, small + codes.size, in_cubes, True, "data cube: ≈ 0 ms, made in 96 s"),
            Way("ours, rows only", index, indexed, from_rows, True, "BT+FT: 30 s in all, 5 bars > 150 ms"),
        ]

    def rivals(self) -> None:
        """A sample of bars, in other ways."""
        codes = self.codes
        self._rival(Way("lazy scan (numpy)", Time(), codes.size, paper="LAZY: the slowest"), lazy_scan(codes))
        full, made = built(lambda: FullCube(codes))
        self._rival(Way("full data cube", made, full.size, paper="2 of 3 systems: not in 30 min"), full.answer)
        del full
        polars, made = built(lambda: with_polars(codes))
        self._rival(Way("Polars, the query again", made, codes.size), polars)
        del polars
        duck, made = built(lambda: Duck(codes))
        self._rival(Way("DuckDB, the query again", made, codes.size), duck.answer)
        active = [measured(partial(duck.cube, view)) for view in range(len(codes.bars))]
        each = ", ".join(f"{name} {_both(time_)} s" for name, time_ in zip(self.linked.names, active, strict=True))
        self.console.print(f"Mosaic's way, cubes for the active view by DuckDB: {each}.")
        self._rival(
            Way(
                "Mosaic's way (DuckDB)",
                Time(*map(sum, zip(*active, strict=True))),
                duck.cells() * 8,
                paper="its page: 9 ms at 10⁹ rows",
            ),
            duck.update,
        )

    def _rival(self, way: Way, answer: Callable[[Bar], Counts]) -> None:
        for bar in self.sample:
            found, taken = built(partial(answer, bar))
            way.times.append(taken)
            expected = answered(self.linked, bar)
            assert all(np.array_equal(found[view], expected[view]) for view in expected), f"{way.name} differs"
        self.ways.append(way)

    def several(self) -> None:
        """Several brushes at once, half of the bars of each; then a window over thirty days is dragged by days."""
        halves = {name: range(0, self.linked.bars(name).num_rows, 2) for name in self.linked.names}
        hand = self.linked.hand()
        steps = [(name, measured(partial(hand.brush, name, bars))) for name, bars in list(halves.items())[:3]]
        shown = ", then ".join(f"{name} {_milliseconds(each)} ms" for name, each in steps)
        hand = self.linked.hand()
        hand.brush("carriers", [0, 1])
        hand.brush("delays", [0, 1])
        first, *moved = [measured(partial(hand.brush, "days", range(at, at + 30))) for at in range(1000, 1200)]
        middle, most = (Time(*map(f, zip(*moved, strict=True))) for f in (statistics.median, max))
        self.console.print(
            f"Half of the bars of {shown}. Thirty days beside two carriers and two delays {_milliseconds(first)} ms, "
            f"dragged by a day: median {_milliseconds(middle)} ms, most {_milliseconds(most)} ms."
        )

    def report(self) -> None:
        """A line for each way, then whether what must hold holds."""
        table = Table(title=f"Crossfilter, {self.rows:,} rows", width=150)
        for title in ("way", "made, s", "bytes a row", "bars", "median, ms", "most, ms", "> 150 ms", "all, s", "paper"):
            table.add_column(title, justify="left" if title in ("way", "paper") else "right")
        for way in self.ways:
            clock = [each.clock for each in way.times]
            middle, most = (Time(*map(f, zip(*way.times, strict=True))) for f in (statistics.median, max))
            table.add_row(
                way.name,
                _both(way.made),
                f"{way.size / self.rows:.2f}",
                f"{len(clock):,}",
                _milliseconds(middle),
                _milliseconds(most),
                str(sum(each > 0.15 for each in clock)),
                f"{sum(clock):.2f}" if way.all_bars else "–",
                way.paper,
            )
        self.console.print(table)
        clock = [each.clock for each in self.ways[0].times]
        sizes = np.concatenate([each.sizes[:-1] for each in self.linked.engine.memberships])
        met = max(clock) < BAR_OF_ALL and statistics.median(clock) < BAR_OF_MEDIAN
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        self.console.print(
            f"In parentheses: of the processor. The largest bar has {int(sizes.max()):,} rows, "
            f"{int(np.sum(sizes > self.rows / 10))} bars have more than a tenth. Every bar under "
            f"{BAR_OF_ALL * 1e3:.0f} ms and the median under {BAR_OF_MEDIAN * 1e3:.0f} ms: "
            f"{'met' if met else 'missed'}. "
            f"Most memory of this process: {memory:.1f} GB, mapped files included."
        )


def built(make: Callable[[], T]) -> tuple[T, Time]:
    """Something, and what it took to make it."""
    start, started = time.perf_counter(), time.process_time()
    made = make()
    return made, Time(time.perf_counter() - start, time.process_time() - started)


def _milliseconds(seconds: Time) -> str:
    return f"{seconds.clock * 1e3:.1f} ({seconds.processor * 1e3:.1f})"


def _both(seconds: Time) -> str:
    return f"{seconds.clock:.2f} ({seconds.processor:.2f})"


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--rows", default=12_000_000, show_default=True, type=click.IntRange(1000))
@click.option("--sample", default=12, show_default=True, type=click.IntRange(4), help="Bars that rivals answer.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="Times that each bar is asked.")
@click.option("--rivals/--no-rivals", default=True, show_default=True)
def main(rows: int, sample: int, rounds: int, rivals: bool) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="crossfilter-", dir=REPOSITORY / ".data") as scratch:
        spark = local_session(
            "crossfilter", master=f"local[{THREADS}]", driver_memory="2g", log=Path(scratch) / "spark.log"
        )
        try:
            experiment = Experiment(spark, Path(scratch) / "home", rows, sample)
        finally:
            spark.stop()
        experiment.ours(rounds)
        experiment.several()
        if rivals:
            experiment.rivals()
        experiment.report()


if __name__ == "__main__":
    main()
