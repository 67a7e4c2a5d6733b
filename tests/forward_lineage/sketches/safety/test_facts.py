"""What is known of tables, and how it is put together."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest

from forward_lineage.sketches.safety.facts import ColumnFacts, Facts, as_number, family


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("BIGINT", "int"),
        ("decimal(12,2)", "decimal"),
        ("varchar(7)", "string"),
        ("char(7)", "other"),
        ("string collate UTF8_LCASE", "other"),
        ("array<int>", "other"),
        ("timestamp_ntz", "timestamp"),
    ],
)
def test_families(kind: str, expected: str) -> None:
    assert family(kind) == expected


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, Fraction(3)),
        (Decimal("0.10"), Fraction(1, 10)),
        (dt.date(1, 1, 2), Fraction(2)),
        (float("nan"), None),
        (Decimal("NaN"), None),
        ("3", None),
        (dt.datetime(2020, 1, 1), None),
    ],
)
def test_numbers(value: object, number: Fraction | None) -> None:
    assert as_number(value) == number  # type: ignore[arg-type]


def test_statistics() -> None:
    facts = Facts.of_statistics({"T": {"Id": "int", "v": "int"}}, {("t", "ID"): (1, 9, False)}, [("T", "id")])
    assert list(facts.tables["t"]) == ["id", "v"]
    assert facts.of("t", "id") == ColumnFacts("int", 1, 9, nulls=False, unique=True)
    assert facts.of("t", "v") == ColumnFacts("int")
    assert facts.of("t", "none") == ColumnFacts()
