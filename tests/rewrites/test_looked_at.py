"""What a subquery looked at: the queries whose lineage counts; `tests/golden/fixtures/looked_at.golden` runs them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.environment import Environment, Semantics
from rewrites.looked_at import looked_at
from tests.rewrites.plain_tables import TABLES, printed, read
from udafs.errors import NotTracedError

ENV = Environment(TABLES, Semantics.CONTROL, lambda query, env: pytest.fail("nothing is rewritten"), read)


def looks(sql: str) -> list[str]:
    query = read(sql)
    assert isinstance(query, exp.Query)
    before = query.copy()
    found = [print_sql(each) for each, _ in looked_at(query, ENV)]
    assert query == before
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM t WHERE v < 3",
        "SELECT sum(v) AS s FROM t WHERE k IN (SELECT k FROM u)",
        "SELECT k FROM t LIMIT 1",
    ],
)
def test_a_query_that_nothing_can_come_into_is_all_there_is(sql: str) -> None:
    assert looks(sql) == [sql]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT k FROM t WHERE v = 1 GROUP BY k HAVING count(*) < 3", ["SELECT k FROM t WHERE v = 1 GROUP BY k"]),
        ("SELECT k FROM t QUALIFY row_number() OVER (ORDER BY v) = 1", ["SELECT k FROM t"]),
        ("SELECT k FROM t ORDER BY v LIMIT 1 OFFSET 2", ["SELECT k FROM t"]),
        ("SELECT k FROM t EXCEPT SELECT k FROM u", ["SELECT k FROM t", "SELECT k FROM u"]),
        (
            "SELECT k FROM t LEFT ANTI JOIN u USING (k)",
            ["SELECT * FROM u", "SELECT k FROM t LEFT ANTI JOIN u USING (k)"],
        ),
        (
            "SELECT t.k FROM t LEFT JOIN u ON u.k = t.k WHERE w IS NULL AND v = 1",
            ["SELECT t.k FROM t LEFT JOIN u ON u.k = t.k WHERE v = 1"],
        ),
        (
            "SELECT k FROM t WHERE v = 1 AND k NOT IN (SELECT k FROM u)",
            ["SELECT k FROM t WHERE v = 1 AND (NOT (k NOT IN (SELECT k FROM u)) IS NULL OR TRUE)"],
        ),
        (
            "SELECT k FROM u, (SELECT k AS q, sum(v) AS s FROM t GROUP BY k) WHERE s < w",
            [
                "SELECT * FROM (SELECT k AS q, sum(v) AS s FROM t GROUP BY k)",
                "SELECT k FROM u, (SELECT k AS q, sum(v) AS s FROM t GROUP BY k) WHERE s < w",
            ],
        ),
        (
            "SELECT 1 FROM t JOIN u ON t.k = u.k AND v NOT IN (SELECT w FROM u)",
            ["SELECT 1 FROM t JOIN u ON t.k = u.k AND (NOT (v NOT IN (SELECT w FROM u)) IS NULL OR TRUE) AND TRUE"],
        ),
        (
            "SELECT 1 FROM t LEFT JOIN u ON t.k = u.k LEFT ANTI JOIN t y ON y.k = t.k AND u.w IS NULL",
            ["SELECT * FROM t AS y", "SELECT 1 FROM t LEFT JOIN u ON t.k = u.k LEFT ANTI JOIN t AS y ON FALSE"],
        ),
        (
            "SELECT j.id FROM (t LEFT JOIN u ON u.k = t.k) AS j WHERE j.uid IS NULL",
            ["SELECT * FROM (t LEFT JOIN u ON u.k = t.k) AS j"],
        ),
        (
            "WITH c AS (SELECT k FROM t GROUP BY k HAVING count(*) = 1) SELECT k FROM c",
            ["SELECT k FROM t GROUP BY k"],
        ),
    ],
)
def test_what_keeps_rows_out(sql: str, found: list[str]) -> None:
    assert looks(sql) == found


def test_each_source_counts_once() -> None:
    opens = ", ".join(
        f"c{n} AS (SELECT x.k FROM c{n - 1} x, c{n - 1} y WHERE x.k NOT IN (SELECT k FROM u))" for n in range(1, 12)
    )
    assert len(looks(f"WITH c0 AS (SELECT k FROM t), {opens} SELECT k FROM c11")) < 40


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("SELECT 1 FROM t LEFT ANTI JOIN u ON t.k = u.k AND t.v NOT IN (SELECT w FROM u)", "in ON of an anti join"),
        ("SELECT n FROM u, LATERAL (SELECT count(*) AS n FROM t WHERE t.k = u.k) WHERE n < 2", "LATERAL in a subquery"),
    ],
)
def test_what_cannot_be_told_apart(sql: str, complaint: str) -> None:
    with pytest.raises(NotTracedError, match=complaint):
        looks(sql)


def test_a_name_that_is_hidden_where_the_cte_is_read_again() -> None:
    inner = "WITH u AS (SELECT k FROM t) SELECT k FROM t WHERE k NOT IN (SELECT k FROM c)"
    sql = f"WITH c AS (SELECT k FROM u GROUP BY k HAVING count(*) < 2) SELECT k FROM ({inner})"
    with pytest.raises(NotTracedError, match="a WITH clause hides u, which c reads"):
        printed(sql, Semantics.CONTROL)
