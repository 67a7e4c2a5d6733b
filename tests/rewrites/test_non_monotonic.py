"""Which rows may come into a query, and which of its values may change, when base rows are gone."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.environment import Environment, Semantics
from rewrites.non_monotonic import Shape, shape_of
from tests.rewrites.plain_tables import TABLES, read

ENV = Environment(TABLES, Semantics.CONTROL, lambda query, env: pytest.fail("nothing is rewritten"), read)


def shape(sql: str) -> Shape:
    query = read(sql)
    assert isinstance(query, exp.Query)
    return shape_of(query, ENV)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t, u WHERE t.k = u.k AND v < 3",
        "SELECT k FROM t WHERE k IN (SELECT k FROM u) AND (v = 1 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k))",
        "SELECT DISTINCT k FROM t ORDER BY v LIMIT 3",
        "SELECT k FROM t UNION SELECT k FROM u INTERSECT SELECT w FROM u",
        "SELECT k FROM t LEFT SEMI JOIN u USING (k)",
        "SELECT t.k FROM t LATERAL VIEW explode(array(v)) e AS x WHERE x > 2",
        "SELECT k FROM (SELECT k, v + 1 AS x FROM t) WHERE x > 2",
        "SELECT * FROM VALUES (1), (2)",
        "WITH c AS (SELECT k FROM t) SELECT k FROM c WHERE k > 1",
    ],
)
def test_nothing_may_change(sql: str) -> None:
    assert shape(sql) == Shape()


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT k, sum(v) AS s FROM t GROUP BY k", {"s"}),
        ("SELECT k, sum(v) AS s FROM t GROUP BY k HAVING k > 1 ORDER BY k LIMIT 2", {"s"}),
        ("SELECT k, row_number() OVER (ORDER BY v) AS n FROM t", {"n"}),
        ("SELECT k, (SELECT max(w) FROM u) AS m, v FROM t", {"m"}),
        ("SELECT id, w AS x FROM t LEFT JOIN u ON u.k = t.k", {"x"}),
        ("SELECT id, w FROM t LEFT JOIN u ON u.k = t.k WHERE u.w = 3", {"w"}),
        ("SELECT s + 1 AS r, k FROM (SELECT k, sum(v) AS s FROM t GROUP BY k)", {"r"}),
        ("SELECT * FROM (SELECT k, sum(v) AS s FROM t GROUP BY k) WHERE k > 1", {"s"}),
        ("SELECT count(*) AS n, n + 1 AS m FROM t", {"n", "m"}),
        ("SELECT k, row_number() OVER (ORDER BY 1) AS n FROM t", {"n"}),
        ("WITH c AS (SELECT k, count(*) AS n FROM t GROUP BY k) SELECT x.k, x.n FROM c x", {"n"}),
    ],
)
def test_values_may_change(sql: str, names: set[str]) -> None:
    assert shape(sql) == Shape(fleeting=frozenset(names))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM t GROUP BY k UNION ALL SELECT 1",
        "SELECT q.b FROM (SELECT k, sum(v) FROM t GROUP BY k) AS q(a, b)",
        "SELECT * FROM t PIVOT (sum(v) FOR k IN ('a'))",
    ],
)
def test_values_may_change_and_nothing_says_which(sql: str) -> None:
    assert shape(sql) == Shape(fleeting=None) or shape(sql) == Shape(fleeting=frozenset({"b"}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM t WHERE k NOT IN (SELECT k FROM u)",
        "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
        "SELECT k FROM t WHERE v > (SELECT avg(w) FROM u)",
        "SELECT k FROM t WHERE k IN (SELECT k FROM u WHERE w NOT IN (SELECT v FROM t))",
        "SELECT k FROM t WHERE v IN (SELECT count(*) FROM u GROUP BY k)",
        "SELECT k FROM t GROUP BY k HAVING count(*) < 3",
        "SELECT k, count(*) AS n FROM t GROUP BY k HAVING n < 3",
        "SELECT k FROM t QUALIFY row_number() OVER (ORDER BY v) = 1",
        "SELECT k FROM t EXCEPT SELECT k FROM u",
        "SELECT k FROM t LEFT ANTI JOIN u USING (k)",
        "SELECT k FROM t ORDER BY v OFFSET 2",
        "SELECT k FROM t GROUP BY k ORDER BY sum(v) LIMIT 1",
        "SELECT k, sum(v) AS s FROM t GROUP BY k ORDER BY 2 LIMIT 1",
        "SELECT k FROM (SELECT k, sum(v) AS s FROM t GROUP BY k) WHERE s < 3",
        "SELECT 1 FROM u JOIN (SELECT k, sum(v) AS s FROM t GROUP BY k) q ON q.s = u.w",
        "SELECT 1 FROM u NATURAL JOIN (SELECT k, sum(v) AS w FROM t GROUP BY k) q",
        "SELECT t.k FROM t LEFT JOIN u ON u.k = t.k WHERE u.uid IS NULL",
        "SELECT k FROM (SELECT k FROM t WHERE k NOT IN (SELECT k FROM u))",
        "SELECT j.id FROM (t LEFT JOIN u ON u.k = t.k) AS j WHERE j.uid IS NULL",
        "WITH c AS (SELECT k, count(*) AS n FROM t GROUP BY k), d AS (SELECT k FROM c WHERE n = 1) SELECT k FROM d",
        "SELECT sum(v) AS s FROM t GROUP BY k INTERSECT SELECT w FROM u",
        "(SELECT k FROM t) ORDER BY k OFFSET 1",
    ],
)
def test_rows_may_come_in(sql: str) -> None:
    assert shape(sql).open


def test_a_chain_of_ctes_takes_no_time_to_speak_of() -> None:
    chain = ", ".join(f"c{n} AS (SELECT x.k FROM c{n - 1} x, c{n - 1} y)" for n in range(1, 40))
    assert not shape(f"WITH c0 AS (SELECT k FROM t), {chain} SELECT k FROM c39").open
