"""Rows and lineage on a terminal."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import Row
from rich.console import Console

from forward_lineage.cli.tables import lineage_table, show


def printed(width: int = 80, **arguments: object) -> str:
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(lineage_table(**arguments))  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_short_lineage_takes_one_line_a_row() -> None:
    rows = [["Target", 1000, Row(store=[1], sales=[1, 4])], [None, 2, Row(store=[], sales=[7])]]
    assert printed(columns=["s_name", "num", "DL"], rows=rows, most_ids=8) == (
        "s_name   num  DL\nTarget  1000  store {1}  sales {1, 4}\nNULL       2  store –  sales {7}"
    )


def test_long_lineage_is_cut_and_counted() -> None:
    rows = [[1, Row(orders=[5], lineitem=list(range(1234, 4000)))]]
    assert printed(columns=["a", "DL"], rows=rows, most_ids=3, more=True) == (
        "a  DL\n1  orders {5}\n   lineitem {1234, 1235, 1236, …} 2,766 rows\nthe first row; --limit shows more"
    )


def test_what_is_said_below_a_narrow_table_takes_one_line() -> None:
    said = printed(columns=["item"], rows=[["tea"]], most_ids=3, more=True, total=139)
    assert said == "item\ntea\nthe first row of 139; --limit shows more"


def test_a_result_without_lineage() -> None:
    assert printed(columns=["one"], rows=[[1]], most_ids=3) == "one\n  1"


WIDE = {
    "columns": ["row_id", "c_name", "c_acctbal", "c_comment", "DL"],
    "rows": [
        [7, "Customer#000000008", Decimal("6819.74"), "among the slyly regular theodolites", Row(customer=[8])],
        [32, None, Decimal("-78.56"), "x", Row(customer=list(range(100)))],
    ],
    "most_ids": 3,
    "more": True,
    "title": "customers",
}


def test_what_is_wider_than_the_terminal_is_shown_row_by_row() -> None:
    assert (
        printed(60, **WIDE)
        == """\
customers
row_id     7
c_name     Customer#000000008
c_acctbal  6819.74
c_comment  among the slyly regular theodolites
DL         customer {8}

row_id     32
c_name     NULL
c_acctbal  -78.56
c_comment  x
DL         customer {0, 1, 2, …} 100 rows
the first 2 rows; --limit shows more"""
    )


def test_long_text_alone_is_broken_into_lines() -> None:
    lines = printed(72, **WIDE).splitlines()
    assert lines[1].split() == ["row_id", "c_name", "c_acctbal", "c_comment", "DL"]
    assert lines[2].startswith("     7  Customer#0000000")
    assert "6819.74" in lines[2]
    assert max(map(len, lines)) <= 72


@pytest.mark.parametrize("width", [24, 40, 60, 70, 71, 72, 80, 200])
def test_names_and_numbers_are_never_broken(width: int) -> None:
    said = printed(width, **WIDE)
    assert all(each in said for each in ("row_id", "c_acctbal", "6819.74"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "NULL"), (True, "true"), (Decimal("1.50"), "1.50"), (b"\x01\xff", "0x01ff"), ("x", "x"), (1.5, "1.5")],
)
def test_values_look_as_in_sparks_shell(value: object, text: str) -> None:
    assert show(value) == text


def test_values_of_lineage_on_are_values() -> None:
    pair = Row("flag", "status")
    shown = printed(
        columns=["n", "DL"],
        rows=[[1, Row(t=[pair("A", None)], u=[1996, 1997, 1998])]],
        most_ids=2,
        unit="values",
    )
    assert "t {(A, NULL)}" in shown and "u {1996, 1997, …} 3 values" in shown
