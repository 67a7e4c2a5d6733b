"""What stands in FROM, joins in parentheses taken apart, and which sides an outer join pads."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.sources import places
from tests.rewrites.plain_tables import read


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("t", "t"),
        ("t, u x", "t x"),
        ("t LEFT JOIN u ON true", "t u?"),
        ("t RIGHT JOIN u ON true JOIN t y ON true", "t? u y"),
        ("t FULL JOIN u ON true", "t? u?"),
        ("t LEFT SEMI JOIN u ON true LEFT ANTI JOIN t y ON true", "t u y"),
        ("(t JOIN u ON true) LEFT JOIN t y ON true", "t u y?"),
        ("t x LEFT JOIN (t JOIN u ON true) ON true", "x t? u?"),
        ("(t LEFT JOIN u ON true) AS j", "j"),
        ("(SELECT 1) q CROSS JOIN LATERAL (SELECT 2) p", "q p"),
    ],
)
def test_places(sql: str, found: str) -> None:
    select = read(f"SELECT 1 FROM {sql}")
    assert isinstance(select, exp.Select)
    assert " ".join(each.node.alias_or_name + "?" * each.padded for each in places(select)) == found


def test_no_from() -> None:
    select = read("SELECT 1")
    assert isinstance(select, exp.Select)
    assert places(select) == []
