"""What runs computes and compares what was asked, or is refused; no query that is right is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage import ForwardLineage, InternalError
from forward_lineage.spark.settings import GUARD
from rewrites import decorrelation
from rewrites.terms import call
from tests.golden import execution, tables
from tests.golden.cases import SEMANTICS, Case, read_all
from tests.tiers import every_day
from udafs.errors import LineageError
from udafs.requests import ask

KNOWN = tables.catalog()
FILES = sorted({case.file.stem for case in read_all()})
#: What is wrong, by name: what runs in place of `ASKED`; its last column stands for the lineage.
ASKED = "SELECT t.k, sum(v) AS s, max(w) AS m FROM t JOIN u ON t.k = u.k WHERE v < 3 GROUP BY t.k"
WRONG = {
    "another column": "SELECT u.k, sum(v), max(v), 0 FROM t JOIN u ON t.k = u.k WHERE v < 3 GROUP BY u.k",
    "two change places": "SELECT t.k, max(w), sum(v), 0 FROM t JOIN u ON t.k = u.k WHERE v < 3 GROUP BY t.k",
    "another aggregate": "SELECT t.k, min(v), max(w), 0 FROM t JOIN u ON t.k = u.k WHERE v < 3 GROUP BY t.k",
    "no condition": "SELECT t.k, sum(v), max(w), 0 FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "another condition": "SELECT t.k, sum(v), max(w), 0 FROM t JOIN u ON t.k = u.k WHERE v <= 3 GROUP BY t.k",
    "no join": "SELECT t.k, sum(v), max(w), 0 FROM t, u WHERE v < 3 GROUP BY t.k",
    "a cast": "SELECT t.k, sum(v), max(w), 0 FROM t JOIN u ON t.k = u.k WHERE CAST(v AS STRING) < '3' GROUP BY t.k",
    "a collation": "SELECT t.k, sum(v), max(w), 0 FROM t JOIN u ON t.k = u.k COLLATE UNICODE WHERE v < 3 GROUP BY t.k",
}


@pytest.fixture(scope="module")
def golden(spark: SparkSession) -> Iterator[ForwardLineage]:
    session = spark.newSession()
    lineage = ForwardLineage(session, home="unused")
    tables.create(session)
    yield lineage
    tables.drop(session)


@pytest.mark.parametrize("name", WRONG)
def test_differences_are_seen(golden: ForwardLineage, name: str) -> None:
    spark = golden.spark
    assert ask(spark, "runs as asked", spark.sql(ASKED.replace(" FROM", ", 0 FROM", 1)), sql=ASKED) == ""
    assert ask(spark, "runs as asked", spark.sql(WRONG[name]), sql=ASKED) != ""


def test_seeds_that_spark_draws_anew_are_no_difference(golden: ForwardLineage) -> None:
    spark, sql = golden.spark, "SELECT k FROM t WHERE rand() < 2"
    assert ask(spark, "runs as asked", spark.sql(sql.replace(" FROM", ", 0 FROM")), sql=sql) == ""


@pytest.mark.parametrize("file", every_day(FILES, ["answers", "decorrelation", "windows"]))
def test_right_queries_pass(golden: ForwardLineage, file: str) -> None:
    cases = [case for case in read_all() if case.file.stem == file and not (case.bug or case.since or case.args)]
    said = [_said(golden.spark, case, semantics) for case in cases for semantics in SEMANTICS]
    assert [each for each in said if each] == []


def _said(spark: SparkSession, case: Case, semantics: str) -> str:
    found = execution.rewritten(case, semantics, KNOWN)
    if isinstance(found, LineageError) or not found.tables or found.through or semantics not in case.rows:
        return ""
    return ask(spark, "runs as asked", spark.sql(found.sql), sql=found.user_sql)


def test_a_comparison_that_is_not_padded(
    spark: SparkSession, lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule as it was, which hides a column of type CHAR: the guard sees what the rows would show."""

    def hidden(key: exp.Expr, outer: exp.Expr) -> exp.Expr:
        return exp.EQ(this=key, expression=exp.Case(ifs=[exp.If(this=call("isnotnull", outer), true=outer.copy())]))

    sql = "SELECT k FROM three a WHERE EXISTS (SELECT 1 FROM five b WHERE b.c = a.c)"
    spark.sql("CREATE TABLE three (k INT, c CHAR(3)) USING parquet")
    spark.sql("CREATE TABLE five (k INT, c CHAR(5)) USING parquet")
    try:
        for name in ("three", "five"):
            lineage.register(name, key="k")
        spark.conf.set(GUARD, "true")
        lineage.sql(sql, semantics="control")
        monkeypatch.setattr(decorrelation, "_same", hidden)
        fresh = ForwardLineage(spark, lineage.home)
        with pytest.raises(InternalError, match="nothing compares as"):
            fresh.sql(sql, semantics="control")
        spark.conf.set(GUARD, "false")
        fresh.sql(sql, semantics="control")
    finally:
        for name in ("three", "five"):
            spark.sql(f"DROP TABLE {name}")
