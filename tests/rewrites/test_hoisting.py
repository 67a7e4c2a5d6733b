"""One row with the lineage of all rows of a subquery."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed


def hoisted(subquery: str) -> str:
    """What the lineage of `u` is in SELECT … WHERE k IN (subquery), by value."""
    sql = printed(f"SELECT id FROM t WHERE k IN ({subquery})", Semantics.CONTROL, by_reference=False)
    return sql[sql.index("'u', ") : sql.index(") AS DL")]


@pytest.mark.parametrize(
    "subquery",
    ["SELECT k FROM u WHERE w > 1", "SELECT k FROM u ORDER BY w", "SELECT k FROM u GROUP BY k", "SELECT max(k) FROM u"],
)
def test_a_plain_block_aggregates_where_it_stands(subquery: str) -> None:
    """No derived table: Spark decorrelates that more easily, and no set is built for the groups."""
    sql = hoisted(subquery)
    assert sql.startswith("'u', (SELECT dlunion(u.__dl_u) AS __dl_u FROM (SELECT *, uid AS __dl_u FROM u) AS u")
    assert "GROUP BY" not in sql
    assert "ORDER BY" not in sql


@pytest.mark.parametrize(
    "subquery",
    [
        "SELECT k FROM u ORDER BY w LIMIT 1",
        "SELECT k FROM u GROUP BY k HAVING count(*) > 1",
        "SELECT DISTINCT k FROM u",
        "SELECT k FROM u QUALIFY row_number() OVER (ORDER BY w) = 1",
        "SELECT k FROM u UNION ALL SELECT k FROM u",
    ],
)
def test_a_block_that_drops_rows_keeps_its_shape(subquery: str) -> None:
    sql = hoisted(subquery)
    assert sql.startswith("'u', (SELECT dlunion(__s")
    for clause in ("LIMIT 1", "HAVING", "UNION ALL", "QUALIFY"):
        assert (clause in sql) == (clause in subquery)


def test_several_tables_are_one_scalar_subquery() -> None:
    """Written once a table, evaluated once: Spark reuses equal scalar subqueries."""
    sql = printed("SELECT id FROM t WHERE k IN (SELECT u.k FROM u JOIN lineitem ON true)", Semantics.CONTROL)
    assert sql.count("array(dlunion(u.__dl_u), dlunion(lineitem.__dl_lineitem))") == 2
