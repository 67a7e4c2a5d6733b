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
        "a  DL\n1  orders {5}\n   lineitem {1234, 1235, 1236, …} 2,766 rows\nthe first 1 rows; --limit shows more"
    )


def test_a_result_without_lineage() -> None:
    assert printed(columns=["one"], rows=[[1]], most_ids=3) == "one\n  1"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "NULL"), (True, "true"), (Decimal("1.50"), "1.50"), (b"\x01\xff", "0x01ff"), ("x", "x"), (1.5, "1.5")],
)
def test_values_look_as_in_sparks_shell(value: object, text: str) -> None:
    assert show(value) == text
