"""Trying a law: two texts rewritten, rows and lineage of both as Spark computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from forward_lineage import Catalog, LineageError, rewrite_sql
from rewrites.tables import BaseTable, View
from tests.oracle.comparison import LONGEST, TOO_LONG, AnnotatedRow, Mode, Verdict, catalog, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.generation import Case
from tests.oracle.interpreter import interpret
from tests.oracle.laws import LAWS, OTHER_NAME, Related, Rewritten
from tests.oracle.printing import Printer, to_sql
from tests.oracle.spark_answers import all_answers, create_tables

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

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        return self.tables.qualifier(parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        return self.tables.is_variable(parts)

    def names(self) -> Sequence[str]:
        return self.tables.names()


@dataclass(frozen=True)
class _Trial:
    """A query written in two ways, over tables that exist under names of their own."""

    law: str
    case: Case
    written: Rewritten
    names: dict[str, str]

    @property
    def texts(self) -> list[str]:
        printer = Printer(self.names)
        return [printer.query(self.case[1].query), printer.query(self.written.query)]


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


def try_law(
    spark: SparkSession, law: str, count: int, cases: Iterable[Case], longest: int
) -> dict[Mode, list[Verdict]]:
    """Compare both ways of writing `count` queries, under both semantics; "agree" where the law held."""
    verdicts: dict[Mode, list[Verdict]] = {semantics: [] for semantics in SEMANTICS}
    for number, (case, written) in enumerate(applications(law, count, cases, longest)):
        trial = _Trial(law, case, written, {table: f"{table}{number}" for table in case[0]})
        create_tables(spark, case[1], trial.names, case[0])
        for semantics in SEMANTICS:
            verdicts[semantics].append(_verdict(spark, trial, semantics))
    return verdicts


def _verdict(spark: SparkSession, trial: _Trial, semantics: Mode) -> Verdict:
    known = _known(spark, trial)
    if isinstance(known, Verdict):
        return known
    try:
        rewritten = [rewrite_sql(text, known, semantics) for text in trial.texts]  # type: ignore[arg-type]
    except LineageError as refusal:
        return Verdict("refused", str(refusal))
    if max(map(len, rewritten)) > LONGEST:
        return TOO_LONG
    answers = all_answers(spark, rewritten)
    if answers[0].error is not None:
        return Verdict("invalid", str(answers[0].condition))
    plain = all_answers(spark, trial.texts[1:])[0]
    if plain.error is not None:
        return Verdict("invalid", str(plain.condition))
    if answers[1].error is not None:
        return Verdict("disagree", f"{rewritten[1]}\n{answers[1].error}")
    first, second = (Counter((values, frozenset(ids)) for values, ids in answer.rows) for answer in answers)
    if holds(first, second, LAWS[trial.law][1]):
        return Verdict("agree")
    return Verdict("disagree", _report(trial, semantics, first, second))


def _known(spark: SparkSession, trial: _Trial) -> _WithView | Verdict:
    """The names that both texts may use."""
    tables = catalog(trial.names)
    if trial.written.view is None:
        return _WithView(tables, None)
    text = Printer(trial.names).query(trial.written.view)
    (made,) = all_answers(spark, [f"CREATE OR REPLACE TEMPORARY VIEW {OTHER_NAME} AS {text}"])
    if made.error is not None:
        return Verdict("open", "no view can be made of it")  # two columns of one name, say
    return _WithView(tables, View(OTHER_NAME, tuple(spark.table(OTHER_NAME).columns), text))


def holds(first: Counter[AnnotatedRow], second: Counter[AnnotatedRow], related: Related) -> bool:
    """Whether rows with their lineage are related as a law says."""
    return first == second if related is Related.SAME else not second - first


def _report(trial: _Trial, semantics: Mode, first: Counter[AnnotatedRow], second: Counter[AnnotatedRow]) -> str:
    tables = "\n".join(f"{name}{table.columns} = {list(table.rows)}" for name, table in trial.case[0].items())
    differ = f"only in the first: {shown(first - second)}\nonly in the second: {shown(second - first)}"
    return f"{trial.law}, {semantics}\n{tables}\n{trial.texts[0]}\n{trial.texts[1]}\n{differ}"
