"""The figures of the user's clock; running it is `python -m tests.bench.users_clock`."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.bench.harness import Comparison, Timing
from tests.bench.users_clock import clocked, interval, report


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        (1, (0, 0)),
        (5, (0, 4)),  # all of five: 94 %
        (9, (1, 7)),  # 96 %
        (15, (3, 11)),  # 96 %; one less at each end would be 88 %
    ],
)
def test_the_interval_in_which_the_median_lies(runs: int, wanted: tuple[int, int]) -> None:
    assert interval([float(each) for each in reversed(range(runs))]) == wanted


def test_ratios_are_those_within_a_turn_and_hold_what_comes_before_the_run() -> None:
    query = Timing("query", run=[0.9, 1.9, 3.9], prepare=[0.1, 0.1, 0.1])
    ours = Timing("sql, data", run=[1.0, 2.0, 7.0], prepare=[0.5, 0.4, 1.0])
    refused = Timing("sql, control", refused="no")
    (found,) = clocked(Comparison("q1", (query, ours, refused)))
    assert (found.query, found.way, found.plain, found.ratio) == ("q1", "sql, data", 2.0, 1.5)
    assert (found.low, found.high, found.before) == (1.2, 2.0, 0.5)
    console = Console(width=100, file=io.StringIO())
    console.print(report([found], "tpch"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1.50 (1.20–2.00), 500 ms" in text
    assert "1.50 (bar 1.03: missed)" in text
