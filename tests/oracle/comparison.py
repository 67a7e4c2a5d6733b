"""Judging many cases: what the interpreter expects beside what Spark returns, with or without lineage."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from forward_lineage import Catalog, LineageError
from forward_lineage.catalog import key_table
from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.rewriting import semantics_of
from forward_lineage.spark.settings import configured
from rewrites.options import Options
from tests.oracle.algebra import Database, Query, Select, Star, Statement, Table, Value
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError, Relation
from tests.oracle.frames import FrameWriter, NoWordsError, written
from tests.oracle.generation import Case
from tests.oracle.having_keys import with_keys_selected
from tests.oracle.interpreter import Semantics, interpret
from tests.oracle.own_ids import known_values, own_id
from tests.oracle.printing import SPARK_TYPES, Printer, to_sql
from tests.oracle.promise import broken, is_promised
from tests.oracle.spark_answers import Answer, Columns, all_answers, all_columns, create_tables, with_rule, without_rule
from tests.oracle.strategies import SCHEMAS
from tests.spark_switches import BY_REFERENCE, JOINS

Mode = Literal["values", "data", "control"]
Door = Literal["text", "frame"]  # as what a query is given: its SQL, or a DataFrame
AnnotatedRow = tuple[tuple[object, ...], frozenset[tuple[str, object]]]
OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."


@dataclass(frozen=True)
class Verdict:
    """The outcome for one case.

    outcome: "agree"; "disagree"; "refused" by a LineageError; "invalid" where Spark itself does not run the query;
    "open" where SQL allows several answers; "too long" where Spark would plan it for minutes; "no words"
    where the DataFrame API does not have it.
    detail: the reason, or both sides of a disagreement.
    """

    outcome: str
    detail: str = ""


# A query whose parts Spark runs at the same time may fail now and then: one part does, unless another says before that
# it is not needed.
TRIES = 5

# Where predicates are nested under control, texts grow with the power of the depth; Spark plans such a one for minutes.
LONGEST = 30_000
TOO_LONG = Verdict("too long")

# Two readings of a view that keeps a plan have the same columns, until Spark 4.3 gives one of them new ones; by then a
# HAVING may have found the old ones. Plain queries fail of it, too, by how deep their readings stand in subqueries. A
# view that keeps a text has new columns wherever it is read.
COLUMNS_LOST = "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION"

# Rules of Spark 4.3's optimizer that break a plan, by what Spark says then, plain queries included: the same text runs
# without the rule. The first writes the value of a column, where EXCEPT ALL or INTERSECT ALL hands it on, in a place
# where only a column may stand; the second, of several rules, puts no rows, or a condition that is never true, in place
# of a part that is still to be joined; the third puts a value in place of an aggregate whose FILTER is never true, also
# where that is the function of a window.
KNOWS_THERE_ARE_NONE = ("PropagateEmptyRelation", "ConvertToLocalRelation", "NullPropagation")
RULES_AT_FAULT = (
    ("expressions.Literal cannot be cast|^java.lang.ClassCastException$", f"{OPTIMIZER}FoldablePropagation"),
    ("Unable to rewrite domain join", ",".join(f"{OPTIMIZER}{rule}" for rule in KNOWS_THERE_ARE_NONE)),
    ("Unsupported window function: (null|0)", f"{OPTIMIZER}EliminateAggregateFilter"),
    (r"\[PLAN_VALIDATION_FAILED_RULE_IN_BATCH\] Rule (?P<rule>\S+)", None),
)

# Spark asks ON of a broadcast outer join before a scalar subquery in it has come: of a FULL JOIN by chance, so that the
# text runs when it is asked again, of a RIGHT JOIN always, plain queries included. It runs without broadcasts.
RACE = "requirement failed: Subquery .* has not finished"

# Without its rule that folds constants, Spark cannot run a window of `1 PRECEDING`, which is −1 × 1 to it. Where nobody
# reads such a window, plain Spark has taken it away; lineage reads its frame.
NOT_FOLDED = "Unhandled bound in windows expressions"

# See `having_keys`: the condition that Spark names then.
KEY_LOST = "UNRESOLVED_COLUMN.WITH_SUGGESTION"


@dataclass(frozen=True)
class Setup:
    """A case in Spark: its tables exist under names of their own."""

    case: Case
    names: dict[str, str]
    original: str
    frame: DataFrame | None = None
    by_reference: bool = True  # whether lineage may travel so

    @property
    def own_ids(self) -> bool:
        """Whether values are ids by themselves, in every other case; in the others a dictionary gives them."""
        return bool(zlib.crc32(self.original.encode()) & 1)

    @property
    def printer(self) -> Printer:
        return Printer(self.names)

    def text(self) -> str:
        """What the rules are given.

        Raises:
            NotTracedError: the DataFrame has no text.

        """
        if self.frame is None:
            return self.printer.statement(self.case[1])
        return written(self.frame, self.names.values())


@dataclass(frozen=True)
class Task:
    """One query on its way through Spark: what to run, and what must come out."""

    setup: Setup
    plain: Columns
    text: str
    expected: Counter[AnnotatedRow]
    traced: bool
    widest: Counter[AnnotatedRow] | None = None  # the most lineage there may be, where the least is not all
    promised: bool = False  # whether its lineage must give each row back


def judge(
    spark: SparkSession, cases: Sequence[Case], modes: Sequence[Mode], door: Door = "text"
) -> dict[Mode, list[Verdict]]:
    """Compare Spark with the interpreter, case by case.

    Mode "values": the rows that plain Spark returns. Mode "data", "control": rows and lineage of the rewritten query
    under that semantics, and the names and types of the user's columns. Through the door "frame" the query is a program
    of the DataFrame API, see `frames`.
    """
    tasks = prepared(spark, cases, modes, door)
    # Both semantics often lead to the same text, which then runs once.
    texts = list(dict.fromkeys(task.text for each in tasks.values() for task in each if isinstance(task, Task)))
    answers = dict(zip(texts, all_answers(spark, texts), strict=True))
    return {
        mode: [task if isinstance(task, Verdict) else verdict_of(spark, task, answers[task.text]) for task in each]
        for mode, each in tasks.items()
    }


def prepared(
    spark: SparkSession, cases: Sequence[Case], modes: Sequence[Mode], door: Door
) -> dict[Mode, list[Task | Verdict]]:
    """What is to be run of each case under each mode, its tables being there; a verdict where that stands already."""
    by_reference = spark.conf.get(BY_REFERENCE, "true") != "false"
    setups = [replace(_set_up(spark, i, case), by_reference=by_reference) for i, case in enumerate(cases)]
    originals: list[Columns | Answer | Verdict] = list(all_columns(spark, [setup.original for setup in setups]))
    if door == "frame":
        pairs = [_as_frame(spark, *each) for each in zip(setups, originals, strict=True)]
        setups, originals = [setup for setup, _ in pairs], [plain for _, plain in pairs]
    return {
        mode: [prepare(setup, plain, mode) for setup, plain in zip(setups, originals, strict=True)] for mode in modes
    }


def _set_up(spark: SparkSession, number: int, case: Case) -> Setup:
    database, statement = case
    names = {table: f"{table}{number}" for table in database}
    create_tables(spark, statement, names, database)
    return Setup(case, names, Printer(names).query(statement.query))


def _as_frame(
    spark: SparkSession, setup: Setup, plain: Columns | Answer | Verdict
) -> tuple[Setup, Columns | Answer | Verdict]:
    """The case with its query as a DataFrame, whose columns may be called otherwise than those of the text."""
    if isinstance(plain, Answer):
        return setup, plain
    try:
        frame = FrameWriter(spark, setup.names).frame(setup.case[1].query)
    except NoWordsError as reason:
        return setup, Verdict("no words", str(reason))
    columns = tuple((each.name, each.dataType.simpleString()) for each in frame.schema.fields)
    return replace(setup, frame=frame), columns


def prepare(setup: Setup, plain: Columns | Answer | Verdict, mode: Mode) -> Task | Verdict:
    if isinstance(plain, Verdict):
        return plain
    if isinstance(plain, Answer):
        return Verdict("invalid", f"{plain.condition}")
    database, statement = setup.case
    semantics: Semantics = "control" if mode == "control" else "data"
    try:
        expected = interpret(statement, database, semantics)
        most = interpret(statement, database, semantics, widest=True) if mode == "control" else expected
    except (NondeterministicError, MoreThanOneRowError) as reason:
        return Verdict("open", type(reason).__name__)
    text, traced = setup.original, mode != "values"
    if traced:
        try:
            read = parse(setup.text())
            known = known_values if setup.own_ids else None
            tables = catalog(setup.names)
            options = Options(semantics_of(semantics), known=known, by_reference=setup.by_reference)
            text = rewrite_statement(read, tables, options, text_only=True).sql
        except LineageError as refusal:
            return Verdict("refused", str(refusal))
    if len(text) > LONGEST:
        return TOO_LONG
    least = annotated(expected, statement, database, traced, own_ids=setup.own_ids)
    if mode != "control":
        return Task(setup, plain, text, least, traced)
    widest = annotated(most, statement, database, traced, own_ids=setup.own_ids)
    promised = statement.lineage_on is None and is_promised(statement)
    return Task(setup, plain, text, least, traced, None if widest == least else widest, promised)


def catalog(names: dict[str, str]) -> Catalog:
    """The base tables under the names they have in this case."""
    found = Catalog()
    for table, (columns, kinds) in SCHEMAS.items():
        known = key_table(names[table], columns, columns[0])
        found.add(replace(known, types=tuple(SPARK_TYPES[kind].lower() for kind in kinds)))
    return found


def annotated(
    relation: Relation, statement: Statement, database: Database, traced: bool, *, own_ids: bool = False
) -> Counter[AnnotatedRow]:
    """The multiset of rows to expect, granules as the ids they get."""
    ids = granule_ids(statement, database, own=own_ids)
    return Counter(
        (
            row.values,
            frozenset((table, ids.get((table, one), one)) for table, one in row.lineage) if traced else frozenset(),
        )
        for row in relation.rows
    )


def granule_ids(statement: Statement, database: Database, *, own: bool) -> dict[tuple[str, object], int]:
    """LINEAGE ON: values say their ids, or the distinct ones of a table are numbered from 0 in order, NULLs first."""
    if statement.lineage_on is None:
        return {}
    ids: dict[tuple[str, object], int] = {}
    for table in {on.table for on in statement.lineage_on}:
        expressions = [on.expr for on in statement.lineage_on if on.table == table]
        scan = Query(Select((Star(),), Table(table)))
        whole = interpret(Statement(scan, statement.lineage_on), database, "data")
        granules = {one for row in whole.rows for _, one in row.lineage if isinstance(one, tuple)}
        for i, granule in enumerate(sorted(granules, key=_nulls_first)):
            ids[table, granule] = own_id(granule, expressions) if own else i
    return ids


def _nulls_first(granule: tuple[Value, ...]) -> tuple[tuple[bool, Value], ...]:
    return tuple((value is not None, value) for value in granule)


def verdict_of(spark: SparkSession, task: Task, answer: Answer) -> Verdict:
    answer = _past_errors_of_spark(spark, task, answer)
    if answer.error is not None:
        if any(_plain(spark, task).error is not None for _ in range(TRIES)):
            return Verdict("invalid", f"{answer.condition}")
        return Verdict("disagree", f"{task.text}\nSpark does not run the rewritten query: {answer.error}")
    if task.plain != answer.columns:
        return Verdict("disagree", f"columns {task.plain} became {answer.columns}\n{task.text}")
    got = rows_in(task, answer)
    if not task.traced and got != task.expected:
        got = rows_in(task, _without_columns_never_null(spark, task))
    if got == task.expected or (task.widest is not None and _lies_between(got, task.expected, task.widest)):
        return _kept(task, got)
    if task.traced and _values(got) != _values(task.expected):
        plain = Counter(values for values, _ in _plain(spark, task).rows)
        if plain == _values(got):
            # Then nothing can be said about lineage; the comparison of values is there to notice.
            return Verdict("invalid", "the interpreter and plain Spark differ on the rows")
    sides = f"expected, but not got: {shown(task.expected - got)}\ngot, but not expected: {shown(got - task.expected)}"
    return Verdict("disagree", f"{task.text}\n{sides}")


def rows_in(task: Task, answer: Answer) -> Counter[AnnotatedRow]:
    table_of = {name: table for table, name in task.setup.names.items()}
    return Counter((values, frozenset((table_of[t], one) for t, one in ids)) for values, ids in answer.rows)


def _without_columns_never_null(spark: SparkSession, task: Task) -> Answer:
    """A plain query asked again over columns that may be NULL.

    Spark 4.3 takes a column that USING left aside as never NULL above an outer join, too, if it is so in its table: 0
    comes out where NULL is right.
    """
    create_tables(spark, task.setup.case[1], task.setup.names, task.setup.case[0], may_be_null=True)
    return all_answers(spark, [task.text])[0]


def _past_errors_of_spark(spark: SparkSession, task: Task, answer: Answer) -> Answer:
    """The same text asked again, where an error of Spark's own can be kept out of the way."""
    if answer.condition == COLUMNS_LOST:
        create_tables(spark, task.setup.case[1], task.setup.names, task.setup.case[0], as_text=True)
        return all_answers(spark, [task.text])[0]
    if answer.condition == KEY_LOST and (asked := with_keys_selected(task.text)) != task.text:
        return all_answers(spark, [asked])[0]
    if NOT_FOLDED in (answer.error or ""):
        with with_rule(spark, f"{OPTIMIZER}ConstantFolding"):
            return all_answers(spark, [task.text])[0]
    tries = TRIES
    while re.search(RACE, answer.error or "") and tries:
        answer, tries = all_answers(spark, [task.text])[0], tries - 1
    if re.search(RACE, answer.error or ""):
        with configured(spark, JOINS["no broadcast"]):
            return all_answers(spark, [task.text])[0]
    rule = rule_at_fault(answer)
    if rule is not None:
        with without_rule(spark, rule):
            return all_answers(spark, [task.text])[0]
    return answer


def rule_at_fault(answer: Answer) -> str | None:
    """The rule of Spark's optimizer, or several joined by commas, that an error comes from."""
    for said, rule in RULES_AT_FAULT:
        found = re.search(said, answer.error or "", re.MULTILINE)
        if found is not None:
            return rule or found["rule"]
    return None


def _plain(spark: SparkSession, task: Task) -> Answer:
    return all_answers(spark, [task.setup.original])[0]


def _kept(task: Task, got: Counter[AnnotatedRow]) -> Verdict:
    """Agreement, unless the lineage does not give back a row of which it promises to."""
    database, statement = task.setup.case
    lost = broken(statement, database, iter(got)) if task.promised else None  # type: ignore[arg-type]
    if lost is None:
        return Verdict("agree")
    return Verdict("disagree", f"{task.text}\nits lineage does not give back {lost}\ngot: {shown(got)}")


def _lies_between(got: Counter[AnnotatedRow], least: Counter[AnnotatedRow], most: Counter[AnnotatedRow]) -> bool:
    """Whether each row has the least lineage that it must have, and no more than the most; equal rows in any order."""
    if _values(got) != _values(least):
        return False
    for values in _values(got):
        found, low, high = (_lineages(rows, values) for rows in (got, least, most))
        if not all(any(one <= each for one in low) and any(each <= one for one in high) for each in found):
            return False
        if not all(any(one <= each for each in found) for one in low):
            return False
    return True


def _lineages(rows: Counter[AnnotatedRow], values: tuple[object, ...]) -> list[frozenset[tuple[str, object]]]:
    return [lineage for (each, lineage) in rows if each == values]


def _values(rows: Counter[AnnotatedRow]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for (values, _), count in rows.items():
        found[values] += count
    return found


def shown(rows: Counter[AnnotatedRow]) -> str:
    """Rows with their lineage, a line each."""
    return "".join(f"\n  {n} × {values} {sorted(lineage, key=str)}" for (values, lineage), n in rows.items())


def report(case: Case, mode: Mode, verdict: Verdict) -> str:
    """A failure as one reads it: tables, query, both sides."""
    database, statement = case
    tables = "\n".join(f"{name}{table.columns} = {list(table.rows)}" for name, table in database.items())
    return f"mode: {mode}\n{tables}\n{to_sql(statement)}\n{verdict.detail}\n{statement!r}"
