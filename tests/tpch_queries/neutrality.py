"""Settings of Spark that must not matter: rows are plain Spark's under the same setting, lineage is always the same.

    python -m tests.tpch_queries.neutrality
    python -m tests.tpch_queries.neutrality --queries q3,q18 --settings "AQE,7 partitions" --semantics control

The 22 queries of TPC-H run under one changed setting after another, then under some combinations. Lineage is compared
as bytes: a `DL` value is canonical, so equal sets are equal bytes, whatever order they were united in. The exit code is
1 if anything differs.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import DoubleType

import tpch_queries
from forward_lineage.checking.comparison import compare_bags, first_difference
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.values import TOLERANCE, Value
from forward_lineage.spark.local import local_session
from forward_lineage.spark.settings import configured
from tests.spark_settings import DEFAULTS, INTERPRETED
from tests.spark_switches import COSTS, JOINS, NAMES, OURS, RULES, Settings
from tests.structure import REPOSITORY
from tests.tpch_queries.sessions import plain_session, traced_session
from tpch_queries.data import generate
from udafs.lineage_set import LineageSet

QUERIES = tpch_queries.names()[:22]
Lineage = tuple[tuple[str, bytes], ...]

# What runs fastest is what one setting is changed of; Spark's own defaults are one of the changes.
BASE = {
    **INTERPRETED,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}

# By switch, its positions other than the base's.
SWITCHES: dict[str, dict[str, Settings]] = {
    "adaptive": {"AQE": {"spark.sql.adaptive.enabled": "true"}},
    "code": {
        "generated expressions": {"spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
        "generated code": {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
    },
    "ansi": {"no ANSI": {"spark.sql.ansi.enabled": "false"}},
    "aggregation": {
        "sort aggregation": {
            "spark.sql.execution.useHashAggregateExec": "false",
            "spark.sql.execution.useObjectHashAggregateExec": "false",
            "spark.forward_lineage.hash_aggregation": "false",
        },
        "Spark's object aggregation": {"spark.forward_lineage.hash_aggregation": "false"},
        "sort where sorted": {"spark.sql.execution.replaceHashWithSortAgg": "true"},
    },
    "joins": JOINS,
    "names": NAMES,
    "rules": RULES,
    "costs": COSTS,
    "by reference": OURS,
    "partitions": {
        "1 partition": {"spark.sql.shuffle.partitions": "1"},
        "7 partitions": {"spark.sql.shuffle.partitions": "7"},
        "small splits": {"spark.sql.files.maxPartitionBytes": "262144"},
    },
    "time zone": {
        "Los Angeles": {"spark.sql.session.timeZone": "America/Los_Angeles"},
        "Kolkata": {"spark.sql.session.timeZone": "Asia/Kolkata"},
    },
    "defaults": {"Spark's defaults": DEFAULTS},
}


def switchboard(combinations: int, seed: int) -> dict[str, Settings]:
    """The base, every position of every switch, and some combinations of them, by name."""
    found: dict[str, Settings] = {"base": BASE}
    for positions in SWITCHES.values():
        found.update({name: {**BASE, **settings} for name, settings in positions.items()})
    chance = random.Random(seed)
    while combinations:
        chosen = [chance.choice([None, *positions.items()]) for positions in SWITCHES.values()]
        turned = [each for each in chosen if each is not None]
        name = ", ".join(name for name, _ in turned)
        if len(turned) < 2 or name in found:
            continue
        found[name] = dict(itertools.chain(BASE.items(), *(settings.items() for _, settings in turned)))
        combinations -= 1
    return found


@dataclass(frozen=True)
class Answer:
    """A traced result: its rows, and of each the bytes of its lineage, sorted by row."""

    rows: tuple[Value, ...]
    lineage: tuple[tuple[Value, Lineage], ...]


def answer(rows: Sequence[Row]) -> Answer:
    """What rows with `DL` are compared by."""
    found = [
        (value_of(tuple(row)[:-1]), tuple((name, bytes(each)) for name, each in row["DL"].asDict().items()))
        for row in rows
    ]
    found.sort(key=lambda pair: (pair[0].exact, pair[0].floats, pair[1]))
    return Answer(tuple(value for value, _ in found), tuple(found))


def value_of(row: tuple[object, ...]) -> Value:
    """A row of TPC-H, whose values are numbers, texts and dates; floating ones up to their last digits."""
    exact = json.dumps(["~" if isinstance(each, float) else each for each in row], default=repr)
    return Value(exact, tuple((each, TOLERANCE[DoubleType]) for each in row if isinstance(each, float)))


class Board:
    """TPC-H in a plain session and in a traced one, whose switches are turned together."""

    def __init__(self, spark: SparkSession, tables: Path, home: Path, semantics: str = "data") -> None:
        self._plain = plain_session(spark, tables)
        self._traced = traced_session(spark, tables, home)
        self._semantics = semantics
        self._under_base: dict[str, Answer] = {}

    def differences(self, query: str, settings: Settings) -> list[str]:
        """What is not as it should be when a query runs under some settings, a line each.

        The first call for a query gives the lineage that all others are compared with.
        """
        text = tpch_queries.query(query)
        with configured(self._plain, settings), configured(self._traced.spark, settings):
            wanted = [value_of(tuple(row)) for row in self._plain.sql(text).collect()]
            found = answer(self._traced.sql(text, self._semantics).collect())
        base = self._under_base.setdefault(query, found)
        return list(told(wanted, found, base))


def told(wanted: Sequence[Value], found: Answer, base: Answer) -> Iterator[str]:
    """Say how a result differs from plain Spark's rows, and its lineage from that under the base."""
    if compare_bags(wanted, found.rows) is Rows.DIFFERENT:
        yield f"rows: {first_difference(wanted, found.rows)}"
    if [lineage for _, lineage in found.lineage] == [lineage for _, lineage in base.lineage]:
        return
    sets = [[_sets(lineage) for _, lineage in each.lineage] for each in (found, base)]
    yield "lineage: other bytes of equal sets" if sets[0] == sets[1] else "lineage: other sets"


def _sets(lineage: Lineage) -> dict[str, frozenset[int]]:
    return {table: frozenset(LineageSet.from_bytes(value)) for table, value in lineage}


def turn(board: Board, settings: Mapping[str, Settings], queries: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each setting's name with what differed under it."""
    for name, each in settings.items():
        yield name, [f"{query}: {what}" for query in queries for what in board.differences(query, each)]


@click.command()
@click.option("--queries", default=",".join(QUERIES), help="Which ones (default: all 22).")
@click.option("--settings", "names", help="Which ones, of those that the report names (default: all).")
@click.option("--combinations", default=4, show_default=True, help="How many random combinations.")
@click.option("--semantics", type=click.Choice(["data", "control"]), default="data", show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the combinations.")
def main(queries: str, names: str | None, combinations: int, semantics: str, seed: int) -> None:
    """Run TPC-H under every setting that must not matter, and compare rows and lineage."""
    settings = switchboard(combinations, seed)
    wanted = ["base", *names.split(",")] if names else list(settings)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spark = local_session("neutrality", master="local[2]", driver_memory="2g", log=folder / "spark.log")
        board = Board(spark, generate(0.01, REPOSITORY / ".data" / "tpch" / "sf0.01"), folder / "home", semantics)
        start = time.monotonic()
        chosen = {name: settings[name] for name in wanted}
        for done, (name, found) in enumerate(turn(board, chosen, queries.split(",")), start=1):
            failed += len(found)
            print(f"{done} of {len(chosen)}, {time.monotonic() - start:,.0f} s: {name}: {len(found)} differences")
            print("".join(f"  {each}\n" for each in found), end="", flush=True)
        spark.stop()
    print(f"{len(chosen)} settings, {len(queries.split(','))} queries, {semantics} lineage: {failed} differences")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
