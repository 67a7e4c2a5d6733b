"""Subqueries that mention columns of the block around them."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed
from udafs.errors import NotTracedError


@pytest.mark.parametrize(
    ("selected", "joined", "mentioned"), [("k, max(u.k)", "u", "u.k"), ("k", "u AS x(a, k, c)", "x.k")]
)
def test_one_side_of_using_is_refused_below_rollup(selected: str, joined: str, mentioned: str) -> None:
    having = f"HAVING EXISTS (SELECT 1 FROM v AS n WHERE n.k = {mentioned})"
    sql = f"SELECT {selected} FROM t JOIN {joined} USING (k) GROUP BY ROLLUP (k) {having}"
    with pytest.raises(NotTracedError, match=f"^Spark does not find {mentioned}, which USING has merged"):
        printed(sql, Semantics.CONTROL)
