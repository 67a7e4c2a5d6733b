"""Laid-out SQL is the same SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from forward_lineage import rewrite_sql
from forward_lineage.catalog import Catalog
from forward_lineage.demo import Q1, Q4
from forward_lineage.frontend import layout
from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from forward_lineage.frontend.lexing import lex, meaningful
from forward_lineage.frontend.statement import parse
from tests.forward_lineage.frontend.plans import statements
from tpch_queries import names, query


@pytest.fixture(scope="module")
def catalog(tpch: Path) -> Catalog:
    return Catalog.from_parquet(tpch)


@pytest.mark.parametrize("name", names())
def test_tpch(name: str, catalog: Catalog) -> None:
    rewritten = rewrite_sql(query(name), catalog, "control")
    laid_out = layout(rewritten)
    assert laid_out.count("\n") > 3
    assert print_sql(sqlglot.parse_one(laid_out, dialect=FaithfulSpark)) == rewritten


def test_short_subqueries_stay_on_a_line() -> None:
    sql = (
        "SELECT a.x, b.z FROM (SELECT *, 1 AS y FROM t) AS a, (SELECT 2 AS z) AS b WHERE a.y = b.z AND (a.x OR NOT b.z)"
    )
    assert layout(sql).split("\n") == [
        "SELECT a.x, b.z",
        "FROM",
        "  (SELECT *, 1 AS y FROM t) AS a,",
        "  (SELECT 2 AS z) AS b",
        "WHERE a.y = b.z",
        "  AND (a.x OR NOT b.z)",
    ]


def test_long_subqueries_are_broken() -> None:
    inner = "SELECT first_of_many_columns, second_of_many_columns FROM some_table WHERE first_of_many_columns > 1"
    assert layout(f"SELECT * FROM ({inner}) AS a").split("\n") == [
        "SELECT *",
        "FROM",
        "  (SELECT first_of_many_columns, second_of_many_columns",
        "   FROM some_table",
        "   WHERE first_of_many_columns > 1) AS a",
    ]


@pytest.mark.parametrize("width", [72, 78, 88, 100])
@pytest.mark.parametrize("sql", [Q1, Q4])
def test_the_demo_has_no_line_that_a_terminal_would_wrap(sql: str, width: int) -> None:
    catalog = Catalog()
    catalog.register("store", ["s_id", "s_name", "city", "state"], key="s_id")
    catalog.register("item", ["i_id", "i_name", "category"], key="i_id")
    catalog.register("sales", ["t_id", "s_id", "i_id", "price", "num"], key="t_id")
    assert max(map(len, layout(rewrite_sql(sql, catalog), width).split("\n"))) <= width


@pytest.mark.parametrize("sql", list(statements()))
def test_laid_out_sql_has_the_same_tokens(sql: str) -> None:
    printed = print_sql(parse(sql).tree)
    assert [token.text for token in meaningful(lex(layout(printed)))] == [
        token.text for token in meaningful(lex(printed))
    ]


@pytest.mark.parametrize("sql", ["this is no SQL (", "SELECT 'a  b\n c' AS x, `two  blanks` FROM t", "SELECT 'it\\'s'"])
def test_what_must_not_change_does_not(sql: str) -> None:
    laid_out = layout(sql)
    for part in ("'a  b\n c'", "`two  blanks`", "'it\\'s'"):
        assert (part in sql) == (part in laid_out)
