"""Which groups one row may stand for, and what lineage they have then."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.catalog import Catalog
from forward_lineage.frontend.rewriting import rewrite_statement
from forward_lineage.frontend.statement import parse
from rewrites.environment import Semantics
from rewrites.granules import Ranges
from rewrites.options import Options
from rewrites.tables import BaseTable
from rewrites.witnesses import is_marked, mark

T = BaseTable("t", ("a", "b"), "t", "a")
S = BaseTable("s", ("a", "c"), "s", "a")
CATALOG = Catalog([T, S])
BY_A = Ranges(T, "a", "int", b"bounds", one_witness=True)

MARKED = [
    "SELECT max(b) FROM t",
    "SELECT b, min(a), max(a + b) FROM t WHERE a > 1 GROUP BY b HAVING max(a) > 3 ORDER BY min(a)",
    "SELECT max(t.b), s.c FROM t JOIN s ON t.a = s.a LEFT JOIN s AS u ON u.a = t.b GROUP BY s.c",
    "SELECT b, max(a) FROM t GROUP BY b ORDER BY max(a) LIMIT 3",
    "SELECT max(m) FROM (SELECT DISTINCT b AS m FROM t) q",
    "SELECT * FROM t WHERE b = (SELECT max(b) FROM t)",
    "SELECT * FROM t WHERE b IN (SELECT max(u.b) FROM t AS u WHERE u.a > 3)",
    "WITH m AS (SELECT max(b) AS b FROM t) SELECT t.* FROM t, m WHERE t.b = m.b",
]
OTHERS = [
    "SELECT a, max(b) FROM t GROUP BY a",  # it lies in one range
    "SELECT max(b), count(*) FROM t",
    "SELECT b FROM t GROUP BY b",
    "SELECT b, max(a) FROM t GROUP BY b HAVING sum(a) > 3",
    "SELECT b, max(a) FROM t GROUP BY b ORDER BY count(*)",
    "SELECT max(a) FILTER (WHERE b > 1) FROM t",
    "SELECT max(a) OVER () FROM t",
    "SELECT max(max(a)) OVER () FROM t GROUP BY b",
    "SELECT b, max(a) FROM t GROUP BY ROLLUP (b)",
    "SELECT b, max(a) FROM t GROUP BY ALL",
    "SELECT max(b) FROM t WHERE a IN (SELECT a FROM s)",  # rows that it keeps out count
    "SELECT max(b) FROM t ANTI JOIN s ON t.a = s.a",
    "SELECT max(b) FROM (SELECT * FROM t WHERE a NOT IN (SELECT a FROM s)) q",
    "SELECT * FROM t WHERE b = (SELECT max(u.b) FROM t u WHERE u.a = t.a)",  # another one for each row
    "SELECT * FROM s WHERE c = (SELECT max(c + a) FROM t)",  # c is of the row around it
    "SELECT * FROM t WHERE b IN (SELECT max(b) FROM t GROUP BY b)",
    "WITH t AS (SELECT 1 AS b) SELECT * FROM s WHERE c = (SELECT max(b) FROM t)",
]


@pytest.mark.parametrize(("sql", "marked"), [*((sql, True) for sql in MARKED), *((sql, False) for sql in OTHERS)])
def test_which_are_marked(sql: str, marked: bool) -> None:
    tree = parse(sql).tree.copy()
    assert mark(tree, {"t": BY_A}, CATALOG) is marked
    assert sum(is_marked(each) for each in tree.find_all(exp.Select)) == marked


def test_none_is_where_no_ranges_ask_for_it() -> None:
    tree = parse(MARKED[0]).tree.copy()
    assert not mark(tree, {"t": Ranges(T, "a", "int", b"bounds")}, CATALOG)


def test_each_value_has_a_row_that_attains_it() -> None:
    sql = "SELECT b, max(a), min(a), max(a) + 1 FROM t GROUP BY b"
    found = rewrite_statement(parse(sql), CATALOG, Options(Semantics.CONTROL, granules=(BY_A,))).sql
    assert found.count("max_by(t.__dl_t, a)") == found.count("min_by(t.__dl_t, a)") == 1
    assert "dlunion" not in found and found.count("any_value(t.__dl_t)") == 2


def test_a_subquery_of_groups_keeps_its_groups() -> None:
    sql = "SELECT * FROM s WHERE c IN (SELECT m FROM (SELECT b, max(a + b) AS m FROM t GROUP BY b) q)"
    by_c = Ranges(T, "b", "int", b"bounds", one_witness=True)
    assert "max_by" not in rewrite_statement(parse(sql), CATALOG, Options(Semantics.CONTROL, granules=(by_c,))).sql
