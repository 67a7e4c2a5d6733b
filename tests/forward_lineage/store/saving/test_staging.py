"""Statements with stages, saved in parts: the answers are those of the same rows saved by value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.settings import BY_REFERENCE
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving import staging
from tests.forward_lineage.prepared import Prepared
from tests.forward_lineage.tracing.test_by_reference import GROUPS, QUERIES
from tests.shared_state import drop_views
from tests.spark_settings import configured
from tests.tiers import every_day

RUNNING = "SELECT id, k, sum(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t"
JOINED = f"SELECT t.id, g.m FROM t JOIN {GROUPS} AS g USING (k)"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """t(id, k, v) and u(uid, k, w) as files, with ties and NULLs."""
    t = spark.range(0, 60, 1, 4).selectExpr("id", "nullif(id * 7 % 6, 5) AS k", "nullif(id * 13 % 11, 10) AS v")
    t.write.saveAsTable("t")
    spark.range(0, 20, 1, 4).selectExpr("id AS uid", "id % 5 AS k", "id * 3 % 7 AS w").write.saveAsTable("u")
    yield
    for name in ("t", "u"):
        spark.sql(f"DROP TABLE {name}")


@pytest.fixture(scope="module")
def registered(tables: None, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    def make(lineage: ForwardLineage) -> None:
        lineage.register("t", key="id")
        lineage.register("u", key="uid")

    return Prepared(tmp_path_factory.mktemp("registered"), spark, make)


@pytest.fixture
def session(spark: SparkSession, registered: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(spark, registered.copy(tmp_path / "home"))
    drop_views(spark)


def answers(session: ForwardLineage, saved: SavedResult) -> list[str]:
    """Each row with what it was made of, and whether rows 0, 7, … of each table went into it."""
    rows = [tuple(row) for row in session.result(saved.name).collect()]
    found = []
    for number, row in enumerate(rows):
        made_of = {each.name: session.backward_ids(saved.name, rows=[number], table=each.name) for each in saved.tables}
        found.append(f"{row} {made_of}")
    for table in saved.tables:
        for made_of in range(0, 60, 7):
            reached = session.forward_ids(table.name, ids=[made_of], result=saved.name)
            found.append(f"{table.name} {made_of}: {sorted(str(rows[number]) for number in reached)}")
    return sorted(found)


def by_value(session: ForwardLineage, sql: str, semantics: str = "data") -> list[str]:
    with configured(session.spark, {BY_REFERENCE: "false"}):
        return answers(session, session.save(sql, "by_value", semantics=semantics))


EVERY_DAY = {"nested three deep", "frames of values", "in sides of UNION ALL"}


@pytest.mark.parametrize("query", every_day(QUERIES, EVERY_DAY))
def test_answers_are_those_by_value(session: ForwardLineage, query: str) -> None:
    semantics = "control" if len(query) % 2 else "data"
    saved = session.save(QUERIES[query], "staged", semantics=semantics)
    assert saved.stages
    assert answers(session, saved) == by_value(session, QUERIES[query], semantics)
    assert not list(saved.folder.glob("stages/*/rows")), "the rows of stages go when the result is there"
    assert session.spark.sql("SHOW VIEWS").where("contains(viewName, '__fl_')").count() == 0
    again = session.describe("staged")
    assert again == saved
    assert again.lineage_size == sum(path.stat().st_size for path in saved.folder.rglob("*.lineage"))


ANSWERED = {
    "a value": "SELECT id, v FROM t WHERE v > (SELECT avg(w) FROM u WHERE u.k = t.k)",
    "a value that may be missing": "SELECT id FROM t WHERE (SELECT max(w) FROM u WHERE u.k = t.v) IS NULL OR v > 5",
    "rows, below groups": "SELECT v, count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.v) GROUP BY v",
    "two, nested": """
        SELECT uid FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k = u.k AND t.v > 3)
        AND w >= (SELECT min(t.v) FROM t JOIN u AS x ON t.id = x.uid WHERE t.k = u.k)""",
}


@pytest.mark.parametrize(
    "sql",
    every_day(ANSWERED.values(), [ANSWERED["a value that may be missing"], ANSWERED["two, nested"]]),
    ids=ANSWERED,
)
def test_what_a_predicate_looked_at_is_a_stage(session: ForwardLineage, sql: str) -> None:
    """Under control semantics many rows share what the subquery had of their key: it is kept once."""
    saved = session.save(sql, "staged", semantics="control")
    assert saved.stages and saved.rows
    assert answers(session, saved) == by_value(session, sql, "control")


def test_windows_at_the_top_are_saved_once(session: ForwardLineage) -> None:
    """The rows are those of the stage; what is asked of a window that stands in another order is the same."""
    saved = session.save(f"{RUNNING} ORDER BY v DESC, id", "running")
    assert [stage.rows for stage in saved.stages] == [60]
    assert answers(session, saved) == by_value(session, RUNNING)
    cut = session.save(f"{RUNNING} ORDER BY id DESC LIMIT 2", "cut")
    assert list(session.backward_ids("cut", rows=[0])) == [each for each in range(60) if each * 7 % 6 == 59 * 7 % 6]
    assert cut.rows == 2


def test_places_in_several_segments(session: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MOST_RUNS", 7)
    saved = session.save(f"{RUNNING} ORDER BY v DESC, id", "running")
    assert len(saved.stages[0].tables[0].segments) > 3 < len(saved.refers[0].segments)
    assert answers(session, saved) == by_value(session, RUNNING)


@pytest.mark.parametrize("sql", [RUNNING, JOINED])
def test_appended_rows_and_those_before_keep_their_lineage(session: ForwardLineage, sql: str) -> None:
    """Rows that were there keep their lineage; those behind them have their own."""
    session.save(sql, "both")
    both = session.save(sql, "both", mode="append")
    once = by_value(session, sql)
    assert both.rows == 2 * session.describe("by_value").rows
    again = ForwardLineage(session.spark, session.home)
    assert again.describe("both") == both, "what is read from the disk is sound"
    half = both.rows // 2
    for number in range(half):
        first = session.backward_ids("both", rows=[number])
        assert first == session.backward_ids("both", rows=[number + half])
        assert any(str({"t": first}) in each for each in once)
    reached = list(session.forward_ids("t", ids=[7], result="both"))
    assert reached[len(reached) // 2 :] == [number + half for number in reached[: len(reached) // 2]]


def test_a_pipeline_through_stages(session: ForwardLineage) -> None:
    session.save(JOINED, "joined")
    session.save("SELECT m, count(*) AS n FROM joined GROUP BY m ORDER BY m", "counted")
    wanted = by_value(session, f"SELECT m, count(*) AS n FROM ({JOINED}) GROUP BY m ORDER BY m")
    rows = [tuple(row) for row in session.result("counted").collect()]
    for number, row in enumerate(rows):
        assert f"{row} {{'t': {session.backward_ids('counted', rows=[number], table='t')}}}" in wanted
    assert session.impact("t", "id = 3").count() > 1
    assert session.stale().count() == 0
    pairs = session.table("lineage_of(joined, t)")
    assert pairs.where("row = 0").count() == len(session.backward_ids("joined", rows=[0]))


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(f"SELECT t.id, rand() AS r, g.m FROM t JOIN {GROUPS} AS g USING (k)", id="chance"),
        pytest.param(
            f"SELECT t.id, now() > '2020-01-01' AS r, g.m FROM t JOIN {GROUPS} AS g USING (k)", id="the clock"
        ),
        pytest.param(
            "SELECT t.id, g.m FROM t JOIN (SELECT k, max(v) AS m, make_interval(max(v)) AS i FROM t GROUP BY k) AS g"
            " USING (k) WHERE g.i IS NOT NULL",
            id="a type that Parquet has not",
        ),
    ],
)
def test_what_cannot_be_kept_in_parts_is_saved_as_one(session: ForwardLineage, sql: str) -> None:
    saved = session.save(sql, "whole")
    assert not saved.stages
    assert not (saved.folder / "stages").exists()
    assert saved.rows == session.spark.sql(sql).count() > 0
    assert len(session.backward_ids("whole", rows=[0])) > 1


def test_a_part_that_fails_leaves_nothing(session: ForwardLineage) -> None:
    sql = "SELECT t.id, g.m FROM t JOIN (SELECT k, max(v) / min(v - v) AS m FROM t GROUP BY k) AS g USING (k)"
    fails = {"spark.sql.ansi.enabled": "true"}  # before Spark 4.0 it was NULL, if nothing was set
    with configured(session.spark, fails), pytest.raises(LineageError, match=r"(?i)division by zero"):
        session.save(sql, "failed")
    assert session.results() == []
    assert session.spark.sql("SHOW VIEWS").where("contains(viewName, '__fl_')").count() == 0
    assert not list(Path(session.home).rglob("*.parquet"))


def test_the_columns_are_the_users_though_nobody_makes_the_whole(session: ForwardLineage) -> None:
    sql = f"SELECT t.id AS `a b`, count(*) OVER () + g.m, 'x' AS c FROM t JOIN {GROUPS} AS g USING (k)"
    saved = session.save(sql, "staged")
    assert saved.stages
    found, wanted = session.result("staged").schema, session.spark.sql(sql).schema
    assert [(each.name, each.dataType) for each in found] == [(each.name, each.dataType) for each in wanted]


def test_a_column_where_lineage_is_put(session: ForwardLineage) -> None:
    with pytest.raises(LineageError, match="has a column DL"):
        session.save(f"SELECT s.*, g.m FROM (SELECT id AS DL, k FROM t) AS s JOIN {GROUPS} AS g USING (k)", "staged")
