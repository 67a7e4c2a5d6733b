"""The fidelity guard: equal plans pass, other plans are refused by name, and Spark's randomness is no difference."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.planning import Planner


@pytest.fixture
def planner(store: ForwardLineage) -> Planner:
    return Planner(store.spark)


SAME = [
    (
        "SELECT s_name FROM store s, sales t WHERE s.s_id = t.s_id",
        "SELECT s_name FROM store s CROSS JOIN sales t WHERE s.s_id = t.s_id",
    ),
    ("SELECT s_name FROM store WHERE city='x'", "SELECT s_name FROM store WHERE city = 'x'"),
    ("SELECT * FROM sales WHERE price > 1+1", "SELECT * FROM sales WHERE (price > (1 + 1))"),
    ("SELECT substr(s_name, 1, 2) FROM store", "SELECT SUBSTR(s_name, 1, 2) FROM store"),
    ("SELECT rand() r, s_id FROM store", "SELECT RAND() AS r, s_id FROM store"),
    ("SELECT current_timestamp() t, uuid() u FROM store", "SELECT CURRENT_TIMESTAMP() AS t, UUID() AS u FROM store"),
    (
        "SELECT max(price) FROM sales WHERE s_id IN (SELECT s_id FROM store)",
        "SELECT max(price) FROM sales WHERE s_id IN (SELECT s_id FROM store)",
    ),
    (
        "create temp view v as\n  select s_id, sum(price) s\n  from sales -- all of them\n  group by s_id",
        "CREATE TEMP VIEW v AS SELECT s_id, sum(price) AS s FROM sales GROUP BY s_id",
    ),
    (
        "CREATE GLOBAL TEMPORARY VIEW v (a COMMENT 'x') COMMENT 'y' AS (select s_id from store)",
        "CREATE GLOBAL TEMPORARY VIEW v (a COMMENT 'x') COMMENT 'y' AS (SELECT s_id FROM store)",
    ),
]
VIEW = "CREATE TEMP VIEW v (a COMMENT 'x') COMMENT 'y' AS SELECT s_id FROM store"
OTHER = [
    (VIEW, VIEW.replace("s_id", "s_name")),
    (VIEW, VIEW.replace("VIEW v", "VIEW w")),
    (VIEW, VIEW.replace("(a ", "(b ")),
    (VIEW, VIEW.replace("'x'", "'z'")),
    (VIEW, VIEW.replace("'y'", "'z'")),
    (VIEW, VIEW.replace("TEMP", "GLOBAL TEMP")),
    (VIEW, VIEW.replace("CREATE", "CREATE OR REPLACE")),
    pytest.param(
        "SELECT uuid(3) u FROM store",
        "SELECT uuid() AS u FROM store",
        marks=pytest.mark.since("4.0", "uuid with a seed"),
    ),
    ("SELECT rand(3) r FROM store", "SELECT rand(4) r FROM store"),
    ("SELECT * FROM VALUES (1), (2) t(a)", "SELECT * FROM VALUES (1), (3) t(a)"),
    ("SELECT * FROM store WHERE s_id = 1", "SELECT * FROM store WHERE s_id = 2"),
    ("SELECT * FROM store ORDER BY s_id", "SELECT * FROM store"),
    ("SELECT s_name AS a FROM store", "SELECT s_name AS b FROM store"),
    (
        "SELECT s_id FROM store INTERSECT ALL SELECT s_id FROM sales",
        "SELECT s_id FROM store INTERSECT SELECT s_id FROM sales",
    ),
    ("CREATE TABLE x AS SELECT s_id FROM store", "CREATE TABLE x AS SELECT i_id FROM item"),
    pytest.param(
        "SELECT listagg(s_name, ';') FROM store",
        "SELECT listagg(s_name) FROM store",
        marks=pytest.mark.since("4.0", "listagg"),
    ),
]


@pytest.mark.parametrize(("user", "printed"), SAME)
def test_the_same(planner: Planner, user: str, printed: str) -> None:
    check_fidelity(planner.plan, user, printed)


@pytest.mark.parametrize(("user", "printed"), OTHER)
def test_something_else(planner: Planner, user: str, printed: str) -> None:
    with pytest.raises(LineageError, match=r"^the SQL was not understood exactly as Spark understands it: .* became "):
        check_fidelity(planner.plan, user, printed)


def test_what_spark_does_not_read_back(planner: Planner) -> None:
    with pytest.raises(LineageError, match=r"Spark does not read it back: Syntax error at or near"):
        check_fidelity(planner.plan, "SELECT 1", "SELECT 1 FROM ((")


def test_the_users_own_mistake_is_sparks_to_name(planner: Planner) -> None:
    with pytest.raises(LineageError, match=r"^A column.* `nope` cannot be .*\(line 1, column 8\)\. Correct the SQL"):
        check_fidelity(planner.plan, "SELECT nope FROM store", "SELECT nope FROM store")


def test_files_count_as_part_of_the_plan(
    planner: Planner, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here, there = tmp_path_factory.mktemp("here") / "t", tmp_path_factory.mktemp("there") / "t"
    for folder in (here, there):
        spark.range(2).write.parquet(str(folder))
    with pytest.raises(LineageError, match=r"files file:.*here"):
        check_fidelity(planner.plan, f"SELECT * FROM parquet.`{here}`", f"SELECT * FROM parquet.`{there}`")


def test_planning_runs_nothing(planner: Planner, spark: SparkSession) -> None:
    planner.plan("CREATE TABLE never_made AS SELECT s_id FROM store")
    assert not spark.catalog.tableExists("never_made")


@pytest.mark.since("4.1", "scripts")
def test_planning_runs_no_script(planner: Planner, spark: SparkSession) -> None:
    planner.plan("BEGIN CREATE TABLE never_made AS SELECT s_id FROM store; END")
    assert not spark.catalog.tableExists("never_made")
