"""Groups and windows whose rows meet other rows: what lineage costs there, and how it grows.

    python -m tests.bench.by_reference [--rows 3000000] [--groups 1000] [--runs 3] [--only avg,window] [--json FILE]

Each shape at `--rows` rows and at half and a quarter of them, groups fixed; and at a quarter and a sixteenth of
`--groups`, rows fixed. Compared in turns: the query; ours, from text to rows, all of the user's columns computed and
`dl_size` of every table for the first rows; and the same with `collect_set` by hand, which copies sets into rows as
lineage by value does, on a thousandth of the rows, since it does not end on all. Printed are ratios to the query, and
what twice the rows cost; `--plot FILE` draws them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.names import field_of_dl, quoted
from forward_lineage.spark.settings import BY_REFERENCE
from tests.bench.harness import Comparison, Turns, Variant, compare

FIRST = 50  # rows of each partition, of which lineage is looked at
BY_HAND = 1_000  # so many times fewer rows: of a hundred times fewer some shape fills six gigabytes


@dataclass(frozen=True)
class Shape:
    """A query, and the same with ids by hand."""

    sql: str
    by_hand: str


_AVERAGES = "SELECT item, avg(amount) AS a{} FROM sales GROUP BY item"
_TOTALS = "SELECT item, day, sum(amount) AS a{} FROM sales GROUP BY item, day"
_IDS = ", collect_set(k) AS ids"
SHAPES = {
    "global": Shape(
        "WITH m AS (SELECT max(v) AS mx FROM sales) SELECT u.w, sum(u.k) AS s FROM u, m WHERE u.w < m.mx GROUP BY u.w",
        f"WITH m AS (SELECT max(v) AS mx{_IDS} FROM sales) SELECT u.w, sum(u.k) AS s, collect_set(u.k) AS ku,"
        " array_distinct(flatten(collect_list(m.ids))) AS ids FROM u, m WHERE u.w < m.mx GROUP BY u.w",
    ),
    "average": Shape(
        f"SELECT s.* FROM sales s JOIN ({_AVERAGES.format('')}) g USING (item) WHERE s.amount > 1.8 * g.a",
        f"SELECT s.*, array_union(g.ids, array(s.k)) AS ids FROM sales s JOIN ({_AVERAGES.format(_IDS)}) g USING (item)"
        " WHERE s.amount > 1.8 * g.a",
    ),
    "running total": Shape(
        "SELECT item, day, sum(sum(amount)) OVER (PARTITION BY item ORDER BY day) AS r FROM sales GROUP BY item, day",
        "SELECT item, day, sum(a) OVER w AS r, flatten(collect_list(ids) OVER w) AS ids FROM"
        f" ({_TOTALS.format(_IDS)}) WINDOW w AS (PARTITION BY item ORDER BY day)",
    ),
    "joined to itself": Shape(
        f"WITH g AS ({_TOTALS.format('')}) SELECT x.item, x.day, x.a + y.a + z.a AS t FROM g x JOIN g y ON"
        " x.item = y.item AND x.day = y.day + 1 JOIN g z ON x.item = z.item AND x.day = z.day + 2",
        f"WITH g AS ({_TOTALS.format(_IDS)}) SELECT x.item, x.day, x.a + y.a + z.a AS t,"
        " array_union(x.ids, array_union(y.ids, z.ids)) AS ids FROM g x JOIN g y ON"
        " x.item = y.item AND x.day = y.day + 1 JOIN g z ON x.item = z.item AND x.day = z.day + 2",
    ),
}


@dataclass(frozen=True)
class Size:
    """How much data there is: rows in each of the two tables, and groups."""

    rows: int
    groups: int


def sizes(rows: int, groups: int) -> list[Size]:
    """The sizes that are measured: first growing rows, then growing groups, the largest only once."""
    growing = [Size(rows // 4, groups), Size(rows // 2, groups), Size(rows, groups)]
    return [*growing, Size(rows, max(groups // 16, 1)), Size(rows, max(groups // 4, 1))]


def write_tables(spark: SparkSession, folder: Path, size: Size) -> None:
    """sales(k, item, day, amount, v) and u(k, w), ids scattered over the groups."""
    days = 12
    items = max(size.groups // days, 1)
    spark.sql(
        f"SELECT id AS k, id * 7919 % {items} AS item, CAST(id * 31 % {days} AS INT) AS day,"
        f" CAST(id * 7919 % 10007 AS DOUBLE) AS amount, CAST(id * 31 % 9973 AS INT) AS v FROM range({size.rows})"
    ).write.parquet(str(folder / "sales"))
    spark.sql(f"SELECT id AS k, CAST(id * 17 % {9 * size.groups} AS INT) AS w FROM range({size.rows})").write.parquet(
        str(folder / "u")
    )


def looked_at(frame: DataFrame) -> DataFrame:
    """All of the user's columns, and how large the lineage of the first rows is."""
    users = [quoted(column) for column in frame.columns[:-1]]
    first = f"monotonically_increasing_id() % 8589934592 < {FIRST}"
    tables = frame.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    counts = [f"CASE WHEN {first} THEN dl_size({field_of_dl(table)}) END AS n{i}" for i, table in enumerate(tables)]
    return frame.selectExpr(*users, *counts)


def measure(
    spark: SparkSession, folder: Path, size: Size, names: Sequence[str], turns: Turns, *, by_hand: bool = False
) -> Iterator[Comparison]:
    """Compare the query with ours, and with ids by hand if wanted, a shape after the other."""
    write_tables(spark, folder, size)
    lineage = ForwardLineage(spark, folder / "home")
    for table in ("sales", "u"):
        lineage.register(table, path=folder / table)
    for name in names:
        shape = SHAPES[name]
        variants = [Variant("query", lambda sql=shape.sql: spark.sql(sql)), _ours(lineage, shape.sql)]
        if by_hand:
            variants.append(Variant("collect_set", lambda sql=shape.by_hand: spark.sql(sql)))
        yield compare(spark, name, variants, turns)


def _ours(lineage: ForwardLineage, sql: str) -> Variant:
    return Variant("ours", lambda: looked_at(lineage.sql(sql)))


def clock(comparison: Comparison, variant: str) -> float:
    """Median seconds from text to rows."""
    timing = next(each for each in comparison.timings if each.variant == variant)
    return median(timing.clock)


def figures(size: Size, comparison: Comparison) -> dict[str, object]:
    """What is kept of a comparison."""
    seconds = {timing.variant: clock(comparison, timing.variant) for timing in comparison.timings}
    return {"shape": comparison.query, "rows": size.rows, "groups": size.groups, "seconds": seconds}


def report(found: Sequence[dict[str, object]]) -> Table:
    """A line for each shape and size: seconds, the ratio, and what twice the rows cost."""
    table = Table(title="lineage by reference, from text to rows")
    for title in ("shape", "rows", "groups", "query, s", "ours, s", "ratio", "twice the rows", "collect_set"):
        table.add_column(title, justify="left" if title == "shape" else "right")
    for each in found:
        seconds: dict[str, float] = each["seconds"]  # type: ignore[assignment]
        half = _seconds(found, each["shape"], int(each["rows"]) // 2, each["groups"])  # type: ignore[call-overload]
        hand = f"{seconds['collect_set'] / seconds['query']:.2f}" if "collect_set" in seconds else ""
        table.add_row(
            str(each["shape"]),
            f"{each['rows']:,}",
            f"{each['groups']:,}",
            f"{seconds['query']:.2f}",
            f"{seconds['ours']:.2f}",
            f"{seconds['ours'] / seconds['query']:.2f}",
            f"{seconds['ours'] / half:.2f}" if half is not None else "",
            hand,
        )
    return table


def _seconds(found: Sequence[dict[str, object]], shape: object, rows: int, groups: object) -> float | None:
    for each in found:
        if (each["shape"], each["rows"], each["groups"]) == (shape, rows, groups) and not _by_hand(each):
            return float(each["seconds"]["ours"])  # type: ignore[index]
    return None


def _by_hand(figures: dict[str, object]) -> bool:
    return "collect_set" in figures["seconds"]  # type: ignore[operator]


def draw(found: Sequence[dict[str, object]], groups: int, file: Path) -> None:
    """Seconds over rows, a panel for each shape."""
    names = list(dict.fromkeys(str(each["shape"]) for each in found))
    figure = Figure(figsize=(3.2 * len(names), 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        points = [each for each in found if each["shape"] == name and each["groups"] == groups]
        points = sorted((each for each in points if not _by_hand(each)), key=lambda each: int(str(each["rows"])))
        for variant, colour in (("query", "#999999"), ("ours", "#0072B2")):
            millions = [int(str(each["rows"])) / 1e6 for each in points]
            axes.plot(millions, [each["seconds"][variant] for each in points], "o-", color=colour, label=variant)  # type: ignore[index]
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("million rows")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    axes = figure.axes[0]
    axes.set_ylabel("seconds, from text to rows")
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


def chosen(only: str, known: Mapping[str, object], what: str) -> list[str]:
    """Return the names in a list with commas.

    Raises:
        click.UsageError: one of them is not known.

    """
    names = [name.strip() for name in only.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"no {what} is called {', '.join(unknown)}; there are {', '.join(known)}")
    return names


@click.command()
@click.option("--rows", default=3_000_000, show_default=True, help="Rows of each of the two tables.")
@click.option("--groups", default=1_000, show_default=True)
@click.option("--runs", default=3, show_default=True)
@click.option("--only", default=",".join(SHAPES), show_default=True, help="Shapes.")
@click.option("--driver-memory", default="6g", show_default=True, help="Heap of Spark, e.g. 700m.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
@click.option("--plot", "plot_path", type=click.Path(path_type=Path), help="Draw seconds over rows there.")
def main(
    rows: int, groups: int, runs: int, only: str, driver_memory: str, json_path: Path | None, plot_path: Path | None
) -> None:
    """Measure and print."""
    names, turns = chosen(only, SHAPES, "shape"), Turns(runs)
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="by-reference-") as scratch:
        spark = local_session(
            "by reference", master="local[2]", driver_memory=driver_memory, log=Path(scratch) / "spark.log"
        )
        spark.conf.set("spark.sql.shuffle.partitions", "8")
        spark.conf.set(BY_REFERENCE, "true")
        try:
            for size in sizes(rows, groups):
                folder = Path(scratch) / f"{size.rows}-{size.groups}"
                found += [figures(size, each) for each in measure(spark, folder, size, names, turns)]
            small = Size(rows // BY_HAND, groups)
            folder = Path(scratch) / "by hand"
            found += [figures(small, each) for each in measure(spark, folder, small, names, turns, by_hand=True)]
        finally:
            spark.stop()
    Console(width=130).print(report(found))
    if json_path is not None:
        json_path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if plot_path is not None:
        draw(found, groups, plot_path)


if __name__ == "__main__":
    main()
