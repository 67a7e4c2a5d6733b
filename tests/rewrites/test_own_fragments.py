"""Which subqueries look only at the range of the row that asks."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.catalog import Catalog
from forward_lineage.frontend.rewriting import rewrite_statement
from forward_lineage.frontend.statement import parse
from rewrites.environment import Semantics
from rewrites.granules import Ranges
from rewrites.options import Options
from rewrites.own_fragments import is_marked, mark
from rewrites.tables import BaseTable

T = BaseTable("t", ("a", "b"), "t", "a")
S = BaseTable("s", ("a", "b"), "s", "a")
CATALOG = Catalog([T, S])
BY_A = Ranges(T, "a", "int", b"bounds")

OWN = [
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)",
    "SELECT * FROM t WHERE b > 0 AND NOT EXISTS (SELECT 1 FROM t u WHERE t.A = u.a AND u.b <> t.b)",
    "SELECT * FROM s JOIN t o ON s.a = o.a WHERE s.b > 1 OR NOT EXISTS (SELECT 1 FROM t u WHERE u.a = o.a AND u.b = 1)",
    "SELECT * FROM (SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)) LIMIT 3",
]
OTHERS = [
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a < o.a)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.b = o.b)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.b)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a OR u.b = 1)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = u.a)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE a = o.a)",  # whose `a`, is not said
    "SELECT * FROM s o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM s u WHERE u.a = o.a)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u, s WHERE u.a = o.a)",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a AND u.b IN (SELECT b FROM t))",
    "SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a LIMIT 1)",
    "SELECT * FROM t o WHERE EXISTS (SELECT count(*) FROM t u WHERE u.a = o.a HAVING count(*) > 1)",
    "SELECT EXISTS (SELECT * FROM t u WHERE u.a = o.a) FROM t o",
    "SELECT * FROM (SELECT b AS a FROM t) o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)",
    "SELECT * FROM t AS o(b, a) WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)",
    "WITH t AS (SELECT * FROM s) SELECT * FROM t o WHERE EXISTS (SELECT * FROM t u WHERE u.a = o.a)",
]


@pytest.mark.parametrize(("sql", "own"), [*((sql, True) for sql in OWN), *((sql, False) for sql in OTHERS)])
def test_which_are_marked(sql: str, own: bool) -> None:
    tree = parse(sql).tree.copy()
    mark(tree, {"t": BY_A}, CATALOG)  # type: ignore[arg-type]
    found = [is_marked(each.this) for each in tree.find_all(exp.Exists)]
    assert found == [own]


def test_they_are_run_and_not_traced() -> None:
    sql = "SELECT count(*) FROM t o WHERE NOT EXISTS (SELECT * FROM t u WHERE u.a = o.a AND u.b > o.b)"
    captured = rewrite_statement(parse(sql), CATALOG, Options(Semantics.CONTROL, granules=(BY_A,))).sql
    assert captured.count("dl_fragment") == 1 and captured.count("NOT EXISTS") == 1
    assert rewrite_statement(parse(sql), CATALOG, "control").sql.count("__dl_t") > captured.count("__dl_t")


def test_other_granules_are_rows() -> None:
    tree = parse(OWN[0]).tree.copy()
    mark(tree, {}, CATALOG)  # type: ignore[arg-type]
    assert not any(is_marked(each.this) for each in tree.find_all(exp.Exists))
