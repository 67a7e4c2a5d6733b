"""What one would do instead of a sketch: Bloom filters, sorted files, a cached table, a materialised aggregate.

    python -m tests.bench.instead_of_sketches [--only S-Q1,q3,q18] [--scale 1] [--share 0.05] [--runs 3]

Each way answers the same query; printed is what it takes to prepare it (seconds on the clock and of the JVM's CPU, and
bytes: of the files that are written, or of memory), and its time as a ratio to the query as it is, on the clock and in
CPU seconds, interleaved, medians. Rows are compared with those of the query as it is.

- sketch: `lineage.run`, eager; deciding counts at every run, bytes are those under the home;
- Bloom filters: the files are written again with Parquet's Bloom filters on the keys;
- sorted: they are written again, sorted by what one would choose for this query;
- sorted, sketch: both;
- cached: `CACHE TABLE` of the query's tables;
- aggregate: the query's innermost aggregation as a table of its own, and the query over it.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.sketches.sketch_store import ROOM
from forward_lineage.spark.local import local_session
from tests.bench.harness import Turns, compare
from tests.bench.jvm import JvmSeconds
from tests.bench.sketches_or_views import bytes_in
from tests.bench.skipping import text_of
from tests.bench.stack_overflow import QUERIES, write_tables
from tpch_queries.data import default_folder, generate


@dataclass(frozen=True)
class Case:
    """A query, and how one would help it without sketches.

    Attributes:
        sql: the query.
        keys: of its tables: what Bloom filters are of.
        sorted_by: of some of its tables: what one would sort them by.
        aggregate: its innermost aggregation.
        over: the query over the table `aggregate`.

    """

    sql: str
    keys: Mapping[str, str]
    sorted_by: Mapping[str, str]
    aggregate: str
    over: str


_COUNTED = QUERIES["S-Q1"].partition(" ORDER BY ")
_REVENUE = text_of("q3").partition("order by")
_ORDERS = {"lineitem": "l_orderkey", "orders": "o_orderkey", "customer": "c_custkey"}
_QUANTITIES = "SELECT l_orderkey, sum(l_quantity) AS quantity FROM lineitem GROUP BY l_orderkey"
_LARGE = "in (SELECT l_orderkey FROM aggregate WHERE quantity > 300)"
_LARGE_ORDERS = re.sub(r"in \(.*> 300\s*\)", _LARGE, text_of("q18"), flags=re.DOTALL)


CASES: Mapping[str, Case] = {
    "S-Q1": Case(
        QUERIES["S-Q1"],
        {"posts": "p_owneruserid", "users": "u_id"},
        {"posts": "p_owneruserid"},
        _COUNTED[0],
        "SELECT * FROM aggregate ORDER BY " + _COUNTED[2],
    ),
    "q3": Case(
        text_of("q3"),
        _ORDERS,
        {"lineitem": "l_shipdate", "orders": "o_orderdate"},
        _REVENUE[0],
        "SELECT * FROM aggregate ORDER BY " + _REVENUE[2],
    ),
    "q18": Case(text_of("q18"), _ORDERS, {}, _QUANTITIES, _LARGE_ORDERS),
}
"""TPC-H's files are in the order of the keys as the generator writes them; the posts here, of their own key."""


@dataclass
class Way:
    """One way to answer a query.

    Attributes:
        run: makes the DataFrame.
        seconds: to prepare it, on the clock.
        cpu: of the JVM's CPU.
        bytes: what it keeps.
        note: what else there is to say.

    """

    run: Callable[[], DataFrame]
    seconds: float = 0.0
    cpu: float = 0.0
    bytes: int = 0
    note: Callable[[], str] = field(default=lambda: "")


class Ways:
    """The ways of one query, each in a session of its own, where the tables' names mean its own files.

    Args:
        spark: any session.
        case: the query.
        tables: their files.
        folder: empty; gets what is written.

    """

    def __init__(self, spark: SparkSession, case: Case, tables: Mapping[str, Path], folder: Path) -> None:
        self._spark, self._case, self._tables, self._folder = spark, case, tables, folder
        self._cpu = JvmSeconds(spark)

    def all(self) -> dict[str, Way]:
        """Prepare all of them; the query as it is first."""
        ways = {"plain": Way(self._asked(self._session(self._tables), self._case.sql))}
        ways["sketch"] = self._prepared(lambda: self._with_sketch(self._tables, "sketch"))
        ways["Bloom filters"] = self._prepared(self._with_bloom_filters)
        if self._case.sorted_by:
            ways["sorted"] = self._prepared(self._sorted)
            tables = {**self._tables, **{name: self._folder / "sorted" / name for name in self._case.sorted_by}}
            ways["sorted, sketch"] = self._prepared(lambda: self._with_sketch(tables, "sorted-sketch"))
        ways["cached"] = self._prepared(self._cached)
        ways["aggregate"] = self._prepared(self._with_aggregate)
        return ways

    def _prepared(self, prepare: Callable[[], Way]) -> Way:
        begun, spent = time.perf_counter(), self._cpu.now()
        way = prepare()
        way.seconds, way.cpu = time.perf_counter() - begun, self._cpu.now() - spent
        return way

    def _session(self, tables: Mapping[str, Path]) -> SparkSession:
        session = self._spark.newSession()
        for name, path in tables.items():
            session.read.parquet(str(path)).createOrReplaceTempView(name)
        return session

    def _asked(self, session: SparkSession, sql: str) -> Callable[[], DataFrame]:
        return lambda: session.sql(sql)

    def _with_sketch(self, tables: Mapping[str, Path], name: str) -> Way:
        home = self._folder / name
        lineage = ForwardLineage(self._spark.newSession(), home)
        for table, path in tables.items():
            lineage.register(table, path=str(path))
        lineage.tune("eager", least=0)
        lineage.run(self._case.sql)  # captured, not used

        def said() -> str:
            last = lineage.decisions()[-1]
            return f"{last.way}: " + (", ".join(f"{t} by {s}" for t, s in last.sketches.items()) or last.why)

        return Way(lambda: lineage.run(self._case.sql), bytes=bytes_in(home / ROOM), note=said)

    def _with_bloom_filters(self) -> Way:
        written = {}
        for name, key in self._case.keys.items():
            rows = self._spark.read.parquet(str(self._tables[name])).coalesce(1)
            written[name] = self._folder / "bloom" / name
            rows.write.option(f"parquet.bloom.filter.enabled#{key}", "true").parquet(str(written[name]))
        return Way(
            self._asked(self._session({**self._tables, **written}), self._case.sql), bytes=_size(written.values())
        )

    def _sorted(self) -> Way:
        written = {}
        for name, column in self._case.sorted_by.items():
            written[name] = self._folder / "sorted" / name
            self._spark.read.parquet(str(self._tables[name])).orderBy(column).write.parquet(str(written[name]))
        return Way(
            self._asked(self._session({**self._tables, **written}), self._case.sql),
            bytes=_size(written.values()),
            note=lambda: ", ".join(self._case.sorted_by.values()),
        )

    def _cached(self) -> Way:
        """Cache other names of the same files: what is cached is used wherever the same files are read."""
        linked = {name: _linked(path, self._folder / "cached" / name) for name, path in self._tables.items()}
        session = self._session(linked)
        for name in self._tables:
            session.sql(f"CACHE TABLE {name}")
        context: Any = self._spark._jsc
        stored = context.sc().getRDDStorageInfo()
        return Way(
            self._asked(session, self._case.sql),
            bytes=sum(each.memSize() + each.diskSize() for each in stored),
            note=lambda: f"{sum(each.diskSize() for each in stored) / 1e6:.0f} MB of it on disk",
        )

    def _with_aggregate(self) -> Way:
        place = self._folder / "aggregate"
        self._session(self._tables).sql(self._case.aggregate).write.parquet(str(place))
        session = self._session({**self._tables, "aggregate": place})
        return Way(self._asked(session, self._case.over), bytes=_size([place]))


def _linked(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for file in path.glob("*.parquet") if path.is_dir() else [path]:
        os.link(file, folder / file.name)
    return folder


def _size(paths: Iterable[Path]) -> int:
    return sum(bytes_in(path, "*.parquet") for path in paths)


def rows_for(spark: SparkSession, query: str, ways: Mapping[str, Way], turns: Turns) -> list[tuple[str, ...]]:
    """Measure all ways of a query, and lay them out."""
    cpu = JvmSeconds(spark)
    wanted = _rows(ways["plain"])
    different = [name for name, way in ways.items() if _rows(way) != wanted]
    assert not different, f"{different}: other rows"
    compared = compare(spark, query, [cpu.variant(name, way.run) for name, way in ways.items()], turns)
    clock = {each.variant: statistics.median(each.clock) for each in compared.timings}
    spent = {name: statistics.median(seconds) for name, seconds in cpu.seconds.items()}
    return [
        (
            query,
            name,
            f"{clock[name]:.2f} ({spent[name]:.1f})",
            f"{clock[name] / clock['plain']:.2f}",
            f"{spent[name] / spent['plain']:.2f}",
            f"{way.seconds:.1f} ({way.cpu:.1f})",
            f"{way.bytes / 1e6:.2f}",
            way.note(),
        )
        for name, way in ways.items()
    ]


def _rows(way: Way) -> list[str]:
    return sorted(map(repr, way.run().collect()))


def _tables_of(spark: SparkSession, query: str, scale: float, share: float, scratch: Path) -> dict[str, Path]:
    if query in QUERIES:
        if not (scratch / "users").exists():
            write_tables(spark, scratch, share)
            rows = spark.read.parquet(str(scratch / "posts")).sort("p_id")
            rows.write.option("parquet.block.size", 16 << 20).parquet(str(scratch / "posts-by-id"))
        return {"users": scratch / "users", "posts": scratch / "posts-by-id"}
    folder = generate(scale, default_folder(scale))
    return {name: folder / f"{name}.parquet" for name in CASES[query].keys}


@click.command(help=__doc__)
@click.option("--only", default=",".join(CASES))
@click.option("--scale", default=1.0, help="Of TPC-H.")
@click.option("--share", default=0.05, help="Of Stack Overflow's rows.")
@click.option("--runs", default=3)
@click.option("--memory", default="3g")
def main(only: str, scale: float, share: float, runs: int, memory: str) -> None:
    """Print a row for each query and way."""
    console = Console(width=160)
    table = Table("query", "way", "s (CPU)", "÷ plain", "CPU ÷ plain", "prepared, s (CPU)", "MB", "")
    with tempfile.TemporaryDirectory(prefix="instead-") as scratch:
        folder = Path(scratch)
        spark = local_session("instead", master="local[2]", driver_memory=memory, log=folder / "spark.log")
        for query in only.split(","):
            tables = _tables_of(spark, query, scale, share, folder / "data")
            ways = Ways(spark, CASES[query], tables, folder / query).all()
            for row in rows_for(spark, query, ways, Turns(runs)):
                console.print(*row, sep="  ", markup=False)
                table.add_row(*row)
            spark.catalog.clearCache()
        spark.stop()
    console.print(table)


if __name__ == "__main__":
    main()
