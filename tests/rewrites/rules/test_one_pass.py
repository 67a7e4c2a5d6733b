"""Which groups are told in one pass with what was kept out of them; the answers: `golden/fixtures/answers.golden`."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed

NONE = "NOT EXISTS (SELECT * FROM v AS x WHERE x.k = v.k AND x.n > v.n)"


def control(sql: str) -> str:
    return printed(sql, Semantics.CONTROL)


def test_aggregates_are_filtered() -> None:
    sql = control(f"SELECT n, count(*) AS c FROM v WHERE {NONE} GROUP BY n")
    assert "count(*) FILTER(WHERE (NOT coalesce(size(filter(" in sql
    assert "GROUP BY n HAVING bool_or((NOT " in sql


def test_a_group_of_all_rows_is_always_there() -> None:
    sql = control(f"SELECT sum(n) / 7.0 AS s FROM v WHERE {NONE}")
    assert "FILTER(WHERE" in sql
    assert "HAVING" not in sql


def test_a_subquery_in_from_says_which_rows_are_kept() -> None:
    sql = control(f"SELECT n, count(*) AS c FROM (SELECT n FROM v WHERE {NONE}) AS d GROUP BY n")
    assert "count(*) FILTER(WHERE d.__h" in sql
    assert "HAVING bool_or(d.__h" in sql


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT n, count(*) FROM v WHERE {NONE} GROUP BY n",  # Spark names it after its text
        f"SELECT n, sum(1 / n) AS c FROM v WHERE {NONE} GROUP BY n",  # may fail for rows that are kept out
        f"SELECT n, 1 / count(*) AS c FROM v WHERE {NONE} GROUP BY n",
        f"SELECT n, 1 / n AS c FROM v WHERE {NONE} GROUP BY n",
        f"SELECT n, collect_list(k) AS c FROM v WHERE {NONE} GROUP BY n",
        f"SELECT n, count(DISTINCT k) AS c FROM v WHERE {NONE} GROUP BY n",
        f"SELECT n, count(*) AS c FROM v WHERE {NONE} GROUP BY ROLLUP (n)",
        f"SELECT n, count(*) AS c FROM v WHERE {NONE} GROUP BY n HAVING count(*) > 1",
        f"SELECT n, count(*) AS c FROM v WHERE {NONE} GROUP BY ALL",
        "SELECT n, count(*) AS c FROM v WHERE NOT EXISTS (SELECT * FROM v AS x WHERE x.f = v.f) GROUP BY n",
        f"SELECT n, count(*) AS c FROM v WHERE {NONE} AND NOT EXISTS (SELECT * FROM v AS x WHERE x.f = v.f) GROUP BY n",
        f"SELECT n, count(*) AS c FROM (SELECT n FROM v WHERE {NONE}) AS d (n) GROUP BY n",
    ],
)
def test_others_take_two_passes(sql: str) -> None:
    assert "LEFT JOIN (SELECT n AS __h" in (found := control(sql)) or "AS __o" in found
    assert "FILTER(WHERE" not in found
