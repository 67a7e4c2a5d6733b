"""Without ANSI a decimal with too many digits is NULL: what is proven of arithmetic then."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.algebra import Call, Column, Const, Ref
from forward_lineage.sketches.safety.facts import ColumnFacts, Facts
from forward_lineage.sketches.safety.overflow import digits, holds_every_integer, may_be_null
from forward_lineage.sketches.safety.proving import prove

TABLES = {
    "t": {
        "g": ColumnFacts("int", 0, 9, False),
        "v": ColumnFacts("int", 0, 9, False),
        "price": ColumnFacts("decimal(15,2)", 0, 10**13 - 1, False),
        "rate": ColumnFacts("decimal(15,2)", 0, 1, False),
        "wide": ColumnFacts("decimal(38,2)", 0, 10**36 - 1, False),
    }
}


def ref(type_: str, family: str = "decimal") -> Ref:
    return Ref(Column("c", family, ColumnFacts(type_)), family=family)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "without_ansi"),
    [
        ("sum(price) > 5", True),
        ("sum(price * (1 - rate)) > 5", True),
        ("sum(price * rate) > 5", True),
        ("sum(price * rate * rate) > 5", False),  # 47 digits
        ("sum(price) + sum(rate) > 5", True),
        ("2.5 * sum(price) > 5", True),
        ("sum(wide + wide) > 5", False),
        ("sum(wide) + 1.5 > 5", False),
        ("CAST(count(*) AS DECIMAL(5, 2)) > 5", False),
        ("CAST(count(*) AS DECIMAL(22, 2)) > 5", True),
    ],
)
def test_what_may_be_null_is_not_proven(condition: str, without_ansi: bool) -> None:
    query = parse(f"SELECT g FROM t GROUP BY g HAVING {condition}")
    assert prove(query, {"t": "v"}, Facts(TABLES, ansi=False)).safe == without_ansi
    assert prove(query, {"t": "v"}, Facts(TABLES)).safe


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("+", ref("decimal(37,2)"), ref("decimal(15,2)"), False),
        ("+", ref("decimal(38,2)"), ref("decimal(15,2)"), True),
        ("-", ref("decimal(36,0)"), ref("decimal(10,4)"), True),
        ("*", ref("decimal(15,2)"), ref("decimal(22,2)"), False),
        ("*", ref("decimal(15,2)"), ref("decimal(23,2)"), True),
        ("*", ref("decimal(17,2)"), ref("bigint", "int"), False),
        ("*", ref("decimal(18,2)"), ref("bigint", "int"), True),
        ("/", ref("decimal(15,2)"), Const(Decimal("0.5"), family="decimal"), False),
        ("/", ref("decimal(15,2)"), Const(0, family="int"), True),
        ("/", ref("decimal(15,2)"), ref("decimal(15,2)"), True),
        ("/", ref("decimal(38,5)"), Const(Decimal("0.5"), family="decimal"), True),
        ("%", ref("decimal(15,2)"), ref("decimal(15,2)"), True),
        ("+", ref(""), ref("decimal(15,2)"), True),
    ],
)
def test_digits_of_a_result(op: str, left: Ref, right: Ref, expected: bool) -> None:
    assert may_be_null(op, left, right, {}) == expected


def test_digits() -> None:
    product = Call("*", (ref("decimal(15,2)"), Const(Decimal("-0.25"), family="decimal")), family="decimal")
    assert digits(product, {}) == (14, 4)
    assert digits(Call("neg", (product,), family="decimal"), {}) == (14, 4)
    assert digits(Call("round", (product,), family="other"), {}) is None
    assert digits(Const(1200, family="int"), {}) == (4, 0)
    assert digits(Const(1.5, family="float"), {}) is None


@pytest.mark.parametrize(
    ("type_", "expected"), [("DECIMAL(21, 2)", True), ("DECIMAL(20,2)", False), ("DECIMAL", False), ("INT", False)]
)
def test_integers_fit(type_: str, expected: bool) -> None:
    assert holds_every_integer(type_) == expected
