"""Judging many cases: what the interpreter expects beside what Spark returns, with or without lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from forward_lineage import Catalog, LineageError, rewrite_sql
from tests.oracle.algebra import Database, Query, Select, Star, Statement, Table, Value
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError, Relation
from tests.oracle.generation import Case
from tests.oracle.interpreter import Semantics, interpret
from tests.oracle.printing import Printer, to_sql
from tests.oracle.spark_batches import Answer, create_tables, run_all, schemas
from tests.oracle.strategies import SCHEMAS

AnnotatedRow = tuple[tuple[object, ...], frozenset[tuple[str, object]]]


@dataclass(frozen=True)
class Verdict:
    """The outcome for one case.

    outcome: "agree"; "disagree"; "refused" by a LineageError; "invalid" where Spark itself does not run the query; "open" where SQL allows
    several answers. detail: the reason, or both sides of a disagreement.
    """

    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class _Task:
    """One query on its way through Spark: what to run, and what must come out."""

    original: str
    text: str
    expected: Counter[AnnotatedRow]
    names: dict[str, str]
    traced: bool


def judge_values(spark: SparkSession, cases: Sequence[Case]) -> list[Verdict]:
    """Whether plain Spark returns the rows the interpreter expects."""
    return _judge(spark, cases, None)


def judge_lineage(spark: SparkSession, cases: Sequence[Case], semantics: Semantics) -> list[Verdict]:
    """Whether the rewritten query returns the rows and the lineage the interpreter expects, under the user's columns."""
    return _judge(spark, cases, semantics)


def _judge(spark: SparkSession, cases: Sequence[Case], semantics: Semantics | None) -> list[Verdict]:
    prepared = [_prepare(spark, i, case, semantics) for i, case in enumerate(cases)]
    tasks = [task for task in prepared if isinstance(task, _Task)]
    originals = schemas(spark, [task.original for task in tasks])
    found = schemas(spark, [task.text for task in tasks]) if semantics else originals
    answers = run_all(spark, [task.text for task in tasks], found)
    judged = iter(_verdict(spark, *each) for each in zip(tasks, originals, found, answers, strict=True))
    return [task if isinstance(task, Verdict) else next(judged) for task in prepared]


def _prepare(spark: SparkSession, number: int, case: Case, semantics: Semantics | None) -> _Task | Verdict:
    database, statement = case
    try:
        expected = interpret(statement, database, semantics or "data")
    except (NondeterministicError, MoreThanOneRowError) as reason:
        return Verdict("open", type(reason).__name__)
    names = {table: f"{table}{number}" for table in database}
    create_tables(spark, statement, names, database)
    printer = Printer(names)
    original = text = printer.query(statement.query)
    if semantics:
        try:
            text = rewrite_sql(printer.statement(statement), catalog(names), semantics)
        except LineageError as refusal:
            return Verdict("refused", str(refusal))
    return _Task(original, text, annotated(expected, statement, database, bool(semantics)), names, bool(semantics))


def catalog(names: dict[str, str]) -> Catalog:
    """The base tables under the names they have in this case."""
    found = Catalog()
    for table, (columns, _) in SCHEMAS.items():
        found.register(names[table], columns, key=columns[0])
    return found


def annotated(relation: Relation, statement: Statement, database: Database, traced: bool) -> Counter[AnnotatedRow]:
    """The multiset of rows to expect, granules as the dense ids they get."""
    ids = granule_ids(statement, database)
    return Counter(
        (
            row.values,
            frozenset((table, ids.get((table, one), one)) for table, one in row.lineage) if traced else frozenset(),
        )
        for row in relation.rows
    )


def granule_ids(statement: Statement, database: Database) -> dict[tuple[str, object], int]:
    """LINEAGE ON: distinct values of a table are numbered from 0 in their order, NULLs first."""
    if statement.lineage_on is None:
        return {}
    ids: dict[tuple[str, object], int] = {}
    for table in {on.table for on in statement.lineage_on}:
        scan = Query(Select((Star(),), Table(table)))
        whole = interpret(Statement(scan, statement.lineage_on), database, "data")
        granules = {one for row in whole.rows for _, one in row.lineage if isinstance(one, tuple)}
        for i, granule in enumerate(sorted(granules, key=_nulls_first)):
            ids[table, granule] = i
    return ids


def _nulls_first(granule: tuple[Value, ...]) -> tuple[tuple[bool, Value], ...]:
    return tuple((value is not None, value) for value in granule)


def _verdict(
    spark: SparkSession, task: _Task, original: StructType | Answer, found: StructType | Answer, answer: Answer
) -> Verdict:
    if isinstance(original, Answer):
        return Verdict("invalid", f"{original.condition}")
    if answer.error is not None:
        if run_all(spark, [task.original], [original])[0].error is not None:
            return Verdict("invalid", f"{answer.condition}")
        return Verdict("disagree", f"Spark refuses the rewritten query\n{task.text}\n{answer.error}")
    assert isinstance(found, StructType)
    if task.traced and _user_columns(found) != _user_columns(original):
        return Verdict("disagree", f"columns\nexpected {original.simpleString()}\ngot      {found.simpleString()}")
    table_of = {name: table for table, name in task.names.items()}
    got = Counter((values, frozenset((table_of[t], one) for t, one in ids)) for values, ids in answer.rows)
    if got == task.expected:
        return Verdict("agree")
    if task.traced and _values(got) != _values(task.expected):
        plain = Counter(values for values, _ in run_all(spark, [task.original], [original])[0].rows)
        if plain != _values(task.expected):
            # Then nothing can be said about lineage; `test_values` is there to notice.
            return Verdict("invalid", "the interpreter and plain Spark differ on the rows")
    return Verdict(
        "disagree",
        f"{task.text}\nexpected only {shown(task.expected - got)}\ngot only      {shown(got - task.expected)}",
    )


def _values(rows: Counter[AnnotatedRow]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for (values, _), count in rows.items():
        found[values] += count
    return found


def _user_columns(columns: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in columns.fields if field.name != "DL"]


def shown(rows: Counter[AnnotatedRow]) -> str:
    """Rows with their lineage, a line each."""
    return "".join(f"\n  {n} × {values} {sorted(lineage, key=str)}" for (values, lineage), n in rows.items())


def report(case: Case, semantics: str, verdict: Verdict) -> str:
    """A failure as one reads it: tables, query, both sides."""
    database, statement = case
    tables = "\n".join(f"{name}{table.columns} = {list(table.rows)}" for name, table in database.items())
    return f"semantics: {semantics}\n{tables}\n{to_sql(statement)}\n{verdict.detail}\n{statement!r}"
