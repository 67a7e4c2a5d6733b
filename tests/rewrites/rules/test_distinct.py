"""Which DISTINCT may stay in its block."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.rules.distinct_apart import needs_derived_table
from tests.rewrites.plain_tables import printed, read


@pytest.mark.parametrize(
    ("sql", "apart"),
    [
        ("SELECT DISTINCT a, upper(b) FROM t", False),
        ("SELECT DISTINCT * FROM t", False),
        ("SELECT DISTINCT a FROM t ORDER BY a LIMIT 2", False),
        ("SELECT DISTINCT a FROM t SORT BY a LIMIT 2", False),
        ("SELECT DISTINCT a FROM t DISTRIBUTE BY a", False),
        ("SELECT DISTINCT 1 AS one FROM t", False),
        ("SELECT DISTINCT count(*) FROM t", True),
        ("SELECT DISTINCT a AS x, b AS y FROM t", False),
        ("SELECT DISTINCT a AS x, x + 1 AS y FROM t", True),
        ("SELECT DISTINCT a FROM t GROUP BY a", True),
        ("SELECT DISTINCT rank() OVER (ORDER BY a) FROM t", True),
        ("SELECT DISTINCT explode(a) FROM t", True),
        ("SELECT DISTINCT (SELECT max(b) FROM u) FROM t", True),
        ("SELECT DISTINCT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1", True),
    ],
)
def test_needs_derived_table(sql: str, apart: bool) -> None:
    select = read(sql)
    assert isinstance(select, exp.Select)
    assert needs_derived_table(select) is apart


def test_a_plain_distinct_becomes_group_by_all() -> None:
    sql = printed("SELECT DISTINCT k FROM t")
    assert sql.endswith("GROUP BY ALL")
    assert "DISTINCT" not in sql
