"""Groups and windows whose rows meet other rows, saved: what it costs, what is kept, how fast it is asked.

    python -m tests.bench.saving_by_reference [--rows 3000000] [--groups 1000] [--runs 3] [--only average,global]

The shapes of `tests.bench.by_reference`, at `--rows` rows and at half of them. In turns: the query's rows written as
Parquet; the same saved with lineage. Then how many bytes of lineage there are for each result row and each pair of a
stage's row and an id, and how long the base rows of one result row take to come back: the first one asked, and the
median of 30 others.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.settings import BY_REFERENCE
from forward_lineage.store.library.saved_result import SavedResult
from tests.bench.by_reference import SHAPES, Size, chosen, write_tables

ASKED = 30
WARM_UP = 1  # turns that do not count


@dataclass(frozen=True)
class Figures:
    """What one shape at one size costs.

    Attributes:
        shape: its name.
        rows: of each base table.
        written: median seconds to write the rows.
        saved: median seconds to save them with lineage.
        result_rows: how many rows there are.
        pairs: pairs of a row, of the result or of a stage, and an id that are kept.
        size: bytes of lineage.
        first: seconds that the first question for a row's base rows takes.
        asked: median seconds of the others, and how many ids they return in the median.

    """

    shape: str
    rows: int
    written: float
    saved: float
    result_rows: int
    pairs: int
    size: int
    first: float
    asked: tuple[float, int]


def measure(spark: SparkSession, folder: Path, size: Size, names: Sequence[str], runs: int) -> Iterator[Figures]:
    """Save each shape, in turns with writing its rows alone."""
    spark = spark.newSession()  # whose names are those of one home
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    spark.conf.set(BY_REFERENCE, "true")
    write_tables(spark, folder, size)
    lineage = ForwardLineage(spark, folder / "home")
    for table in ("sales", "u"):
        lineage.register(table, path=folder / table)
    for name in names:
        sql, rows = SHAPES[name].sql, folder / "rows"

        def write(sql: str = sql, rows: Path = rows) -> None:
            spark.sql(sql).write.mode("overwrite").parquet(str(rows))

        def save(sql: str = sql) -> None:
            lineage.save(sql, "saved")

        written, saved = [], []
        for _ in range(WARM_UP + runs):
            written.append(_seconds(write))
            saved.append(_seconds(save))
        shutil.rmtree(rows)
        yield _figures(lineage, name, size.rows, median(written[WARM_UP:]), median(saved[WARM_UP:]))


def _figures(lineage: ForwardLineage, name: str, rows: int, written: float, saved: float) -> Figures:
    result = lineage.describe("saved")
    asked = [_asked(lineage, result) for _ in range(1 + ASKED)]
    seconds, ids = (median(each[part] for each in asked[1:]) for part in (0, 1))
    size = result.lineage_size
    return Figures(name, rows, written, saved, result.rows, result.pairs, size, asked[0][0], (seconds, int(ids)))


def _asked(lineage: ForwardLineage, result: SavedResult) -> tuple[float, int]:
    row = random.randrange(result.rows)
    start = time.perf_counter()
    found = sum(len(lineage.backward_ids("saved", rows=[row], table=each.name)) for each in result.tables)
    return time.perf_counter() - start, found


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(found: Sequence[Figures]) -> Table:
    """A line for each shape and size."""
    table = Table(title="saving by reference")
    heads = ("shape", "rows", "write, s", "save, s", "ratio", "twice the rows", "result rows", "pairs", "bytes each")
    for title in (*heads, "first question, ms", "then, ms", "ids", "ns an id"):
        table.add_column(title, justify="left" if title == "shape" else "right")
    for each in found:
        half = next((one for one in found if one.shape == each.shape and one.rows == each.rows // 2), None)
        seconds, ids = each.asked
        table.add_row(
            each.shape,
            f"{each.rows:,}",
            f"{each.written:.2f}",
            f"{each.saved:.2f}",
            f"{each.saved / each.written:.2f}",
            f"{each.saved / half.saved:.2f}" if half else "",
            f"{each.result_rows:,}",
            f"{each.pairs:,}",
            f"{each.size / max(each.result_rows + each.pairs, 1):.2f}",
            f"{each.first * 1e3:.1f}",
            f"{seconds * 1e3:.2f}",
            f"{ids:,}",
            f"{seconds * 1e9 / max(ids, 1):.0f}",
        )
    return table


@click.command()
@click.option("--rows", default=3_000_000, show_default=True, help="Rows of each of the two tables.")
@click.option("--groups", default=1_000, show_default=True)
@click.option("--runs", default=3, show_default=True)
@click.option("--only", default=",".join(SHAPES), show_default=True, help="Shapes.")
@click.option("--driver-memory", default="6g", show_default=True, help="Heap of Spark, e.g. 700m.")
def main(rows: int, groups: int, runs: int, only: str, driver_memory: str) -> None:
    """Measure and print."""
    names = chosen(only, SHAPES, "shape")
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="saving-by-reference-") as scratch:
        log = Path(scratch) / "spark.log"
        spark = local_session("saving by reference", master="local[2]", driver_memory=driver_memory, log=log)
        try:
            for size in (Size(rows // 2, groups), Size(rows, groups)):
                found += measure(spark, Path(scratch) / str(size.rows), size, names, runs)
        finally:
            spark.stop()
    Console(width=170).print(report(found))


if __name__ == "__main__":
    main()
