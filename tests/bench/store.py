"""The lineage store over TPC-H: what saving costs, bytes on disk, and how long questions take.

    python -m tests.bench.store --scale 1
    python -m tests.bench.store --queries q3,q10 --runs 5 --no-questions

Saving is compared with writing the same rows as Parquet without lineage, interleaved. A question is asked warm
(median), and cold: of a session that has read nothing yet, the files in the system's cache. Beside it, in the same run
and over the same result, Spark answers it by scanning the inline `DL` values with `dl_contains` or `dl_intersects`, and
by joining the exploded pairs with the ids; both copies are Parquet. Answers are compared before anything is timed.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.progress import track
from rich.table import Table

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.spark.local import local_session
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from tests.bench.harness import Comparison, Timing, table_of_ratios
from tests.bench.relations import parquet_size, roaring_size
from tests.bench.sessions import Sessions
from tests.bench.workloads import TPCH
from udafs.lineage_set import LineageSet

ASKED = ("q1", "q3", "q9", "q10", "q11", "q18", "s8")
FORWARD_1, FORWARD_1000, BACKWARD_1 = "forward 1 id", "forward 1000 ids", "backward 1 row"
RIVALS = ("scan DL", "join pairs")


@dataclass
class Size:
    """Bytes of the lineage of one result, all tables together."""

    query: str
    rows: int
    pairs: int
    saved: int
    int32: int
    parquet: int
    roaring: int

    @property
    def over_smallest(self) -> float | None:
        """The store's bytes over the smallest rival's; None without lineage."""
        return self.saved / min(self.int32, self.parquet, self.roaring) if self.pairs else None


@dataclass
class Question:
    """One question to one result, milliseconds."""

    query: str
    table: str
    question: str
    answers: int
    warm: float
    cold: float
    rivals: dict[str, float] = field(default_factory=dict)


def size_of(query: str, result: SavedResult) -> Size:
    """Compare the segments of a saved result with other ways to store the same pairs."""
    relations = [relation_of(result, table) for table in result.tables]
    pairs = sum(map(len, relations))
    return Size(
        query,
        result.rows,
        pairs,
        result.lineage_size,
        4 * pairs,
        sum(map(parquet_size, relations)),
        sum(map(roaring_size, relations)),
    )


def relation_of(result: SavedResult, table: TracedTable) -> LineageRelation:
    """Read a stored relation whole, past the session's cache."""
    return StoredRelation(result.segment_files(table), SegmentCache(0)).relation()


# ---------------------------------------------------------------- saving


def compare_saving(sessions: Sessions, name: str, semantics: str, runs: int, folder: Path) -> Comparison:
    """Time writing a query's rows, and saving them with lineage, in turn after a warm-up."""
    text = TPCH.query(name)
    ways: dict[str, Callable[[], object]] = {
        "rows": lambda: sessions.plain.sql(text).write.mode("overwrite").parquet(str(folder / name)),
        "rows and lineage": lambda: sessions.lineage.save(
            sessions.lineage.sql(text, semantics), name, mode="overwrite"
        ),
    }
    timings = {way: Timing(way) for way in ways}
    for turn in range(runs + 1):
        for way, run in ways.items():
            sessions.spark._jvm.System.gc()  # type: ignore[union-attr] # nobody pays for another's garbage
            start = time.perf_counter()
            run()
            if turn:
                timings[way].run.append(time.perf_counter() - start)
    return Comparison(name, tuple(timings.values()))


# ---------------------------------------------------------------- questions


def ask_all(sessions: Sessions, name: str, runs: int, folder: Path) -> list[Question]:
    """Time the three questions for every table of a saved result; the rivals for the one with the most pairs."""
    result = sessions.lineage.describe(name)
    largest = max(result.tables, key=lambda table: table.pairs).name
    found = []
    for table in result.tables:
        relation = relation_of(result, table)
        if not len(relation):
            continue
        rivals = Rivals(sessions, name, table.name, folder) if table.name == largest else None
        found += [
            _timed(sessions.lineage, name, table.name, question, chosen, rivals, runs)
            for question, chosen in _chosen(relation).items()
        ]
    return found


def _chosen(relation: LineageRelation) -> dict[str, LineageSet]:
    """The ids or rows that each question is about."""
    ids, rows = relation.ids().ids(), relation.rows().ids()
    rng = np.random.default_rng(2007)
    return {
        FORWARD_1: LineageSet([int(ids[ids.size // 2])]),
        FORWARD_1000: LineageSet(rng.choice(ids, min(1000, ids.size), replace=False)),
        BACKWARD_1: LineageSet([int(rows[rows.size // 2])]),
    }


def _ask(lineage: ForwardLineage, result: str, table: str, question: str, chosen: LineageSet) -> LineageSet:
    if question == BACKWARD_1:
        return lineage.backward_ids(result, rows=chosen, table=table)
    return lineage.forward_ids(table, ids=chosen, result=result)


def _timed(
    lineage: ForwardLineage,
    result: str,
    table: str,
    question: str,
    chosen: LineageSet,
    rivals: Rivals | None,
    runs: int,
) -> Question:
    answer = _ask(lineage, result, table, question, chosen)
    fresh = ForwardLineage(lineage.spark, lineage.home)
    found = Question(
        result,
        table,
        question,
        len(answer),
        warm=_milliseconds(lambda: _ask(lineage, result, table, question, chosen).ids(), runs),
        cold=_milliseconds(lambda: _ask(fresh, result, table, question, chosen).ids(), 1),
    )
    if rivals is not None:
        for rival in RIVALS:
            theirs = rivals.ask(rival, question, chosen)
            if theirs() != answer:
                raise AssertionError(f"{result}, {table}, {question}: {rival} gives another answer")
            found.rivals[rival] = _milliseconds(theirs, runs)
    return found


def _milliseconds(ask: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


class Rivals:
    """The same result with inline `DL` values, and as exploded pairs, both as Parquet files that Spark reads."""

    def __init__(self, sessions: Sessions, name: str, table: str, folder: Path) -> None:
        """Write both from what was saved, so that rows have the same numbers."""
        self.spark = sessions.spark
        self.copies = {rival: str(folder / f"{name}.{rival.replace(' ', '_')}") for rival in RIVALS}
        pairs = sessions.lineage.table(f"lineage_of({name}, {table})")
        row, base_id = pairs.columns
        pairs = pairs.select(F.col(row).alias("row"), F.col(base_id).alias("id"))
        pairs.write.mode("overwrite").option("compression", "zstd").parquet(self.copies["join pairs"])
        # Without the user's columns, which a scan would not read either.
        values = self.spark.read.parquet(self.copies["join pairs"]).groupBy("row").agg(F.expr("dlunion(id) AS DL"))
        values.write.mode("overwrite").parquet(self.copies["scan DL"])

    def ask(self, rival: str, question: str, chosen: LineageSet) -> Callable[[], LineageSet]:
        """The question as Spark is asked it; the DataFrame is made anew each time, as a user would."""
        return lambda: _collected(self._frame(rival, question, chosen))

    def _frame(self, rival: str, question: str, chosen: LineageSet) -> DataFrame:
        copy = self.spark.read.parquet(self.copies[rival])
        numbers = chosen.ids().tolist()
        if rival == "join pairs":
            wanted, given = ("id", "row") if question == BACKWARD_1 else ("row", "id")
            asked = self.spark.createDataFrame([(number,) for number in numbers], f"{given} bigint")
            return copy.join(F.broadcast(asked), given).select(wanted).distinct()
        if question == BACKWARD_1:
            return copy.where(F.col("row") == numbers[0]).select(F.explode(F.expr("dl_ids(DL)")))
        if question == FORWARD_1:
            return copy.where(F.expr(f"dl_contains(DL, {numbers[0]}L)")).select("row")
        return copy.where(F.expr(f"dl_intersects(DL, X'{chosen.to_bytes().hex()}')")).select("row")


def _collected(frame: DataFrame) -> LineageSet:
    return LineageSet(frame.toArrow().column(0).to_numpy())


# ---------------------------------------------------------------- the report


def table_of_sizes(found: Sequence[Size]) -> Table:
    """Bytes, and the store's over the smallest of the others'."""
    table = Table(title="lineage on disk, bytes, all tables of a result")
    for column in (
        "query",
        "rows",
        "pairs",
        "store",
        "int32 pairs",
        "delta + zstd Parquet",
        "Roaring a row",
        "over smallest",
    ):
        table.add_column(column, justify="left" if column == "query" else "right")
    for each in found:
        numbers = (each.rows, each.pairs, each.saved, each.int32, each.parquet, each.roaring)
        ratio = "–" if each.over_smallest is None else f"{each.over_smallest:.2f}"
        table.add_row(each.query, *(f"{number:,}" for number in numbers), ratio)
    return table


def table_of_questions(found: Sequence[Question]) -> Table:
    """The slowest table of each result and question, and how many times longer the rivals take."""
    table = Table(title="questions: milliseconds for the slowest table; the rivals' time over the store's")
    for column in ("query", "question", "slowest", "warm, ms", "cold, ms", "largest", *RIVALS):
        table.add_column(
            column, justify="right" if column not in ("query", "question", "slowest", "largest") else "left"
        )
    for key in dict.fromkeys((each.query, each.question) for each in found):
        same = [each for each in found if (each.query, each.question) == key]
        slowest = max(same, key=lambda each: each.warm)
        rivalled = next(each for each in same if each.rivals)
        ratios = [f"{rivalled.rivals[rival] / rivalled.warm:,.0f}" for rival in RIVALS]
        cold = max(each.cold for each in same)
        table.add_row(*key, slowest.table, f"{slowest.warm:.2f}", f"{cold:.1f}", rivalled.table, *ratios)
    return table


@dataclass
class Found:
    """Everything measured."""

    saving: list[Comparison] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def measure(
    sessions: Sessions, queries: Sequence[str], asked: Sequence[str], runs: int, semantics: str, folder: Path
) -> Found:
    """Save each query, compare its size, and ask those that are to be asked."""
    found = Found()
    for name in track(queries, "measuring", console=Console(stderr=True), transient=True):
        found.saving.append(compare_saving(sessions, name, semantics, runs, folder))
        found.sizes.append(size_of(name, sessions.lineage.describe(name)))
        if name in asked:
            found.questions += ask_all(sessions, name, runs, folder)
    return found


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--queries", default="all", show_default=True, help="Names, joined by commas, or all.")
@click.option("--questions/--no-questions", default=True, help=f"Ask {', '.join(ASKED)} as well.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1), help="Timed runs of everything.")
@click.option("--semantics", default="data", show_default=True, type=click.Choice(["data", "control"]))
@click.option("--memory", default="6g", show_default=True, help="Heap of the Spark driver.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write everything measured to this file.")
def main(
    *, scale: float, queries: str, questions: bool, runs: int, semantics: str, memory: str, json_file: Path | None
) -> None:
    names = TPCH.names if queries == "all" else [name.strip() for name in queries.split(",")]
    console = Console()
    try:
        data = TPCH.generate(scale)
        spark = local_session("lineage store", driver_memory=memory)
        with tempfile.TemporaryDirectory() as folder:
            sessions = Sessions.over(TPCH, spark, data, Path(folder) / "home")
            found = measure(sessions, names, ASKED if questions else (), runs, semantics, Path(folder))
        spark.stop()
    except LineageError as error:
        raise click.ClickException(str(error)) from None
    console.print(table_of_ratios(f"saving, {semantics} lineage: time over writing the rows alone", found.saving))
    console.print(table_of_sizes(found.sizes))
    if found.questions:
        console.print(table_of_questions(found.questions))
    if json_file:
        record = {"scale": scale, "semantics": semantics, "runs": runs, "cores": os.cpu_count(), **asdict(found)}
        json_file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
