"""Where a refusal points, and what it suggests."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.refusals import bugs_reported, nearest, position_of, refuse, refuse_others
from tests.rewrites.plain_tables import read
from udafs.errors import InternalError, LineageError, NotTracedError, Position


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
        ("price", ["price1", "price2", "price3", "price4"], "Did you mean price4 or price3 or price2?"),
        ("zzz", ["b", "a"], "Known here: a, b."),
        ("zzz", [], "Nothing is known here: read a table that has it."),
        ("zzz", [f"c{i}" for i in range(20)], "Known here: c0, c1, c10, c11, c12, c13, c14, c15 and 12 more."),
    ],
)
def test_nearest(name: str, known: list[str], advice: str) -> None:
    assert nearest(name, known) == advice


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), AttributeError("x"), AssertionError("x")])
def test_what_nobody_foresaw_is_a_bug_report_with_the_place(error: Exception) -> None:
    with pytest.raises(InternalError) as caught, bugs_reported(lambda: Position(2, 3)):
        raise error
    assert str(caught.value).startswith(f"{type(error).__name__}: ")
    assert (caught.value.at, caught.value.__cause__) == (Position(2, 3), error)


def _nowhere() -> Position | None:
    raise KeyError("start")


def test_a_bug_is_reported_also_where_its_place_cannot_be_told() -> None:
    with pytest.raises(InternalError, match=r"^ValueError: x\. This is a bug") as caught, bugs_reported(_nowhere):
        raise ValueError("x")
    assert caught.value.at is None


def test_a_refusal_is_no_bug() -> None:
    refusal = NotTracedError("this")
    with pytest.raises(NotTracedError) as caught, bugs_reported(lambda: None):
        raise refusal
    assert caught.value is refusal


def test_no_memory_is_no_bug() -> None:
    with pytest.raises(MemoryError), bugs_reported(lambda: None):
        raise MemoryError
