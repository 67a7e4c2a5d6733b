"""Many tiny queries in one Spark job: each becomes a numbered branch of a UNION ALL, its rows as JSON.

One query alone costs Spark about 100 ms, nearly all of it planning and scheduling; a branch costs about half.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tests.oracle.algebra import Database, Node, Table
from tests.oracle.printing import create_view

BATCH = 12
FAILURES = (PySparkException, Py4JJavaError)

# Tiny data: planning is all the cost, and code generation most of that.
FAST_FOR_TINY_DATA = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
}

Cells = tuple[object, ...]


@dataclass(frozen=True)
class Answer:
    """What Spark made of a query: rows as (values, ids by table), or the error and its condition."""

    rows: tuple[tuple[Cells, tuple[tuple[str, int], ...]], ...] = ()
    error: str | None = None
    condition: str | None = None


@contextmanager
def fast_for_tiny_data(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with settings under which tiny queries take the least time."""
    session = spark.newSession()
    for key, value in FAST_FOR_TINY_DATA.items():
        session.conf.set(key, value)
    yield session


def create_tables(spark: SparkSession, statement: Node, names: Mapping[str, str], database: Database) -> None:
    """The base tables that a statement mentions, as temporary views under the case's own names."""
    for table in sorted(tables_in(statement) & database.keys()):
        spark.sql(create_view(names[table], database[table]))


def tables_in(node: Node) -> set[str]:
    """Names of base tables and CTEs that occur in a tree."""
    found = {node.name} if isinstance(node, Table) else set()
    return found.union(*(tables_in(child) for child in node.children()))


def analysed(spark: SparkSession, queries: Sequence[str]) -> list[DataFrame | Answer]:
    """Each query, not yet run, or Spark's complaint about it."""

    def one(query: str) -> DataFrame | Answer:
        try:
            return spark.sql(query)
        except FAILURES as error:
            return failure(error)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, queries))


def run_all(frames: Sequence[DataFrame | Answer], batch: int = BATCH) -> list[Answer]:
    """The answer to each query; one that fails does not harm the others."""
    answers = [found if isinstance(found, Answer) else Answer() for found in frames]
    valid = [(i, found) for i, found in enumerate(frames) if isinstance(found, DataFrame)]
    parts = [dict(valid[i : i + batch]) for i in range(0, len(valid), batch)]
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(_run_batch, parts):
            for i, answer in found.items():
                answers[i] = answer
    return answers


def _branch(number: int, frame: DataFrame) -> DataFrame:
    """The rows as (number, JSON of the user's columns, JSON of the ids in DL)."""
    columns = frame.schema
    lineage = columns["DL"].dataType if columns.names[-1:] == ["DL"] else StructType()
    assert isinstance(lineage, StructType)
    ids = ", ".join(f"dl_ids(DL.`{name}`) AS `{name}`" for name in lineage.names)
    user, ids = ("* EXCEPT (DL)", f"to_json(struct({ids}))") if ids else ("*", "'{}'")
    return frame.selectExpr(f"{number} AS query", f"to_json(struct({user}), map('ignoreNullFields', 'false'))", ids)


def _run_batch(frames: Mapping[int, DataFrame]) -> dict[int, Answer]:
    try:
        collected = reduce(DataFrame.unionAll, (_branch(i, frame) for i, frame in frames.items())).collect()
    except FAILURES as error:
        if len(frames) == 1:
            return dict.fromkeys(frames, failure(error))
        numbers = list(frames)
        halves = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        return {i: a for half in halves for i, a in _run_batch({i: frames[i] for i in half}).items()}
    rows: dict[int, list[tuple[Cells, tuple[tuple[str, int], ...]]]] = {number: [] for number in frames}
    for number, row, ids in collected:
        values = tuple(value for _, value in json.loads(row, object_pairs_hook=list))
        lineage = tuple((table, one) for table, each in json.loads(ids).items() for one in each)
        rows[number].append((values, lineage))
    return {number: Answer(tuple(each)) for number, each in rows.items()}


def failure(error: PySparkException | Py4JJavaError) -> Answer:
    if isinstance(error, Py4JJavaError):  # an exception inside Spark's optimizer
        return Answer((), str(error.java_exception), error.java_exception.getClass().getName())
    return Answer((), str(error).split("JVM stacktrace")[0], error.getCondition())
