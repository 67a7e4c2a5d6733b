"""The law for frames: continuations of traced frames, beside those of the same rows and lineage."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage
from forward_lineage.checking.continuations import STEPS, Steps, some_steps, surroundings, users
from forward_lineage.checking.frame_law import Continued
from tests.tiers import every_day

# Blocks that are shared, pruned and put back in place: a running total over a grouping, both read from one window; and
# sessions, by sums of flags that come from `lag`.
TOTALS = """WITH w AS (SELECT id, k, sum(v) OVER (PARTITION BY k ORDER BY id) AS v FROM sold),
    g AS (SELECT k, max(v) AS m FROM w GROUP BY k)
    SELECT * FROM (
        SELECT id, k, sum(m) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s
        FROM (SELECT w.id, w.k, g.m FROM w LEFT JOIN g ON w.k = g.k)) WHERE s > 9"""
SESSIONS = """SELECT * FROM (SELECT id, k, s, max(s) OVER (PARTITION BY k) AS last FROM (
    SELECT id, k, sum(f) OVER (PARTITION BY k ORDER BY id) AS s FROM (
        SELECT id, k, CASE WHEN v - lag(v) OVER (PARTITION BY k ORDER BY id) > 1 THEN 1 ELSE 0 END AS f FROM sold)))
    WHERE s = last"""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    session = spark.newSession()
    session.range(12).selectExpr("id", "id % 3 AS k", "id * 7 % 5 AS v").createOrReplaceTempView("sold")
    lineage = ForwardLineage(session, home=tmp_path_factory.mktemp("home"))
    lineage.register("sold", key="id")
    return lineage


def continued(count: int, scratch: Path) -> Continued:
    return Continued(count, "a seed", time.monotonic() + 3600, scratch, lambda _: None)


@pytest.mark.parametrize("name", every_day(STEPS, ("drop DL", "some columns", "view")))
def test_a_step_does_the_same_to_a_plain_frame(lineage: ForwardLineage, name: str) -> None:
    """Each step: on the traced frame, and on the plain one."""
    steps = Steps(((name, 7),))
    with surroundings() as around:
        plain = steps.applied(lineage.spark.sql(TOTALS), around)
        traced = steps.applied(lineage.sql(TOTALS), around)
        mine = [f"`{each}`" for each in users(traced)]
        assert users(plain) == users(traced)
        assert sorted(map(str, traced.select(*mine).collect())) == sorted(map(str, plain.collect()))


@pytest.mark.parametrize("query", every_day([TOTALS, SESSIONS], [TOTALS]), ids=["totals", "sessions"])
def test_continuations_of_shared_windows(lineage: ForwardLineage, tmp_path: Path, query: str) -> None:
    law = continued(4, tmp_path)
    law.try_on(lambda: lineage.sql(query), "data")
    assert law.law.failed == []
    assert law.law.held + sum(law.law.not_tried.values()) == 4
    assert law.law.held >= 3
    assert list(tmp_path.iterdir()) == [], "what was written down is gone"


def test_other_rows_and_other_lineage_are_noticed(lineage: ForwardLineage, tmp_path: Path) -> None:
    right = lineage.sql("SELECT id, k FROM sold").orderBy("id").limit(4)
    frames = iter([right, *[right.withColumn("k", F.col("k") + 1)] * 3])
    law = continued(3, tmp_path)
    law.try_on(lambda: next(frames), "data")
    assert law.law.failed and all("the same rows give" in each for each in law.law.failed)

    wrong = right.withColumn("DL", F.struct(F.expr("dl_of(99)").alias("sold")))
    said = continued(1, tmp_path)
    said._try(lambda: wrong, said._written(right), Steps((("repartition", 1),)), "data")
    assert said.law.failed == ["data, repartition: other lineage than the same rows have"]


def test_what_cannot_be_tried_is_said(lineage: ForwardLineage, tmp_path: Path) -> None:
    law = continued(2, tmp_path)
    law.try_on(lambda: lineage.spark.sql("SELECT id, struct(1 AS a) AS DL FROM sold").toDF("DL2", "DL"), "data")
    assert law.law.not_tried == {"a column of the user's is called as lineage is": 1}


def test_the_same_seed_draws_the_same_steps() -> None:
    drawn = {str(some_steps(Random(seed))) for seed in range(200)}
    assert str(some_steps(Random(3))) == str(some_steps(Random(3)))
    assert {step for each in drawn for step in each.split(" → ")} == set(STEPS)
