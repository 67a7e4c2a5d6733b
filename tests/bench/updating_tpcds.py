"""TPC-DS after small changes: how many of its 99 saved results are brought up to date without a full run?

    python -m tests.bench.updating_tpcds [--scale 0.01] [--queries q12,q46] [--check]

Three changes like those of the benchmark's data maintenance come one after the other. Customers move and items get
another price; these are copies by key. Sales and returns of a day come, and those of another day go, in files of their
own. After each you see how many results do not read what changed, and which way the others went. You see why results
were computed again, and the seconds. `--check` compares rows and lineage of each with the query run
anew; rows that tie at a LIMIT may be others.

pg_ivm maintains 20 of the 99 queries at all.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.updating import save_each
from tests.forward_lineage.store.updating.full_run import as_saved
from tests.tpcds_queries.data import generate
from tests.tpcds_queries.texts import NAMES, TABLES, query

#: Facts, and the column that says the day.
DAYS = {
    "store_sales": "ss_sold_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "web_sales": "ws_sold_date_sk",
    "store_returns": "sr_returned_date_sk",
    "catalog_returns": "cr_returned_date_sk",
    "web_returns": "wr_returned_date_sk",
}
KEYS = {"customer": "c_customer_sk", "customer_address": "ca_address_sk", "item": "i_item_sk"}
_PG_IVM = 20


class Warehouse:
    """TPC-DS in a folder of its own, which is changed, and its saved queries.

    Args:
        lineage: of a new home.
        folder: a new folder.
        data: the tables as they are generated.

    """

    def __init__(self, lineage: ForwardLineage, folder: Path, data: Path) -> None:
        self.lineage, self.folder, self.data = lineage, folder, data
        for table in TABLES:
            (folder / table).mkdir(parents=True)
            if table in DAYS:
                self._split(table)
                lineage.register(table, path=folder / table)
            elif table in KEYS:
                shutil.copy(data / f"{table}.parquet", folder / table / "all.parquet")
                self._copied(table)
            else:
                shutil.copy(data / f"{table}.parquet", folder / table / "all.parquet")
                lineage.register(table, path=folder / table)

    def save(self, names: list[str]) -> dict[str, float]:
        """Save queries; return seconds by name. Some may be refused."""
        return save_each(self.lineage, {name: query(self.data, name) for name in names})

    def correct(self) -> None:
        """Let ten customers have another salutation, one address another city, five items another price."""
        self._changed("customer", "c_salutation", "Sir", 10)
        self._changed("customer_address", "ca_city", "Midway", 1)
        self._changed("item", "i_current_price", None, 5)

    def add_a_day(self) -> None:
        """Let sales and returns come: those of a day once more, a day later."""
        for table, day in DAYS.items():
            rows = pq.read_table(self.folder / table / "day.parquet")
            later = pc.add(rows[day], pa.scalar(1, rows[day].type))
            rows = rows.set_column(rows.schema.get_field_index(day), rows.schema.field(day), later)
            pq.write_table(rows, self.folder / table / "later.parquet")
            self.lineage.refresh(table)

    def remove_a_day(self) -> None:
        """Let the sales and returns of a day go."""
        for table in DAYS:
            (self.folder / table / "day.parquet").unlink()
            self.lineage.refresh(table)

    def _split(self, table: str) -> None:
        """Write what was sold or returned on one day, that with the most rows, into a file of its own."""
        rows, column = pq.read_table(self.data / f"{table}.parquet"), DAYS[table]
        counted = pc.value_counts(rows[column].drop_null())
        day = counted.field("values")[pc.index(counted.field("counts"), pc.max(counted.field("counts"))).as_py()]
        is_day = pc.fill_null(pc.equal(rows[column], day), False)
        pq.write_table(rows.filter(is_day), self.folder / table / "day.parquet")
        pq.write_table(rows.filter(pc.invert(is_day)), self.folder / table / "others.parquet")

    def _changed(self, table: str, column: str, value: str | None, count: int) -> None:
        (file,) = (self.folder / table).glob("*.parquet")
        rows = pq.read_table(file)
        place = rows.schema.get_field_index(column)
        some = pc.less(pa.array(range(rows.num_rows)), count)
        now = value if value is not None else pc.add(rows[column], pa.scalar(1))
        changed = pc.if_else(some, now, rows[column]).cast(rows.schema.field(column).type)
        pq.write_table(rows.set_column(place, rows.schema.field(column), changed), file)
        self._copied(table)

    def _copied(self, table: str) -> None:
        frame = self.lineage.spark.read.parquet(str(self.folder / table))
        self.lineage.register(table, source=frame, key=KEYS[table])


def wrong(lineage: ForwardLineage, data: Path, names: list[str]) -> list[str]:
    """Return the results whose rows or lineage are not those of their query, run now."""
    found = []
    for name in names:
        lineage.save(query(data, name), "anew")
        if as_saved(lineage, name) != as_saved(lineage, "anew"):
            found.append(name)
        lineage.drop("anew")  # the next update is of the others
    return found


def _shown(console: Console, title: str, saved: dict[str, float], ways: dict[str, tuple[str, str, float]]) -> None:
    table = Table("result", "way", "s", "why", title=title)
    for name, (way, why, seconds) in sorted(ways.items()):
        if way not in ("untouched", "partly"):
            table.add_row(name, way, f"{seconds:.2f}", why)
    console.print(table)
    counted = Counter(way for way, _, _ in ways.values())
    alone = len(saved) - len(ways)
    exact = alone + counted["untouched"] + counted["partly"]
    console.print(f"{title}: {alone} do not read what changed, {dict(counted)}")
    console.print(f"{title}: {exact} of {len(saved)} without a full run (pg_ivm: {_PG_IVM} of 99)")
    took = sum(seconds for _, _, seconds in ways.values())
    console.print(f"{title}: {took:.1f} s, where saving all took {sum(saved.values()):.1f} s")


@click.command()
@click.option("--scale", default=0.01, show_default=True, help="TPC-DS scale factor.")
@click.option("--queries", default=",".join(NAMES), help="Names, with commas; all when not given.")
@click.option("--check", is_flag=True, help="Compare each result with its query run anew, after each change.")
@click.option("--memory", default="3g", show_default=True)
def main(scale: float, queries: str, check: bool, memory: str) -> None:
    """Measure; print a table for each change. Exit code 1 if a result is wrong."""
    data, console, faults = generate(scale), Console(width=200), 0
    with tempfile.TemporaryDirectory() as scratch:
        spark = local_session("updating", master="local[2]", driver_memory=memory, log=Path(scratch) / "spark.log")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        try:
            house = Warehouse(ForwardLineage(spark, Path(scratch) / "home"), Path(scratch) / "data", data)
            saved = house.save(queries.split(","))
            console.print(f"saved {len(saved)} in {sum(saved.values()):.1f} s")
            changes: dict[str, Callable[[], None]] = {
                "customers and items corrected": house.correct,
                "sales of a day come": house.add_a_day,
                "sales of a day go": house.remove_a_day,
            }
            for title, change in changes.items():
                change()
                ways, before = {}, time.monotonic()
                for step in house.lineage.updates():
                    ways[step.result] = step.way.value, step.why, time.monotonic() - before
                    before = time.monotonic()
                _shown(console, title, saved, ways)
                if check:
                    found = wrong(house.lineage, data, list(ways))
                    faults += len(found)
                    console.print(f"{title}: {len(found)} of {len(ways)} are wrong: {', '.join(found) or 'none'}")
        finally:
            spark.stop()
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
