"""Random pipelines, random edits: is what `update` leaves what the interpreter says?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, seed, settings

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.updating.updating import Step, Way
from tests.oracle.algebra import BaseTable, Database, Statement
from tests.oracle.comparison import AnnotatedRow, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import Printer
from tests.oracle.strategies import databases
from tests.updates.queries import query_in_parts, small_query
from tests.updates.spoiled import SPOILED
from tests.updates.tables import Tables, edited

#: Results with the columns of r, t and u, in whose place queries read them: a filter, a join, and what nobody proves.
LOWER = {
    "kept_r": ("r", "SELECT rid, a, b, s FROM r WHERE a >= 1 OR b IS NULL"),
    "kept_u": ("u", "SELECT uid, b, c, f FROM u WHERE b NOT IN (SELECT a FROM r WHERE a IS NOT NULL)"),
}
#: Whoever registers, saves and updates takes seconds; so a home is used for several queries and edits.
EDITS, QUERIES = 4, 5


@dataclass(frozen=True)
class Verdict:
    """What became of one result after one edit.

    Attributes:
        way: of the update; ``in step`` where there was nothing to do.
        why: the reason of it.
        wrong: both sides, if it is not what the interpreter says.

    """

    way: str
    why: str
    wrong: str | None


@dataclass(frozen=True)
class Query:
    """A saved query over r, t, u or the results in place of them."""

    name: str
    statement: Statement
    names: dict[str, str]  # r, t, u → what is read

    @property
    def sql(self) -> str:
        return Printer(self.names).statement(self.statement)


class Trial:
    """One home: three tables, results on top of each other, and edits.

    Args:
        lineage: of a new home.
        folder: a new folder.
        seed: of all choices.
        edits: how many, each followed by an update.

    """

    def __init__(self, lineage: ForwardLineage, folder: Path, seed: int, edits: int = EDITS) -> None:
        self._lineage, self._chance, self._edits = lineage, random.Random(seed), edits
        self._tables = Tables(lineage, folder)
        self._database: Database = a_database(seed)
        self._statements = list(queries_over(self._database, self._chance))

    def verdicts(self, spoilt: Sequence[str] = ()) -> Iterator[Verdict]:
        """Save the queries, edit, update, and judge each result; several times.

        Args:
            spoilt: rules to disable, one after the other, while a plan is made before each update. What that keeps and
                should not is a verdict, too, whose way is the rule's name.

        """
        self._tables.register(self._database, set(self._database))
        for name, (_, sql) in LOWER.items():
            self._lineage.save(sql, name)
        queries = list(self._saved())
        for _ in range(self._edits):
            self._database, names = edited(self._database, self._chance)
            self._tables.register(self._database, names)
            keys = {name: self._tables.keys(name) for name in self._database}
            for rule in spoilt:
                yield from self._spoilt(rule, queries, keys)
            steps = {step.result: step for step in self._lineage.updates()}
            yield from (self._judged(query, steps, keys) for query in queries)

    def _spoilt(self, rule: str, queries: Sequence[Query], keys: dict[str, dict[int, object]]) -> Iterator[Verdict]:
        with SPOILED[rule]():
            steps = {step.result: step for step in self._lineage.updates(plan=True)}
        for query in queries:
            if query.name in steps and steps[query.name].way is Way.UNTOUCHED:
                verdict = self._judged(query, steps, keys)
                if verdict.wrong is not None:
                    yield replace(verdict, way=rule)

    def _saved(self) -> Iterator[Query]:
        for number, statement in enumerate(self._statements):
            names = {name: name for name in self._database}
            for lower, (base, _) in LOWER.items():
                if self._chance.random() < 1 / 3:
                    names[base] = lower
            query = Query(f"q{number}", statement, names)
            try:
                self._lineage.save(query.sql, query.name)
            except LineageError:  # it is refused, or Spark does not run it
                continue
            yield query

    # ------------------------------------------------------------ the verdict

    def _judged(self, query: Query, steps: dict[str, Step], keys: dict[str, dict[int, object]]) -> Verdict:
        step = steps.get(query.name)
        way, why = ("in step", "") if step is None else (step.way.value, step.why)
        if way == "left":
            return Verdict(way, why, None)  # it says so, and stale() does
        saved = self._lineage.describe(query.name)
        database = {name: self._read(name, read) for name, read in query.names.items()}
        try:
            expected = Counter((row.values, row.lineage) for row in interpret(query.statement, database, "data").rows)
        except (NondeterministicError, MoreThanOneRowError):
            return Verdict("open", why, None)
        names = {read: name for name, read in query.names.items()}
        got = self._annotated(saved, names, keys)
        if got == expected:
            return Verdict(way, why, None)
        return Verdict(way, why, f"{query.sql}\n{way}: {why}\nwanted:{shown(expected)}\ngot:{shown(got)}")

    def _read(self, name: str, read: str) -> BaseTable:
        """What stands for r, t or u: the table, or the rows of a result, whose first column is a key, too."""
        table = self._database[name]
        if read == name:
            return table
        return BaseTable(table.columns, table.kinds, tuple(_rows(self._lineage.describe(read))))

    def _annotated(
        self, saved: SavedResult, names: dict[str, str], keys: dict[str, dict[int, object]]
    ) -> Counter[AnnotatedRow]:
        lineage: dict[int, set[tuple[str, object]]] = {number: set() for number in saved.numbers()}
        for edge in saved.tables:
            name = names[edge.name]
            of_id = keys[name] if edge.name == name else {}
            if edge.name != name:
                below = self._lineage.describe(edge.name)
                of_id = {number: row[0] for number, row in zip(below.numbers(), _rows(below), strict=True)}
            relation = self._lineage._parts.library.relation(saved, edge).relation()
            for row, one in zip(*(side.tolist() for side in relation.pairs()), strict=True):
                lineage[row].add((name, of_id.get(one, f"no row {one}")))
        return Counter(zip(_rows(saved), map(frozenset, lineage.values()), strict=True))


def a_database(seed_number: int) -> Database:
    """Return one of the oracle's databases, always the same for a seed, the largest of some."""
    found: list[Database] = []

    @seed(seed_number)
    @settings(max_examples=8, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(databases())
    def collect(database: Database) -> None:
        found.append(database)

    collect()
    return max(found, key=lambda database: sum(len(table.rows) for table in database.values()))


def queries_over(database: Database, chance: random.Random) -> Iterator[Statement]:
    """Yield queries that have lineage and one answer, each once."""
    known: set[Statement] = set()
    while len(known) < QUERIES:
        statement = chance.choice([small_query, query_in_parts])(chance)
        if statement not in known and _has_lineage(statement, database):
            known.add(statement)
            yield statement


def _has_lineage(statement: Statement, database: Database) -> bool:
    try:
        return any(row.lineage for row in interpret(statement, database, "data").rows)
    except (NondeterministicError, MoreThanOneRowError):
        return False


def _rows(saved: SavedResult) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for file in saved.row_files:
        table = pq.ParquetFile(saved.folder / file.path).read()
        found += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return found
