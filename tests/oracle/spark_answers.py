"""What Spark answers to many tiny queries.

Nearly all of the time is planning, about 0.2 s of CPU a query. Putting many into one job, as branches of a UNION ALL,
was measured and saves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from tests.oracle.algebra import Database, Node, Table
from tests.oracle.printing import rows_of
from tests.spark_settings import INTERPRETED, configure, configured
from tests.spark_switches import CACHED_TABLES, EXCLUDED_RULES
from udafs.lineage_set import LineageSet

FAILURES = (PySparkException, Py4JJavaError)

# Tiny data: planning is all the cost, and code generation most of that.
FAST_FOR_TINY_DATA = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    **INTERPRETED,
    "spark.sql.constraintPropagation.enabled": "false",
    # What the pages of Spark's own UI would show of each plan.
    "spark.sql.ui.explainMode": "simple",
    # Spark 4.3 loses the inner of two sorts when both are cut by the same LIMIT: other rows come out.
    EXCLUDED_RULES: "org.apache.spark.sql.catalyst.optimizer.EliminateSorts",
}

Q = TypeVar("Q")
A = TypeVar("A")
Columns = tuple[tuple[str, str], ...]  # names and types
AnsweredRow = tuple[tuple[object, ...], tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Answer:
    """What Spark made of a query: rows, as (values, ids by table), and columns; or the error and its condition."""

    rows: tuple[AnsweredRow, ...] = ()
    columns: Columns = ()
    error: str | None = None
    condition: str | None = None


@contextmanager
def fast_for_tiny_data(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with settings under which tiny queries take the least time."""
    session = spark.newSession()
    configure(session, FAST_FOR_TINY_DATA)
    yield session


def without_rule(spark: SparkSession, rule: str) -> AbstractContextManager[None]:
    """The session with one more rule of Spark's optimizer left out."""
    return configured(spark, {EXCLUDED_RULES: ",".join([*_left_out(spark), rule])})


def with_rule(spark: SparkSession, rule: str) -> AbstractContextManager[None]:
    """The session with a rule that it leaves out."""
    return configured(spark, {EXCLUDED_RULES: ",".join(each for each in _left_out(spark) if each != rule)})


def _left_out(spark: SparkSession) -> list[str]:
    return [each for each in spark.conf.get(EXCLUDED_RULES, "").split(",") if each]


def create_tables(
    spark: SparkSession,
    statement: Node,
    names: Mapping[str, str],
    database: Database,
    *,
    as_text: bool = False,
    may_be_null: bool = False,
) -> None:
    """The base tables that a statement mentions, as temporary views under the case's own names.

    The views keep a plan: a view's text would be read and resolved again wherever a query mentions it. Columns that
    have no NULL cannot have any, unless `may_be_null`, as the columns of tables in files.
    """
    for table in sorted(tables_in(statement) & database.keys()):
        rows = rows_of(database[table])
        if as_text:
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {names[table]} AS {rows}")
            continue
        frame = spark.sql(rows)
        frame = _may_be_null(frame) if may_be_null else frame
        if spark.conf.get(CACHED_TABLES, "false") == "true":
            frame.cache()
        frame.createOrReplaceTempView(names[table])


def _may_be_null(frame: DataFrame) -> DataFrame:
    """The same rows in columns that may be NULL.

    `createDataFrame` of Python would leave this session the active one of the thread, its settings those of others.
    """
    spark, rows = frame.sparkSession, frame._jdf
    made = spark._jsparkSession.createDataFrame(rows.collectAsList(), rows.schema().asNullable())
    return DataFrame(made, spark)


def tables_in(node: Node) -> set[str]:
    """Names of base tables and CTEs that occur in a tree."""
    found = {node.name} if isinstance(node, Table) else set()
    return found.union(*(tables_in(child) for child in node.children()))


def all_columns(spark: SparkSession, queries: Sequence[str]) -> list[Columns | Answer]:
    """The columns of each query, which is not run, or Spark's complaint about it."""
    return _each(queries, lambda query: _columns(spark.sql(query)))


def all_answers(spark: SparkSession, queries: Sequence[str]) -> list[Answer]:
    """The answer to each query; one that fails does not harm the others.

    No DataFrame stays: its plan would hold the tables that it broadcast, megabytes each, however few their rows.
    """
    return _each(queries, lambda query: _answer(spark.sql(query)))


def answer_of(frame: DataFrame) -> Answer:
    """The answer to one query."""
    return _each([frame], _answer)[0]


def _each(queries: Sequence[Q], ask: Callable[[Q], A]) -> list[A | Answer]:
    def one(query: Q) -> A | Answer:
        try:
            return ask(query)
        except FAILURES as error:
            return failure(error)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, queries))


def _columns(frame: DataFrame) -> Columns:
    return tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields if field.name != "DL")


def _answer(frame: DataFrame) -> Answer:
    """The rows, their lineage read here: Spark would have to plan one more projection for it."""
    columns, traced = _columns(frame), frame.columns[-1:] == ["DL"]
    rows = frame.collect()
    return Answer(tuple((tuple(row)[:-1], _ids(row[-1])) if traced else (tuple(row), ()) for row in rows), columns)


def _ids(lineage: Row) -> tuple[tuple[str, int], ...]:
    return tuple((table, one) for table, value in lineage.asDict().items() for one in LineageSet.from_bytes(value))


def failure(error: PySparkException | Py4JJavaError) -> Answer:
    if isinstance(error, Py4JJavaError):  # an exception inside Spark's optimizer
        return Answer((), (), "\n".join(_causes(error.java_exception)), error.java_exception.getClass().getName())
    return Answer((), (), str(error).split("JVM stacktrace")[0], error.getCondition())


def _causes(thrown: Any) -> Iterator[str]:
    """What was thrown, and what that came from: the first may only say that another thread failed."""
    while thrown is not None:
        yield str(thrown.toString()).partition("\n")[0]
        thrown = thrown.getCause()
