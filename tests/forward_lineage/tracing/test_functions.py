"""The user's functions: refused where they read tables, or where chance would tell lineage apart; else traced over."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import udf, udtf

from forward_lineage import ForwardLineage
from forward_lineage.tracing import statements
from rewrites.rules import generated_rows
from tests.tiers import every_day
from udafs.errors import NotTracedError

pytestmark = pytest.mark.since("4.0", "functions written in SQL")
OTHERS = ("dice", "dice_of_dice", "noise", "same_rows")  # that tests make


@pytest.fixture
def functions(spark: SparkSession, lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """A registered table t(v) of 0 … 3, and functions that read it, read rows of their own, or read nothing."""
    spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v FROM range(4)")
    made = {
        "below": "(w BIGINT) RETURNS BIGINT RETURN (SELECT count(*) FROM t WHERE v < w)",
        "below_twice": "(w BIGINT) RETURNS BIGINT RETURN below(w) * 2",
        "rows_below": "(w BIGINT) RETURNS TABLE (v BIGINT) RETURN SELECT v FROM t WHERE v < w",
        "plus": "(w BIGINT) RETURNS BIGINT RETURN w + 1",
        "of_its_own": "(w BIGINT) RETURNS BIGINT RETURN (SELECT max(x) FROM VALUES (7), (9) AS own(x)) + w",
        "numbers": "(w BIGINT) RETURNS TABLE (n BIGINT) RETURN SELECT id FROM range(2)",
    }
    for name, signature_and_body in made.items():
        spark.sql(f"CREATE TEMPORARY FUNCTION {name} {signature_and_body}")
    lineage.register("t", key="v")
    yield lineage
    for name in (*made, *OTHERS):
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


@pytest.mark.parametrize(
    ("sql", "called", "place"),
    [
        ("SELECT v, below(v) AS n FROM t", "below", "(line 1, column 11)"),
        ("SELECT max(below(v)) AS n FROM t GROUP BY v % 2", "below", "(line 1, column 12)"),
        ("SELECT v FROM t\nWHERE BELOW(v) > 1", "below", "(line 2, column 7)"),
        ("SELECT v FROM t WHERE v IN (SELECT below_twice(v) FROM t)", "below_twice", "(line 1, column 36)"),
        ("SELECT * FROM rows_below(2)", "rows_below", "(line 1, column 15)"),
        ("SELECT t.v FROM t, LATERAL rows_below(t.v) r", "rows_below", "(line 1, column 28)"),
        ("CREATE TEMPORARY VIEW never AS SELECT below(v) AS n FROM t", "below", "(line 1, column 39)"),
    ],
)
def test_a_function_that_reads_a_table(functions: ForwardLineage, sql: str, called: str, place: str) -> None:
    with pytest.raises(NotTracedError, match=f"^a function written in SQL that reads tables .*{called}.*") as refused:
        functions.sql(sql)
    assert place in str(refused.value)


def test_functions_that_read_no_table(functions: ForwardLineage) -> None:
    found = functions.sql("SELECT v, plus(v) AS p, of_its_own(v) AS o, n FROM t, LATERAL numbers(v) WHERE plus(v) = 3")
    assert [(row.v, row.p, row.o, row.n) for row in found.collect()] == [(2, 3, 11, 0), (2, 3, 11, 1)]
    ids = found.selectExpr("dl_ids(DL.t) AS ids").collect()
    assert [row.ids for row in ids] == [[2], [2]]


def test_a_function_that_reads_a_table_only_now(functions: ForwardLineage) -> None:
    sql = "SELECT plus(v) AS p FROM t"
    assert functions.sql(sql).count() == 4
    body = "RETURN (SELECT max(v) FROM t) + w"
    functions.spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION plus(w BIGINT) RETURNS BIGINT {body}")
    with pytest.raises(NotTracedError, match=r"reads tables \(.*plus\)"):
        functions.sql(sql)


# Each is refused already, by the rule that knows it; here these are taken away, so that only the net is left.
UNSEEN = [
    ("SELECT v, below(v) AS n FROM t", "Spark reads t twice in this statement, and lineage sees it once"),
    ("SELECT max(below_twice(v)) AS n FROM t", "Spark reads t twice in this statement, and lineage sees it once"),
    ("SELECT * FROM rows_below(2)", "Spark reads t once in this statement, and lineage sees it nowhere"),
    ("SELECT * FROM same_rows(TABLE(t))", "Spark reads t once in this statement, and lineage sees it nowhere"),
    (
        "SELECT a.v FROM t a JOIN t b USING (v), same_rows(TABLE(t))",
        "Spark reads t 3 times in this statement, .* twice",
    ),
    ("SELECT n FROM asks", "Spark reads t twice in this statement, and lineage sees it once"),
    ("CREATE TEMPORARY VIEW never AS SELECT below(v) AS n FROM t", "Spark reads t twice in this statement"),
]


@pytest.mark.parametrize(("sql", "message"), UNSEEN)
def test_a_reading_that_no_rule_has_seen(
    functions: ForwardLineage, monkeypatch: pytest.MonkeyPatch, sql: str, message: str
) -> None:
    monkeypatch.setattr(statements, "refuse_functions", lambda *_, **__: None)
    monkeypatch.setattr(generated_rows, "refuse_tables_inside", lambda _: None)
    functions.spark.udtf.register("same_rows", udtf(SameRows, returnType="w BIGINT", useArrow=False))
    functions.spark.sql("CREATE TEMPORARY VIEW asks AS SELECT below(v) AS n FROM t")
    with pytest.raises(NotTracedError, match=message):
        functions.sql(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (SELECT max(v) FROM t) AS m, count(*) AS n FROM t GROUP BY 1 HAVING m > 0 ORDER BY m",
        "WITH t AS (SELECT v FROM t) SELECT a.v FROM t a JOIN t b USING (v)",
        "SELECT v FROM twice JOIN t USING (v)",
        "CREATE OR REPLACE TEMPORARY VIEW again AS WITH c AS (SELECT v FROM t) SELECT c.v FROM c, c AS d",
        "SELECT plus((SELECT max(v) FROM t)) AS p FROM t LINEAGE ON ()",
        "SELECT v FROM t WHERE v IN (SELECT v FROM t) GROUP BY ROLLUP (v, (SELECT min(v) FROM t))",
    ],
)
def test_what_is_named_as_often_as_it_is_read(functions: ForwardLineage, sql: str) -> None:
    functions.spark.sql("CREATE TEMPORARY VIEW twice AS SELECT a.v FROM t a, t b WHERE a.v = b.v")
    functions.sql(sql).collect()


def test_a_view_that_reads_more_only_now(functions: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "refuse_functions", lambda *_, **__: None)
    make = "CREATE OR REPLACE TEMPORARY VIEW changing AS SELECT {} AS n FROM t"
    functions.spark.sql(make.format("v"))
    assert functions.sql("SELECT n FROM changing").count() == 4
    functions.spark.sql(make.format("below(v)"))
    with pytest.raises(NotTracedError, match="Spark reads t twice"):
        functions.sql("SELECT n FROM changing")


BY_CHANCE = {
    "SELECT (SELECT sum(v) FROM t WHERE {} < 2) AS s, v FROM t": "data",
    "SELECT v FROM t WHERE v NOT IN (SELECT v + 9 FROM t WHERE {} < 2)": "control",
    "SELECT v, (SELECT sum(v) FROM t b WHERE b.v < t.v AND {} < 2) AS s FROM t": "data",
}


# Where lineage is computed again, and which function is by chance, are found by themselves.
CALLS = ("dice()", "dice_of_dice()", "noise(v)")


@pytest.mark.parametrize(
    ("sql", "semantics", "call"),
    every_day(
        [(*each, call) for each, call in product(BY_CHANCE.items(), CALLS)],
        [(*each, call) for each, call in zip(BY_CHANCE.items(), CALLS, strict=True)],
    ),
)
def test_a_function_by_chance_where_lineage_is_computed_again(
    functions: ForwardLineage, sql: str, semantics: str, call: str
) -> None:
    with_chance(functions.spark)
    with pytest.raises(NotTracedError, match=rf"{call[:4]}\w*\(\) may give other values .* \(line 1, column"):
        functions.sql(sql.format(call), semantics=semantics)
    functions.spark.sql(f"CREATE TEMPORARY VIEW lucky AS {sql.format(call)}")
    with pytest.raises(NotTracedError, match=rf"view lucky: {call[:4]}\w*\(\) may give other values"):
        functions.sql("SELECT * FROM lucky", semantics=semantics)


def test_a_function_by_chance_that_is_computed_once(functions: ForwardLineage) -> None:
    with_chance(functions.spark)
    found = functions.sql("SELECT noise(v) AS n, collect_list(v) AS vs FROM t GROUP BY 1")
    assert all(sorted(row.vs) == row.ids for row in found.selectExpr("vs", "dl_ids(DL.t) AS ids").collect())


def test_a_function_that_is_by_chance_only_now(functions: ForwardLineage) -> None:
    sql = "SELECT (SELECT sum(v) FROM t WHERE noise(v) < 2) AS s, v FROM t"
    functions.spark.udf.register("noise", udf(lambda v: v, "BIGINT", useArrow=False))
    assert functions.sql(sql).count() == 4
    with_chance(functions.spark)
    with pytest.raises(NotTracedError, match=r"noise\(\) may give other values"):
        functions.sql(sql)


def test_a_granule_by_chance(functions: ForwardLineage) -> None:
    with_chance(functions.spark)
    with pytest.raises(NotTracedError, match=r"noise, in LINEAGE ON, may have another value for the same row"):
        functions.sql("SELECT v FROM t LINEAGE ON noise(t.v)")


class SameRows:
    """A table function of a table."""

    def eval(self, row: Row) -> Iterator[tuple[int]]:
        yield (row.v,)


def with_chance(spark: SparkSession) -> None:
    """Make functions that give another value every time."""
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION dice() RETURNS DOUBLE RETURN rand() * 6")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION dice_of_dice() RETURNS DOUBLE RETURN dice() * 6")
    spark.udf.register("noise", udf(lambda _: random.randrange(4), "INT", useArrow=False).asNondeterministic())
