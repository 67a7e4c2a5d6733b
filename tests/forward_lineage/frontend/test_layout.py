"""Laid-out SQL is the same SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from forward_lineage import rewrite_sql
from forward_lineage.catalog import Catalog
from forward_lineage.frontend import layout
from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
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
    sql = "SELECT a.x FROM (SELECT *, 1 AS y FROM t) AS a, (SELECT 2 AS z) AS b WHERE a.y = b.z"
    assert layout(sql) == (
        "SELECT\n  a.x\nFROM (SELECT *, 1 AS y FROM t) AS a,\n  (SELECT 2 AS z) AS b\nWHERE\n  a.y = b.z"
    )


@pytest.mark.parametrize("sql", ["this is no SQL (", "SELECT 'a  b\n c' AS x, `two  blanks` FROM t", "SELECT 'it\\'s'"])
def test_what_must_not_change_does_not(sql: str) -> None:
    laid_out = layout(sql)
    for part in ("'a  b\n c'", "`two  blanks`", "'it\\'s'"):
        assert (part in sql) == (part in laid_out)
