"""Sketches beside materialised views: seconds and bytes of 200 instances of a query.   [Niu 2022, §9.5, figure 8]

    python -m tests.bench.sketches_or_views [--share 0.02] [--instances 200] [--settings 20x10,100x10,100x100]

The paper's template counts the comments of each user between two days and returns the users with so many. A setting
says how many pairs of days there are, and how many bounds in HAVING. Three ways, which of them goes first drawn at
random for each instance:

- plain: as it is;
- sketches: `lineage.run`, eager: a sketch is captured where none serves the instance; checks and capturing count;
- views: one for each pair of days, `CREATE TABLE … AS` the aggregation, at the first instance that needs it; creating
  counts. What is asked is then HAVING alone, over the view.

Rows are compared each time. Printed are the total seconds of each way, on the clock and of the JVM's CPU, and the bytes
of sketches and views, beside the paper's.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import track
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.sketches.sketch_store import ROOM
from forward_lineage.spark.local import local_session
from tests.bench.jvm import JvmSeconds
from tests.bench.self_tuning import bounds_of
from tests.bench.stack_overflow import write_tables

_COUNTED = (
    "SELECT count(*) AS cnt, u_id, u_displayname FROM comments, users WHERE c_creationdate >= DATE'{first}'"
    " AND c_creationdate < DATE'{end}' AND c_userid = u_id GROUP BY u_id, u_displayname"
)
_YEARS = (2010, 2021)  # those of the data
WAYS = ("plain", "sketches", "views")
_PAPER = "the paper: sketches below 0.3 MB, views 2.6 GB to 45 GB"


@dataclass(frozen=True)
class Instance:
    """One instance of the template: comments from a day to another, users with at least so many."""

    first: str
    end: str
    least: int

    @property
    def counted(self) -> str:
        """The aggregation that a view keeps."""
        return _COUNTED.format(first=self.first, end=self.end)

    @property
    def sql(self) -> str:
        """The query."""
        return f"{self.counted} HAVING count(*) >= {self.least}"


@dataclass
class Outcome:
    """What was measured of one setting, for each way.

    Attributes:
        clock: seconds in all.
        cpu: seconds of the JVM in all.
        stored: bytes.
        made: how many sketches or views.
        used: how many instances used a sketch that was there.
        different: what gave other rows than the query, each with the query.

    """

    clock: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAYS, 0.0))
    cpu: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAYS, 0.0))
    stored: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    used: int = 0
    different: list[str] = field(default_factory=list)


def instances(count: int, pairs: int, bounds: int, threshold: int, seed: int) -> list[Instance]:
    """Draw instances from so many different pairs of days and bounds.

    Args:
        count: how many.
        pairs: of days, a year to all of them apart.
        bounds: of HAVING, from what a part of all comments has over half of the days to twice that.
        threshold: how many comments a user has at least who matters, over all days.
        seed: of chance.

    """
    draw = random.Random(seed)
    days: list[tuple[str, str]] = []
    while len(days) < pairs:
        first, end = sorted(draw.sample([f"{y}-{m:02}-01" for y in range(*_YEARS) for m in range(1, 13)], 2))
        if int(end[:4]) > int(first[:4]) and (first, end) not in days:
            days.append((first, end))
    low = max(2, threshold // 2)
    least = draw.sample(range(low, low + max(bounds, low)), bounds)
    return [Instance(*draw.choice(days), draw.choice(least)) for _ in range(count)]


class Views:
    """A view for each pair of days.

    Args:
        spark: a session.
        folder: gets their files.

    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._names: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._names)

    def run(self, asked: Instance) -> DataFrame:
        """Ask the view, which is made if it is not there."""
        name = self._names.get(asked.counted)
        if name is None:
            name = self._names[asked.counted] = f"counted_{self._folder.name}_{len(self._names)}"
            place = self._folder / name
            self._spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{place}' AS {asked.counted}")
        return self._spark.sql(f"SELECT cnt, u_id, u_displayname FROM {name} WHERE cnt >= {asked.least}")

    def drop(self) -> None:
        """Drop them; their files stay."""
        for name in self._names.values():
            self._spark.sql(f"DROP TABLE {name}")


def measure(spark: SparkSession, data: Path, folder: Path, asked: Sequence[Instance]) -> Outcome:
    """Run every instance in each way.

    Args:
        spark: a session.
        data: where the tables are.
        folder: empty; gets sketches and views.
        asked: the instances.

    """
    lineage = ForwardLineage(spark, folder / "home")
    for name in ("comments", "users"):
        lineage.register(name, path=str(data / name))
    lineage.tune("eager", least=0, budget=1 << 30)
    views, cpu, found, draw = Views(spark, folder), JvmSeconds(spark), Outcome(), random.Random(0)
    run: dict[str, Callable[[Instance], DataFrame]] = {
        "plain": lambda each: spark.sql(each.sql),
        "sketches": lambda each: lineage.run(each.sql),
        "views": views.run,
    }
    run["plain"](asked[0]).toArrow()  # the first run of all pays for what Spark has to load
    for each in track(asked, f"{folder.name}, instances", console=Console(stderr=True)):
        rows = {}
        for way in draw.sample(WAYS, len(WAYS)):
            begun, spent = time.perf_counter(), cpu.now()
            rows[way] = run[way](each).toArrow()
            found.clock[way] += time.perf_counter() - begun
            found.cpu[way] += cpu.now() - spent
        others = [way for way in WAYS if not _same(rows["plain"], rows[way])]
        found.different += [f"{way}, {each.sql}: {rows[way].slice(0, 3).to_pylist()}" for way in others]
    ways = [str(each.way) for each in lineage.decisions()]
    found.used = ways.count("use")
    found.made = {"sketches": ways.count("capture"), "views": len(views)}
    found.stored = {"sketches": bytes_in(folder / "home" / ROOM), "views": bytes_in(folder, "counted_*/*.parquet")}
    views.drop()
    return found


def bytes_in(folder: Path, pattern: str = "**/*") -> int:
    """Return the bytes of files in a folder."""
    return sum(each.stat().st_size for each in folder.glob(pattern) if each.is_file())


def _same(a: pa.Table, b: pa.Table) -> bool:
    return bool(
        a.sort_by("u_id").to_pydict() == b.sort_by("u_id").to_pydict()
    )  # what is read back may be NULL to Spark


@click.command(help=__doc__)
@click.option("--share", default=0.02, show_default=True, help="Of the archive's rows.")
@click.option("--instances", "count", default=200, show_default=True)
@click.option("--settings", default="20x10,100x10,100x100", show_default=True, help="Pairs of days x bounds.")
@click.option("--selectivity", default=0.01, show_default=True, help="The part of the comments that matters.")
@click.option("--memory", default="3g", show_default=True)
def main(share: float, count: int, settings: str, selectivity: float, memory: str) -> None:
    """Measure and print."""
    console = Console(width=120)
    table = Table("days x bounds", *(f"{way}, s (CPU)" for way in WAYS), "sketches", "views", "used", "different")
    with tempfile.TemporaryDirectory(prefix="views-") as scratch:
        folder = Path(scratch)
        spark = local_session(
            "views",
            master="local[2]",
            driver_memory=memory,
            log=folder / "spark.log",
            spark__sql__warehouse__dir=str(folder / "warehouse"),
        )
        data = folder / "data"
        write_tables(spark, data, share)
        spark.read.parquet(str(data / "comments")).createOrReplaceTempView("comments")
        threshold = bounds_of(spark, "comments", selectivity)
        for number, setting in enumerate(settings.split(",")):
            pairs, bounds = map(int, setting.split("x"))
            place = folder / f"s{number}"
            place.mkdir()
            found = measure(spark, data, place, instances(count, pairs, bounds, threshold, number))
            seconds = (f"{found.clock[way]:.1f} ({found.cpu[way]:.1f})" for way in WAYS)
            kept = (f"{found.made[way]}: {found.stored[way] / 1e6:.2f} MB" for way in WAYS[1:])
            row = setting, *seconds, *kept, str(found.used), str(len(found.different))
            console.print(*row, sep="  ", markup=False)
            table.add_row(*row)
        spark.stop()
    console.print(table)
    console.print(_PAPER)


if __name__ == "__main__":
    main()
