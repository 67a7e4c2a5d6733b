"""Four dependencies on 2.2 million physicians: from file to verdict, and with the graph.   [Smoke, §6.5.2, Fig. 14]

    python -m tests.bench.profiling [--rows 2200000] [--rounds 5] [--all-columns] [--no-rivals] [--twice]

The paper evaluates one dependency at a time over a table in memory; here four are evaluated from the file on, loading
counted. `desbordante` reads CSV: a file with the seven columns that are needed, and with --all-columns the whole one.
DuckDB runs the query that the paper calls CD over the Parquet file, and once more with the rows of each violation. Ways
take turns in an order drawn anew for each round; medians. Before anything is timed, all must say the same.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import desbordante
import duckdb
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.physicians import DEPENDENCIES, ROWS, generate
from tests.conftest import REPOSITORY

THREADS = 2

Said = list[tuple[int, int]]
"""For each dependency the violating values, and the rows that have one."""


@dataclass
class Way:
    """A way to evaluate the dependencies.

    Attributes:
        name: what it is called.
        work: evaluates them; calls what it is given once it knows which hold.
        verdict: seconds of each round until then.
        graph: seconds of each round until the graph is there, too.

    """

    name: str
    work: Callable[[Callable[[], None]], Said]
    verdict: list[float] = field(default_factory=list)
    graph: list[float] = field(default_factory=list)

    def run(self) -> Said:
        begin = time.perf_counter()
        said = self.work(lambda: self.verdict.append(time.perf_counter() - begin))
        self.graph.append(time.perf_counter() - begin)
        return said


# ---------------------------------------------------------------- ways


def ours(spark: SparkSession, file: Path, folder: Path, how: str) -> Callable[[Callable[[], None]], Said]:
    """A table is registered, and its attributes are captured, anew each time; but for `kept`."""
    spark = spark.newSession()
    kept = ForwardLineage(spark, folder / "kept")
    if how == "kept":
        kept.register("physicians", path=file)

    def work(known: Callable[[], None]) -> Said:
        lineage = kept
        if how != "kept":
            lineage = ForwardLineage(spark, tempfile.mkdtemp(dir=folder))
            options = {"format": "csv", "options": {"header": True}} if how == "csv" else {}
            lineage.register("physicians", path=file, **options)  # type: ignore[arg-type]
        verdicts = lineage.dependencies("physicians", DEPENDENCIES, nulls="equal")
        assert not any(verdict.holds for verdict in verdicts)
        known()
        return [(verdict.count, len(verdict.rows())) for verdict in verdicts]

    return work


def desbordantes(file: Path) -> Callable[[Callable[[], None]], Said]:
    """Its verdicts say how many; its graph are the highlights, a list of rows for each violation."""
    with file.open() as lines:
        names = lines.readline().strip().replace('"', "").split(",")

    def work(known: Callable[[], None]) -> Said:
        verifier = desbordante.fd_verification.algorithms.Default()
        verifier.load_data(table=(str(file), ",", True))
        sides = [[names.index(each) for each in text.split(" -> ")] for text in DEPENDENCIES]
        counts: Said = []
        for left, right in sides:
            verifier.execute(lhs_indices=[left], rhs_indices=[right])
            counts.append((verifier.get_num_error_clusters(), verifier.get_num_error_rows()))
        known()
        for (left, right), (_, rows) in zip(sides, counts, strict=True):
            verifier.execute(lhs_indices=[left], rhs_indices=[right])
            assert sum(len(each.cluster) for each in verifier.get_highlights()) == rows
        return counts

    return work


def ducks(file: Path) -> Callable[[Callable[[], None]], Said]:
    """The query CD; then the rows of its groups. NULL is a value on both sides, as it is to the others here."""

    def work(known: Callable[[], None]) -> Said:
        connection = duckdb.connect()
        connection.execute(f"SET threads = {THREADS}")
        cd = (
            f"SELECT {{0}}, count(*) AS n FROM '{file}' GROUP BY {{0}} "
            "HAVING count(DISTINCT {1}) + max(({1} IS NULL)::INT) > 1"
        )
        sides = [text.split(" -> ") for text in DEPENDENCIES]
        said = []
        for left, right in sides:
            found = connection.sql(cd.format(left, right)).to_arrow_table()
            said.append((found.num_rows, sum(found.column("n").to_pylist())))
        known()
        graph = cd.replace("count(*) AS n", "list(file_row_number) AS graph").replace(
            f"'{file}'", f"read_parquet('{file}', file_row_number = true)"
        )
        for (left, right), (_, rows) in zip(sides, said, strict=True):
            table = connection.sql(graph.format(left, right)).to_arrow_table()
            assert sum(map(len, table.column("graph"))) == rows
        return said

    return work


# ---------------------------------------------------------------- the bench


def our_ways(spark: SparkSession, files: dict[str, Path], folder: Path) -> list[Way]:
    return [
        Way("ours, Parquet", ours(spark, files["parquet"], folder, "parquet")),
        Way("ours, asked again", ours(spark, files["parquet"], folder, "kept")),
        Way("ours, CSV, 7 columns", ours(spark, files["narrow"], folder, "csv")),
    ]


def rivals(files: dict[str, Path], all_columns: bool) -> list[Way]:
    found = [
        Way("DuckDB, Parquet", ducks(files["parquet"])),
        Way("desbordante, CSV, 7 columns", desbordantes(files["narrow"])),
    ]
    return [*found, Way("desbordante, CSV, all columns", desbordantes(files["csv"]))] if all_columns else found


def measure(all_ways: Sequence[Way], rounds: int, seed: int = 1) -> Said:
    """Run every way so often, after one round that is not timed."""
    said = [way.run() for way in all_ways]
    assert all(each == said[0] for each in said), said
    for way in all_ways:
        way.verdict.clear()
        way.graph.clear()
    chance = random.Random(seed)
    for _ in range(rounds):
        for way in chance.sample(list(all_ways), len(all_ways)):
            way.run()
    return said[0]


def shown(all_ways: Sequence[Way], rows: int) -> Table:
    table = Table(title=f"{len(DEPENDENCIES)} dependencies, {rows:,} rows", title_justify="left")
    for column in ("way", "s to verdict", "and graph", "of ours", "graph of ours"):
        table.add_column(column, justify="left" if column == "way" else "right")
    first = all_ways[0]
    for way in all_ways:
        verdict, graph = statistics.median(way.verdict), statistics.median(way.graph)
        of_ours = verdict / statistics.median(first.verdict), graph / statistics.median(first.graph)
        table.add_row(way.name, f"{verdict:.2f}", f"{graph:.2f}", *(f"{each:.1f}" for each in of_ours))
    return table


@click.command()
@click.option("--rows", default=ROWS, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--all-columns", is_flag=True, help="Let desbordante load the whole file, too: minutes.")
@click.option("--no-rivals", is_flag=True, help="Measure ours over Parquet only.")
@click.option("--twice", is_flag=True, help="Then twice as many rows: does the time double?")
@click.option("--data", type=click.Path(path_type=Path), default=REPOSITORY / ".data" / "physicians")
def main(*, rows: int, rounds: int, all_columns: bool, no_rivals: bool, twice: bool, data: Path) -> None:
    """Evaluate the dependencies in all ways."""
    spark = local_session("profiling", master=f"local[{THREADS}]", driver_memory="2g")
    console = Console(width=120)
    for count in (rows, 2 * rows) if twice else (rows,):
        files = generate(data / str(count), count)
        with tempfile.TemporaryDirectory() as folder:
            found = our_ways(spark, files, Path(folder))
            found = found[:2] if no_rivals else [*found, *rivals(files, all_columns)]
            said = measure(found, rounds)
        console.print(shown(found, count))
        for text, (violations, inside) in zip(DEPENDENCIES, said, strict=True):
            console.print(f"{text}: {violations:,} violations, {inside:,} rows")
    console.print(
        "paper, Fig. 14, one dependency at a time, table in memory: Smoke-UG 2 to 6 times faster than Metanome-UG, "
        "Smoke-CD the fastest; capture at most 1.2 times the query"
    )
    spark.stop()


if __name__ == "__main__":
    main()
