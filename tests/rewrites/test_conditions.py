"""Conditions as trees: conjuncts, what subqueries are asked, which conditions NULL cannot satisfy."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.conditions import asks_for_presence, conjuncts, is_strict, subqueries_in
from tests.rewrites.plain_tables import read

Q = "(SELECT k FROM u)"


def condition(sql: str) -> exp.Expr:
    found = read(f"SELECT 1 FROM t WHERE {sql}").args["where"].this
    assert isinstance(found, exp.Expr)
    return found


def test_conjuncts_go_through_parentheses() -> None:
    assert [each.sql() for each in conjuncts(condition("(a AND (b OR c)) AND ((d AND e))"))] == [
        "a",
        "(b OR c)",
        "d",
        "e",
    ]
    assert list(conjuncts(None)) == []


@pytest.mark.parametrize(
    "sql",
    [f"k IN {Q}", f"EXISTS {Q}", f"k = ANY {Q}", f"(v = 1 OR k IN {Q})", f"v = 1 AND (k IN {Q} OR (v = 2 AND w = 3))"],
)
def test_asked_whether_a_row_is_there(sql: str) -> None:
    whole = condition(sql)
    (query,) = subqueries_in(whole)
    assert asks_for_presence(query, whole)


@pytest.mark.parametrize(
    "sql",
    [
        f"k NOT IN {Q}",
        f"NOT EXISTS {Q}",
        f"k > {Q}",
        f"{Q} IN (1, 2)",
        f"(k IN {Q}) IS NULL",
        f"CASE WHEN k IN {Q} THEN true END",
        f"coalesce(k IN {Q}, true)",
        f"NOT (v = 1 OR k IN {Q})",
        f"(k IN {Q}) = false",
        f"k > ALL {Q}",
    ],
)
def test_asked_for_more(sql: str) -> None:
    whole = condition(sql)
    (query,) = subqueries_in(whole)
    assert not asks_for_presence(query, whole)


@pytest.mark.parametrize(
    "sql", ["a = 1", "(a < b + 2)", "a BETWEEN 1 AND 3", "a LIKE 'x'", "a IS NOT NULL", "-a <> b * 2", "NOT a = 1"]
)
def test_what_null_cannot_satisfy(sql: str) -> None:
    assert is_strict(condition(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "a IS NULL",
        "a <=> b",
        "coalesce(a, 1) = 1",
        "a = 1 OR b = 2",
        "NOT (a = 1 OR b = 2)",
        "a = 1 IS NULL",
        f"a = {Q}",
        "a IN (1)",
    ],
)
def test_what_null_may_satisfy(sql: str) -> None:
    assert not is_strict(condition(sql))
