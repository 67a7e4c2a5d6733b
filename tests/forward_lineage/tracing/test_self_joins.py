"""A traced DataFrame whose query has stages may stand in a plan twice: each copy has stages of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from forward_lineage import ForwardLineage
from forward_lineage.spark.settings import BY_REFERENCE
from tests.spark_settings import DEFAULTS, configured
from tests.tiers import every_day

WINDOW = "SELECT id, sum(v) OVER (PARTITION BY k) AS s FROM self_joined"
STAGE = "StagedQuery"
SAME = "a.id <=> b.id"


def _joined(how: str) -> Callable[[DataFrame], DataFrame]:
    def apart(frame: DataFrame) -> DataFrame:
        left = frame.toDF("l0", "l1", "DL").drop("DL")
        right = frame.toDF("r0", "r1", "DL").drop("DL")
        return left.join(right, expr("l0 <=> r0"), how).select("l0", "l1")

    return apart


def _sides(*columns: str) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: frame.alias("a").join(frame.alias("b"), expr(SAME)).selectExpr(*columns)


def _three(frame: DataFrame) -> DataFrame:
    two = frame.alias("a").join(frame.alias("b"), expr(SAME))
    return two.join(frame.alias("c"), expr("c.s <=> b.s")).selectExpr("a.id", "c.id", "dl_ids(a.DL.self_joined)", "b.s")


def _sql(text: str) -> Callable[[DataFrame], DataFrame]:
    def asked(frame: DataFrame) -> DataFrame:
        frame.createOrReplaceTempView("self_joined_view")
        return frame.sparkSession.sql(text)

    return asked


USES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no lineage": _joined("inner"),
    "a semi join": _joined("left_semi"),
    "an anti join": _joined("left_anti"),
    "lineage of one side": _sides("a.id", "b.s", "dl_ids(b.DL.self_joined)"),
    "lineage of both sides": _sides("a.s", "dl_ids(a.DL.self_joined)", "dl_ids(b.DL.self_joined)"),
    "three": _three,
    "a union": lambda frame: frame.selectExpr("id", "dl_ids(DL.self_joined)").union(frame.selectExpr("s", "array(1L)")),
    "a view of it": _sql(
        "SELECT a.id, dl_ids(a.DL.self_joined) FROM self_joined_view AS a JOIN self_joined_view AS b ON a.id <=> b.id"
    ),
    "EXISTS": _sql(
        "SELECT id, dl_ids(DL.self_joined) FROM self_joined_view AS a"
        " WHERE EXISTS (SELECT 1 FROM self_joined_view AS b WHERE b.id = a.id AND b.s > 1)"
    ),
    "a scalar subquery": _sql(
        "SELECT id, (SELECT max(s) FROM self_joined_view), dl_ids(DL.self_joined) FROM self_joined_view"
    ),
}
# Most stand where Spark refuses a subquery that has chance in it.
_LEAST = "(SELECT min(s) FROM self_joined_view)"
IN_SUBQUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "LATERAL": _sql(
        "SELECT a.id, l.n, dl_ids(a.DL.self_joined) FROM self_joined_view AS a,"
        " LATERAL (SELECT count(*) AS n FROM self_joined_view AS b WHERE b.s = a.s) AS l"
    ),
    "JOIN … ON": _sql(
        "SELECT a.id, dl_ids(b.DL.self_joined) FROM self_joined_view AS a"
        f" JOIN self_joined_view AS b ON a.id = b.id AND a.s > {_LEAST}"
    ),
    "GROUP BY": _sql(f"SELECT s > {_LEAST} AS more, count(*) AS n FROM self_joined_view GROUP BY 1"),
    "ORDER BY": _sql(f"SELECT id, dl_ids(DL.self_joined) FROM self_joined_view ORDER BY s > {_LEAST}"),
    "an aggregate": _sql(f"SELECT id, max({_LEAST}) AS least FROM self_joined_view GROUP BY id"),
    "a subquery that joins with all values": _sql(  # for which Spark copies what is around it
        "SELECT a.id, dl_ids(a.DL.self_joined), (SELECT count(*) FROM self_joined_view AS b WHERE b.s < a.s) AS n"
        " FROM self_joined_view AS a"
    ),
    "a CTE read twice": _sql(
        "WITH w AS (SELECT * FROM self_joined_view)"
        " SELECT a.id, dl_ids(b.DL.self_joined) FROM w AS a JOIN w AS b USING (s)"
    ),
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    rows = "(1, 'a', 1), (2, 'a', 1), (3, 'b', NULL), (4, NULL, 2), (5, NULL, 2), (6, 'c', 3)"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW self_joined AS SELECT * FROM VALUES {rows} AS t(id, k, v)")
    session = ForwardLineage(spark, tmp_path_factory.mktemp("home"))
    session.register("self_joined", key="id")
    yield session
    for view in ("self_joined", "self_joined_view", "self_joined_kept"):
        spark.catalog.dropTempView(view)


def _hand_run(lineage: ForwardLineage) -> DataFrame:
    return lineage.spark.sql(lineage.rewrite(WINDOW))


def _of_a_view(lineage: ForwardLineage) -> DataFrame:
    lineage.sql(f"CREATE OR REPLACE TEMP VIEW self_joined_kept AS {WINDOW}")
    return lineage.spark.table("self_joined_kept")


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def _analysed(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().analyzed().toString())


@pytest.mark.parametrize("use", [*USES, *IN_SUBQUERIES])
def test_a_frame_with_itself(spark: SparkSession, lineage: ForwardLineage, use: str) -> None:
    step = {**USES, **IN_SUBQUERIES}[use]
    with configured(spark, {BY_REFERENCE: "false"}):
        expected = _rows(step(lineage.sql(WINDOW)))
    assert _rows(step(lineage.sql(WINDOW))) == expected


def test_ctes_that_nothing_reads(spark: SparkSession, lineage: ForwardLineage) -> None:
    """Where Spark compares GROUP BY with the column above, such CTEs read what is not defined any more."""
    with_others = f"WITH w AS ({WINDOW}), x AS (SELECT a.s FROM w AS a JOIN w AS b USING (id)) SELECT * FROM w"
    grouped = IN_SUBQUERIES["GROUP BY"]
    expected = _rows(grouped(spark.sql(with_others)))
    assert _rows(grouped(lineage.sql(with_others))) == expected


def test_chance_of_the_users_stays_chance(lineage: ForwardLineage) -> None:
    frame = lineage.sql(WINDOW).withColumn("x", expr("rand()"))
    assert STAGE in _analysed(frame)
    with pytest.raises(AnalysisException, match="NON_DETERMINISTIC"):
        IN_SUBQUERIES["JOIN … ON"](frame)


FILTERED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filters of each side": lambda frame: (
        frame.filter("s > 2").select("id").alias("a").join(frame.filter("s < 3").alias("b"), expr("a.id + 3 <=> b.id"))
    ),
    "filters, and lineage": lambda frame: (
        frame.filter("id > 2").alias("a").join(frame.filter("s IS NULL").alias("b"), expr("a.id <=> b.id"), "left")
    ).selectExpr("a.id", "dl_ids(a.DL.self_joined)", "dl_ids(b.DL.self_joined)"),
}


MADE: dict[str, Callable[[ForwardLineage], DataFrame]] = {
    "run by hand": _hand_run,
    "of a view": _of_a_view,
    "traced": lambda lineage: lineage.sql(WINDOW),
}
MADE_DAILY = {("lineage of both sides", "run by hand"), ("EXISTS", "of a view"), ("three", "of a view")}


@pytest.mark.since("4.3", "before, no rule of ours can run before Spark's")
@pytest.mark.parametrize(
    ("use", "made"),
    every_day([(use, made) for use in (*USES, *FILTERED) for made in MADE], lambda each: each in MADE_DAILY),
)
def test_queries_that_others_run(spark: SparkSession, lineage: ForwardLineage, use: str, made: str) -> None:
    step = {**USES, **FILTERED}[use]
    with configured(spark, {BY_REFERENCE: "false"}):
        expected = _rows(step(lineage.sql(WINDOW)))
    assert _rows(step(MADE[made](lineage))) == expected


def test_compiled_and_planned_adaptively(spark: SparkSession, lineage: ForwardLineage) -> None:
    with configured(spark, DEFAULTS):
        assert _rows(USES["lineage of both sides"](lineage.sql(WINDOW)))[0] == (2, [1, 2], [1, 2])


def test_what_is_cached_of_it_is_read_by_both_sides(lineage: ForwardLineage) -> None:
    frame = lineage.sql(WINDOW).cache()
    try:
        plan = USES["no lineage"](frame)._jdf.queryExecution().optimizedPlan().toString()
    finally:
        frame.unpersist()
    assert plan.count("InMemoryRelation") == 2, plan
    assert STAGE not in plan


def test_only_a_frame_with_stages_says_so(lineage: ForwardLineage) -> None:
    assert STAGE in _analysed(lineage.sql(WINDOW))
    assert STAGE not in _analysed(lineage.sql("SELECT k, sum(v) AS s FROM self_joined GROUP BY k"))
