"""The law for frames: a continuation of what is returned gives what it gives of the same rows, written down.

What is expected are the interpreter's rows with their lineage, as a VALUES list with a column `DL`, continued in the
same way: nothing of ours is in that plan but the functions that a continuation itself calls. Where lineage may be of
several sizes (`widest`), the rows are those that the traced query returned, which is judged first. On a difference
plain Spark is asked, too: what it does otherwise than the interpreter proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tests.oracle.comparison import (
    AnnotatedRow,
    Door,
    Mode,
    Task,
    Verdict,
    prepared,
    rows_in,
    rule_at_fault,
    verdict_of,
)
from tests.oracle.continuations import Around, Continuation, surroundings
from tests.oracle.generation import Case
from tests.oracle.spark_answers import FAILURES, Answer, all_answers, failure, tables_in, without_rule
from udafs.lineage_set import LineageSet
from udafs.requests import resolved_once

# Columns that are read as others may ask for more memory than there is: then Java ends.
DIED = "Spark's process ended"

# PySpark 4.3's `toArrow` of a struct that is NULL and whose fields never are, any struct of a plain query included. The
# lineage of a side of an outer join that has no row is such a one where a rewritten text is run as it is.
NULL_STRUCT = "nulls in input cannot be viewed as non-nullable"
NO_STRUCT = "toArrow of a struct that is NULL, with fields that never are"


def is_alive(spark: SparkSession) -> bool:
    try:
        return bool(spark.sql("SELECT 1").collect())
    except Exception:
        return False


@dataclass(frozen=True)
class Came:
    """What came of a continuation: rows by how often, or an error."""

    rows: Counter[object] | None = None
    error: str = ""
    condition: str | None = None


def judge_continued(
    spark: SparkSession,
    cases: Sequence[Case],
    modes: Sequence[Mode],
    continued: Mapping[Mode, Sequence[Sequence[Continuation]]],
    door: Door = "text",
) -> dict[Mode, list[list[Verdict]]]:
    """Judge each case with its continuations, all of the same frame; under each semantics with others."""
    tasks = prepared(spark, cases, modes, door)

    def one(task: Task | Verdict, several: Sequence[Continuation]) -> list[Verdict]:
        if isinstance(task, Verdict):
            return [task] * len(several)
        try:
            return _verdicts(spark, task, several)
        except (Py4JError, ConnectionError) as error:
            if isinstance(error, Py4JJavaError) and is_alive(spark):
                raise
            during = "\n".join(f"continued: {each}\n{each!r}" for each in several)
            return [Verdict("disagree", f"{DIED} during\n{task.text}\n{during}")] * len(several)

    with ThreadPoolExecutor(2) as pool:
        return {mode: list(pool.map(one, tasks[mode], continued[mode])) for mode in modes}


def _verdicts(spark: SparkSession, task: Task, several: Sequence[Continuation]) -> list[Verdict]:
    base = task.expected
    if task.widest is not None:
        answer = all_answers(spark, [task.text])[0]
        judged = verdict_of(spark, task, answer)
        if judged.outcome != "agree" or answer.error is not None:
            failed = judged if judged.outcome != "agree" else Verdict("invalid", "past an error of Spark")
            return [failed] * len(several)
        base = rows_in(task, answer)
    try:
        traced = resolved_once(spark.sql(task.text))  # as `lineage.sql` returns it
    except FAILURES as error:
        failed = Verdict("invalid", f"fails without a continuation, too: {failure(error).condition}")
        return [failed] * len(several)
    written = written_down(traced, task, base)
    return [_verdict(spark, task, each, traced, written) for each in several]


def _verdict(
    spark: SparkSession, task: Task, continued: Continuation, traced: DataFrame, written: DataFrame
) -> Verdict:
    with surroundings(_tables(task)) as around:
        got = _continue(lambda: traced, continued, around)
        expected = _continue(lambda: written, continued, around)
        if got.rows is not None and got.rows == expected.rows:
            return Verdict("agree")
        return _explained(spark, task, continued, around, got, expected)


def _tables(task: Task) -> tuple[str, ...]:
    """The base tables that the query reads, under their names in this case."""
    names = task.setup.names
    return tuple(names[table] for table in sorted(tables_in(task.setup.case[1]) & names.keys()))


def _continue(frame: Callable[[], DataFrame], continued: Continuation, around: Around) -> Came:
    try:
        return Came(continued.result(frame(), around))
    except FAILURES as error:
        found = failure(error)
        return Came(None, found.error or "", found.condition)
    except pa.ArrowInvalid as error:
        return Came(None, str(error), NO_STRUCT)


def _explained(
    spark: SparkSession, task: Task, continued: Continuation, around: Around, got: Came, expected: Came
) -> Verdict:
    """What a difference is: of ours, or of Spark's or the interpreter's."""
    if expected.rows is None:
        return Verdict("invalid", f"the continuation fails by itself: {expected.condition}")
    plain = _continue(lambda: spark.sql(task.setup.original), continued, around)
    if plain.rows is None:
        return Verdict("invalid", f"plain Spark fails: {plain.condition}")
    if not continued.asks_lineage and got.rows is not None:
        here, there, users = map(_without_lineage, (got.rows, expected.rows, plain.rows))
        if here == users != there:
            return Verdict("invalid", "the interpreter and plain Spark differ on the rows")
    if got.rows is None and (known := _known_error(spark, task, continued, around, got, expected)):
        return known
    sides = f"expected, but not got: {_difference(expected, got)}\ngot, but not expected: {_difference(got, expected)}"
    said = f"it fails: {got.error}" if got.rows is None else sides
    return Verdict("disagree", f"{task.text}\ncontinued: {continued}\n{continued!r}\n{said}")


def _known_error(
    spark: SparkSession, task: Task, continued: Continuation, around: Around, got: Came, expected: Came
) -> Verdict | None:
    """An error that the query has by itself, or one of Spark's that is gone without the rule at fault.

    A plan that is not valid after a rule of Spark's is no such error: so it looks when we put a plan in place wrongly.
    """
    if got.condition == NO_STRUCT and NULL_STRUCT in got.error:
        return Verdict("invalid", got.condition)
    if all_answers(spark, [task.text])[0].error is not None:
        return Verdict("invalid", f"fails without a continuation, too: {got.condition}")
    if "PLAN_VALIDATION" in got.error:
        return None
    rule = rule_at_fault(Answer(error=got.error, condition=got.condition))
    if rule is None:
        return None
    with without_rule(spark, rule):
        again = _continue(lambda: resolved_once(spark.sql(task.text)), continued, around)
    return Verdict("invalid", f"an error of Spark's rule {rule}") if again.rows == expected.rows else None


def _without_lineage(rows: Counter[object]) -> Counter[object]:
    """The rows without lineage values, which stand anywhere in them."""
    found: Counter[object] = Counter()
    for row, number in rows.items():
        found[tuple(each for each in row if not _is_lineage(each)) if isinstance(row, tuple) else row] += number
    return found


def _is_lineage(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, tuple) and each[:1] == ("ids",) for each in value)


def _difference(one: Came, other: Came) -> str:
    assert one.rows is not None or other.rows is not None
    return "".join(f"\n  {n} × {row}" for row, n in ((one.rows or Counter()) - (other.rows or Counter())).items())


def written_down(traced: DataFrame, task: Task, rows: Counter[AnnotatedRow]) -> DataFrame:
    """A frame with the columns of a traced one that has these rows and their lineage, and no history."""
    fields = traced.schema.fields[len(task.plain) :]  # none where no base table is read
    lineage = fields[0].dataType if fields else StructType()
    assert isinstance(lineage, StructType)
    types = [*(kind for _, kind in task.plain), *(lineage.simpleString() for _ in fields)]
    columns = ", ".join(f"`{name.replace('`', '``')}`" for name in traced.columns)
    cells = [_cells(row, task, lineage.names)[: len(types)] for row in rows.elements()]
    listed = ", ".join(f"({_typed(each, types)})" for each in cells or [["NULL"] * len(types)])
    return traced.sparkSession.sql(f"SELECT * FROM VALUES {listed} AS v({columns}){'' if cells else ' WHERE false'}")


def _cells(row: AnnotatedRow, task: Task, tables: Sequence[str]) -> list[str]:
    values, ids = row
    return [*map(_literal, values), _lineage_literal(task, tables, ids)]


def _typed(cells: Sequence[str], types: Sequence[str]) -> str:
    return ", ".join(f"CAST({cell} AS {kind})" for cell, kind in zip(cells, types, strict=True))


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
    return "'" + str(value).replace("'", "\\'") + "'"


def _lineage_literal(task: Task, tables: Sequence[str], ids: frozenset[tuple[str, object]]) -> str:
    original = {name: table for table, name in task.setup.names.items()}
    sets = [LineageSet(one for table, one in ids if table == original[name]).to_bytes() for name in tables]  # type: ignore[misc]
    fields = ", ".join(f"'{name}', X'{value.hex()}'" for name, value in zip(tables, sets, strict=True))
    return f"named_struct({fields})" if fields else "struct()"
