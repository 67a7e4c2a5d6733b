"""What Spark says becomes one line of ours: of which type, with which name, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from forward_lineage.spark.errors import put_back, rewritten_errors, spark_errors
from tests.spark_settings import configured
from udafs.build import spark_version
from udafs.errors import FailedQueryError, InternalError, Position, SparkError, WrongSqlError
from udafs.versions import check_version

# Spark 4.0 brought variables.
COLUMN = "A column, variable" if check_version(spark_version()) >= (4, 0) else "A column or function parameter"


def said(spark: SparkSession, sql: str, of: str | None = None) -> SparkError:
    with pytest.raises(SparkError) as caught, spark_errors(of):
        spark.sql(sql).collect()
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "kind", "condition", "what"),
    [
        ("SELECT nope FROM range(3)", WrongSqlError, "UNRESOLVED_COLUMN.WITH_SUGGESTION", COLUMN),
        ("SELECT * FROM nowhere", WrongSqlError, "TABLE_OR_VIEW_NOT_FOUND", "The table or view `nowhere`"),
        ("SELECT 1 FRM x y", WrongSqlError, "PARSE_SYNTAX_ERROR", "Syntax error at or near"),
        ("SELECT 1 / id FROM range(3)", FailedQueryError, "DIVIDE_BY_ZERO", "Division by zero"),
        # Not one of the exceptions that PySpark has a class for:
        ("SELECT (SELECT id FROM range(3))", FailedQueryError, "SCALAR_SUBQUERY_TOO_MANY_ROWS", "More than one row"),
    ],
)
def test_refused_or_failed(spark: SparkSession, sql: str, kind: type, condition: str, what: str) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": "true"}):
        error = said(spark, sql)
    assert (type(error), error.condition) == (kind, condition)
    assert error.what.startswith(what)
    assert error.instead == kind.remedy


def test_a_place_is_one_in_the_users_text(spark: SparkSession) -> None:
    sql = "SELECT id,\n  nope FROM range(3)"
    assert said(spark, sql, of=sql).at == Position(2, 3)
    assert said(spark, sql).at is None


def test_a_remedy_for_what_is_no_statement_of_the_users(spark: SparkSession) -> None:
    with pytest.raises(WrongSqlError, match=r" Correct the option\.$"), spark_errors(instead="Correct the option."):
        spark.sql("SELECT nope")


@pytest.mark.parametrize(
    ("raised", "what", "instead"),
    [
        ("t has new rows. Call lineage.refresh(1).", "t has new rows", "Call lineage.refresh(1)."),
        ("no", "no", FailedQueryError.remedy),
    ],
)
def test_what_the_kernel_raises_names_its_own_remedy(spark: SparkSession, raised: str, what: str, instead: str) -> None:
    error = said(spark, f"SELECT raise_error('{raised}') FROM range(1)")
    assert (type(error), error.what, error.instead) == (FailedQueryError, what, instead)


def test_a_python_worker_says_its_last_line(spark: SparkSession) -> None:
    def fail(rows: Iterator[object]) -> Iterator[object]:
        raise ValueError("no")

    with pytest.raises(FailedQueryError, match=r"^Spark's Python worker failed: ValueError: no\. "), spark_errors():
        spark.sparkContext.range(1).mapPartitions(fail).collect()


def test_no_stack_trace_of_a_task(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FailedQueryError) as failed, spark_errors():
        spark.range(1).write.parquet(str(tmp_path / "file" / "below"))
    assert "apache" not in str(failed.value)


def test_a_refused_rewriting_is_a_bug(spark: SparkSession) -> None:
    refused = pytest.raises(InternalError, match=r"^Spark refuses the rewritten SQL: A column.*This is a bug")
    with refused, rewritten_errors():
        spark.sql("SELECT __dl_t")


def test_where_the_memory_ends() -> None:
    said_by_spark = (
        "Job aborted due to stage failure: java.lang.OutOfMemoryError: Java heap space\n\tat x.Y.z(Y.java:1)"
    )
    with pytest.raises(FailedQueryError, match=r"Java heap space\. Give spark\.driver\.memory"), spark_errors():
        raise SparkRuntimeException(said_by_spark)


def test_where_the_room_for_shuffles_ends() -> None:
    said_by_spark = "Lost task 0.3 in stage 1.0: java.io.IOException: No space left on device\n\tat x.Y.z(Y.java:1)"
    with (
        pytest.raises(FailedQueryError, match=r"No space left on device\. Make room .* SPARK_LOCAL_DIRS"),
        spark_errors(),
    ):
        raise SparkRuntimeException(said_by_spark)


@pytest.mark.parametrize("error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111)])
def test_the_process_of_spark_has_ended(error: Exception) -> None:
    with pytest.raises(FailedQueryError, match=r"process has ended.*Start a new session"), spark_errors():
        raise error


@pytest.mark.parametrize("error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111)])
def test_nothing_is_put_back_where_spark_has_ended(error: Exception) -> None:
    with pytest.raises(FailedQueryError, match="process has ended"), spark_errors():
        try:
            raise error
        finally:
            with put_back():
                raise ConnectionRefusedError(111)
