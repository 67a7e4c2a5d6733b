"""Spark beside the interpreter, over generated queries: rows of plain Spark, rows and lineage of rewritten queries.

A failure is shrunk and printed with its tables, its SQL and both sides; the last line is the statement to put into
`test_regressions.py`.
"""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.oracle.algebra import Database
from tests.oracle.comparison import AnnotatedRow, Mode, Verdict, annotated, judge, report
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.generation import Case, many_cases, shrunk
from tests.oracle.interpreter import interpret
from tests.oracle.printing import create_view, to_sql
from tests.oracle.spark_answers import run_all

# Seconds are few on an idle machine, but a busy one must not fail for being busy.
pytestmark = pytest.mark.timeout(1800)

CHUNK = 100
SHRINK_SECONDS = 60

# Shares of all cases. A refusal is honest but proves nothing: too many of them, and the comparison has become empty.
MOST_REFUSED = 0.05
MOST_NOT_COMPARABLE = 0.15


def compare(spark: SparkSession, count: int, seed: int, modes: Sequence[Mode], *, granules: bool = False) -> None:
    """Judge `count` cases from `seed` on; fail on any disagreement, or if too few could be judged."""
    outcomes: dict[Mode, Counter[str]] = {mode: Counter() for mode in modes}
    reasons: Counter[str] = Counter()
    failures: list[str] = []
    generated = many_cases(count, seed, granules=granules)
    while chunk := list(itertools.islice(generated, CHUNK)):
        for mode, verdicts in judge(spark, [case for _, case in chunk], modes).items():
            outcomes[mode].update(verdict.outcome for verdict in verdicts)
            reasons.update(reason(mode, verdict) for verdict in verdicts if verdict.outcome in ("refused", "invalid"))
            failures += [
                described(spark, number, case, mode, granules=granules, shrink=len(failures) < 3)
                for (number, case), verdict in zip(chunk, verdicts, strict=True)
                if verdict.outcome == "disagree"
            ]
        print(f"{sum(outcomes[modes[0]].values())} of {count}: {len(failures)} disagreements", flush=True)
    summary = "\n".join([*(f"{mode}: {dict(found)}" for mode, found in outcomes.items()), *listed(reasons)])
    print(summary)
    assert not failures, f"{len(failures)} disagreements\n{summary}\n\n" + "\n\n".join(failures[:10])
    for mode, found in outcomes.items():
        assert found["refused"] <= max(MOST_REFUSED * count, 1), f"{mode}: too many refusals\n{summary}"
        assert found["invalid"] + found["open"] <= max(MOST_NOT_COMPARABLE * count, 1), f"{mode}\n{summary}"


def reason(mode: Mode, verdict: Verdict) -> str:
    """The kind of a refusal, without the names and positions in it."""
    return f"{mode} {verdict.outcome}: " + re.sub(r"\(line.*?\)|`[^`]*`|\b\w*\d+\b", "…", verdict.detail)[:160]


def listed(reasons: Counter[str]) -> list[str]:
    return [f"{count:5} {why}" for why, count in reasons.most_common(40)]


def described(spark: SparkSession, seed: int, case: Case, mode: Mode, *, granules: bool, shrink: bool) -> str:
    """The report of a failing case, shrunk as far as the time allows."""
    deadline = time.monotonic() + SHRINK_SECONDS

    def fails(candidate: Case) -> bool:
        return time.monotonic() < deadline and judge(spark, [candidate], [mode])[mode][0].outcome == "disagree"

    smallest = shrunk(seed, fails, case, granules=granules) if shrink else case
    return report(smallest, mode, judge(spark, [smallest], [mode])[mode][0])


def test_rows_of_plain_spark(tiny: SparkSession) -> None:
    compare(tiny, 8, 100_000, ["values"])


def test_rows_and_lineage(tiny: SparkSession) -> None:
    compare(tiny, 24, 200_000, ["data", "control"])


def test_granules(tiny: SparkSession) -> None:
    compare(tiny, 8, 300_000, ["data", "control"], granules=True)


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
    answer = run_all([frame])[0]
    assert answer.error is None, answer.error
    return Counter((values, frozenset(ids)) for values, ids in answer.rows)


def test_through_a_session(registered: tuple[ForwardLineage, Database]) -> None:
    """The same through `lineage.sql`, with all its checks."""
    lineage, database = registered
    refusals = []
    for text, expected in determined(12, 500_000, database):
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
    for text, rows in determined(30, 600_000, database):
        if not any(table == "r" for _, ids in rows for table, _ in ids):
            continue
        expected: Counter[AnnotatedRow] = Counter()
        for (values, ids), count in rows.items():
            expected[values, ids & suspects] += count if ids & suspects else 0
        got = rows_of(lineage.affected(text, "r", where="a IS NOT NULL", semantics="control"))
        assert got == +expected, text
        touched += 1
    assert touched >= 8


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_rows_of_plain_spark_for_long(tiny: SparkSession) -> None:
    compare(tiny, 2_000, 1_000_000, ["values"])


@pytest.mark.long
@pytest.mark.timeout(14400)
def test_rows_and_lineage_for_long(tiny: SparkSession) -> None:
    compare(tiny, 5_000, 2_000_000, ["data", "control"])


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_granules_for_long(tiny: SparkSession) -> None:
    compare(tiny, 1_000, 3_000_000, ["data", "control"], granules=True)
