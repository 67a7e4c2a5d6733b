"""One trial: a sketch of one query over one database, used, beside the answer of all rows."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.facts import ColumnFacts, Facts
from forward_lineage.sketches.safety.proving import prove
from forward_lineage.sketches.safety.verdicts import Proof, RunTimeCheck
from tests.oracle.algebra import BaseTable, Cte, Database, Query, Statement, Table, Value
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError, Relation
from tests.oracle.interpreter import descendants, interpret
from tests.oracle.printing import to_sql
from tests.sketches_brute.writing import SCHEMAS, Writer

Rows = Counter[tuple[Value, ...]]
SKETCHES = 4  # of each database: which rows are needed takes longest to find out
OUTCOMES = ("open", "agrees", "telling")


@dataclass(frozen=True)
class World:
    """From which databases of a query are drawn: what values a column has, whether NULL is among them."""

    low: int
    high: int
    nulls: frozenset[tuple[str, str]]

    def facts(self) -> Facts:
        tables = {
            table: {
                column: ColumnFacts("bigint", 0, 11, False, unique=True)
                if place == 0
                else ColumnFacts("bigint", self.low, self.high, (table, column) in self.nulls)
                for place, column in enumerate(columns)
            }
            for table, columns in SCHEMAS.items()
        }
        return Facts(tables)

    def database(self, random: Random) -> Database:
        return {table: self._table(table, columns, random) for table, columns in SCHEMAS.items()}

    def _table(self, name: str, columns: tuple[str, ...], random: Random) -> BaseTable:
        high = min(self.high, self.low + random.choice([1, 2, 4]))
        count = random.choice([1, 2, 3, 4, 6, 9])
        keys = random.sample(range(count + random.choice([0, 0, 3])), count)
        rows = [(key, *(self._value(name, column, high, random) for column in columns[1:])) for key in keys]
        return BaseTable(columns, ("int",) * len(columns), tuple(rows))

    def _value(self, table: str, column: str, high: int, random: Random) -> Value:
        if (table, column) in self.nulls and random.random() < 0.2:
            return None
        return random.randint(self.low, high)


@dataclass(frozen=True)
class BruteCase:
    """A query, and the attributes of its sketches."""

    statement: Statement
    attributes: Mapping[str, str]
    world: World

    @property
    def sql(self) -> str:
        return to_sql(self.statement)

    def verdict(self) -> Proof:
        return prove(parse(self.sql), self.attributes, self.world.facts())

    def capture(self, database: Database, random: Random) -> Relation:
        """Its rows with the lineage that sketches are made of; one that has a choice draws it."""
        return interpret(self.statement, database, "control")

    @cached_property
    def verdict_checks(self) -> tuple[RunTimeCheck, ...]:
        return self.verdict().checks


def cases(seed: int) -> Iterator[BruteCase]:
    """Random cases without end; three choices of attributes for a query."""
    random = Random(seed)
    while True:
        query = Writer(random).query()
        low = random.choice([0, 0, 0, 1, -2])
        nulls = frozenset((t, c) for t, columns in SCHEMAS.items() for c in columns[1:] if random.random() < 0.4)
        world = World(low, low + 4, nulls)
        read = sorted(tables_of(query))
        for _ in range(3):
            chosen = random.sample(read, random.choice([1, 1, len(read)]))
            yield BruteCase(Statement(query), {table: random.choice(SCHEMAS[table]) for table in chosen}, world)


def tables_of(query: Query) -> set[str]:
    ctes = {node.name for node in descendants(query) if isinstance(node, Cte)}
    return {node.name for node in descendants(query) if isinstance(node, Table)} - ctes


@dataclass(frozen=True)
class Refutation:
    """A database and sketches under which the answer is another one."""

    database: Database
    kept: Database
    answer: Rows
    with_sketch: Rows


def trial(
    case: BruteCase, random: Random, checks: Sequence[RunTimeCheck] = (), asked: Statement | None = None
) -> Refutation | str:
    """One database, a few partitions, for each a superset of the accurate sketches of a case.

    Args:
        case: whose sketches are taken.
        random: draws the rest.
        checks: which have to hold when they are taken.
        asked: what is answered with them; None: the query of the case.

    Returns:
        how it was refuted; else ``open``: SQL allows several answers, or a check fails; ``agrees``; ``telling``: it
        agrees on an answer that has rows, though a sketch has skipped some.
    """
    database = case.world.database(random)
    try:
        captured = case.capture(database, random)
        answer = rows_of(captured) if asked is None else rows_of(interpret(asked, database, "data"))
    except (NondeterministicError, MoreThanOneRowError):
        return "open"
    if not captured.rows and any(check.kind == "rows" for check in checks):
        return "open"
    needed = {pair for row in captured.rows for pair in row.lineage}
    return over_sketches(asked or case.statement, database, case.attributes, needed, answer, random)


def over_sketches(
    asked: Statement,
    database: Database,
    attributes: Mapping[str, str],
    needed: set,  # type: ignore[type-arg]
    answer: Rows,
    random: Random,
) -> Refutation | str:
    """A few partitions, for each a superset of the fragments of some rows; see `trial`."""
    found = "open"
    for _ in range(SKETCHES):
        kept = {
            name: sketched(rows, name, attributes[name], needed, random) if name in attributes else rows
            for name, rows in database.items()
        }
        outcome = _with_sketch(asked, database, kept, answer)
        if isinstance(outcome, Refutation):
            return outcome
        found = max(found, outcome, key=OUTCOMES.index)
    return found


def _with_sketch(asked: Statement, database: Database, kept: Database, answer: Rows) -> Refutation | str:
    try:
        with_sketch = rows_of(interpret(asked, kept, "data"))
    except NondeterministicError:
        return "open"
    except MoreThanOneRowError:
        return Refutation(database, kept, answer, Counter())
    if answer != with_sketch:
        return Refutation(database, kept, answer, with_sketch)
    return "telling" if answer and any(len(kept[name].rows) < len(database[name].rows) for name in kept) else "agrees"


def rows_of(result: Relation) -> Rows:
    """The rows of a result, without their lineage."""
    return Counter(row.values for row in result.rows)


def sketched(table: BaseTable, name: str, column: str, needed: set, random: Random) -> BaseTable:  # type: ignore[type-arg]
    """The rows of a random partition's fragments that hold needed rows, and of some more fragments."""
    place = table.columns.index(column)
    bounds = sorted(random.sample(range(-2, 11), random.choice([1, 2, 4, 8, 13])))

    def fragment(row: tuple[Value, ...]) -> int:
        value = row[place]
        return 0 if value is None else 1 + bisect.bisect_right(bounds, int(value))

    chosen = {fragment(row) for row in table.rows if (name, row[0]) in needed}
    more = random.choice([0.0, 0.2, 0.5])
    chosen |= {each for each in {fragment(row) for row in table.rows} if random.random() < more}
    return replace(table, rows=tuple(row for row in table.rows if fragment(row) in chosen))
