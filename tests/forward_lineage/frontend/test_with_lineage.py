"""WITH LINEAGE at the end of a statement: what it is, and what it is not."""

from __future__ import annotations

import pytest

from forward_lineage import Catalog, rewrite_sql
from forward_lineage.frontend import asks_for_lineage, parse, without_request

ASKED = [
    "SELECT a FROM t WITH LINEAGE",
    "SELECT a FROM t with lineage ;; -- now",
    "SELECT a FROM t WITH /* the */ LINEAGE",
    "SELECT a FROM t WHERE a = 'x' WITH LINEAGE",
    "SELECT a FROM t ORDER BY `a` WITH LINEAGE",
    "SELECT a FROM t LIMIT 3 WITH LINEAGE",
    "SELECT a FROM (SELECT a FROM t) WITH LINEAGE",
    "SELECT a FROM t GROUP BY a LINEAGE ON b WITH LINEAGE",
    "CREATE TABLE u AS SELECT a FROM t WITH LINEAGE",
    "INSERT INTO u VALUES (1) WITH LINEAGE",
]
NOT_ASKED = [
    "SELECT a FROM t",
    "SELECT 'WITH LINEAGE'",
    "SELECT a FROM t -- WITH LINEAGE",
    "SELECT a AS `WITH LINEAGE` FROM t",
    "SELECT with lineage",  # a column and its alias
    "SELECT a, with lineage",
    "SELECT * FROM with lineage",  # a table and its alias
    "SELECT * FROM t CROSS JOIN with lineage",
    "SELECT a + with lineage",
    "SELECT (SELECT a FROM t WITH LINEAGE)",
    "WITH LINEAGE AS (SELECT 1) SELECT * FROM LINEAGE",
    "WITH LINEAGE",
    "SELECT * FROM t JOIN u LINEAGE ON LINEAGE.a = t.a",
    "SELECT 'open WITH LINEAGE",
]


@pytest.mark.parametrize("sql", ASKED)
def test_a_request_for_lineage_is_taken_off_the_text(sql: str) -> None:
    assert asks_for_lineage(sql)
    before = without_request(sql)
    assert before == sql[: len(before)]
    assert "WITH" not in before.upper()
    assert not asks_for_lineage(before) or "LINEAGE ON" in before


@pytest.mark.parametrize("sql", NOT_ASKED)
def test_not_asked(sql: str) -> None:
    assert not asks_for_lineage(sql)
    assert without_request(sql) == sql


@pytest.mark.parametrize("sql", ["SELECT a FROM t LINEAGE ON a", "SELECT a FROM t LINEAGE ON", "LINEAGE ON a"])
def test_lineage_on_asks(sql: str) -> None:
    assert asks_for_lineage(sql)
    assert without_request(sql) == sql


@pytest.mark.parametrize("sql", ["SELECT a FROM t", "SELECT a FROM t LINEAGE ON a", "SELECT a FROM t ORDER BY a"])
def test_it_says_nothing_where_lineage_is_traced_anyhow(sql: str) -> None:
    catalog = Catalog()
    catalog.register("t", ["a", "b"], key="b")
    assert rewrite_sql(f"{sql} WITH LINEAGE;", catalog) == rewrite_sql(sql, catalog)


def test_the_text_is_what_stands_before() -> None:
    statement = parse("SELECT a FROM t LINEAGE ON a WITH LINEAGE;")
    assert statement.text == "SELECT a FROM t"
    assert [each.sql() for each in statement.lineage_on or ()] == ["a"]
