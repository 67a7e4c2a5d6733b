"""Saved results brought up to date, against running them again: the 22 queries of TPC-H after small changes.

    python -m tests.bench.updating [--scale 0.1] [--runs 2] [--only q3,q10]

Two changes come one after the other. First, one supplier's address is corrected (a table that is copied, by key). Then
the late orders of one day come, in files that are added to orders and lineitem. Each change is made three times a run:
before an update that computes all again, before a usual one, and before one that makes a part again wherever a rule
tells which, whatever it is expected to cost.

You see the way and the seconds of each result, the share of results by way, the time against computing all again, and
how often the plan chose the slower way where there were two.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
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
from forward_lineage.spark.settings import UPDATE, configured
from tpch_queries.data import default_folder, generate

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
_DAY = 40  # orders that come in one
FULL, USUAL, IN_PART = "full", "usual", "in part"


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
            else:
                lineage.register(table, path=folder / table)

    def save(self, names: list[str]) -> dict[str, float]:
        """Save queries; return seconds by name. Some may be refused."""
        texts = Path(tpch_queries.__file__).parent
        return save_each(self.lineage, {name: (texts / f"{name}.sql").read_text() for name in names})

    def correct_a_supplier(self) -> None:
        """Give one supplier another address."""
        self._number += 1
        (file,) = sorted((self.folder / "supplier").glob("*.parquet"))
        table = _read(file)
        place = table.schema.get_field_index("s_address")
        chosen = pc.equal(table["s_suppkey"], 17)
        changed = pc.if_else(chosen, f"Street {self._number}", table["s_address"])
        table = table.set_column(place, "s_address", changed)
        file.unlink()
        pq.write_table(table, file.with_name(f"corrected-{self._number}.parquet"))
        self._show_suppliers()

    def add_a_day(self) -> None:
        """Add orders of one day, with their lines: copies of others of that day, under new keys."""
        self._number += 1
        orders, lines = (_read(sorted((self.folder / each).glob("*.parquet"))[0]) for each in ("orders", "lineitem"))
        some = orders.filter(pc.equal(orders["o_orderdate"], orders["o_orderdate"][0])).slice(0, _DAY)
        moved = 1_000_000_000 + 1000 * self._number
        keys = dict(zip(some["o_orderkey"].to_pylist(), range(moved, moved + some.num_rows), strict=True))
        mine = lines.filter(pc.is_in(lines["l_orderkey"], some["o_orderkey"].combine_chunks()))
        for name, table in (("orders", some), ("lineitem", mine)):
            key = f"{name[0]}_orderkey"
            kind = table.schema.field(key).type
            new = pa.array([keys[each] for each in table[key].to_pylist()], kind)
            written = table.set_column(table.schema.get_field_index(key), table.schema.field(key), new)
            pq.write_table(written, self.folder / name / f"day-{self._number}.parquet")
            self.lineage.refresh(name)

    def update(self, how: str) -> Update:
        """Bring all results up to date."""
        found, began = Update(), time.monotonic()
        before = began
        with configured(self.lineage.spark, {UPDATE: "partly" if how == IN_PART else "auto"}):
            for step in self.lineage.updates(full=how == FULL):
                now = time.monotonic()
                found.ways[step.result] = step.way.value, step.why, now - before
                before = now
        found.seconds = time.monotonic() - began
        return found

    def _show_suppliers(self) -> None:
        frame = self.lineage.spark.read.parquet(str(self.folder / "supplier"))
        self.lineage.register("supplier", source=frame, key="s_suppkey")


def save_each(lineage: ForwardLineage, queries: Mapping[str, str]) -> dict[str, float]:
    """Save queries by name; return the seconds of each. Some may be refused."""
    found: dict[str, float] = {}
    for name, sql in queries.items():
        began = time.monotonic()
        try:
            lineage.save(sql, name)
            found[name] = time.monotonic() - began
        except LineageError as error:
            print(f"{name}: not saved, {error}", flush=True)
    return found


def _read(file: Path) -> pa.Table:
    """Read a file; texts in the type that all functions of Arrow take."""
    table = pq.read_table(file)
    fields = [field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _measured(house: Warehouse, change: Callable[[], None], runs: int) -> dict[str, list[Update]]:
    found: dict[str, list[Update]] = {FULL: [], USUAL: [], IN_PART: []}
    for _ in range(runs):
        for how, updates in found.items():
            change()
            updates.append(house.update(how))
    return found


def _shown(console: Console, title: str, measured: dict[str, list[Update]], saved: dict[str, float]) -> None:
    table = Table("result", "way", "s", "s in part", "s of all", "why", title=title)
    full, usual, in_part = (measured[how][-1].ways for how in (FULL, USUAL, IN_PART))
    for name in sorted(usual, key=lambda each: int(each[1:])):
        way, why, seconds = usual[name]
        part = f"{in_part[name][2]:.2f}" if in_part[name][0] == "partly" else ""
        table.add_row(name, way, f"{seconds:.2f}", part, f"{full[name][2]:.2f}", why)
    console.print(table)
    ways = Counter(way for way, _, _ in usual.values())
    console.print(f"{title}: {dict(ways)}, {len(saved) - len(usual)} do not read what changed")
    for what, of in (
        ("those that read it", [each.seconds for each in measured[FULL]]),
        ("all results", [sum(saved.values())] * len(usual)),
    ):
        ratios = [round(each.seconds / seconds, 3) for each, seconds in zip(measured[USUAL], of, strict=False)]
        console.print(f"{title}: {ratios} of the time to compute {what}, {of[-1]:.1f} s")
    slower, choices = _choices(measured)
    console.print(f"{title}: the plan chose the slower way in {slower} of {choices} choices")


def _choices(measured: dict[str, list[Update]]) -> tuple[int, int]:
    """How often the slower way was chosen, and how often there were two: untouched is a choice, as its proof costs."""
    slower = choices = 0
    for full, usual, in_part in zip(*measured.values(), strict=True):
        for name, (way, _, seconds) in usual.ways.items():
            if way == "recomputed" and in_part.ways[name][0] != "partly":
                continue
            choices += 1
            slower += seconds > (in_part if way == "recomputed" else full).ways[name][2]
    return slower, choices


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
            for title, change in (
                ("one supplier corrected", house.correct_a_supplier),
                ("late orders of one day", house.add_a_day),
            ):
                _shown(console, title, _measured(house, change, runs), saved)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
