"""The rules of updating without Spark: thousands of queries and edits a minute, each rule disabled on purpose, too.

What is decided by `joining_rows`, and by lineage, is compared with the interpreter: where a result is taken for
untouched, the query over the edited tables must give the same rows, with the same lineage. Probes run in DuckDB. What
this leaves out (ids, files, saving) is what `python -m tests.updates` is for.

    python -m tests.updates.rules --cases 10000
    python -m tests.updates.rules --spoil
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unittest.mock import patch

import click
import duckdb
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.store.updating import columns_read, joining_rows, replacement_rules
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError, Probe, probes
from forward_lineage.store.updating.replacement_rules import (
    KEYS,
    Added,
    Keyed,
    check_each_once,
    key_column,
    replacement,
)
from tests.oracle.algebra import BaseTable, Database, Statement, Value
from tests.oracle.comparison import AnnotatedRow, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.oracle.spark_answers import tables_in
from tests.oracle.strategies import SCHEMAS, VALUES
from tests.updates.queries import query_in_parts, small_query
from tests.updates.tables import edited

_DUCKDB = duckdb.connect(config={"threads": 1})
_TYPES = {"int": "BIGINT", "str": "VARCHAR", "bool": "BOOLEAN"}

#: By name: what is put in the place of what. Those with nothing are left out here, in the place of `replacing`.
SPOILED: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "lineage": nullcontext,
    "probes": nullcontext,
    "clauses": lambda: patch.object(joining_rows, "refuse_parts", lambda *_: None),
    "joins": lambda: patch.object(joining_rows, "check_join", lambda *_: None),
    "subqueries": lambda: patch.object(joining_rows, "refuse_subqueries", lambda *_: None),
    "set operations": lambda: patch.object(joining_rows, "_KEEPS_ALL_ROWS", exp.SetOperation),
    "columns": lambda: patch.object(columns_read, "reads_any", lambda *_: False),
    "queries around": lambda: patch.object(joining_rows, "_within", lambda *_: exp.select("1").where("false")),
    "first place only": lambda: patch.object(joining_rows, "places", _first(joining_rows.places)),
}


#: Rules for parts of results, which a plan does not run: they are tried here alone.
SPOILED_PARTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "touched rows": nullcontext,
    "several places": nullcontext,
    "keys that were": nullcontext,
    "keys that came": nullcontext,
    "groups that are filtered": lambda: patch.object(replacement_rules, "_loses", lambda *_: {"having"}),
    "groups of sets": lambda: patch.object(replacement_rules, "_loses_groups", lambda *_, **__: False),
    "keys of partitions": lambda: patch.object(replacement_rules, "_in_each", lambda *_: True),
    "aggregates": lambda: patch.object(replacement_rules, "has_aggregates", lambda *_: False),
    "values of a row": lambda: patch.object(replacement_rules, "is_of_one_row", lambda *_: True),
}
_SAID_AFTER = 1000
ALL_SPOILED = {**SPOILED, **SPOILED_PARTS}


def _first(places: Callable[..., Iterator[exp.Table]]) -> Callable[..., Iterator[exp.Table]]:
    def first(source: exp.Expr, changed: set[str]) -> Iterator[exp.Table]:
        """Leave the places behind JOIN out."""
        if not isinstance(source.parent, exp.Join):
            yield from places(source, changed)

    return first


@dataclass(frozen=True)
class Changes:
    """Keys of rows of a table that went, came and differ, and in which columns."""

    gone: frozenset[Value]
    came: frozenset[Value]
    differs: frozenset[Value]
    columns: frozenset[str]

    @property
    def before(self) -> frozenset[Value]:
        return self.gone | self.differs

    @property
    def after(self) -> frozenset[Value]:
        return self.came | self.differs

    def as_read(self, tree: exp.Expr) -> Changes:
        """Return them as a query reads them."""
        return self if columns_read.reads_any(tree, self.columns) else replace(self, differs=frozenset())


def changes(then: BaseTable, now: BaseTable) -> Changes:
    """Compare two versions of a table by key."""
    old, new = ({row[0]: row for row in table.rows} for table in (then, now))
    differs = frozenset(key for key in old.keys() & new.keys() if old[key] != new[key])
    others = {
        at for key in differs for at, values in enumerate(zip(old[key], new[key], strict=True)) if len(set(values)) > 1
    }
    columns = frozenset(then.columns[at] for at in others)
    return Changes(frozenset(old.keys() - new.keys()), frozenset(new.keys() - old.keys()), differs, columns)


@dataclass(frozen=True)
class Case:
    """A query, its tables before and after an edit, and its rows with their lineage before."""

    statement: Statement
    then: Database
    now: Database
    saved: Counter[AnnotatedRow]

    @cached_property
    def tree(self) -> exp.Expr:
        """The query as the rules see it."""
        return parse(to_sql(self.statement)).tree

    @cached_property
    def changed(self) -> dict[str, Changes]:
        """The tables that have other rows now, as the query reads them."""
        found = {name: changes(self.then[name], self.now[name]).as_read(self.tree) for name in self.then}
        return {name: each for name, each in found.items() if each.before or each.after}

    @property
    def only_came(self) -> bool:
        """Whether no row went or differs."""
        return not any(each.before for each in self.changed.values())

    def is_touched(self, lineage: frozenset[tuple[str, Value]]) -> bool:
        """Whether a row with this lineage was made of a row that went or differs."""
        return any(one in self.changed[table].before for table, one in lineage if table in self.changed)

    def comes(self, table: str) -> BaseTable:
        """The rows of a table that came or differ."""
        rows = tuple(row for row in self.now[table].rows if row[0] in self.changed[table].after)
        return replace(self.now[table], rows=rows)


def decided(case: Case, spoilt: str = "") -> str:
    """Say what the rules say of a result: ``untouched``, or why it is computed again."""
    try:
        places = probes(case.tree, case.changed.keys(), only_came=case.only_came)
    except NotProvableError as error:
        return str(error)
    if spoilt != "lineage" and any(case.is_touched(lineage) for _, lineage in case.saved):
        return "touched"
    asked = [probe for probe in places if case.changed[probe.table].after]
    try:
        joins = any(_finds_rows(case, probe) for probe in asked)
    except duckdb.BinderException:  # it cannot be asked at all
        return "rows join"
    return "rows join" if joins and spoilt != "probes" else "untouched"


def _finds_rows(case: Case, probe: Probe) -> bool:
    answers = Answers(case, probe.table)
    try:
        return bool(answers.rows(f"{probe.sql} LIMIT 1"))
    except duckdb.BinderException:  # perhaps it mentions the query around it
        if probe.within is None:
            raise
        return bool(answers.rows(f"{probe.within} LIMIT 1"))


Replaced = tuple[str, Counter[AnnotatedRow], Counter[tuple[Value, ...]]]
"""The class of a query, the rows that are kept, and those that are made again."""


def replaced(case: Case, spoilt: str = "") -> Replaced | str:
    """Say which rows are kept and which are made again; or why no rule says so."""
    try:
        found = replacement(case.tree, case.changed.keys(), only_came=case.only_came)
        untouched = Counter(
            {
                (values, lineage): count
                for (values, lineage), count in case.saved.items()
                if spoilt == "touched rows" or not case.is_touched(lineage)
            }
        )
        if isinstance(found, Keyed):
            return _keyed(case, found, untouched, spoilt)
        return _added(case, found, untouched, spoilt)
    except NotProvableError as error:
        return str(error)


def _added(case: Case, places: Sequence[Added], untouched: Counter[AnnotatedRow], spoilt: str) -> Replaced:
    active = [each for each in places if Answers(case, each.probe.table).rows(f"{each.probe.sql} LIMIT 1")]
    if spoilt != "several places":
        check_each_once(active)
    new = Counter(row for each in active for row in Answers(case, each.probe.table).rows(each.sql))
    return "union all" if len(places) > len({each.block for each in places}) else "joined rows", untouched, new


def _keyed(case: Case, keyed: Keyed, untouched: Counter[AnnotatedRow], spoilt: str) -> Replaced:
    def key(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(values[column] for column in keyed.columns)

    keys = {key(values) for values, _ in case.saved.keys() - untouched.keys()} if spoilt != "keys that were" else set()
    for probe in keyed.probes if spoilt != "keys that came" else ():
        keys |= set(Answers(case, probe.table).rows(probe.sql))
    kept = Counter({row: count for row, count in case.saved.items() if key(row[0]) not in keys})
    words = [word for word in ("HAVING", "UNION", "INTERSECT", "EXCEPT") if f" {word} " in keyed.sql]
    what = " ".join([keyed.what, *words])
    if not keys:
        return what, kept, Counter()
    return what, kept, Counter(Answers(case, "", keyed.probes[0], keys).rows(keyed.sql))


class Answers:
    """What DuckDB says of texts of the rules.

    Args:
        case: whose tables are read.
        came: of which table `PLACE` has the rows that came.
        probe: gives keys like these.
        keys: the rows of `KEYS`.

    """

    def __init__(
        self, case: Case, came: str, probe: Probe | None = None, keys: Collection[tuple[Value, ...]] = ()
    ) -> None:
        self._case, self._came, self._probe, self._keys = case, came, probe, keys

    def rows(self, sql: str) -> list[tuple[Value, ...]]:
        """Return the rows of a text in Spark's dialect."""
        place = self._came or (self._probe.table if self._probe else "")
        tables = {**self._case.now, PLACE: self._case.comes(place)}
        parts = [_values(name, table.columns, table.kinds, table.rows) for name, table in tables.items()]
        if self._probe is not None:
            kinds = [_kind(column) for column in zip(*self._keys, strict=True)]
            parts.append(_values(KEYS, tuple(key_column(i) for i in range(len(kinds))), kinds, list(self._keys)))
        text = _in_duckdb(sql)
        named, rest = ("", text) if not text.startswith("WITH ") else (f"{text.removeprefix('WITH ')}", "")
        return _DUCKDB.execute(f"WITH {', '.join(filter(None, [*parts, named]))} {rest}").fetchall()


def _values(name: str, columns: Sequence[str], kinds: Sequence[str], rows: Sequence[tuple[Value, ...]]) -> str:
    """Rows as a relation that a text may read; there is one without rows, too."""
    listed = [tuple(None for _ in columns), *rows]
    typed = ", ".join(
        f"CAST({column} AS {_TYPES[kind]}) AS {column}" for column, kind in zip(columns, kinds, strict=True)
    )
    values = ", ".join(f"({i}, {', '.join(map(_literal, row))})" for i, row in enumerate(listed))
    return f"{name} AS (SELECT {typed} FROM (VALUES {values}) AS v(nr, {', '.join(columns)}) WHERE nr > 0)"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return "'{}'".format(value.replace("'", "''")) if isinstance(value, str) else str(value)


def _kind(values: Sequence[Value]) -> str:
    known = {type(value) for value in values if value is not None}
    return {bool: "bool", int: "int", str: "str"}[known.pop()] if known else "int"


def _in_duckdb(sql: str) -> str:
    text = sql.replace("LEFT SEMI JOIN", "SEMI JOIN").replace("LEFT ANTI JOIN", "ANTI JOIN")
    return text.replace("<=>", "IS NOT DISTINCT FROM")


def a_database(chance: random.Random) -> Database:
    """Return tables r, t and u with up to six rows."""
    found: Database = {}
    for name, (columns, kinds) in SCHEMAS.items():
        keys = chance.sample(range(8), chance.choice([1, 3, 4, 5, 6]))
        rows = tuple((key, *(chance.choice(VALUES[kind]) for kind in kinds[1:])) for key in keys)
        found[name] = BaseTable(columns, kinds, rows)
    return found


def answer(statement: Statement, database: Database) -> Counter[AnnotatedRow] | None:
    """Return the rows of a query with their lineage; None where SQL allows several answers."""
    try:
        return Counter((row.values, row.lineage) for row in interpret(statement, database, "data").rows)
    except (NondeterministicError, MoreThanOneRowError):
        return None


def outcomes(seed: int, spoilt: str = "") -> Iterator[tuple[str, str | None]]:
    """Yield, without end, what was decided of a query after an edit, and both sides if that was wrong."""
    chance = random.Random(seed)
    while True:
        statement, then = chance.choice([small_query, query_in_parts])(chance), a_database(chance)
        now, names = edited(then, chance)
        if not any(then[name] != now[name] and name in tables_in(statement) for name in names):
            continue
        saved, wanted = answer(statement, then), answer(statement, now)
        if saved is None or wanted is None:
            continue
        case = Case(statement, then, now, saved)
        with ALL_SPOILED[spoilt]() if spoilt else nullcontext():
            way = decided(case, spoilt)
            partly = None if way == "untouched" else replaced(case, spoilt)
        wrong = way == "untouched" and saved != wanted
        if isinstance(partly, tuple):
            kind, kept, new = partly
            way = f"partly: {kind}"
            wrong = bool(kept - wanted) or values_of(wanted - kept) != new
        told = f"{way}\n{to_sql(statement)}\n{then}\n{now}\nsaved:{shown(saved)}\nwanted:{shown(wanted)}\n{partly}"
        vain = saved == wanted and way != "untouched"
        yield (way, told) if wrong else (f"{way} (in vain)" if vain else way, None)


def values_of(rows: Counter[AnnotatedRow]) -> Counter[tuple[Value, ...]]:
    """Return rows without their lineage."""
    found: Counter[tuple[Value, ...]] = Counter()
    for (values, _), count in rows.items():
        found[values] += count
    return found


@click.command()
@click.option("--cases", default=10_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--spoil", is_flag=True, help="Disable each rule on purpose; all must be caught within --cases.")
def main(cases: int, seed: int, spoil: bool) -> None:
    """Try the rules; exit code 1 if one is wrong, or a spoilt one passes."""
    if spoil:
        passed = [rule for rule in ALL_SPOILED if not _caught(rule, cases, seed)]
        sys.exit(bool(passed))
    ways: Counter[str] = Counter()
    wrong = 0
    for number, (way, fault) in zip(range(1, cases + 1), outcomes(seed), strict=False):
        ways[way] += 1
        if number % _SAID_AFTER == 0:
            print(f"{number} cases, {sum(n for each, n in ways.items() if 'partly' in each)} in part", flush=True)
        if fault is not None:
            wrong += 1
            print(fault, flush=True)
    for way, count in ways.most_common():
        print(f"{count:6} {way}")
    print(f"{cases} cases, {wrong} wrong")
    sys.exit(bool(wrong))


def _caught(rule: str, cases: int, seed: int) -> bool:
    for number, (_, fault) in zip(range(1, cases + 1), outcomes(seed, rule), strict=False):
        if fault is not None:
            print(f"{rule}: caught by case {number}", flush=True)
            return True
    print(f"{rule}: not caught in {cases} cases", flush=True)
    return False


if __name__ == "__main__":
    main()
