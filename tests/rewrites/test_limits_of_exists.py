"""LIMIT inside EXISTS: where the number cannot matter, it is traced as if there were none."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed
from udafs.errors import NotTracedError

SAME = [
    ("{} (SELECT 1 FROM u WHERE u.k = t.k LIMIT 1)", "{} (SELECT 1 FROM u WHERE u.k = t.k)"),
    ("{} (SELECT k FROM u WHERE u.k = t.k GROUP BY k LIMIT 7)", "{} (SELECT k FROM u WHERE u.k = t.k GROUP BY k)"),
    ("{} (SELECT 1 FROM u LIMIT ALL)", "{} (SELECT 1 FROM u)"),
    ("{} ((SELECT 1 FROM u WHERE w > 1) LIMIT 2)", "{} ((SELECT 1 FROM u WHERE w > 1))"),
    ("{} (SELECT 1 FROM u UNION ALL SELECT 1 FROM w LIMIT 3)", "{} (SELECT 1 FROM u UNION ALL SELECT 1 FROM w)"),
    ("{} (SELECT 1 FROM u WHERE u.k = t.k LIMIT 0)", "{} (SELECT 1 WHERE false)"),
]


@pytest.mark.parametrize("word", ["EXISTS", "NOT EXISTS"])
@pytest.mark.parametrize(("limited", "whole"), SAME)
def test_it_is_as_without_the_limit(word: str, limited: str, whole: str) -> None:
    sql = f"SELECT id FROM t WHERE {word}"
    assert printed(limited.format(sql), Semantics.CONTROL) == printed(whole.format(sql), Semantics.CONTROL)


@pytest.mark.parametrize(
    "subquery", ["SELECT 1 FROM u LIMIT 1 OFFSET 1", "SELECT 1 FROM (SELECT * FROM u LIMIT 1) u WHERE w > 1"]
)
def test_where_it_matters_it_is_refused(subquery: str) -> None:
    with pytest.raises(NotTracedError, match=r"^LIMIT without ORDER BY may take other rows"):
        printed(f"SELECT id FROM t WHERE EXISTS ({subquery})", Semantics.CONTROL)
    assert "LIMIT 1" in printed(f"SELECT id FROM t WHERE EXISTS ({subquery})"), "data lineage does not ask it"


def test_in_a_list_it_is_still_refused() -> None:
    with pytest.raises(NotTracedError, match=r"^LIMIT without ORDER BY may take other rows"):
        printed("SELECT id FROM t WHERE id IN (SELECT uid FROM u LIMIT 1)", Semantics.CONTROL)
