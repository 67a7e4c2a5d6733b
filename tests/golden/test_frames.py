"""The other door: each case of `fixtures/` as a DataFrame, whose lineage must be that of its text."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.spark.names import quoted_name
from tests.golden import execution
from tests.golden.cases import Case, read_all
from tests.golden.tables import catalog
from tests.oracle.frames import written
from udafs.errors import NotTracedError

CATALOG = catalog()
NAMES = tuple(map(quoted_name, CATALOG.names()))

# Tables with DL have it among the columns of a DataFrame; the API has neither parameters nor LINEAGE ON.
_OF_TEXTS = ("stored_tables", "lineage_on", "refusals")

#: What a plan does not say, and so is refused as a DataFrame; by a part of the message.
REFUSED = (
    "rows that are not registered",  # VALUES stand in a plan as rows that a program made
    "a filter by a window's value that has no name",
    "a sample",
    "WITH RECURSIVE",
    "spread anew",
    "read back from SQL as it was",
)
MOST_REFUSED = 0.09

#: Where the text leaves to names what a plan knows, less of the other side counts: title → why.
NARROWER = {
    "LEFT ANTI JOIN whose condition could mean another column in WHERE: all of the right side counts": "names",
    "a key that PIVOT names, and an alias, too": "names",
}

CASES = [
    case
    for case in read_all()
    if case.rows
    and case.args is None
    and not case.bug
    and case.file.stem not in _OF_TEXTS
    and "LINEAGE ON" not in case.sql
]


def _params(cases: list[Case]) -> list[object]:
    """A part of them in every run, all in the long one: each is planned three times."""
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[
                *([] if place % 40 == 0 else [pytest.mark.long]),
                *([pytest.mark.since(*case.since)] if case.since else []),
            ],
        )
        for place, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", _params(CASES))
def test_lineage_is_that_of_the_text(case: Case, golden: SparkSession) -> None:
    frame = golden.sql(case.sql)
    try:
        sql = written(frame, NAMES)
        for semantics, wanted in case.rows.items():
            statement = rewrite_statement(parse(sql), CATALOG, semantics)
            found = execution.rows(execution.run(golden, statement.sql, None), bool(statement.tables))
            rows = [_fields_sorted(line) for line in execution.as_lines(found)]
            if case.title in NARROWER and semantics == "control":
                assert len(rows) == len(wanted)
            else:
                assert sorted(rows) == sorted(map(_fields_sorted, wanted)), semantics
    except NotTracedError as refusal:
        if "LIMIT without ORDER BY" not in str(refusal):
            assert any(part in str(refusal) for part in REFUSED), refusal


def _fields_sorted(line: str) -> str:
    """The tables of DL stand in the order in which a text names them, which a plan does not keep."""
    values, bar, lineage = line.rpartition(" | ")
    return f"{values}{bar}{' '.join(sorted(lineage.replace(', ', ',').split(' ')))}"


@pytest.mark.long
def test_few_are_refused(golden: SparkSession) -> None:
    refused = []
    for case in CASES:
        try:
            written(golden.sql(case.sql), NAMES)
        except NotTracedError as refusal:
            refused.append(f"{case.name}: {refusal}")
    assert len(refused) <= MOST_REFUSED * len(CASES), "\n".join(refused)
