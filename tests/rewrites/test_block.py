"""What a block of SELECT knows about itself."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.block import Block, is_aggregate
from rewrites.driver import rewrite_query
from rewrites.environment import Environment, Semantics
from tests.rewrites.plain_tables import TABLES, read
from udafs.errors import LineageError


def block(sql: str) -> Block:
    select = read(sql)
    assert isinstance(select, exp.Select)
    return Block(select, Environment(TABLES, Semantics.DATA, rewrite_query, read))


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        ("SELECT a FROM t", False),
        ("SELECT count(*) FROM t", True),
        ("SELECT 1 + max(a) FROM t", True),
        ("SELECT count(*) FILTER (WHERE a > 1) FROM t", True),
        ("SELECT first(a) IGNORE NULLS FROM t", True),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t", True),
        ("SELECT count(*) OVER () FROM t", False),
        ("SELECT count(*) FILTER (WHERE a > 1) OVER () FROM t", False),
        ("SELECT sum(count(*)) OVER () FROM t", True),
        ("SELECT (SELECT count(*) FROM u) FROM t", False),
        ("SELECT a FROM t GROUP BY a", True),
        ("SELECT 1 FROM t HAVING count(*) > 0", True),
        ("SELECT 1 FROM t ORDER BY max(a)", True),
        ("SELECT upper(a) FROM t", False),
    ],
)
def test_whether_a_result_row_stands_for_a_group(sql: str, groups: bool) -> None:
    assert block(sql).groups_rows is groups


def test_own_nodes_stop_at_nested_queries() -> None:
    names = {
        node.name for node in block("SELECT a, (SELECT b FROM u) FROM t").own_nodes() if isinstance(node, exp.Column)
    }
    assert names == {"a"}


def test_an_unclaimed_clause_is_refused_by_name() -> None:
    unfinished = block("SELECT a FROM t WHERE a > 1")
    unfinished.claim("expressions", "from_")
    with pytest.raises(LineageError, match=r"WHERE is not traced \(line 1, column 23\)"):
        unfinished.refuse_unclaimed()
    unfinished.claim("where")
    unfinished.refuse_unclaimed()


def test_neutral_clauses_need_no_rule() -> None:
    sorted_block = block("SELECT /*+ COALESCE(1) */ a FROM t DISTRIBUTE BY a SORT BY a LIMIT 3")
    sorted_block.claim("expressions", "from_")
    sorted_block.refuse_unclaimed()


def test_an_aggregate_function_is_known_by_its_name_in_any_case() -> None:
    assert is_aggregate(read("SELECT SUM(a)").expressions[0])
    assert not is_aggregate(read("SELECT my_sum(a)").expressions[0])
