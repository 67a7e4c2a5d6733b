"""Every fixture that runs, and what may be done next with its frame: the rows are those of the plain query's frame."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.checking.continuations import STEPS, Around, Steps, named, surroundings, users
from tests.golden import execution
from tests.golden.cases import Case, read_all
from tests.golden.tables import catalog
from tests.oracle.spark_answers import FAILURES
from tests.tiers import every_day
from udafs.errors import LineageError
from udafs.requests import resolved_once

pytestmark = pytest.mark.timeout(1800)

CASES = [case for case in read_all() if case.rows and not case.bug and not case.since]
# Of every day one fixture of those whose plans are shared, put in place or cut; tests/oracle draws others.
DAILY = {next(case.name for case in CASES if case.file.stem == "one_pass")}


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(str(row) for row in frame.select(*(named(name) for name in users(frame))).collect())


def differences(spark: SparkSession, case: Case, semantics: str, around: Around) -> list[str]:
    statement = execution.rewritten(case, semantics, catalog())
    if isinstance(statement, LineageError):
        raise statement
    found = []
    for step in STEPS:
        steps = Steps(((step, 11),))
        try:
            plain = rows(steps.applied(execution.run(spark, statement.user_sql, case.args), around))
        except FAILURES:
            continue  # it cannot be done with these columns
        try:
            frame = resolved_once(execution.run(spark, statement.sql, case.args, statement.places))
            traced = rows(steps.applied(frame, around))
        except FAILURES as error:
            found.append(f"{semantics}, {step}: fails: {str(error)[:200]}")
            continue
        if traced != plain and not case.in_order:
            found.append(f"{semantics}, {step}: {traced}, plain {plain}")
    return found


@pytest.mark.parametrize("case", every_day(CASES, lambda case: case.name in DAILY), ids=lambda case: case.name)
def test_every_step(case: Case, golden: SparkSession) -> None:
    with surroundings() as around:
        assert [each for semantics in case.rows for each in differences(golden, case, semantics, around)] == []
