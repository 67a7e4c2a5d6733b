"""By reference is never another answer: the bytes are those of lineage by value, under every setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import Catalog, ForwardLineage
from forward_lineage.frontend import explain_sql, parse, rewrite_sql, rewrite_statement
from forward_lineage.frontend.rewriting import semantics_of
from forward_lineage.spark.settings import BY_REFERENCE
from rewrites import travel_costs
from rewrites.environment import Choice
from rewrites.options import Options
from tests.spark_settings import INTERPRETED, configured
from tests.tiers import every_day
from udafs.attach import attach
from udafs.errors import Position

GROUPS = "(SELECT k, max(v) AS m, count(*) AS n FROM t GROUP BY k)"
QUERIES = {
    "a global aggregate": (
        "WITH m AS (SELECT max(v) AS mx FROM t) SELECT u.k, sum(u.w) AS s FROM u, m WHERE u.w < m.mx GROUP BY u.k"
    ),
    "an average joined back": f"SELECT t.* FROM t JOIN {GROUPS} AS g USING (k) WHERE t.v >= g.m",
    "outer joins": f"SELECT u.uid, g.n FROM u FULL JOIN {GROUPS} AS g ON u.k = g.k AND u.w > g.m",
    "a CTE four times": (
        f"WITH g AS {GROUPS} SELECT a.k, b.m, c.n, d.n AS dn FROM g AS a JOIN g AS b ON a.k <= b.k"
        " LEFT JOIN g AS c ON c.k = a.k + 1 LEFT JOIN g AS d ON d.k = b.k + 1"
    ),
    "DISTINCT": "SELECT u.uid, d.v FROM u JOIN (SELECT DISTINCT k, v FROM t) AS d USING (k)",
    "UNION": "SELECT u.uid, d.x FROM u JOIN (SELECT k, v AS x FROM t UNION SELECT k, w FROM u) AS d USING (k)",
    "nested three deep": (
        f"WITH a AS {GROUPS}, b AS (SELECT u.k, sum(a.m) AS s FROM u JOIN a ON u.k = a.k GROUP BY u.k),"
        " c AS (SELECT b.s % 3 AS r, count(*) AS c FROM b, a GROUP BY 1)"
        " SELECT * FROM c JOIN b ON c.c > b.k ORDER BY c.r, b.k LIMIT 7"
    ),
    "a running total": "SELECT k, sum(sum(v)) OVER (ORDER BY k) AS r FROM t GROUP BY k",
    "frames of rows": (
        "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a,"
        " min(v) OVER (PARTITION BY k ORDER BY id DESC ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS b,"
        " max(v) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) AS c FROM t"
    ),
    "frames of values": (
        "SELECT id, count(*) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS a,"
        " count(*) OVER (PARTITION BY k % 2) AS b, count(*) OVER () AS c, count(*) OVER (PARTITION BY NULL) AS d FROM t"
    ),
    "a window joined back": (
        "SELECT u.uid, x.r FROM u JOIN (SELECT id, k, sum(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t) AS x"
        " ON u.k = x.k AND x.r > u.w"
    ),
    "a window grouped": (
        "SELECT k, max(r) AS m FROM (SELECT k, sum(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t) GROUP BY k"
    ),
    "a window over a window": (
        "SELECT id, sum(r) OVER (ORDER BY id) AS s FROM (SELECT id, avg(v) OVER (PARTITION BY k) AS r FROM t)"
    ),
    "in sides of UNION ALL": (
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY id) AS r FROM t"
        " UNION ALL SELECT u.k, m FROM u, (SELECT max(v) AS m FROM t)"
    ),
    "IN and EXISTS": (
        f"SELECT uid, g.n, (SELECT count(*) FROM t) AS c FROM u JOIN {GROUPS} AS g ON g.n >= u.uid"
        f" WHERE u.k IN (SELECT g.k FROM {GROUPS} AS g JOIN t ON g.k = t.k WHERE g.m > t.v)"
        " AND EXISTS (SELECT 1 FROM (SELECT k, rank() OVER (ORDER BY v) AS r FROM t) AS x WHERE x.k = u.k AND x.r < 9)"
    ),
    "a CTE that a subquery reads, too": (
        f"WITH c AS (SELECT t.id, g.m FROM t JOIN {GROUPS} AS g ON t.k = g.k)"
        f" SELECT c.id, d.n FROM c JOIN {GROUPS} AS d ON c.m = d.m WHERE c.id IN (SELECT max(id) FROM c GROUP BY m)"
    ),
    "keys that are NULL or not numbers": (
        "SELECT a.f, b.s FROM"
        " (SELECT CASE WHEN k > 1 THEN 0.0D WHEN k > 0 THEN -0.0D END AS f, count(*) AS n FROM t GROUP BY 1) AS a"
        " JOIN (SELECT CASE WHEN k > 1 THEN 'NaN' END AS s, sum(v) OVER (PARTITION BY CASE WHEN k > 1 THEN"
        " double('NaN') WHEN k > 0 THEN -0.0D ELSE 0.0D END ORDER BY id) AS r FROM t) AS b ON a.n <= b.r"
    ),
}
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "not adaptive": {"spark.sql.adaptive.enabled": "false"},
    "every use computed anew": {"spark.sql.exchange.reuse": "false", "spark.sql.execution.reuseSubquery": "false"},
    "interpreted, no broadcast": {**INTERPRETED, "spark.sql.autoBroadcastJoinThreshold": "-1"},
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[tuple[SparkSession, Catalog]]:
    """t(id, k, v) and u(uid, k, w) in four partitions, with ties and NULLs."""
    session = spark.newSession()
    attach(session)
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.range(0, 60, 1, 4).selectExpr(
        "id", "nullif(id * 7 % 6, 5) AS k", "nullif(id * 13 % 11, 10) AS v"
    ).createTempView("t")
    session.range(0, 20, 1, 4).selectExpr("id AS uid", "id % 5 AS k", "id * 3 % 7 AS w").createTempView("u")
    catalog = Catalog()
    catalog.register("t", ["id", "k", "v"], key="id")
    catalog.register("u", ["uid", "k", "w"], key="uid")
    yield session, catalog


def rows(session: SparkSession, sql: str) -> list[str]:
    return sorted(str(tuple(row)) for row in session.sql(sql).collect())


CASES = [
    *((query, semantics, "as it is") for query in QUERIES for semantics in ("data", "control")),
    *((query, "control", setting) for query in ("nested three deep", "frames of rows") for setting in SETTINGS),
]


# "not adaptive" is what the session of the suite is, anyhow.
DAILY_SETTINGS = [("nested three deep", "control", each) for each in SETTINGS if each != "not adaptive"]
OTHER_UNDER_CONTROL = ("frames of rows", "IN and EXISTS", "a CTE that a subquery reads, too")  # the texts that run


@pytest.mark.parametrize(
    ("query", "semantics", "setting"),
    every_day(
        dict.fromkeys(CASES),
        lambda case: (
            case[1] == "data" or case in DAILY_SETTINGS or (case[0] in OTHER_UNDER_CONTROL and case[2] == "as it is")
        ),
    ),
)
def test_the_lineage_is_that_by_value(
    tables: tuple[SparkSession, Catalog], query: str, semantics: str, setting: str
) -> None:
    session, catalog = tables
    statement = parse(QUERIES[query])
    value = rewrite_statement(statement, catalog, Options(semantics_of(semantics), by_reference=False))
    reference = rewrite_statement(statement, catalog, semantics)
    assert "__stage" in reference.sql
    assert "__stage" not in value.sql
    assert reference.tables == value.tables
    with configured(session, SETTINGS[setting]):
        found = rows(session, reference.sql)
        assert found == rows(session, value.sql)
        plain = [str(tuple(row)) for row in session.sql(QUERIES[query]).collect()]
        assert len(found) == len(plain) > 0


def _by_turns(monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    """Let the n-th place of a statement be copied if the n-th bit says so, whatever it costs."""

    def copies(at: Position | None) -> Choice:
        nonlocal turns
        turns, now = turns >> 1, turns & 1
        return Choice(at, by_value=bool(now))

    monkeypatch.setattr(travel_costs, "of_source", lambda rows, item, block, at: copies(at))
    monkeypatch.setattr(travel_costs, "of_windows", lambda block, at: replace(copies(at), window=True))
    monkeypatch.setattr("rewrites.driver.better_apart", lambda choices: frozenset())


MIXED = [(query, turns) for query in QUERIES for turns in (1, 2, 5, 6)]


@pytest.mark.parametrize(
    ("query", "turns"),
    every_day(
        MIXED,
        [("nested three deep", 1), ("nested three deep", 6), ("a CTE four times", 5), ("a window over a window", 2)],
    ),
)
def test_some_places_by_value_and_some_by_reference(
    tables: tuple[SparkSession, Catalog], monkeypatch: pytest.MonkeyPatch, query: str, turns: int
) -> None:
    session, catalog = tables
    statement = parse(QUERIES[query])
    value = rewrite_statement(statement, catalog, Options(by_reference=False))
    _by_turns(monkeypatch, turns)
    mixed = rewrite_statement(statement, catalog, Options(weighs=True))
    assert "no stage" in str(mixed.steps[-1]) or "__stage" in mixed.sql
    assert rows(session, mixed.sql) == rows(session, value.sql)


def test_lineage_that_nobody_selects_is_not_computed(tables: tuple[SparkSession, Catalog]) -> None:
    session, catalog = tables
    frame = session.sql(rewrite_sql(QUERIES["an average joined back"], catalog)).drop("DL")
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "dlunion" not in plan
    assert "dl_relation" not in plan
    assert "REBALANCE" not in plan  # nor is it shared with a lookup that there is not


@pytest.mark.parametrize(
    "query", every_day(QUERIES, ["a CTE four times", "frames of values", "in sides of UNION ALL", "IN and EXISTS"])
)
def test_rows_without_their_lineage_are_the_querys(tables: tuple[SparkSession, Catalog], query: str) -> None:
    session, catalog = tables
    found = session.sql(rewrite_sql(QUERIES[query], catalog)).drop("DL")
    assert sorted(map(str, found.collect())) == sorted(map(str, session.sql(QUERIES[query]).collect()))


def test_positional_parameters_stay_where_they_are(tables: tuple[SparkSession, Catalog]) -> None:
    """`rewrite_sql` has no say in how values are given; the session has."""
    _, catalog = tables
    sql = "SELECT ? AS a, g.m FROM u JOIN (SELECT k, max(v) AS m FROM t WHERE v < ? GROUP BY k) AS g USING (k)"
    assert "__stage" not in rewrite_sql(sql, catalog)
    assert "__stage" in rewrite_sql(sql.replace("? AS a", "1 AS a"), catalog)


def test_what_is_evaluated_for_each_row_refers_to_no_stage(tables: tuple[SparkSession, Catalog]) -> None:
    session, catalog = tables
    inner = f"SELECT t.id, g.m FROM t JOIN {GROUPS} AS g ON t.k = g.k"
    sql = f"SELECT u.uid FROM u LEFT SEMI JOIN ({inner}) AS q ON q.id = u.uid"
    control = rewrite_sql(sql, catalog, "control")  # which reads the matching rows once more, for each row of u
    assert "__stage" not in control
    assert rows(session, control)
    assert "__stage" in rewrite_sql(sql.replace("LEFT SEMI JOIN", "JOIN"), catalog, "control")


class TestInASession:
    SQL = f"SELECT t.id FROM t JOIN {GROUPS} AS g USING (k) WHERE t.v >= g.m ORDER BY id"

    @pytest.fixture
    def session(self, spark: SparkSession, lineage: ForwardLineage) -> Iterator[ForwardLineage]:
        spark.range(40).selectExpr("id", "id % 3 AS k", "id * 7 % 5 AS v").write.saveAsTable("t")
        lineage.register("t", key="id")
        yield lineage
        spark.sql("DROP TABLE t")

    def test_explain(self, session: ForwardLineage) -> None:
        first, last = session.explain(self.SQL).splitlines()
        assert first.startswith("__stage1 (line 1, column ")
        assert first.endswith(": computed once, read 2 times; each row carries a set of ids of t")
        assert last == "result: each row carries one id of t; one row of __stage1"
        assert session.explain("SELECT 1 AS a") == "result: each row carries nothing: no table is traced"

    def test_the_session_may_want_values(self, session: ForwardLineage, spark: SparkSession) -> None:
        by_reference = session.sql(self.SQL).collect()
        for setting in ({BY_REFERENCE: "false"}, {"spark.sql.exchange.reuse": "false"}):
            with configured(spark, setting):
                assert "__stage" not in session.explain(self.SQL)
                assert session.sql(self.SQL).collect() == by_reference

    def test_the_session_weighs(self, session: ForwardLineage, spark: SparkSession, tmp_path: Path) -> None:
        """By the rows of files; of a table of Spark's own catalog none are known here."""
        spark.range(40).selectExpr("id", "id % 3 AS k", "id * 7 % 5 AS v").write.parquet(str(tmp_path / "f"))
        session.register("f", path=tmp_path / "f")
        sql = self.SQL.replace(" t ", " f ").replace("t.", "f.")
        wanted = session.sql(sql).collect()
        with configured(spark, {BY_REFERENCE: "auto"}):
            told = session.explain(sql)
            assert "by value, as about" in told
            assert "__stage" not in told
            assert session.sql(sql).collect() == wanted
            assert "__stage" not in session.rewrite(sql)
            saved = session.save(sql, "kept")
            assert session.backward(saved.name, rows=[0]).count() > 0
        assert "__stage1" in session.explain(sql)

    def test_saved_asked_and_affected(self, session: ForwardLineage) -> None:
        saved = session.save(self.SQL, "best")
        wanted = {
            row.id: [other for other in range(40) if other % 3 == row.id % 3] for row in session.sql(self.SQL).collect()
        }
        assert saved.rows == len(wanted)
        for number, made_of in enumerate(wanted.values()):
            assert sorted(row.id for row in session.backward("best", rows=[number]).collect()) == made_of
        affected = session.affected(self.SQL, "t", "id = 3")
        assert {row.id for row in affected.collect()} == {best for best, made_of in wanted.items() if 3 in made_of}


def test_explain_without_a_session(tables: tuple[SparkSession, Catalog]) -> None:
    _, catalog = tables
    assert (
        explain_sql(QUERIES["a running total"], catalog)
        .splitlines()[-1]
        .startswith("result: each row carries one row of")
    )
