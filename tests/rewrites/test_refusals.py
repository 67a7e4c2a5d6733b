"""Where a refusal points, and what it suggests."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.refusals import nearest, position_of, refuse, refuse_others
from tests.rewrites.plain_tables import read
from udafs.errors import LineageError, Position


def test_a_token_stands_at_its_first_character() -> None:
    column = read("SELECT\n  a,\n    longer FROM t").expressions[1]
    assert position_of(column) == Position(3, 5)


def test_a_node_without_a_place_stands_where_its_first_part_stands() -> None:
    where = read("SELECT a FROM t WHERE b = 1").find(exp.Where)
    assert where is not None
    assert position_of(where) == Position(1, 23)


def test_a_node_made_by_a_rule_stands_nowhere() -> None:
    assert position_of(exp.column("a")) is None


def test_refuse_says_what_where_and_what_to_do_instead() -> None:
    with pytest.raises(LineageError) as caught:
        refuse(read("SELECT a FROM t").expressions[0], "This is not traced", "Write b.")
    assert str(caught.value) == "This is not traced (line 1, column 8). Write b."


def test_a_part_that_nobody_answers_for_is_refused() -> None:
    table = read("SELECT a FROM t TABLESAMPLE (5 ROWS)").find(exp.Table)
    assert table is not None
    refuse_others(table, ("this", "sample"), "A table")
    with pytest.raises(LineageError, match="A table with SAMPLE is not traced"):
        refuse_others(table, ("this",), "A table")


@pytest.mark.parametrize(
    ("name", "known", "advice"),
    [
        ("pric", ["price", "num"], "Did you mean price?"),
        ("PRICE", ["price"], "Did you mean price?"),
        ("zzz", ["b", "a"], "Known here: a, b."),
        ("zzz", [], "Nothing is known here: read a table that has it."),
        ("zzz", [f"c{i}" for i in range(20)], "Known here: c0, c1, c10, c11, c12, c13, c14, c15."),
    ],
)
def test_nearest(name: str, known: list[str], advice: str) -> None:
    assert nearest(name, known) == advice
