"""The harness takes turns, forces every column, divides medians, and does not let a refusal end a run."""

from __future__ import annotations

import io

import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from forward_lineage import LineageError
from tests.bench.harness import (
    Comparison,
    Timing,
    Turns,
    Variant,
    as_json,
    compare,
    run_all_columns,
    table_of_ratios,
)


def printed(comparisons: list[Comparison]) -> list[list[str]]:
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(table_of_ratios("ratios", comparisons))
    lines = [line.replace("┃", "│") for line in console.export_text().splitlines()]
    return [[cell.strip() for cell in line.strip().strip("│").split("│")] for line in lines if "│" in line]


@pytest.mark.long  # a minute of measuring; the bench itself runs it
def test_variants_take_turns(spark: SparkSession) -> None:
    turns: list[str] = []

    def variant(name: str) -> Variant:
        def prepare() -> DataFrame:
            turns.append(name)
            return spark.range(1)

        return Variant(name, prepare)

    found = compare(spark, "q", [variant("a"), variant("b"), variant("c")], Turns(9))
    each_turn = [tuple(turns[at : at + 3]) for at in range(0, 30, 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in each_turn)
    assert len(set(each_turn)) > 3  # nobody always comes first, or always after the same other one
    assert [timing.variant for timing in found.timings] == ["a", "b", "c"]
    assert all(len(timing.run) == len(timing.prepare) == 9 for timing in found.timings)


def test_a_short_query_gets_more_turns() -> None:
    turns = Turns(3, seconds=10)
    assert not turns.enough([6.0, 6.0])
    assert turns.enough([6.0, 1.0, 6.0])
    assert not turns.enough([2.0, 2.0, 2.0, 2.0])
    assert turns.enough([2.0, 2.0, 2.0, 2.0, 2.0])
    assert not turns.enough([0.1] * 8)
    assert turns.enough([0.1] * 9)
    assert Turns(3).enough([0.1] * 3)


def test_every_column_is_computed(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="computed"):
        run_all_columns(spark.range(1).selectExpr("id", "raise_error('computed') as unused"))


def test_a_refusal_is_recorded_and_the_rest_measured(spark: SparkSession) -> None:
    def refuse() -> DataFrame:
        raise LineageError("PIVOT is not traced")

    found = compare(spark, "q", [Variant("a", lambda: spark.range(1)), Variant("b", refuse)], Turns(1))
    assert found.timings[0].median is not None
    assert found.ratio("b") is None
    assert found.timings[1].refused == "PIVOT is not traced"
    assert ["q", f"{found.timings[0].median:.2f}", "refused"] in printed([found])


def test_other_errors_end_the_run(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError):
        compare(spark, "q", [Variant("a", lambda: spark.range(1 // 0))], Turns(1))


def test_ratios_are_of_medians() -> None:
    found = [
        Comparison("q1", (Timing("off", [1.0, 9.0, 2.0]), Timing("on", [4.0, 3.0, 100.0]))),
        Comparison("q2", (Timing("off", [1.0]), Timing("on", [0.5]))),
    ]
    assert found[0].ratio("on") == 2.0
    assert found[0].ratio("off") == 1.0
    assert printed(found) == [
        ["query", "off, s", "on"],
        ["q1", "2.00", "2.00"],
        ["q2", "1.00", "0.50"],
        ["geometric mean", "", "1.00"],
        ["worst", "", "2.00"],
    ]
    assert as_json(found)[0]["query"] == "q1"
