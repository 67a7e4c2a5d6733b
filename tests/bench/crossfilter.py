"""Crossfilter, every bar highlighted once: the paper's experiment, and what people would pick.   [Smoke, §6.5.1, Fig. 12, 13]

    python -m tests.bench.crossfilter [--rows 12000000] [--sample 12] [--rivals]

Seconds of the user's clock. "every bar" is each of the bars of all views, one after another, from no brush: the answer has
the counts of the three other views. Rivals get the dense codes that our views are kept as, in memory, two threads each, and
answer a sample of bars, from the largest of each view to the smallest; their answers are compared with ours.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
from forward_lineage.views.kept_engine import cubes_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import ROWS
from forward_lineage.views.membership import Dense
from tests.bench import ontime
from tests.conftest import REPOSITORY

BAR_OF_ALL, BAR_OF_MEDIAN = 0.100, 0.005
THREADS = 2

Bar = tuple[int, int]
"""The number of a view, and of a bar in it."""
Counts = dict[int, np.ndarray]
"""For each other view how many rows each of its bars has."""


@dataclass
class Way:
    """A way to answer.

    Attributes:
        name: what it is called.
        made: seconds until every bar can be answered so, from dense codes.
        size: bytes kept for it.
        seconds: of each bar that was asked.
        all_bars: whether that is every bar.
        paper: what the paper has for it.

    """

    name: str
    made: float = 0.0
    size: int = 0
    seconds: list[float] = field(default_factory=list)
    all_bars: bool = False
    paper: str = ""


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


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


def brushed(linked: LinkedViews, bars: Sequence[Bar]) -> Iterator[float]:
    for view, bar in bars:
        yield timed(lambda view=view, bar=bar: linked.brush(linked.names[view], [bar]))  # type: ignore[misc]


def by_way(engine: Engine, bars: Sequence[Bar], way: str) -> Iterator[float]:
    """Answer bars in one way only."""
    for view, bar in bars:
        chosen = np.zeros(engine.memberships[view].bars + 1, np.bool_)
        chosen[bar] = True
        others = [each for each in range(len(engine.memberships)) if each != view]

        def answer(choice: dict[int, np.ndarray] = {view: chosen}, others: list[int] = others) -> None:  # noqa: B006
            plans = engine.plans(choice, others)
            engine.run(next(plan for plan in plans if plan.way == way), others)

        yield timed(answer)


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
        self.connection.execute("SET memory_limit = '5GB'")
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
        return {other: self._counts(other, f"SELECT b, sum(n)::BIGINT FROM cube_{view}_{other} WHERE a = {number} GROUP BY 1")
                for other in range(len(self.bars)) if other != view}  # fmt: skip

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
    """All four views in one cube, as rows (bars, count) sorted by the bars: immediate for none, a scan of it for all."""

    def __init__(self, codes: Codes) -> None:
        self.bars = codes.bars
        key = np.zeros(codes.columns[0].size, np.uint32)
        for column, count in zip(codes.columns, codes.bars, strict=True):
            key *= np.uint32(count + 1)
            key += column
        key.sort()
        first = np.flatnonzero(np.diff(key, prepend=key[:1] - 1 if key.size else key))
        self.counts = np.diff(np.append(first, key.size)).astype(np.uint32)
        cells = key[first]
        del key
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
        self.console = Console(width=130)
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
        again = timed(lambda: setattr(self, "linked", self.lineage.views(ontime.VIEWS)))
        kept = sum(file.stat().st_size for file in (home / "views").rglob("*") if file.is_file())
        self.linked: LinkedViews
        self.console.print(
            f"{self.rows:,} rows, {len(every_bar(self.linked)):,} bars with rows. The four plain Spark queries {plain:.1f} s; "
            f"lineage.views(…) {made:.1f} s ({made / plain:.2f}), of which the queries are a part; opened again {again:.2f} s. "
            f"Kept: {kept / self.rows:.2f} bytes a row."
        )

    @property
    def codes(self) -> Codes:
        memberships = [each for each in self.linked.engine.memberships if isinstance(each, Dense)]
        return Codes(tuple(each.codes for each in memberships), tuple(each.bars for each in memberships))

    def ours(self) -> None:
        """Every bar, in our ways."""
        bars, engine, codes = every_bar(self.linked), self.linked.engine, self.codes
        cubes = timed(lambda: cubes_of(engine.memberships, engine.parts, (), Limits()))
        size = sum(cube.counted[ROWS].nbytes for cube in engine.cubes)
        rows_only = engine_of(engine.memberships, engine.parts)
        index = timed(lambda: [Dense.of(np.asarray(column), count) for column, count in zip(codes.columns, codes.bars)])  # noqa: B905
        indexed = sum(array.nbytes for each in engine.memberships for array in each.arrays().values())
        list(brushed(self.linked, bars[:100]))
        self.ways += [
            Way("ours (cubes over few views)", cubes, size + codes.size, list(brushed(self.linked, bars)), True, "data cube ≈ 0 ms, made in 96 s"),
            Way("ours, rows only (BT+FT)", index, indexed, list(by_way(rows_only, bars, "rows")), True, "30 s in all; ≤ 150 ms but for 5"),
        ]  # fmt: skip

    def rivals(self) -> None:
        """A sample of bars, in other ways."""
        codes = self.codes
        self._rival(Way("lazy scan (numpy)", 0.0, codes.size, paper="LAZY, the slowest"), lazy_scan(codes))
        full: list[FullCube] = []
        made = timed(lambda: full.append(FullCube(codes)))
        self._rival(
            Way("full data cube", made, full[0].size, paper="not done in 30 min (2 of 3 systems)"), full[0].answer
        )
        full.clear()
        polars: list[Callable[[Bar], Counts]] = []
        made = timed(lambda: polars.append(with_polars(codes)))
        self._rival(Way("Polars, the query again", made, codes.size), polars.pop())
        ducks: list[Duck] = []
        made = timed(lambda: ducks.append(Duck(codes)))
        duck = ducks.pop()
        self._rival(Way("DuckDB, the query again", made, codes.size), duck.answer)
        active = [timed(lambda view=view: duck.cube(view)) for view in range(len(codes.bars))]  # type: ignore[misc]
        self.console.print(
            f"Mosaic's way: cubes of the active view by DuckDB in {', '.join(f'{s:.1f}' for s in active)} s"
        )
        self._rival(Way("Mosaic's way (DuckDB)", sum(active), duck.cells() * 8), duck.update)

    def _rival(self, way: Way, answer: Callable[[Bar], Counts]) -> None:
        for bar in self.sample:
            found: list[Counts] = []
            way.seconds.append(timed(lambda bar=bar: found.append(answer(bar))))  # type: ignore[misc]
            expected = answered(self.linked, bar)
            assert all(np.array_equal(found[0][view], expected[view]) for view in expected), f"{way.name} differs"
        self.ways.append(way)

    def dragged(self) -> None:
        """A window over 30 days is dragged, a day at a time, while two carriers and two delays are chosen."""
        hand = self.linked.hand()
        first = [timed(lambda: hand.brush("carriers", [0, 1])), timed(lambda: hand.brush("delays", [0, 1]))]
        steps = [timed(lambda at=at: hand.brush("days", range(at, at + 30))) for at in range(1000, 1200)]  # type: ignore[misc]
        self.console.print(
            f"Three brushes at once: the second {first[1] * 1e3:.0f} ms, the third {steps[0] * 1e3:.0f} ms; the third dragged, "
            f"median {statistics.median(steps[1:]) * 1e3:.1f} ms, most {max(steps[1:]) * 1e3:.1f} ms."
        )

    def report(self) -> None:
        """A line for each way, then whether what must hold holds."""
        table = Table(title=f"Crossfilter, {self.rows:,} rows", width=130)
        for title in (
            "way",
            "made, s",
            "bytes a row",
            "bars",
            "median, ms",
            "most, ms",
            "> 150 ms",
            "all bars, s",
            "paper",
        ):
            table.add_column(title, justify="left" if title in ("way", "paper") else "right")
        for way in self.ways:
            worst, late = max(way.seconds), sum(each > 0.15 for each in way.seconds)
            whole = f"{sum(way.seconds):.2f}" if way.all_bars else "–"
            table.add_row(
                way.name, f"{way.made:.2f}", f"{way.size / self.rows:.2f}", f"{len(way.seconds):,}",
                f"{statistics.median(way.seconds) * 1e3:.2f}", f"{worst * 1e3:.1f}", str(late), whole, way.paper,
            )  # fmt: skip
        self.console.print(table)
        ours = self.ways[0]
        largest = max(int(each.sizes[:-1].max()) for each in self.linked.engine.memberships)
        over = sum(int(np.sum(each.sizes[:-1] > self.rows / 10)) for each in self.linked.engine.memberships)
        met = max(ours.seconds) < BAR_OF_ALL and statistics.median(ours.seconds) < BAR_OF_MEDIAN
        self.console.print(
            f"The largest bar has {largest:,} rows, {over} bars more than a tenth. Every bar under {BAR_OF_ALL * 1e3:.0f} ms "
            f"and the median under {BAR_OF_MEDIAN * 1e3:.0f} ms: {'met' if met else 'missed'}. "
            f"Most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB, mapped files included."
        )


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--rows", default=12_000_000, show_default=True, type=click.IntRange(1000))
@click.option("--sample", default=12, show_default=True, type=click.IntRange(4), help="Bars that rivals answer.")
@click.option("--rivals/--no-rivals", default=True, show_default=True)
def main(rows: int, sample: int, rivals: bool) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="crossfilter-", dir=REPOSITORY / ".data") as scratch:
        spark = local_session(
            "crossfilter", master=f"local[{THREADS}]", driver_memory="2g", log=Path(scratch) / "spark.log"
        )
        try:
            experiment = Experiment(spark, Path(scratch) / "home", rows, sample)
        finally:
            spark.stop()
        experiment.ours()
        experiment.dragged()
        if rivals:
            experiment.rivals()
        experiment.report()


if __name__ == "__main__":
    main()
