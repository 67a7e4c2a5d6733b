"""Spark beside the interpreter, over generated queries: rows of plain Spark, rows and lineage of rewritten queries.

A failure is shrunk and printed with its tables, its SQL and both sides; the last line is the statement to put into
`test_regressions.py`. `python -m tests.oracle` does the same to as many queries as one has time for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.frontend import RewrittenStatement
from tests.oracle import blocks, comparison
from tests.oracle.algebra import Database
from tests.oracle.blocks import Block, faults, judged, summary
from tests.oracle.comparison import AnnotatedRow, Door, Mode, annotated
from tests.oracle.continuations import Continuation
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.generation import many_cases
from tests.oracle.interpreter import interpret
from tests.oracle.printing import create_view, to_sql
from tests.oracle.spark_answers import answer_of
from tests.spark_switches import SWITCHES
from tests.tiers import every_day

# Seconds are few on an idle machine, but a busy one must not fail for being busy.
pytestmark = pytest.mark.timeout(1800)


def compare(
    spark: SparkSession,
    count: int,
    seed: int,
    modes: tuple[Mode, ...],
    *,
    granules: bool = False,
    door: Door = "text",
) -> None:
    """Judge `count` cases from `seed` on; fail on any disagreement, or if too few could be judged."""
    outcome = judged(spark, Block("a few", seed, count, modes, granules, door=door))
    print(summary([outcome]))
    wrong = faults([outcome])
    assert not wrong, "\n\n".join([summary([outcome]), *wrong[:10]])


def test_rows_of_plain_spark(tiny: SparkSession) -> None:
    compare(tiny, 4, 100_000, ("values",))


def test_rows_and_lineage(tiny: SparkSession) -> None:
    compare(tiny, 10, 200_000, ("data", "control"))


def test_granules(tiny: SparkSession) -> None:
    compare(tiny, 5, 300_000, ("data", "control"), granules=True)


def test_programs_of_data_frames(tiny: SparkSession) -> None:
    compare(tiny, 12, 700_000, ("data", "control"), door="frame")


def test_continued_frames(tiny: SparkSession) -> None:
    """What is done next with frames over shared groups and windows: rows and lineage of the rows that are kept."""
    outcome = judged(tiny, Block("continued", 900_100_000, 6, continued=True, stacked=True))
    assert outcome.disagreements == []
    assert sum(counts.get("agree", 0) for counts in outcome.found.values()) >= 8, summary([outcome])


def test_a_continuation_that_loses_rows_is_noticed(tiny: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law has teeth: a traced query without its rows differs from what is written down."""
    block = Block("broken", 900_100_000, 3, ("data",), continued=True, stacked=True)
    monkeypatch.setattr(blocks, "MOST_SHRUNK", 0)
    monkeypatch.setattr(blocks, "continuation", lambda _: Continuation((("columns reversed", 1),)))
    cut = comparison.rewrite_statement

    def without_rows(*given: Any, **named: Any) -> RewrittenStatement:
        made = cut(*given, **named)
        return replace(made, sql=f"SELECT * FROM ({made.sql}) LIMIT 0")

    monkeypatch.setattr(comparison, "rewrite_statement", without_rows)
    found = judged(tiny, block).found["continued data"]
    assert found.get("disagree", 0) >= 1, found


@pytest.mark.parametrize("setting", every_day(SWITCHES, ("no pruning, no pushing", "by value", "sort-merge joins")))
def test_under_a_setting(tiny: SparkSession, setting: str) -> None:
    place = list(SWITCHES).index(setting)
    outcome = judged(tiny, Block(setting, 700_100_000 + 1_000 * place, 2, stacked=True, setting=setting))
    wrong = faults([outcome])
    assert not wrong, "\n\n".join([summary([outcome]), *wrong[:10]])


def test_what_would_be_planned_for_minutes_is_counted(tiny: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LONGEST", 10)
    assert judged(tiny, Block("long", 200_000, 3, ("data",))).found == {"data": {"too long": 3}}


@pytest.fixture(scope="module")
def registered(tiny: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[ForwardLineage, Database]:
    """A session in which the three tables of one generated database are registered."""
    database, _ = next(case for _, case in many_cases(100, 400_000) if all(len(t.rows) > 2 for t in case[0].values()))
    lineage = ForwardLineage(tiny, home=tmp_path_factory.mktemp("registered"))
    for table, content in database.items():
        tiny.sql(create_view(table, content))
        lineage.register(table, key=content.columns[0])
    return lineage, database


def determined(count: int, seed: int, database: Database) -> Iterator[tuple[str, Counter[AnnotatedRow]]]:
    """Queries with the rows and lineage to expect of them over this database, under control, where that is exact."""
    for _, (_, statement) in many_cases(count, seed):
        try:
            expected = interpret(statement, database, "control")
        except (NondeterministicError, MoreThanOneRowError):
            continue
        if interpret(statement, database, "control", widest=True) != expected:
            continue
        yield to_sql(statement), annotated(expected, statement, database, traced=True)


def rows_of(frame: DataFrame) -> Counter[AnnotatedRow]:
    answer = answer_of(frame)
    assert answer.error is None, answer.error
    return Counter((values, frozenset(ids)) for values, ids in answer.rows)


def test_through_a_session(registered: tuple[ForwardLineage, Database]) -> None:
    """The same through `lineage.sql`, with all its checks."""
    lineage, database = registered
    refusals = []
    for text, expected in determined(8, 500_000, database):
        try:
            got = rows_of(lineage.sql(text, semantics="control"))
        except LineageError as refusal:
            refusals.append(f"{refusal}\n  {text}")
        else:
            assert got == expected, text
    assert len(refusals) <= 1, "\n".join(refusals)


def test_affected(registered: tuple[ForwardLineage, Database]) -> None:
    """What suspected rows have touched is what has one of them in its lineage."""
    lineage, database = registered
    suspects = {("r", row[0]) for row in database["r"].rows if row[1] is not None}
    touched = 0
    for text, rows in determined(100, 600_000, database):
        if touched == 3:
            break
        if not any(table == "r" for _, ids in rows for table, _ in ids):
            continue
        expected: Counter[AnnotatedRow] = Counter()
        for (values, ids), count in rows.items():
            expected[values, ids & suspects] += count if ids & suspects else 0
        got = rows_of(lineage.affected(text, "r", where="a IS NOT NULL", semantics="control"))
        assert got == +expected, text
        touched += 1
    assert touched == 3
