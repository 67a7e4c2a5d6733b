"""The bench of the lineage store: it saves, its rivals answer the same questions, and its sizes are of all tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from tests.bench.sessions import Sessions
from tests.bench.store import RIVALS, Question, Size, measure, table_of_questions, table_of_sizes
from tests.bench.workloads import TPCH


@pytest.mark.long
def test_one_query(spark: SparkSession, tpch: Path, tmp_path: Path) -> None:
    sessions = Sessions.over(TPCH, spark.newSession(), tpch, tmp_path / "home")
    found = measure(sessions, ["q12"], ["q12"], 1, "data", tmp_path)
    (size,) = found.sizes
    saved = sessions.lineage.describe("q12")
    assert (size.rows, size.pairs, size.int32) == (saved.rows, saved.pairs, 4 * saved.pairs)
    assert len(found.saving[0].timings) == 2 and found.saving[0].ratio("rows and lineage")
    assert {each.table for each in found.questions} == {table.name for table in saved.tables}
    assert {rival for each in found.questions for rival in each.rivals} == set(RIVALS)
    assert all(each.answers for each in found.questions)


def test_tables() -> None:
    console = Console(record=True, width=160)
    console.print(table_of_sizes([Size("q1", 4, 1000, 50, 4000, 100, 200), Size("q2", 1, 0, 10, 0, 10, 0)]))
    timed = [Question("q1", "a", "forward 1 id", 1, 2.0, 9.0, {"scan DL": 20.0, "join pairs": 40.0})]
    timed.append(Question("q1", "b", "forward 1 id", 1, 4.0, 5.0))
    console.print(table_of_questions(timed))
    shown = console.export_text()
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines() if "│" in line]
    assert cells == [
        ["q1", "4", "1,000", "50", "4,000", "100", "200", "0.50"],
        ["q2", "1", "0", "10", "0", "10", "0", "–"],
        ["q1", "forward 1 id", "b", "4.00", "9.0", "a", "10", "20"],
    ]
