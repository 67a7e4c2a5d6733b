"""Rows let in: which conditions are made true; `tests/golden/fixtures/kept_out_rows.golden` runs the rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.environment import Environment, Semantics
from rewrites.filtered_rows import let_in
from rewrites.readings import base_tables
from tests.rewrites.plain_tables import TABLES, read
from udafs.errors import NotTracedError

ENV = Environment(TABLES, Semantics.CONTROL, lambda query, env: pytest.fail("nothing is rewritten"), read)
NONE = "NOT EXISTS(SELECT 1 FROM t WHERE t.k = u.k)"
ASKED = "(NOT (NOT EXISTS(SELECT 1 FROM t WHERE t.k = u.k)) IS NULL OR TRUE)"


def loosened(sql: str, *keys: str, elsewhere: str = "SELECT 1", always: bool = True) -> str | None:
    """The query with further rows let in; None: there are none. `elsewhere`: what else the statement reads."""
    query = read(sql)
    assert isinstance(query, exp.Select)
    before = query.copy()
    env = replace(ENV, readings=base_tables(query, ENV) + base_tables(read(elsewhere), ENV))
    if let_in(query, env, [read(key) for key in keys], always=always):
        return print_sql(query)
    assert query == before
    return None


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (f"SELECT 1 FROM u WHERE w > 1 AND {NONE}", f"SELECT 1 FROM u WHERE w > 1 AND {ASKED}"),
        (f"SELECT 1 FROM (SELECT w FROM u WHERE {NONE}) AS x", f"SELECT 1 FROM (SELECT w FROM u WHERE {ASKED}) AS x"),
        ("SELECT 1 FROM u LEFT JOIN t ON t.k = u.k WHERE t.id IS NULL", "SELECT 1 FROM u LEFT JOIN t ON t.k = u.k"),
        ("SELECT 1 FROM u LEFT ANTI JOIN t ON t.k = u.k", f"SELECT 1 FROM u WHERE {ASKED.replace('1', '*')}"),
        (
            "SELECT 1 FROM u LEFT ANTI JOIN t ON t.k = u.k JOIN u AS x",
            f"SELECT 1 FROM u JOIN u AS x WHERE {ASKED.replace('1', '*')}",
        ),
        (
            "SELECT 1 FROM u LEFT ANTI JOIN t ON id = uid JOIN u AS x",
            "SELECT 1 FROM u LEFT SEMI JOIN t ON TRUE JOIN u AS x",
        ),
        ("SELECT 1 FROM u LEFT ANTI JOIN t USING (k)", "SELECT 1 FROM u LEFT SEMI JOIN t ON TRUE"),
        ("SELECT 1 FROM u NATURAL LEFT ANTI JOIN t", "SELECT 1 FROM u LEFT SEMI JOIN t ON TRUE"),
        (f"SELECT 1 FROM u JOIN t AS x ON {NONE}", f"SELECT 1 FROM u JOIN t AS x ON {ASKED} AND TRUE"),
    ],
)
def test_let_in(sql: str, found: str) -> None:
    assert loosened(sql, elsewhere="SELECT * FROM u") == found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM u WHERE w > 1",
        "SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.k = u.k)",
        "SELECT 1 FROM u WHERE w NOT IN (SELECT v FROM t)",
        "SELECT 1 FROM u JOIN t ON t.k = u.k WHERE t.v > (SELECT max(x.v) FROM t AS x)",
        f"SELECT 1 FROM (SELECT count(*) AS n FROM u WHERE {NONE}) AS x",
        f"SELECT 1 FROM (SELECT w FROM u WHERE {NONE} ORDER BY w LIMIT 1) AS x",
    ],
)
def test_nothing_to_let_in(sql: str) -> None:
    assert loosened(sql, elsewhere="SELECT * FROM u") is None


def test_a_subquery_that_nobody_may_have_asked_does_not_count_as_a_whole() -> None:
    alone = "SELECT w FROM u WHERE w NOT IN (SELECT v FROM t)"
    assert loosened(alone, elsewhere="SELECT * FROM u") is None
    assert loosened(alone, elsewhere="SELECT * FROM u", always=False) is not None
    for sql in (
        f"SELECT 1 FROM (SELECT w FROM u UNION ALL {alone}) AS x",
        f"SELECT 1 FROM t AS y LEFT JOIN ({alone}) AS x ON x.w = y.v",
    ):
        assert loosened(sql, elsewhere="SELECT * FROM u") is not None


def test_what_is_read_once_is_in_no_lineage() -> None:
    sql = f"SELECT 1 FROM u WHERE {NONE}"
    assert loosened(sql) is None
    assert loosened(sql, elsewhere="SELECT * FROM t") is None
    assert loosened(sql, elsewhere="SELECT * FROM u") is not None


def test_rows_of_a_table_that_is_not_traced_are_always_there() -> None:
    assert loosened("SELECT 1 FROM range(3) AS r WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.v = r.id)") is not None


def test_a_condition_on_the_key_has_one_answer_for_a_group() -> None:
    sql = "SELECT 1 FROM t WHERE k IN (SELECT x.k FROM t AS x GROUP BY x.k HAVING sum(x.v) < 3)"
    assert loosened(sql, "k") is None
    assert loosened(sql, "v") is not None


@pytest.mark.parametrize(
    "asks", ["w NOT IN (SELECT v FROM t WHERE t.k = u.k)", "w > (SELECT max(v) FROM t WHERE t.k = u.k)"]
)
def test_a_subquery_in_parentheses_that_mentions_the_row_does_not_stand_alone(asks: str) -> None:
    assert loosened(f"SELECT 1 FROM u WHERE {asks}", "w", elsewhere="SELECT * FROM u") is not None


def test_a_name_that_would_mean_something_else_is_refused() -> None:
    text = read(f"SELECT w FROM u WHERE {NONE}")
    assert isinstance(text, exp.Query)
    other = read("WITH u AS (SELECT * FROM t), c AS (SELECT 1 AS k) SELECT 1 FROM (SELECT 1 FROM u JOIN c) AS x")
    assert other is not None
    sql = f"WITH c AS (SELECT w FROM u WHERE {NONE}), u AS (SELECT 1 AS w) SELECT 1 FROM c JOIN u"
    with pytest.raises(NotTracedError, match="hides u"):
        loosened(sql, elsewhere="SELECT * FROM u")
