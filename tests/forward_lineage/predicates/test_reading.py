"""Which conditions are read, and as what; which are left to Spark."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from forward_lineage.predicates.reading import (
    Among,
    Column,
    Comparison,
    IsNull,
    Joined,
    Literal,
    Not,
    Truth,
    columns_of,
    read_condition,
)
from forward_lineage.predicates.typing import typed
from forward_lineage.predicates.unsupported import Doubtful, UnknownColumn

A, B = Column("a"), Column("b")
FIVE = Literal("number", "5")
COLUMNS = [
    ("a", "int"),
    ("b", "boolean"),
    ("d", "decimal(10,2)"),
    ("s", "string"),
    ("t", "date"),
    ("x", "double"),
    ("big", "decimal(38,20)"),
    ("at", "timestamp"),
    ("f", "float"),
    ("v", "varchar(3)"),
    ("twice", "int"),
    ("TWICE", "int"),
]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a = 5", Comparison("=", A, FIVE)),
        ("a==5", Comparison("=", A, FIVE)),
        ("`a`!=-5", Comparison("<>", A, Literal("number", "-5"))),
        ("5 < a", Comparison("<", FIVE, A)),
        ("t >= date'1994-01-01'", Comparison(">=", Column("t"), Literal("date", "1994-01-01"))),
        ("a is null", IsNull(A)),
        ("not a is not null", Not(Not(IsNull(A)))),
        ("a IN(5)", Among(A, (FIVE,))),
        ("b", Truth(B)),
        ("NOT b AND a = 5", Joined("AND", (Not(Truth(B)), Comparison("=", A, FIVE)))),
        ("NOT a = 5", Not(Comparison("=", A, FIVE))),
        ("b or b and(b)", Joined("OR", (Truth(B), Joined("AND", (Truth(B), Truth(B)))))),
        ("a not between 5 and a", Not(Joined("AND", (Comparison(">=", A, FIVE), Comparison("<=", A, A))))),
        ("a between 5 and 5 or b", Joined("OR", (read_condition("a between 5 and 5"), Truth(B)))),
    ],
)
def test_a_text_has_one_meaning(text: str, meaning: object) -> None:
    assert read_condition(text) == meaning


def test_the_columns_that_are_read() -> None:
    assert columns_of(read_condition("a = 5 OR NOT (s IN ('x') AND t IS NULL) OR b")) == {"a", "s", "t", "b"}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "a",
            "s",
            "a = ",
            "a = 5 5",
            "(a = 5",
            "a = 5)",
            "a = 5 b",
            "a NOT",
            "a NOT = 5",
            "5",
            "'x'",
            "true",
            "1 = 1",
        ),
        *(
            "a = b = 5",
            "a = 5 IS NULL",
            "(a) = 5",
            "(a, b) IN (5)",
            "a IN ()",
            "a IN (b)",
            "a IN (5, 'x')",
            "a IN (NULL)",
        ),
        *(
            "a + 1 = 5",
            "-a = 5",
            "a = - 5 - 1",
            "a <=> 5",
            "a = 5L",
            "a = 1e3",
            "a = .5",
            "a = 5.",
            "a = 5D",
            "a = x'05'",
        ),
        *(
            "abs(a) = 5",
            "t.a = 5",
            "a = NULL",
            "a = TRUE",
            "a = '5'",
            "s = 5",
            "s = t",
            "s = DATE '1994-01-01'",
            "a = d",
        ),
        *(
            "s = 'x' 'y'",
            "s = 'it''s'",
            "s = 'a\\nb'",
            "s = '${x}'",
            's = "x"',
            "s = r'x'",
            "s LIKE 'x'",
            "s = 'x' -- y",
        ),
        *("/* x */ a = 5", "a = 5;", "t = '1994-1-1'", "t = '1994-01-01 '", "t = '1994-13-01'", "t = '0994-01-01'"),
        *(
            "t = TIMESTAMP '1994-01-01'",
            "t = 5",
            "b < TRUE",
            "b = 'true'",
            "b IS TRUE",
            "x = 0",
            "x = 0.0",
            "x = x",
            "f = 5",
        ),
        *(
            "big = 5",
            "at > '1994-01-01'",
            "v = 'x'",
            "a = 1234567890123456789",
            "current_date = t",
            "user = s",
            "twice = 5",
        ),
        *("NOT " * 60 + "b", "exists", "date = '1994-01-01'", "case = 5", "a IS DISTINCT FROM 5", "\xa0a = 5", "ä = 5"),
    ],
)
def test_all_else_is_left_to_spark(text: str) -> None:
    with pytest.raises(Doubtful):
        typed(read_condition(text), COLUMNS)


def test_a_name_that_is_no_column() -> None:
    with pytest.raises(UnknownColumn, match=r"^aa$"):
        typed(read_condition("aa = 5"), COLUMNS)


def holds(text: str, **columns: pa.Array) -> list[bool]:
    predicate = typed(read_condition(text), COLUMNS)
    assert predicate.types.keys() == columns.keys()
    return predicate.holds(columns).to_pylist()


def test_null_is_neither_true_nor_false() -> None:
    numbers = pa.array([5, None, 6], pa.int32())
    truths = pa.array([None, True, False])
    assert holds("a = 5", a=numbers) == [True, False, False]
    assert holds("NOT a = 5", a=numbers) == [False, False, True]
    assert holds("a = 5 OR b", a=numbers, b=truths) == [True, True, False]
    assert holds("NOT (a = 5 AND b)", a=numbers, b=truths) == [False, False, True]
    assert holds("a = 5.5", a=numbers) == [False, False, False]
    assert holds("a <> 5.5", a=numbers) == [True, False, True]
    assert holds("a IS NULL OR a = 6", a=numbers) == [False, True, True]


def test_numbers_between_two_of_a_type() -> None:
    cents = pa.array([Decimal("1.00"), Decimal("1.01"), Decimal("-1.01")], pa.decimal128(10, 2))
    assert holds("d < 1.005", d=cents) == [True, False, True]
    assert holds("d >= 1.005", d=cents) == [False, True, False]
    assert holds("-1.005 >= d", d=cents) == [False, False, True]
    assert holds("d > -1.005", d=cents) == [True, True, False]


def test_text_is_compared_as_it_stands() -> None:
    assert holds("s = 'a'", s=pa.array(["a", "a ", "A", None])) == [True, False, False, False]
    assert holds("s > 'Z'", s=pa.array(["a", "Z", "é", ""])) == [True, False, True, False]


def test_a_column_with_nan_is_left_to_spark() -> None:
    assert holds("x > 1", x=pa.array([0.5, 1.5, None])) == [False, True, False]
    with pytest.raises(Doubtful, match="NaN"):
        holds("x > 1", x=pa.array([0.5, float("nan")]))


def test_a_text_beside_a_date_is_a_date() -> None:
    days = pa.array([date(1994, 1, 1), date(1994, 1, 2), None])
    assert holds("t BETWEEN '1994-01-01' AND DATE '1994-01-01'", t=days) == [True, False, False]
