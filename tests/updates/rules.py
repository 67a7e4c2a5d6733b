"""The rules of updating without Spark: thousands of queries and edits a minute, each rule disabled on purpose, too.

What is decided by `joining_rows`, and by lineage, is compared with the interpreter: where a result is taken for
untouched, the query over the edited tables must give the same rows, with the same lineage. Probes run in DuckDB. What
this leaves out (ids, files, saving) is what `python -m tests.updates` is for.

    python -m tests.updates.rules --cases 10000
    python -m tests.updates.rules --spoil
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import click
import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from forward_lineage.store.updating import (
    columns_read,
    growing_groups,
    grown_values,
    hidden_keys,
    joining_rows,
    replacement_rules,
    rows_made_again,
    touched_rows,
)
from forward_lineage.store.updating import first_rows as first_rows_of
from forward_lineage.store.updating.first_rows import FirstRows, first_rows
from forward_lineage.store.updating.growing_groups import growing
from forward_lineage.store.updating.hidden_keys import HiddenKeys
from forward_lineage.store.updating.joining_rows import NotProvableError, Probe
from forward_lineage.store.updating.replacement_rules import (
    Added,
    Keyed,
    replacement,
    without_limit,
)
from forward_lineage.store.updating.rows_made_again import Groups, put_together
from forward_lineage.store.updating.sources_in_parts import Source
from forward_lineage.store.updating.touched_rows import telling_probes
from tests.oracle.algebra import BaseTable, Database, Statement, Value
from tests.oracle.comparison import AnnotatedRow, shown
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.printing import to_sql
from tests.oracle.spark_answers import tables_in
from tests.oracle.strategies import SCHEMAS, VALUES
from tests.updates.cases import Answers, Case, Keys, KnownSource
from tests.updates.queries import query_in_parts, small_query
from tests.updates.tables import KINDS, edited
from udafs.lineage_set import LineageSet

#: By name: what is put in the place of what. Those with nothing are left out here, in the place of `replacing`.
SPOILED: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "lineage": nullcontext,
    "probes": nullcontext,
    "clauses": lambda: patch.object(joining_rows, "refuse_parts", lambda *_: None),
    "joins": lambda: patch.object(joining_rows, "check_join", lambda *_: None),
    "subqueries": lambda: patch.object(joining_rows, "refuse_subqueries", lambda *_: None),
    "set operations": lambda: patch.object(joining_rows, "_KEEPS_ALL_ROWS", exp.SetOperation),
    "columns": lambda: patch.object(columns_read, "reads_any", lambda *_: False),
    "queries around": lambda: patch.object(touched_rows, "_within", lambda *_, **__: exp.select("1").where("false")),
    "first place only": lambda: patch.object(joining_rows, "places", _first(joining_rows.places)),
}


#: Rules for parts of results, which a plan does not run: they are tried here alone.
SPOILED_PARTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "touched rows": nullcontext,
    "several places": lambda: patch.object(replacement_rules, "read_earlier", lambda name: name),
    "keys that were": nullcontext,
    "keys that came": nullcontext,
    "old rows": lambda: patch.object(touched_rows, "read_both", lambda *_: None),
    "rows that went": nullcontext,
    "outer joins": lambda: patch.object(touched_rows, "_as_inner", lambda join: join.copy()),
    "keys of preserved rows": lambda: patch.object(replacement_rules.touched, "may_be_missing", lambda *_: False),
    "values of then and now": lambda: patch.object(touched_rows, "_differs", lambda *_: exp.false()),
    "values that may be equal": lambda: patch.object(touched_rows, "_selects_of_rows", lambda *_: True),
    "sums of values": lambda: patch.object(growing_groups, "_column", _any_aggregate),
    "groups that are told apart": lambda: patch.object(
        growing_groups, "_meant", lambda by, select: select.expressions[0].unalias()
    ),
    "counted twice": lambda: patch.object(replacement_rules, "read_earlier", lambda name: name),
    "values that are taken away": lambda: patch.object(grown_values, "taken", lambda _: 0),
    "sums of no values": lambda: patch.object(grown_values, "is_empty", lambda _: False),
    "averages of sums": lambda: patch.object(grown_values, "_average", lambda *given: given[2][given[1].sum]),
    "groups that are gone": lambda: patch.object(rows_made_again, "is_gone", lambda *_, **__: False),
    "extremes of rows that went": lambda: patch.object(growing_groups, "_has_extremes", lambda *_: False),
    "groups of several tables": lambda: patch.object(growing_groups, "_reads_several", lambda *_: False),
    "first rows": nullcontext,
    "rows that may be first": nullcontext,
    "order of first rows": nullcontext,
    "groups that LIMIT kept out": lambda: patch.object(first_rows_of, "_loses_parts", lambda *_: False),
    "groups that are filtered": lambda: patch.object(
        joining_rows, "KEEP_ALL", joining_rows.KEEP_ALL | {"having", "qualify"}
    ),
    "groups of sets": lambda: patch.object(replacement_rules, "_loses_groups", lambda *_, **__: False),
    "tables that are read once": lambda: patch.object(hidden_keys, "_is_read_once", lambda *_: True),
    "keys of all sides": lambda: patch.object(hidden_keys, "known_form", lambda *_: "INNER"),
    "partitions of rows that went": lambda: patch.object(replacement_rules, "_needs_old_rows", lambda *_: False),
    "parts of queries in FROM": nullcontext,
    "values in HAVING": lambda: patch.object(touched_rows, "_differs", lambda *_: exp.false()),
    "keys of partitions": lambda: patch.object(replacement_rules, "_in_each", lambda *_: True),
}
#: Those that matter only where old rows are at hand. The others are tried where they are not.
_NEED_OLD_ROWS = {
    *("queries around", "old rows", "rows that went", "outer joins", "keys of preserved rows", "keys that came"),
    *(
        "first rows",
        "rows that may be first",
        "order of first rows",
        "values of then and now",
        "values that may be equal",
        "keys of partitions",
    ),
    *("values that are taken away", "sums of no values", "groups that are gone", "extremes of rows that went"),
    *("groups of several tables", "averages of sums"),
    *("tables that are read once", "keys of all sides", "parts of queries in FROM", "values in HAVING"),
}
#: What is in the text of queries that tell, for rules which few queries need.
_TELLS = {
    "set operations": "UNION|EXCEPT|INTERSECT",
    "keys of preserved rows": r"^SELECT (DISTINCT )?(?!.*UNION|.*EXCEPT|.*INTERSECT).*FROM .*LEFT JOIN",
    "values that may be equal": r"IN \(SELECT v\..*LEFT JOIN",
    "groups that are told apart": "GROUP BY",
    "counted twice": "GROUP BY",
    "values that are taken away": r"(sum|count|avg)\(",
    "sums of no values": r"sum\(",
    "averages of sums": r"avg\(",
    "groups that are gone": r"(sum|count|avg)\(.*GROUP BY",
    "extremes of rows that went": r"(min|max)\(.*GROUP BY",
    "groups of several tables": r"(sum|count|avg)\(.*JOIN.*GROUP BY",
    "tables that are read once": r"^SELECT (?!x\.|y\.).* FROM (\w+) AS x .*JOIN \1 AS y.*GROUP BY",
    "keys of all sides": r"^SELECT (?!x\.|y\.).*(LEFT|RIGHT|FULL) .*GROUP BY y",
    "parts of queries in FROM": r"(WITH|FROM) .*\(SELECT.*GROUP BY.*\) ",
    "values in HAVING": r"HAVING.*SELECT",
    "groups that LIMIT kept out": "GROUP BY.*ORDER BY 2.*LIMIT [12]",
    "old rows": r"JOIN|\(SELECT",
    "partitions of rows that went": r"^SELECT \S+ AS k1, rank",
    "first rows": "LIMIT",
    "rows that may be first": "LIMIT",
    "order of first rows": "LIMIT",
    "groups of sets": "GROUP BY.*(INTERSECT|EXCEPT)|(INTERSECT|EXCEPT).*GROUP BY",
}
#: What is edited, for rules which few edits need.
_EDITS = {"groups that LIMIT kept out": ["delete"], "old rows": ["delete"]}
_SAID_AFTER = 1000
_CANNOT_BE_ASKED = duckdb.BinderException, duckdb.CatalogException
ALL_SPOILED = {**SPOILED, **SPOILED_PARTS}


def _first(places: Callable[..., Iterator[exp.Table]]) -> Callable[..., Iterator[exp.Table]]:
    def first(source: exp.Expr, changed: set[str]) -> Iterator[exp.Table]:
        """Leave the places behind JOIN out."""
        if not isinstance(source.parent, exp.Join):
            yield from places(source, changed)

    return first


def _any_aggregate(item: exp.Expr, by: list[exp.Expr]) -> str:
    return growing_groups.KEY if item in by else "sum"


def decided(case: Case, spoilt: str = "") -> str:
    """Say what the rules say of a result: ``untouched``, or why it is computed again."""
    try:
        places = telling_probes(case.tree, case.changed.keys(), case.went)
    except NotProvableError as error:
        return str(error)
    if spoilt != "lineage" and any(case.is_touched(lineage) for _, lineage in case.saved):
        return "touched"
    try:
        joins = any(_finds_rows(case, probe, spoilt) for probe in places)
    except _CANNOT_BE_ASKED:  # it cannot be asked at all
        return "what joins could not be asked"
    return "rows join" if joins and spoilt != "probes" else "untouched"


def _finds_rows(case: Case, probe: Probe, spoilt: str = "") -> bool:
    return bool(_asked(case, probe, spoilt))


def _asked(case: Case, probe: Probe, spoilt: str = "", sources: Sequence[Source] = ()) -> list[tuple[Value, ...]]:
    """What a probe gives."""
    if spoilt == "rows that went":
        probe = replace(probe, both=False)
    answers = Answers(case, probe, sources=_known(case, sources, spoilt))
    try:
        return answers.rows(probe.sql)
    except _CANNOT_BE_ASKED:  # perhaps it mentions the query around it
        if probe.within is None:
            raise
        return answers.rows(probe.within)


Replaced = tuple[str, Counter[AnnotatedRow], Counter[tuple[Value, ...]]]
"""The class of a query, the rows that are kept, and those that are made again."""


def replaced(case: Case, spoilt: str = "") -> Replaced | str:
    """Say which rows are kept and which are made again; or why no rule says so."""
    try:
        return _replaced(case, spoilt)
    except NotProvableError as error:
        return str(error)
    except _CANNOT_BE_ASKED:
        return "its part could not be asked for"


def _replaced(case: Case, spoilt: str) -> Replaced:
    went = case.went
    untouched = Counter(
        {
            (values, lineage): count
            for (values, lineage), count in case.saved.items()
            if spoilt == "touched rows" or not case.is_touched(lineage)
        }
    )
    everything = without_limit(case.tree)
    if everything is not None:
        first = first_rows(case.tree, case.tree.named_selects, went)
        return _first_rows(case, first, _of_all(case, everything, untouched, spoilt), spoilt)
    if went is not None:
        with suppress(NotProvableError):
            return _growing(case, spoilt)
    return _of_all(case, case.tree, untouched, spoilt)


def _of_all(case: Case, tree: exp.Expr, untouched: Counter[AnnotatedRow], spoilt: str) -> Replaced:
    changed, went, fits = case.changed.keys(), case.went, partial(_fits, case)
    found = replacement(tree, changed, went, fits)
    if not isinstance(found, Keyed):
        return _added(case, found, [each for each in found if _asked(case, each.probe)], untouched)
    return _keyed(case, found, untouched, spoilt)


def _growing(case: Case, spoilt: str) -> Replaced:
    """The product's own arithmetic: over groups of rows that came and went, hidden sums as they were or asked now."""
    how = growing(case.tree, case.changed.keys(), case.went or ())
    active = [each for each in how.places if _asked(case, each.probe, spoilt)]
    if not active:
        raise NotProvableError("nothing joins in it")
    shrinks = active[0].probe.both
    saved = list(case.saved.elements())
    came = [row for each in active for row in Answers(case, replace(each.probe, both=False)).rows(each.sql)]
    went = Answers(case, active[0].probe, gone=True).rows(active[0].sql) if shrinks else []
    keys = {tuple(row[key] for key in how.keys) for row in (*came, *went)}
    then = [row for row in saved if tuple(row[0][key] for key in how.keys) in keys]
    gone = case.changed[active[0].probe.table].before if shrinks else frozenset()
    width, kept = len(how.columns), len(how.keys)
    asked = {row[:kept]: row[kept:] for row in Answers(case).rows(how.totals)} if how.hidden else None
    kinds = ["double" if each == "avg" else "bigint" for each in (*how.columns, *how.functions)]
    groups = Groups(
        np.arange(len(then)),
        _arrow(came, len(kinds)),
        {},
        _arrow(went, len(kinds)),
        LineageSet(sorted(gone)),
        {},
        asked,
    )
    pairs = {name: _pairs(then, name) for name in tables_in(case.statement)}
    found = put_together(how, kinds, [row for row, _ in then], pairs, groups)
    what = "shrinking" if shrinks else "growing"
    what = f"{what} {'groups' if how.keys else 'totals'}{' with averages' if 'avg' in how.columns else ''}"
    return what, Counter(saved) - Counter(then), Counter(row[:width] for row in found.rows)


def _arrow(rows: Sequence[tuple[Value, ...]], width: int) -> pa.Table:
    return pa.table({str(place): pa.array([row[place] for row in rows]) for place in range(width)})


def _pairs(rows: Sequence[AnnotatedRow], table: str) -> tuple[Any, Any]:
    """The ids in a table that rows were made of, as pairs."""
    pairs = [(place, one) for place, (_, lineage) in enumerate(rows) for name, one in lineage if name == table]
    return np.array([place for place, _ in pairs], np.int64), np.array([one for _, one in pairs], np.int64)


def _first_rows(case: Case, first: FirstRows, everything: Replaced, spoilt: str) -> Replaced:
    what, kept, new = everything
    if kept != case.saved and spoilt != "first rows":
        raise NotProvableError("it has LIMIT")
    if not new or spoilt == "rows that may be first":
        return f"first rows of {what}", case.saved, Counter()
    # The product's own: saved rows stand in the order of the query, and have numbers in this order.
    values, lineage = zip(*case.saved.elements(), strict=True) if case.saved else ((), ())
    order = replace(first, count=len(values)).of(values)
    saved, came = [(values[place], lineage[place]) for place in order], list(new.elements())
    if spoilt == "order of first rows":
        first = replace(first, order=tuple(replace(each, descending=not each.descending) for each in first.order))
    rows = _arrow([*(values for values, _ in saved), *came], len(case.tree.named_selects))
    old = rows.slice(0, len(saved)), {name: _pairs(saved, name) for name in tables_in(case.statement)}
    made = rows_made_again.first_of_both(first, np.arange(len(saved)), old, [(rows.slice(len(saved)), {})])
    kept = Counter(row for number, row in enumerate(saved) if number not in made.went)
    again = rows_made_again.listed(made.rows)
    return f"first rows of {what}, merged", kept, Counter(again)


def _fits(case: Case, sql: str, _: Sequence[int]) -> bool:
    try:
        Answers(case).rows(f"{sql} LIMIT 0")
    except _CANNOT_BE_ASKED:
        return False
    return True


def _added(case: Case, places: Sequence[Added], active: Sequence[Added], untouched: Counter[AnnotatedRow]) -> Replaced:
    new = Counter(row for each in active for row in Answers(case, each.probe).rows(each.sql))
    return "union all" if len(places) > len({each.block for each in places}) else "joined rows", untouched, new


def _keyed(case: Case, keyed: Keyed, untouched: Counter[AnnotatedRow], spoilt: str) -> Replaced:
    of_row = _hidden_of(case, keyed.hidden) if keyed.hidden else partial(_selected_of, keyed.columns)
    keys = {key for row in case.saved.keys() - untouched.keys() for key in of_row(row)}
    if spoilt == "keys that were":
        keys = set()
    for probe in keyed.probes if spoilt != "keys that came" else ():
        keys |= set(_asked(case, probe, spoilt, keyed.sources))
    stays = untouched if keyed.hidden else case.saved
    kept = Counter({row: count for row, count in stays.items() if not keys & of_row(row)})
    words = [word for word in ("HAVING", "UNION", "INTERSECT", "EXCEPT") if f" {word} " in keyed.sql]
    what = " ".join([keyed.what, *words, *(["by hidden keys"] if keyed.hidden else [])])
    if keyed.sources:
        what += " with groups in FROM"
    if not keys:
        return what, kept, Counter()
    return what, kept, Counter(Answers(case, keys=keys).rows(keyed.sql))


def _known(case: Case, sources: Sequence[Source], spoilt: str) -> list[KnownSource]:
    """Queries that stand as tables, each with the keys of its touched parts."""
    found: list[KnownSource] = []
    for at, source in enumerate(sources):
        keys = {key for probe in source.probes for key in _asked(case, probe, spoilt, sources[:at])}
        found.append((source, set() if spoilt == "parts of queries in FROM" else keys))
    return found


def _selected_of(columns: Sequence[int], row: AnnotatedRow) -> Keys:
    return {tuple(row[0][column] for column in columns)}


def _hidden_of(case: Case, hidden: HiddenKeys) -> Callable[[AnnotatedRow], Keys]:
    """The keys of rows that a row was made of, if they are as they were."""
    found = Answers(case, rows_of=hidden.table).rows(hidden.sql)
    went = case.changed[hidden.table].before if hidden.table in case.changed else frozenset()
    of_id = {row[0]: tuple(row[1:]) for row in found if row[0] not in went}

    def of_row(row: AnnotatedRow) -> Keys:
        return {of_id[one] for table, one in row[1] if table == hidden.table and one in of_id}

    return of_row


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
    return ((way, fault) for way, fault, _ in _tried(seed, spoilt))


def _tried(seed: int, spoilt: str = "") -> Iterator[tuple[str, str | None, str]]:
    """The same, with the queries."""
    chance = random.Random(seed)
    while True:
        statement, then = chance.choice([small_query, query_in_parts, query_in_parts])(chance), a_database(chance)
        if not re.search(_TELLS.get(spoilt, ""), to_sql(statement)):
            continue
        only_came = not spoilt and chance.random() < 1 / 3
        now, names = edited(then, chance, ["insert"] if only_came else _EDITS.get(spoilt, KINDS))
        if not any(then[name] != now[name] and name in tables_in(statement) for name in names):
            continue
        saved, wanted = answer(statement, then), answer(statement, now)
        if saved is None or wanted is None:
            continue
        keeps_old_rows = spoilt in _NEED_OLD_ROWS if spoilt else chance.random() < 3 / 4
        case = Case(statement, then, now, saved, keeps_old_rows)
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
        sql = to_sql(statement)
        yield (way, told, sql) if wrong else (f"{way} (in vain)" if vain else way, None, sql)


#: The classes of queries in docs/updating.md, by what is in their text and in what was decided of them.
CLASSES = {
    "joined rows, UNION ALL": r"joined rows|union all",
    "DISTINCT, UNION, INTERSECT, IN, EXISTS": r"DISTINCT|UNION (?!ALL)|INTERSECT|IN \(SELECT|EXISTS",
    "GROUP BY": r"GROUP BY",
    "HAVING": r"HAVING",
    "sums, counts, extremes that grow": r"growing",
    "sums, counts that rows went from": r"shrinking",
    "averages": r"with averages",
    "sums over queries in FROM and WITH": r"(growing|shrinking)(.*\n)+?(WITH|.*FROM \(SELECT)",
    "outer joins": r"(LEFT|RIGHT|FULL) (OUTER )?JOIN",
    "anti joins, NOT IN, NOT EXISTS, EXCEPT": r"ANTI JOIN|NOT IN|NOT EXISTS|EXCEPT|NOT \(",
    "correlated subqueries": r"EXISTS \(SELECT",
    "uncorrelated values": r"[<>=] \(SELECT",
    "windows": r"OVER \(",
    "ORDER BY … LIMIT": r"LIMIT",
    "keys that are not selected": r"hidden keys",
    "groups in FROM and WITH": r"groups in FROM",
    "values in HAVING": r"HAVING.*\(SELECT (max|min|count)\(z",
    "first rows, merged": r"merged",
}


def classes_of(way: str, sql: str) -> list[str]:
    """Return the classes of a query that was proven, or made again in part."""
    if not way.startswith(("untouched", "partly")):
        return []
    return [name for name, told in CLASSES.items() if re.search(told, f"{way}\n{sql}")]


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
@click.option("--rule", "rules", multiple=True, help="Of those to disable, only these.")
def main(cases: int, seed: int, spoil: bool, rules: Sequence[str]) -> None:
    """Try the rules; exit code 1 if one is wrong, or a spoilt one passes."""
    if spoil or rules:
        passed = [rule for rule in rules or ALL_SPOILED if not _caught(rule, cases, seed)]
        sys.exit(bool(passed))
    ways: Counter[str] = Counter()
    wrong = 0
    classes: Counter[str] = Counter(dict.fromkeys(CLASSES, 0))
    for number, (way, fault, sql) in zip(range(1, cases + 1), _tried(seed), strict=False):
        ways[way] += 1
        classes.update(classes_of(way, sql))
        if number % _SAID_AFTER == 0:
            print(f"{number} cases, {sum(n for each, n in ways.items() if 'partly' in each)} in part", flush=True)
        if fault is not None:
            wrong += 1
            print(fault, flush=True)
    for way, count in ways.most_common():
        print(f"{count:6} {way}")
    print("proven or in part, by class:")
    for name, count in classes.most_common():
        print(f"{count:6} {name}")
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
