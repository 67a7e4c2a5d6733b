"""ORDER BY, SORT BY, LIMIT and their kin stay outermost, in whatever a query is put into."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites import outermost
from rewrites.environment import Semantics
from tests.rewrites.plain_tables import read, rewritten

CLAUSES = {
    "order": "ORDER BY k",
    "sort": "SORT BY k",
    "cluster": "CLUSTER BY k",
    "distribute": "DISTRIBUTE BY k",
    "limit": "LIMIT 2",
    "offset": "ORDER BY k OFFSET 1",
}
QUERIES = (
    "SELECT k FROM t",
    "SELECT DISTINCT k FROM t",
    "SELECT DISTINCT max(k) AS k FROM t GROUP BY v",
    "SELECT k FROM t UNION ALL SELECT k FROM u",
    "SELECT k FROM t UNION SELECT k FROM u",
    "SELECT k FROM t INTERSECT SELECT k FROM u",
    "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "SELECT k FROM t EXCEPT SELECT k FROM u",
    "(SELECT k FROM t)",
    "WITH c AS (SELECT k FROM t) SELECT k FROM c UNION ALL (SELECT k FROM u)",
)


def test_every_one_of_them_is_tried() -> None:
    assert tuple(CLAUSES) == outermost.CLAUSES


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("sql", QUERIES)
def test_it_stays_outermost(sql: str, clause: str, semantics: Semantics) -> None:
    tree = rewritten(f"{sql} {CLAUSES[clause]}", semantics).tree
    assert tree.selects[-1].alias == "DL"
    assert tree.args.get(clause) is not None
    behind = [node for node in tree.find_all(exp.Query) if node is not tree]
    assert not any(node.args.get(clause) for node in behind)


@pytest.mark.parametrize("sql", QUERIES)
def test_rows_that_offset_skips_are_the_first_in_its_order(sql: str) -> None:
    tree = rewritten(f"{sql} ORDER BY k LIMIT 7 OFFSET 3", Semantics.CONTROL).tree
    skipped = [node for node in tree.find_all(exp.Query) if node is not tree and node.args.get("limit")]
    assert skipped
    for node in skipped:
        assert node.args["limit"].expression.name == "3"
        assert node.args["order"] == tree.args["order"]


@pytest.mark.parametrize("clause", CLAUSES)
def test_inside_parentheses_it_stays_inside(clause: str) -> None:
    tree = rewritten(f"(SELECT k FROM t {CLAUSES[clause]}) UNION ALL SELECT k FROM u").tree
    assert tree.args.get(clause) is None
    assert any(node.args.get(clause) for node in tree.find_all(exp.Select))


def test_take_and_put() -> None:
    one, other = read("SELECT k FROM t SORT BY k LIMIT 2"), read("SELECT k FROM u")
    assert isinstance(one, exp.Query)
    assert isinstance(other, exp.Query)
    outermost.put(other, outermost.take(one))
    assert one.sql("spark") == "SELECT k FROM t"
    assert other.sql("spark") == "SELECT k FROM u SORT BY k LIMIT 2"
