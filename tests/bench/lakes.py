"""Lineage over tables of Delta and Iceberg, against the same work over the same tables without it.

    python -m tests.bench.lakes queries --format delta [--scale 1] [--runs 5] [--queries q2,q11]
    python -m tests.bench.lakes lineage --format delta [--scale 1]
    python -m tests.bench.lakes merge --format iceberg [--rows 1000000] [--runs 5]
    python -m tests.bench.lakes refresh --format iceberg [--scale 1] [--runs 3]

Run it under a Spark that the formats' engines are made for, see `tests.lakes.engines`.

- `queries` times TPC-H from text to rows.
- `lineage` compares the base rows of each result of TPC-H, by their keys, with those over Parquet.
- `merge` changes orders: it updates 4 % of the target's rows, and adds 1 %.
- `refresh` is like TPC-DS's data maintenance. A day of sales goes. Another comes in. Returns change sales.

After each run, the changed tables go back to the version before it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from rich.console import Console

from forward_lineage import ForwardLineage
from forward_lineage.spark.names import in_backticks
from tests.bench.harness import Turns, Variant, compare
from tests.bench.sessions import Sessions
from tests.bench.users_clock import Clocked, clocked, report
from tests.bench.workloads import TPCH
from tests.lakes.comparing import HIDDEN, TRACKED, rollback, version_now
from tests.lakes.engines import CATALOG, FORMATS, lake_session
from tests.tpcds_queries.data import generate as generate_tpcds

#: The most that the ratio of a statement, or of a refresh as a whole, may be.
BARS = {"merge": 1.2, "refresh": 1.15}
KEYS = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
#: Spark's own settings, where those of tests are others.
_AS_USERS_HAVE_IT = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "200"}
_MERGE_ON_READ = "".join(f", 'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))
_NAMESPACE = {"delta": "spark_catalog.lakes", "iceberg": f"{CATALOG}.lakes"}


@dataclass(frozen=True)
class Lake:
    """A namespace of one format.

    Attributes:
        kind: of the format.
        spark: a session with its engine, in the namespace.
        lineage: in that session.
        folder: for what a bench writes besides.
        properties: of every table that it makes, as SQL.

    """

    kind: str
    spark: SparkSession
    lineage: ForwardLineage
    folder: Path
    properties: str

    def create(self, table: str, query: str, *, traced: bool = False) -> str:
        """Make a table of a query's rows, with the lineage of each or without; return its name."""
        run = self.lineage.sql if traced else self.spark.sql
        run(f"CREATE TABLE {self.full(table)} USING {self.kind} TBLPROPERTIES ({self.properties}) AS {query}")
        return table

    def full(self, table: str) -> str:
        """Return the name that a table has everywhere."""
        return f"{_NAMESPACE[self.kind]}.{table}"

    def session(self) -> SparkSession:
        """Return another session in the namespace."""
        found = self.spark.newSession()
        found.sql(f"USE {_NAMESPACE[self.kind]}")
        return found

    def putting_back(self, table: str) -> Callable[[], None]:
        """Return what puts a table back to the version of now."""
        at = version_now(self.spark, self.kind, self.full(table))
        assert at is not None
        statement = rollback(self.kind, self.full(table), at)

        def put_back() -> None:
            self.spark.sql(statement).collect()

        return put_back


@contextmanager
def opened(kind: str, *, merge_on_read: bool = False) -> Iterator[Lake]:
    """Start a session with an engine; tables of Iceberg's are as `_MERGE_ON_READ` says, if that is asked for."""
    properties = TRACKED[kind] + (_MERGE_ON_READ if merge_on_read and kind == "iceberg" else "")
    with tempfile.TemporaryDirectory(prefix="lakes-") as scratch:
        folder = Path(scratch)
        spark = lake_session(folder, kind, memory="6g", settings=_AS_USERS_HAVE_IT)
        try:
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_NAMESPACE[kind]}")
            spark.sql(f"USE {_NAMESPACE[kind]}")
            yield Lake(kind, spark, ForwardLineage(spark, home=folder / "home"), folder, properties)
        finally:
            spark.stop()


def with_tpch(lake: Lake, scale: float) -> Path:
    """Make and register TPC-H's tables; return the folder of the same rows as Parquet."""
    files = TPCH.generate(scale)
    for table in TPCH.tables:
        lake.create(table, f"SELECT * FROM parquet.`{(files / table).with_suffix('.parquet')}`")
        lake.lineage.register(lake.full(table))
    return files


def rows_of_results(traced: DataFrame, keys: Mapping[str, DataFrame]) -> dict[str, set[tuple[Any, ...]]]:
    """Return by base table how many of its rows each row of a result is made of, with a sum over their keys.

    Args:
        traced: rows with `DL`.
        keys: of each base table, `id` and `key`.

    """
    shown = f.to_json(f.struct(*[in_backticks(name) for name in traced.columns[:-1]]))
    found = {}
    for table in traced.schema["DL"].dataType.names:  # type: ignore[attr-defined]
        ids = traced.select(shown.alias("row"), f.expr(f"explode(dl_ids(DL.{in_backticks(table)})) AS id"))
        sums = f.sum(f.xxhash64("key").cast("decimal(38, 0)"))
        of_table = keys[table.rsplit(".", 1)[-1]].hint("merge")  # Spark takes Iceberg's ids for few enough to broadcast
        rows = ids.join(of_table, "id").groupBy("row").agg(f.count("*"), sums)
        found[table.rsplit(".", 1)[-1]] = {tuple(row) for row in rows.collect()}
    return found


def keys_by_id(spark: SparkSession, tables: Mapping[str, str], row_id: str) -> dict[str, DataFrame]:
    """Return the keys of TPC-H's tables by the id of their row."""
    return {
        table: spark.sql(f"SELECT {row_id} AS id, struct({', '.join(KEYS[table])}) AS key FROM {place}").cache()
        for table, place in tables.items()
    }


def statement(lake: Lake, name: str, texts: Sequence[str], plain: str, traced: str, turns: Turns) -> Clocked:
    """Time statements that change a table without lineage, and one with it; ``{t}`` is the table."""

    def of(called: str, table: str, run: Callable[[str], DataFrame]) -> Variant:
        def prepare() -> DataFrame:
            return [run(text.format(t=lake.full(table))) for text in texts][-1]

        return Variant(called, prepare, lake.putting_back(table))

    ways = [of("plain", plain, lake.spark.sql), of("lineage", traced, lake.lineage.sql)]
    (found,) = clocked(compare(lake.spark, name, ways, turns))
    return found


def told(console: Console, name: str, found: Clocked, bar: float | None = None) -> None:
    """Print a ratio, and whether it is within the bar."""
    judged = "" if bar is None else f", bar {bar}: {'met' if found.ratio <= bar else 'missed'}"
    console.print(
        f"{name}: {found.ratio:.2f} ({found.low:.2f}–{found.high:.2f}) of {found.plain:.2f} s{judged}", highlight=False
    )


_FORMAT = click.option("--format", "kind", default="delta", show_default=True, type=click.Choice(FORMATS))
_SCALE = click.option("--scale", default=1.0, show_default=True)
_MODE = click.option("--merge-on-read", is_flag=True, help="Iceberg notes what changed; else it copies files.")
_QUERIES = click.option("--queries", default="", help="Some of the queries, joined by commas.  [default: all]")


def _runs(default: int) -> Callable[[Any], Any]:
    return click.option("--runs", default=default, show_default=True, type=click.IntRange(1))


@click.group(help=(__doc__ or "").split("\n", 1)[0])
def main() -> None:
    """Measure and print."""


def _chosen(queries: str) -> list[str]:
    return [name for name in TPCH.names if not queries or name in queries.split(",")]


@main.command("queries")
@_FORMAT
@_SCALE
@_runs(5)
@_QUERIES
def measure_queries(kind: str, scale: float, runs: int, queries: str) -> None:
    """Time TPC-H over tables of the format."""
    console, found = Console(width=160), list[Clocked]()
    with opened(kind) as lake:
        with_tpch(lake, scale)
        plain = lake.session()
        sessions = Sessions(TPCH, lake.spark, plain, plain, lake.lineage)
        for name in _chosen(queries):
            text = TPCH.query(name)
            ways = [
                Variant("query", lambda text=text: sessions.plain.sql(text)),  # type: ignore[misc]
                Variant("sql, data", sessions.traced(text, "data", "auto")),
            ]
            found += clocked(compare(lake.spark, name, ways, Turns(runs)))
            console.print(f"{name}: {found[-1].ratio:.2f}", highlight=False)
    console.print(report(found, f"tpch over {kind}"))


@main.command("lineage")
@_FORMAT
@_SCALE
@_QUERIES
def compare_lineage(kind: str, scale: float, queries: str) -> None:
    """Compare the lineage of TPC-H over tables of the format with that over Parquet."""
    console, differs = Console(width=160), list[str]()
    with opened(kind) as lake:
        files = with_tpch(lake, scale)
        parquet = Sessions.over(TPCH, lake.spark.newSession(), files, lake.folder / "parquet-home")
        theirs = keys_by_id(
            parquet.plain, {t: f"parquet.`{files / t}.parquet`" for t in TPCH.tables}, "_metadata.row_index"
        )
        ours = keys_by_id(lake.spark, {t: lake.full(t) for t in TPCH.tables}, HIDDEN[kind])
        for name in _chosen(queries):
            text = TPCH.query(name)
            found = rows_of_results(lake.lineage.sql(text), ours)
            differs += [name] * (found != rows_of_results(parquet.lineage.sql(text), theirs))
            pairs = sum(row[1] for rows in found.values() for row in rows)
            console.print(f"{name}: {pairs:,} pairs{', others than over Parquet' * (name in differs)}", highlight=False)
    console.print(f"{len(differs)} with another lineage than over Parquet {differs or ''}")
    raise SystemExit(bool(differs))


_MERGE = """
    MERGE INTO {t} AS o USING news AS n ON o.o_orderkey = n.o_orderkey
    WHEN MATCHED THEN UPDATE SET o_orderstatus = n.o_orderstatus, o_totalprice = o.o_totalprice + n.o_totalprice
    WHEN NOT MATCHED THEN INSERT *
"""


@main.command("merge")
@_FORMAT
@click.option("--rows", default=1_000_000, show_default=True, help="Of the target.")
@_runs(5)
@_MODE
def measure_merge(kind: str, rows: int, runs: int, *, merge_on_read: bool) -> None:
    """Time a MERGE into orders."""
    with opened(kind, merge_on_read=merge_on_read) as lake:
        orders = f"parquet.`{TPCH.generate(max(1.0, rows * 1.01 / 1_500_000))}/orders.parquet`"
        place = "row_number() OVER (ORDER BY o_orderkey) AS place"
        numbered = f"(SELECT *, {place} FROM {orders})"
        for table, which in (("old", f"place <= {rows}"), ("news", f"place % 25 = 1 OR place > {rows}")):
            query = f"SELECT * EXCEPT (place) FROM {numbered} WHERE place <= {round(rows * 1.01)} AND ({which})"
            lake.spark.sql(query).write.parquet(str(lake.folder / table))
            lake.spark.read.parquet(str(lake.folder / table)).createOrReplaceTempView(table)
            lake.lineage.register(table, path=str(lake.folder / table))
        lake.create("plain", f"SELECT * FROM parquet.`{lake.folder}/old`")
        lake.create("traced", "SELECT * FROM old", traced=True)
        lake.lineage.sql(f"ALTER TABLE {lake.full('traced')} ADD COLUMNS (DL.news BINARY)")
        found = statement(lake, "merge", [_MERGE], "plain", "traced", Turns(runs))
    told(Console(width=160), f"MERGE into {rows:,} rows of {kind}", found, BARS["merge"])


_DAY = "(SELECT d_date_sk FROM date_dim WHERE d_date = DATE '{}')"
_REFRESH = {
    "DELETE": "DELETE FROM {t} WHERE ss_sold_date_sk = {day}",
    "INSERT": """
        INSERT INTO {t}
        SELECT sold.* EXCEPT (ss_sales_price), i_current_price AS ss_sales_price
        FROM sold JOIN item ON ss_item_sk = i_item_sk JOIN store ON ss_store_sk = s_store_sk
        LEFT JOIN customer ON ss_customer_sk = c_customer_sk
    """,
    "MERGE": """
        MERGE INTO {t} AS s USING back AS b
        ON s.ss_item_sk = b.sr_item_sk AND s.ss_ticket_number = b.sr_ticket_number
        WHEN MATCHED THEN UPDATE SET ss_net_profit = s.ss_net_profit - b.sr_net_loss
    """,
}
_SALES = "SELECT * EXCEPT (ss_sales_price), ss_sales_price FROM {}"


@main.command("refresh")
@_FORMAT
@_SCALE
@_runs(3)
@_MODE
def measure_refresh(kind: str, scale: float, runs: int, *, merge_on_read: bool) -> None:
    """Time a data maintenance of TPC-DS: a DELETE, an INSERT and a MERGE of store_sales."""
    console, turns = Console(width=160), Turns(runs)
    with opened(kind, merge_on_read=merge_on_read) as lake:
        files = generate_tpcds(scale)
        for table in ("date_dim", "item", "store", "customer", "store_sales", "store_returns"):
            lake.create(table, f"SELECT * FROM parquet.`{files / table}.parquet`")
            lake.lineage.register(lake.full(table))
        days = _DAY.format("1998-12-22"), _DAY.format("1999-01-04")
        lake.create("sold", f"{_SALES.format('store_sales')} WHERE ss_sold_date_sk = {days[0]}")
        lake.create("back", f"SELECT * FROM store_returns WHERE sr_returned_date_sk = {days[1]}")
        lake.lineage.register(lake.full("sold"))
        lake.lineage.register(lake.full("back"))
        lake.create("plain", _SALES.format("store_sales"))
        lake.create("traced", _SALES.format("store_sales"), traced=True)
        new = ", ".join(
            f"DL.{in_backticks(lake.full(each))} BINARY" for each in ("sold", "item", "store", "customer", "back")
        )
        lake.lineage.sql(f"ALTER TABLE {lake.full('traced')} ADD COLUMNS ({new})")
        day = lake.spark.sql(_DAY.format("1998-12-21")).collect()[0][0]  # Delta takes no subquery in a DELETE
        texts = {name: text.replace("{day}", str(day)) for name, text in _REFRESH.items()}
        for name, text in texts.items():
            told(console, name, statement(lake, name, [text], "plain", "traced", turns))
        found = statement(lake, "refresh", list(texts.values()), "plain", "traced", turns)
    told(console, f"refresh of {kind}", found, BARS["refresh"])


if __name__ == "__main__":
    main()
