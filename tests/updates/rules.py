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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click
import duckdb
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.store.updating import joining_rows
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError, probes
from tests.oracle.algebra import BaseTable, Database, Statement, Value
from tests.oracle.comparison import AnnotatedRow, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.oracle.spark_answers import tables_in
from tests.oracle.strategies import SCHEMAS, VALUES
from tests.updates.queries import small_query
from tests.updates.tables import edited

_TYPES = {"int": "BIGINT", "str": "VARCHAR", "bool": "BOOLEAN"}

#: By name: what is put in the place of what. `lineage` and `probes` are left out by `decided` itself.
SPOILED: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "lineage": nullcontext,
    "probes": nullcontext,
    "clauses": lambda: patch.object(joining_rows, "_refuse_parts", lambda *_: None),
    "joins": lambda: patch.object(joining_rows, "_check_join", lambda *_: None),
    "subqueries": lambda: patch.object(joining_rows, "_refuse_subqueries", lambda *_: None),
    "set operations": lambda: patch.object(joining_rows, "_KEEPS_ALL_ROWS", exp.SetOperation),
    "first place only": lambda: patch.object(joining_rows, "_places", _first(joining_rows._places)),
}


def _first(places: Callable[..., Iterator[exp.Table]]) -> Callable[..., Iterator[exp.Table]]:
    def first(source: exp.Expr, changed: set[str]) -> Iterator[exp.Table]:
        """Leave the places behind JOIN out."""
        if not isinstance(source.parent, exp.Join):
            yield from places(source, changed)

    return first


@dataclass(frozen=True)
class Changes:
    """Keys of rows of a table that went, differ and came."""

    before: frozenset[Value]
    after: frozenset[Value]


def changes(then: BaseTable, now: BaseTable) -> Changes:
    """Compare two versions of a table by key."""
    old, new = ({row[0]: row for row in table.rows} for table in (then, now))
    return Changes(
        frozenset(key for key in old if old[key] != new.get(key)),
        frozenset(key for key in new if new[key] != old.get(key)),
    )


def decided(statement: Statement, then: Database, now: Database, saved: Counter[AnnotatedRow], spoilt: str = "") -> str:
    """Say what the rules say of a result: ``untouched``, or why it is computed again."""
    found = {name: changes(then[name], now[name]) for name in then}
    changed = {name: each for name, each in found.items() if each.before or each.after}
    tree = parse(to_sql(statement)).tree
    try:
        only_came = not any(each.before for each in changed.values())
        places = probes(tree, changed.keys(), only_came=only_came)
    except NotProvableError as error:
        return str(error)
    touched = any(one in changed[table].before for _, lineage in saved for table, one in lineage if table in changed)
    if touched and spoilt != "lineage":
        return "touched"
    asked = [probe for probe in places if changed[probe.table].after]
    if spoilt != "probes" and any(_finds_rows(probe.sql, probe.table, changed, now) for probe in asked):
        return "rows join"
    return "untouched"


def _finds_rows(sql: str, table: str, changed: dict[str, Changes], now: Database) -> bool:
    with duckdb.connect() as connection:
        tables = dict(now)
        rows = tuple(row for row in now[table].rows if row[0] in changed[table].after)
        tables[PLACE] = BaseTable(now[table].columns, now[table].kinds, rows)
        for name, each in tables.items():
            columns = ", ".join(
                f"{column} {_TYPES[kind]}" for column, kind in zip(each.columns, each.kinds, strict=True)
            )
            connection.execute(f"CREATE TABLE {name} ({columns})")
            for row in each.rows:
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(row))
        text = sql.replace("LEFT SEMI JOIN", "SEMI JOIN").replace("LEFT ANTI JOIN", "ANTI JOIN")
        try:
            return connection.execute(f"{text} LIMIT 1").fetchone() is not None
        except duckdb.BinderException:  # it is asked for each row of a query around it
            return True


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
        statement, then = small_query(chance), a_database(chance)
        now, names = edited(then, chance)
        if not any(then[name] != now[name] and name in tables_in(statement) for name in names):
            continue
        saved, wanted = answer(statement, then), answer(statement, now)
        if saved is None or wanted is None:
            continue
        with SPOILED[spoilt]() if spoilt else nullcontext():
            way = decided(statement, then, now, saved, spoilt)
        if way == "untouched" and saved != wanted:
            yield way, f"{to_sql(statement)}\n{then}\n{now}\nsaved:{shown(saved)}\nwanted:{shown(wanted)}"
        else:
            yield way if saved != wanted or way == "untouched" else f"{way} (in vain)", None


@click.command()
@click.option("--cases", default=10_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--spoil", is_flag=True, help="Disable each rule on purpose; all must be caught within --cases.")
def main(cases: int, seed: int, spoil: bool) -> None:
    """Try the rules; exit code 1 if one is wrong, or a spoilt one passes."""
    if spoil:
        passed = [rule for rule in SPOILED if not _caught(rule, cases, seed)]
        sys.exit(bool(passed))
    ways: Counter[str] = Counter()
    wrong = 0
    for _, (way, fault) in zip(range(cases), outcomes(seed), strict=False):
        ways[way] += 1
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
