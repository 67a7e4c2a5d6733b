"""Laws of queries, over generated ones: two texts rewritten, rows and lineage of both as Spark computes them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from forward_lineage import Catalog, LineageError, rewrite_sql
from rewrites.tables import BaseTable, View
from tests.oracle.comparison import AnnotatedRow, Mode, catalog, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.generation import Case, many_cases
from tests.oracle.interpreter import interpret
from tests.oracle.laws import LAWS, OTHER_NAME, Related, Rewritten
from tests.oracle.printing import Printer, to_sql
from tests.oracle.spark_answers import analysed, create_tables, run_all

pytestmark = pytest.mark.timeout(1800)
SEMANTICS: tuple[Mode, ...] = ("data", "control")


@dataclass(frozen=True)
class _WithView:
    """The tables of a case, and a view over them."""

    tables: Catalog
    view: View | None

    def find(self, parts: Sequence[str]) -> BaseTable | View | None:
        if self.view is not None and tuple(parts) == (self.view.name,):
            return self.view
        return self.tables.find(parts)

    def names(self) -> Sequence[str]:
        return self.tables.names()


_GENERATED = (case for _, case in many_cases(1_000_000, 8_000_000) if len(to_sql(case[1])) < 500)
_SHORT: list[Case] = []


def short_cases() -> Iterator[Case]:
    """Short queries for all laws, each generated once: that takes longer than to ask Spark."""
    for at in itertools.count():
        if at == len(_SHORT):
            _SHORT.append(next(_GENERATED))
        yield _SHORT[at]


def applications(law: str, count: int, cases: Iterable[Case], longest: int) -> Iterator[tuple[Case, Rewritten]]:
    """The first `count` of the cases that a law applies to and whose rows are determined; `longest`: characters."""
    apply, _ = LAWS[law]
    found = 0
    for case in cases:
        written = apply(case[1].query)
        if written is None or len(to_sql(written.query)) > longest or not _is_determined(case):
            continue
        yield case, written
        found += 1
        if found == count:
            return


def _is_determined(case: Case) -> bool:
    try:
        interpret(case[1], case[0], "control")
    except (NondeterministicError, MoreThanOneRowError):
        return False
    return True


def try_law(spark: SparkSession, law: str, count: int, cases: Iterable[Case], longest: int) -> Counter[str]:
    """Compare both ways of writing `count` queries, under both semantics; return how many held or were refused."""
    outcomes: Counter[str] = Counter()
    for number, (case, written) in enumerate(applications(law, count, cases, longest)):
        names = {table: f"{table}{number}" for table in case[0]}
        create_tables(spark, case[1], names, case[0])
        for semantics in SEMANTICS:
            outcomes[_outcome(spark, law, case, written, names, semantics)] += 1
    return outcomes


def _outcome(
    spark: SparkSession, law: str, case: Case, written: Rewritten, names: dict[str, str], semantics: Mode
) -> str:
    printer = Printer(names)
    texts = [printer.query(case[1].query), printer.query(written.query)]
    view = None
    if written.view is not None:
        text = printer.query(written.view)
        (frame,) = analysed(spark, [f"CREATE OR REPLACE TEMPORARY VIEW {OTHER_NAME} AS {text}"])
        if not hasattr(frame, "columns"):
            return "no view"  # two columns of one name, say
        view = View(OTHER_NAME, tuple(spark.table(OTHER_NAME).columns), text)
    known = _WithView(catalog(names), view)
    try:
        rewritten = [rewrite_sql(text, known, semantics) for text in texts]  # type: ignore[arg-type]
    except LineageError:
        return "refused"
    answers = run_all(analysed(spark, rewritten))
    if answers[0].error is not None:
        return "invalid"
    plain = run_all(analysed(spark, texts[1:]))[0]
    if plain.error is not None:
        return "invalid"
    assert answers[1].error is None, f"{rewritten[1]}\n{answers[1].error}"
    first, second = (Counter((values, frozenset(ids)) for values, ids in answer.rows) for answer in answers)
    _, related = LAWS[law]
    assert _holds(first, second, related), _report(law, semantics, case, texts, first, second)
    return "held"


def _holds(first: Counter[AnnotatedRow], second: Counter[AnnotatedRow], related: Related) -> bool:
    return first == second if related is Related.SAME else not second - first


def _report(
    law: str,
    semantics: Mode,
    case: Case,
    texts: list[str],
    first: Counter[AnnotatedRow],
    second: Counter[AnnotatedRow],
) -> str:
    tables = "\n".join(f"{name}{table.columns} = {list(table.rows)}" for name, table in case[0].items())
    differ = f"only in the first: {shown(first - second)}\nonly in the second: {shown(second - first)}"
    return f"{law}, {semantics}\n{tables}\n{texts[0]}\n{texts[1]}\n{differ}"


@pytest.mark.parametrize("law", LAWS)
def test_law(tiny: SparkSession, law: str) -> None:
    assert try_law(tiny, law, 1, short_cases(), longest=800)["held"]


@pytest.mark.long
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("law", LAWS)
def test_law_for_long(tiny: SparkSession, law: str) -> None:
    cases = (case for _, case in many_cases(1_000_000, 9_000_000))
    outcomes = try_law(tiny, law, 200, cases, longest=10_000)
    print(law, dict(outcomes))
    assert outcomes["held"] >= 320


def test_the_texts_of_the_laws() -> None:
    """Each law writes something else."""
    for law, (apply, _) in LAWS.items():
        case, written = next(applications(law, 1, short_cases(), longest=800))
        assert apply(case[1].query) == written
        assert to_sql(written.query) != to_sql(case[1].query), law


def test_a_broken_law_is_noticed() -> None:
    row: AnnotatedRow = ((1,), frozenset({("r", 1)}))
    other: AnnotatedRow = ((1,), frozenset({("r", 2)}))
    assert _holds(Counter([row]), Counter([row]), Related.SAME)
    assert not _holds(Counter([row]), Counter([other]), Related.SAME)
    assert not _holds(Counter([row]), Counter([row, row]), Related.SAME)
    assert _holds(Counter([row, other]), Counter([other]), Related.FEWER)
    assert not _holds(Counter([row]), Counter([other]), Related.FEWER)
