"""Saved results brought up to date, against running them again: the 22 queries of TPC-H after small changes.

    python -m tests.bench.updating [--scale 0.1] [--runs 2] [--only q3,q10]

Two changes come one after the other, in turns with `update(full=True)` after a change of the same kind. First, one
supplier's address and account are corrected (a table by key, with hashes). Then the late orders of one day come, in
files that are added to orders and lineitem. You see the way and the seconds of each result, and both ways' totals.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.local import local_session
from tpch_queries.data import default_folder, generate

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
_DAY = 40  # orders that come in one


@dataclass
class Update:
    """One update of all results.

    Attributes:
        seconds: altogether.
        ways: by result: way, why, seconds.

    """

    seconds: float = 0.0
    ways: dict[str, tuple[str, str, float]] = field(default_factory=dict)


class Warehouse:
    """TPC-H in a folder of its own, which is changed, and its saved queries.

    Args:
        lineage: of a new home.
        folder: a new folder.
        data: the tables as they are generated.

    """

    def __init__(self, lineage: ForwardLineage, folder: Path, data: Path) -> None:
        self.lineage, self.folder = lineage, folder
        self._number = 0
        for table in TABLES:
            (folder / table).mkdir(parents=True)
            files = sorted((data / table).glob("*.parquet")) or [data / f"{table}.parquet"]
            for file in files:
                shutil.copy(file, folder / table / file.name)
            if table == "supplier":
                self._show_suppliers()
                lineage.register(table, key="s_suppkey", hashes=True)
            else:
                lineage.register(table, path=folder / table)

    def save(self, names: list[str]) -> dict[str, float]:
        """Save queries; return seconds by name. Some may be refused."""
        found: dict[str, float] = {}
        for name in names:
            sql = (Path(tpch_queries.__file__).parent / f"{name}.sql").read_text()
            began = time.monotonic()
            try:
                self.lineage.save(sql, name)
                found[name] = time.monotonic() - began
            except LineageError as error:
                print(f"{name}: not saved, {error}", flush=True)
        return found

    def correct_a_supplier(self) -> None:
        """Give one supplier another address and account."""
        self._number += 1
        (file,) = sorted((self.folder / "supplier").glob("*.parquet"))
        table = pq.read_table(file)
        chosen = pc.equal(table["s_suppkey"], 17)
        changed = pc.if_else(chosen, f"Street {self._number}", table["s_address"])
        table = table.set_column(table.schema.get_field_index("s_address"), "s_address", changed)
        file.unlink()
        pq.write_table(table, file.with_name(f"corrected-{self._number}.parquet"))
        self._show_suppliers()
        self.lineage.refresh("supplier")

    def add_a_day(self) -> None:
        """Add orders of one day, with their lines: copies of others, under new keys."""
        self._number += 1
        orders, lines = (
            pq.read_table(sorted((self.folder / each).glob("*.parquet"))[0]) for each in ("orders", "lineitem")
        )
        some = orders.slice(0, _DAY)
        moved = 1_000_000_000 + 1000 * self._number
        keys = dict(zip(some["o_orderkey"].to_pylist(), range(moved, moved + _DAY), strict=True))
        mine = lines.filter(pc.is_in(lines["l_orderkey"], some["o_orderkey"]))
        for name, table in (("orders", some), ("lineitem", mine)):
            key = f"{name[0]}_orderkey"
            kind = table.schema.field(key).type
            new = pa.array([keys[each] for each in table[key].to_pylist()], kind)
            written = table.set_column(table.schema.get_field_index(key), table.schema.field(key), new)
            pq.write_table(written, self.folder / name / f"day-{self._number}.parquet")
            self.lineage.refresh(name)

    def update(self, *, full: bool) -> Update:
        """Bring all results up to date."""
        found, began = Update(), time.monotonic()
        before = began
        for step in self.lineage.updates(full=full):
            now = time.monotonic()
            found.ways[step.result] = step.way.value, step.why, now - before
            before = now
        found.seconds = time.monotonic() - began
        return found

    def _show_suppliers(self) -> None:
        self.lineage.spark.read.parquet(str(self.folder / "supplier")).createOrReplaceTempView("supplier")


def _measured(house: Warehouse, change: Callable[[], None], runs: int) -> tuple[list[Update], list[Update]]:
    full, proven = [], []
    for _ in range(runs):
        change()
        full.append(house.update(full=True))
        change()
        proven.append(house.update(full=False))
    return full, proven


def _shown(console: Console, title: str, full: list[Update], proven: list[Update]) -> None:
    table = Table("result", "way", "s", "s of all", "why", title=title)
    last = proven[-1]
    for name in sorted(last.ways, key=lambda each: int(each[1:])):
        way, why, seconds = last.ways[name]
        table.add_row(name, way, f"{seconds:.2f}", f"{full[-1].ways[name][2]:.2f}", why)
    console.print(table)
    ratios = [each.seconds / other.seconds for each, other in zip(proven, full, strict=True)]
    console.print(
        f"{title}: {[round(each, 3) for each in ratios]} of recomputing all, which took {full[-1].seconds:.1f} s"
    )


@click.command()
@click.option("--scale", default=0.1, show_default=True, help="TPC-H scale factor.")
@click.option("--runs", default=2, show_default=True, help="Of each change and way.")
@click.option("--only", default="", help="Names of queries, with commas.")
@click.option("--memory", default="2g", show_default=True)
def main(scale: float, runs: int, only: str, memory: str) -> None:
    """Measure; print a table for each change."""
    generate(scale)
    names = only.split(",") if only else [f"q{number}" for number in range(1, 23)]
    console = Console(width=200)
    with tempfile.TemporaryDirectory() as scratch:
        spark = local_session("updating", master="local[2]", driver_memory=memory, log=Path(scratch) / "spark.log")
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        try:
            lineage = ForwardLineage(spark, Path(scratch) / "home")
            house = Warehouse(lineage, Path(scratch) / "data", default_folder(scale))
            saved = house.save(names)
            console.print(f"saved {len(saved)} in {sum(saved.values()):.1f} s")
            _shown(console, "one supplier corrected", *_measured(house, house.correct_a_supplier, runs))
            _shown(console, "late orders of one day", *_measured(house, house.add_a_day, runs))
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
