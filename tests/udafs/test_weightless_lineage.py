"""The side of a join that is broadcast: the one of the query as the user wrote it, whatever lineage weighs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark_settings import configured
from tests.tiers import every_day
from tests.udafs.test_functions import session

__all__ = ["session"]

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
FIXTURES = Path(__file__).parents[1] / "golden" / "fixtures"
TABLES = {"t", "u", "tt", "uu", "store", "item", "sales", "basket", "nothing", "größe"}
TABLES.add("spark_catalog.default.region")
ID = "_metadata.row_index + length(_metadata.file_path) + _metadata.file_size"
"""An id that needs as much of `_metadata` as `dl_row_id` does."""
OF_VALUES = {"rows", "its value", ".left", ".copies", ".right.t"}
R, S = "(SELECT *, v AS __dl_r FROM r) AS r", "(SELECT *, v AS __dl_s FROM s) AS s"
LIMITS = [1000 * 5**step // 4**step for step in range(24)]
"""Bytes: each a quarter more than the one before, less than a column of lineage weighs."""
JOINS = {
    "inner": "SELECT r.k, s.v {} FROM {} JOIN {} ON r.k = s.k",
    "behind a filter": "SELECT r.k, s.v {} FROM {}, {} WHERE r.k = s.k AND r.v > 5",
    "left": "SELECT r.k, s.v {} FROM {} LEFT JOIN {} ON r.k = s.k",
    "right": "SELECT r.k, s.v {} FROM {} RIGHT JOIN {} ON r.k = s.k",
    "full": "SELECT r.k, s.v {} FROM {} FULL JOIN {} ON r.k = s.k",
    "not of equals": "SELECT r.k, s.v {} FROM {} JOIN {} ON r.k < s.k",
    "of three": "SELECT r.k, s.v {} FROM {} JOIN {} ON r.k = s.k JOIN t ON s.k = t.k",
    "hinted": "SELECT /*+ MERGE(s) */ r.k, s.v {} FROM {} JOIN {} ON r.k = s.k",
}
GROUPED = "SELECT r.k, g.n {} FROM {} JOIN (SELECT k, count(*) AS n {} FROM {} GROUP BY k) AS g ON r.k = g.k"


@pytest.fixture
def tables(session: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    for name, rows in (("r", 3000), ("s", 1000), ("t", 2000)):
        path = str(tmp_path / name)
        session.range(0, rows, 1, 1).selectExpr("id AS k", "id * 7 AS v", "uuid() AS w").write.parquet(path)
        session.read.parquet(path).createOrReplaceTempView(name)
    yield session
    for name in "rst":
        session.catalog.dropTempView(name)


def joins(session: SparkSession, query: str) -> list[str]:
    """How each join of a query is made, and which side is built: of `EXPLAIN`, outermost first."""
    plan = session.sql(query)._jdf.queryExecution().sparkPlan().toString()
    found = re.findall(r"(\w+Join|CartesianProduct)\b.*?(BuildLeft|BuildRight|$)", plan, re.MULTILINE)
    return [f"{join} {side}" for join, side in found]


def chosen_joins(
    session: SparkSession, plain: str, traced: str, limits: Sequence[int] = LIMITS
) -> set[tuple[str, ...]]:
    """Check that a traced query is joined as the query is, under each limit; return the ways of these joins."""
    chosen = set()
    for limit in limits:
        with configured(session, {THRESHOLD: str(limit)}):
            wanted = joins(session, plain)
            assert joins(session, traced) == wanted, limit
        chosen.add(tuple(wanted))
    return chosen


SELDOM = [JOINS[each] for each in ("inner", "behind a filter", "right", "not of equals")]


@pytest.mark.parametrize("shape", every_day(JOINS.values(), lambda shape: shape not in SELDOM), ids=JOINS)
def test_the_side_is_that_of_the_query(tables: SparkSession, shape: str) -> None:
    plain, traced = shape.format("", "r", "s"), shape.format(", r.__dl_r, s.__dl_s", R, S)
    chosen = chosen_joins(tables, plain, traced)
    assert len(chosen) > 1 or shape is JOINS["hinted"] or shape is JOINS["full"]


@pytest.mark.parametrize("shape", every_day(JOINS.values(), [JOINS[each] for each in ("left", "of three")]), ids=JOINS)
def test_ids_by_position_do_not_make_the_rest_lighter(tables: SparkSession, tmp_path: Path, shape: str) -> None:
    """Of a scan that is wider by `_metadata` Spark takes the columns that are read for a smaller part than they are."""
    names = [f"(SELECT * {{}} FROM parquet.`{tmp_path / name}`) AS {name}" for name in "rs"]
    traced = [each.format(f", {ID} AS __dl_{name}") for each, name in zip(names, "rs", strict=True)]
    plain = shape.format("", *(each.format("") for each in names))
    chosen = chosen_joins(tables, plain, shape.format(", r.__dl_r, s.__dl_s", *traced), LIMITS[::2])
    assert len(chosen) > 1 or shape is JOINS["hinted"] or shape is JOINS["full"]


def test_a_grouping_that_seems_small_enough_is_broadcast(tables: SparkSession, tmp_path: Path) -> None:
    """As a stage, which carries a number: Spark guesses that it has as many rows as it reads, which is too many."""
    rows = f"(SELECT *, {ID} AS __dl_r FROM parquet.`{tmp_path / 'r'}`) AS r"
    grouped = f"(SELECT *, {ID} AS __dl_s FROM parquet.`{tmp_path / 's'}`) AS s"
    traced = GROUPED.format(", r.__dl_r, g.__dl_s", rows, ", max(__dl_s) AS __dl_s", grouped)
    others = 0
    for limit in LIMITS:
        with configured(tables, {THRESHOLD: str(limit)}):
            wanted, found = joins(tables, GROUPED.format("", "r", "", "s")), joins(tables, traced)
        if found != wanted:
            assert (wanted, found) == (["SortMergeJoin "], ["BroadcastHashJoin BuildRight"])
            others += 1
    assert others


def test_a_set_has_no_weight_either(tables: SparkSession) -> None:
    traced = GROUPED.format(", r.__dl_r, g.__dl_s", R, ", dlunion(__dl_s) AS __dl_s", S)
    assert len(chosen_joins(tables, GROUPED.format("", "r", "", "s"), traced)) > 1


def test_sides_of_a_union_may_call_lineage_otherwise(tables: SparkSession) -> None:
    both = "(SELECT k, v {} FROM s UNION ALL SELECT k, v {} FROM t) AS s"
    traced = JOINS["inner"].format(", s.__dl_s", "r", both.format(", v AS __dl_s", ", CAST(NULL AS BIGINT) AS n"))
    for limit in LIMITS:
        with configured(tables, {THRESHOLD: str(limit)}):
            assert len(joins(tables, traced)) == 1


def test_a_value_of_the_users_under_a_name_of_ours_has_its_weight(tables: SparkSession) -> None:
    for called in ("key1", "its value", "rows", ".left"):
        plain = JOINS["inner"].format(", r.w, s.w", "r", "s")
        source = "(SELECT k, v, w AS `__dl_{}` FROM {}) AS {}"
        ours = JOINS["inner"].format(
            f", r.`__dl_{called}`, s.`__dl_{called}`", source.format(called, "r", "r"), source.format(called, "s", "s")
        )
        for limit in LIMITS[::3]:
            with configured(tables, {THRESHOLD: str(limit)}):
                assert joins(tables, ours) == joins(tables, plain), (called, limit)


def test_every_name_of_ours_is_of_a_table_or_known() -> None:
    texts = [path.read_text(encoding="utf-8") for path in FIXTURES.glob("*.golden")]
    found = {name for text in texts for name in re.findall(r"\bAS\s+`?__dl_((?:its value)|[^`,)\s]+)", text)}
    assert {re.sub(r"\d+$", "", name) for name in found - TABLES} == {"__stage", "__frame", "key", *OF_VALUES}


def test_a_column_of_the_users_has_its_weight(tables: SparkSession) -> None:
    with configured(tables, {THRESHOLD: "40000"}):
        assert joins(tables, JOINS["inner"].format(", r.w, s.w", "r", "s")) != joins(
            tables, JOINS["inner"].format("", "r", "s")
        )
