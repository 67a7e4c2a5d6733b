"""Inner queries whose rows meet others are referred to: when, under which name, and when not."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from rewrites.explanation import Step
from tests.rewrites.plain_tables import printed, rewritten

pytestmark = pytest.mark.usefixtures("newest_spelling")
GROUPS = "(SELECT k, max(v) AS m FROM t GROUP BY k)"
AVERAGES = "WITH a AS (SELECT k, avg(v) AS m FROM t GROUP BY k) "


def stages(sql: str, semantics: Semantics = Semantics.DATA) -> list[Step]:
    return [step for step in rewritten(sql, semantics).steps if step.name is not None]


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT u.uid FROM u JOIN {GROUPS} AS g USING (k)",
        f"SELECT u.uid FROM u LEFT JOIN {GROUPS} AS g ON u.k = g.k",
        f"SELECT g.k FROM u JOIN {GROUPS} AS g USING (k)",
        f"SELECT u.uid, g.k FROM u NATURAL JOIN {GROUPS} AS g",
        f"SELECT 1 FROM u, {GROUPS}",
        f"SELECT g.k, e FROM {GROUPS} AS g LATERAL VIEW explode(array(1, 2)) x AS e",
        "SELECT u.uid FROM u, (SELECT DISTINCT k FROM t) AS d",
        "SELECT u.uid FROM u, (SELECT k FROM t UNION SELECT k FROM t) AS d",
        f"{AVERAGES} SELECT u.uid FROM u JOIN a USING (k)",
        f"{AVERAGES} SELECT x.k FROM a AS x, a AS y",
    ],
)
def test_a_stage_is_made(sql: str) -> None:
    assert len(stages(sql, Semantics.CONTROL)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT m FROM {GROUPS}",
        f"SELECT m, count(*) FROM {GROUPS} GROUP BY m",
        f"SELECT uid FROM u LEFT SEMI JOIN {GROUPS} AS g USING (k)",
        "SELECT 1 FROM u, (SELECT a.k FROM t AS a, t AS b) AS j",  # two ids a row, never more
        "SELECT 1 FROM u, (SELECT k FROM t UNION ALL SELECT k FROM t) AS j",
        "SELECT g.m FROM u, LATERAL (SELECT max(v) AS m FROM t WHERE t.k = u.k) AS g",
        f"SELECT uid FROM u WHERE uid IN (SELECT x.uid FROM u AS x, {GROUPS})",  # which only decides
        f"{AVERAGES} SELECT 1 FROM u, a TABLESAMPLE (50 PERCENT) REPEATABLE (1)",
    ],
)
def test_no_stage_is_made(sql: str) -> None:
    assert stages(sql) == []


@pytest.mark.parametrize("cut", ["LIMIT 3", "SORT BY m LIMIT 3", "OFFSET 2"])
def test_rows_that_spark_chooses_are_those_it_would_choose(cut: str) -> None:
    assert stages(f"SELECT m FROM u JOIN {GROUPS} AS g USING (k) {cut}") == []
    assert stages(f"SELECT * FROM (SELECT m FROM u JOIN {GROUPS} AS g USING (k) {cut})") == []
    assert len(stages(f"SELECT m FROM u JOIN {GROUPS} AS g USING (k) ORDER BY m {cut.replace('SORT BY m', '')}")) == 1


def test_chance_that_the_user_shares_is_not_taken_apart() -> None:
    """Spark evaluates such a CTE once for both its uses: a stage would be a third."""
    assert stages("WITH a AS (SELECT k, max(v + rand()) AS m FROM t GROUP BY k) SELECT 1 FROM a AS x, a AS y") == []
    assert len(stages("SELECT 1 FROM u, (SELECT k, max(v + rand()) AS m FROM t GROUP BY k)")) == 1


def test_one_text_is_one_stage() -> None:
    assert len(stages(f"SELECT 1 FROM {GROUPS} AS x, {GROUPS} AS y")) == 1
    sql = printed(f"{AVERAGES} SELECT x.k FROM a AS x JOIN a AS y ON x.m < y.m")
    assert sql.count("avg(v)") == 1


def test_a_cte_that_became_a_stage_goes_unless_it_is_still_named() -> None:
    assert "a AS (" not in printed(f"{AVERAGES} SELECT x.k FROM a AS x, u")
    assert ", a AS (" in printed(f"{AVERAGES} SELECT x.k FROM a AS x, u WHERE u.w IN (SELECT m FROM a)")


def test_a_stage_has_all_that_it_needs() -> None:
    """The CTEs that its text names stand in it: in front of the statement they might mean something else."""
    sql = printed(
        "WITH b AS (SELECT k, v FROM t), a AS (SELECT k, max(v) AS m FROM b GROUP BY k)"
        " SELECT * FROM (WITH b AS (SELECT uid AS k FROM u) SELECT b.k, a.m FROM a, b)"
    )
    stage, _, _ = sql.partition("AS __dl___stage1 FROM (")[2].partition(") AS q)")
    assert stage.startswith("WITH b AS (SELECT k, v, t.__dl_t")


def test_two_ctes_of_one_name_travel_by_value() -> None:
    sql = (
        "WITH b AS (SELECT k FROM t), c AS (SELECT k FROM b) SELECT 1 FROM u, (WITH b AS (SELECT k FROM u)"
        " SELECT DISTINCT c.k FROM c JOIN b USING (k))"
    )
    assert stages(sql) == []


def test_stages_of_stages_come_in_order() -> None:
    sql = f"{AVERAGES}, b AS (SELECT u.k, max(m) AS mm FROM a, u GROUP BY u.k) SELECT 1 FROM b, u"
    first, second = stages(sql)
    assert first.carries == ("a set of ids of t",)
    assert second.carries == (f"a set of rows of {first.name}", "a set of ids of u")
    assert rewritten(sql).tables == ("t", "u")


def test_the_names_of_the_user_are_left_alone() -> None:
    assert "__stage2" in printed(f"SELECT __stage1.m FROM u JOIN {GROUPS} AS __stage1 USING (k)")


def test_column_names_behind_the_alias() -> None:
    sql = printed(f"SELECT * FROM u, {GROUPS} AS g(a, b)")
    assert "(SELECT * EXCEPT (__dl_t) FROM __stage1) AS g(a, b, __dl___stage1)" in sql
    assert "* EXCEPT (u.__dl_u, g.__dl___stage1)" in sql
    renamed = printed("WITH a(x, y) AS (SELECT k, max(v) FROM t GROUP BY k) SELECT x FROM u, a")
    assert "(WITH a(x, y, __dl_t) AS (" in renamed


def test_ids_are_looked_up_for_rows_that_are_returned() -> None:
    sql = printed(f"SELECT m FROM u JOIN {GROUPS} AS g USING (k) ORDER BY m LIMIT 3")
    assert sql.endswith("ORDER BY m LIMIT 3) AS __q2")
    assert "dl_compose(__q2.__dl___stage1, (SELECT dl_relation(__dl___stage1, __dl_t) AS dl FROM __stage1))" in sql


def test_a_stage_that_nobody_needs_is_left_out() -> None:
    """Under data semantics the right side of EXCEPT counts for nothing; its rows are read all the same."""
    sql = printed(f"SELECT k FROM t EXCEPT SELECT g.k FROM u, {GROUPS} AS g")
    assert sql.startswith("WITH __stage")
    assert "dl_relation" not in sql


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT u.uid, x.m FROM u, LATERAL (SELECT a.m FROM {GROUPS} AS a, t WHERE a.k = u.k) AS x",
        f"SELECT uid, (SELECT max(a.m) FROM {GROUPS} AS a, t WHERE a.k = u.k) AS x FROM u",
        "SELECT 1 FROM u, (SELECT u.k, max(v) AS n FROM u, LATERAL (SELECT v FROM t WHERE t.k = u.k) GROUP BY u.k)",
        "SELECT 1 FROM u, (SELECT k, count(*) AS n FROM t WHERE v NOT IN (SELECT sum(w) OVER () FROM u WHERE u.k = t.k)"
        " GROUP BY k) AS g",
        f"SELECT g.k || 'x' FROM u JOIN {GROUPS} AS g USING (k)",
    ],
    ids=(
        "inside LATERAL",
        "inside a correlated subquery",
        "over LATERAL",
        "over a correlated subquery with a window",
        "one side of USING, in a name of Spark's",
    ),
)
def test_where_spark_would_refuse_its_own_plan(sql: str) -> None:
    """It refuses chance in LATERAL and in correlated subqueries, and loses columns of LATERAL and USING."""
    assert stages(sql) == stages(sql, Semantics.CONTROL) == []


def test_a_name_that_only_looks_like_one_of_the_subquery() -> None:
    """x has no v, so that x.v is the row's outside: each row has its own answer."""
    sql = "SELECT id FROM t AS x WHERE EXISTS (SELECT 1 FROM (SELECT k FROM u) AS x WHERE x.v = 3)"
    assert stages(sql, Semantics.CONTROL) == []
    hidden = "WITH t AS (SELECT uid AS id FROM u) SELECT w FROM u AS o WHERE EXISTS (SELECT k FROM t GROUP BY k)"
    assert stages(hidden, Semantics.CONTROL) == []


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT DISTINCT id FROM t WHERE v > (SELECT max(w) FROM u, {GROUPS})",
        f"SELECT k, count(*) FROM t WHERE v > (SELECT max(w) FROM u, {GROUPS}) GROUP BY ALL",
        f"SELECT id, lag(v) OVER (ORDER BY v) FROM t WHERE v > (SELECT max(w) FROM u, {GROUPS})",
        f"SELECT k FROM t EXCEPT SELECT g.k FROM u, {GROUPS} AS g",
        f"SELECT id FROM t ANTI JOIN (SELECT g.k FROM u, {GROUPS} AS g WHERE m NOT IN (SELECT w FROM u)) USING (k)",
    ],
    ids=("DISTINCT", "GROUP BY ALL", "windows", "EXCEPT", "ANTI JOIN"),
)
def test_constants_that_are_grouped_are_values(sql: str) -> None:
    assert stages(sql, Semantics.CONTROL) == []


def test_what_lateral_reads_through_others_has_no_stage_and_the_rest_has() -> None:
    """The CTE that is read last is looked at first: a stage in one before it would cost the statement all of its."""
    held = f"WITH a AS (SELECT x.k FROM {GROUPS} AS x, u AS y), b AS (SELECT k FROM a), c AS (SELECT k FROM b) "
    lateral = "LATERAL (SELECT k FROM c WHERE c.k = u.k) AS l"
    assert len(stages(f"{held} SELECT l.*, g.m FROM u JOIN {GROUPS} AS g ON u.k = g.k, {lateral}")) == 1
