"""Many tiny queries in one Spark job: each becomes a numbered branch of a UNION ALL, its rows as JSON.

One query alone costs Spark about 100 ms, nearly all of it planning and scheduling; a branch costs about half.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.oracle.algebra import Database, Value
from tests.oracle.printing import create_view

BATCH = 12

# Tiny data: planning is all the cost, and code generation most of that.
FAST_FOR_TINY_DATA = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@dataclass(frozen=True)
class Answer:
    """What Spark made of a query: its rows (JSON objects' values, in order), or the error."""

    rows: tuple[tuple[object, ...], ...] = ()
    error: str | None = None
    condition: str | None = None


def create_tables(spark: SparkSession, names: dict[str, str], database: Database) -> None:
    """The base tables of a case as temporary views under its own names."""
    for table, name in names.items():
        spark.sql(create_view(name, database[table]))


def run_all(spark: SparkSession, queries: Sequence[str], batch: int = BATCH) -> list[Answer]:
    """The answer to each query; one that fails does not harm the others.

    Queries that Spark does not accept are found one by one first, since one of them would make a whole batch fail.
    """
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda query: _analysis_error(spark, query), queries))
        valid = [i for i, answer in enumerate(answers) if answer is None]
        parts = [valid[i : i + batch] for i in range(0, len(valid), batch)]
        for part, found in zip(parts, pool.map(lambda p: _run_batch(spark, [queries[i] for i in p]), parts), strict=True):
            for i, answer in zip(part, found, strict=True):
                answers[i] = answer
    return [answer or Answer() for answer in answers]


def _analysis_error(spark: SparkSession, query: str) -> Answer | None:
    try:
        spark.sql(query)
    except PySparkException as error:
        return _failure(error)
    return None


def _failure(error: PySparkException) -> Answer:
    return Answer((), str(error).split("JVM stacktrace")[0], error.getCondition())


def _run_batch(spark: SparkSession, queries: Sequence[str]) -> list[Answer]:
    branches = " UNION ALL ".join(
        f"SELECT {i} AS query, to_json(struct(*), map('ignoreNullFields', 'false')) AS row FROM ({query})"
        for i, query in enumerate(queries)
    )
    try:
        collected = spark.sql(branches).collect()
    except PySparkException as error:
        if len(queries) == 1:
            return [_failure(error)]
        middle = len(queries) // 2
        return [*_run_batch(spark, queries[:middle]), *_run_batch(spark, queries[middle:])]
    rows: list[list[tuple[object, ...]]] = [[] for _ in queries]
    for number, text in collected:
        rows[number].append(tuple(value for _, value in json.loads(text, object_pairs_hook=list)))
    return [Answer(tuple(each)) for each in rows]


def same_rows(answer: Answer, expected: Sequence[tuple[Value, ...]]) -> bool:
    """Equal as multisets."""
    return Counter(answer.rows) == Counter(expected)
