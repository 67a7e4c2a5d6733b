"""Every case of `fixtures/`: the rewritten text, and what it does in Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage.frontend import RewrittenStatement
from forward_lineage.frontend.printing import FaithfulGenerator
from tests.golden import execution
from tests.golden.cases import SEMANTICS, Case, one_line, read_all
from tests.golden.tables import catalog
from udafs.errors import LineageError

CASES = list(read_all())
CATALOG = catalog()
TEXTS = [pytest.param(case, id=case.name) for case in CASES if case.bug is None]


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    bug = [pytest.mark.xfail(reason=case.bug)] if case.bug else []
    return [*bug, pytest.mark.since(*case.since)] if case.since else bug


def _telling(cases: list[Case]) -> Iterator[Case]:
    """Of the cases in their order the first of each file, and those with a word of SQL or a function that is new.

    What runs is the text that stands in the file, which `test_text` makes sure of every day; what Spark makes of it
    changes with Spark and with the kernel's functions. So each rule, operator and function is run every day, and the
    other cases in the long tier; a new version of Spark gets all of them (tests/spark_versions.py).
    """
    words: set[str] = set()
    files: set[Path] = set()
    for case in cases:
        found = {word for text in case.rewritten.values() for word in _WORDS.findall(text)}
        if not found <= words or case.file not in files:
            yield case
        words |= found
        files.add(case.file)


_WORDS = re.compile(r"[A-Za-z_]+(?=\()|\b[A-Z]{2,}\b")  # functions and SQL's own words
_RUN = [case for case in CASES if case.rows or case.bug]
_EVERY_DAY = {case.name for case in _telling(_RUN)}
RUNS = [
    pytest.param(
        case, id=case.name, marks=[*_marks(case), *([] if case.name in _EVERY_DAY or case.bug else [pytest.mark.long])]
    )
    for case in _RUN
]


@pytest.mark.parametrize("case", TEXTS)
def test_text(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FaithfulGenerator, "HAS_STAR_EXCEPT", True)  # fixtures are spelled for the newest Spark
    for semantics in SEMANTICS:
        found = execution.rewritten(case, semantics, CATALOG)
        if semantics in case.refused:
            assert isinstance(found, LineageError), f"{semantics}: not refused but rewritten"
            assert str(found) == case.refused[semantics]
        elif isinstance(found, LineageError):
            raise found
        else:
            assert one_line(found.sql) == case.rewritten.get(semantics), semantics


@pytest.mark.parametrize("case", RUNS)
def test_rows(case: Case, golden: SparkSession) -> None:
    statements = {semantics: _statement(case, semantics) for semantics in case.rows}
    plain = execution.run(golden, next(iter(statements.values())).user_sql, case.args)
    plain_rows = [values for values, _ in execution.rows(plain, traced=False)]
    known: dict[str, list[str]] = {}
    for semantics, statement in statements.items():
        if statement.sql not in known:
            frame = execution.run(golden, statement.sql, case.args, statement.places)
            traced = bool(statement.tables)
            assert execution.columns(frame, traced) == execution.columns(plain, traced=False)
            rows = execution.rows(frame, traced)
            assert _ordered([values for values, _ in rows], case) == _ordered(plain_rows, case)
            known[statement.sql] = execution.as_lines(rows)
        assert _ordered(known[statement.sql], case) == _ordered(case.rows[semantics], case), semantics


def _statement(case: Case, semantics: str) -> RewrittenStatement:
    found = execution.rewritten(case, semantics, CATALOG)
    if isinstance(found, LineageError):
        raise found
    return found


def _ordered(lines: list[str], case: Case) -> list[str]:
    return lines if case.in_order else sorted(lines)
