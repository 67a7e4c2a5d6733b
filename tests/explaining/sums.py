"""The arithmetic of `compare` alone: joined rows come from SQLite, not from Spark.

Where rows of both joined tables changed, a row that is restored may meet one that is not. Then both must be named.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from forward_lineage.explaining.attributing import Attribution, JoinedRow, Part, exact
from forward_lineage.explaining.rerunning import Undone, named_in, until_undone
from forward_lineage.explaining.summed_block import SummedBlock, summed_block
from forward_lineage.explaining.undoing import MixedRow, Named, with_partners
from forward_lineage.frontend import print_sql
from forward_lineage.row_ids.row_changes import RowChanges
from tests.explaining.cases import Case, Tables, a_case, asked, changed, edited, some_tables, undone
from udafs.lineage_set import LineageSet

_ID = {"customers": "id", "orders": "oid"}


def verdicts(seed: int) -> Iterator[str | None]:
    """Yield for each group that changed what is wrong with its parts; None: nothing."""
    chance = random.Random(seed)
    before = some_tables(chance)
    after = edited(before, chance)
    case = a_case(chance)
    block = summed_block(case.sql, [*case.keys, *(name for name, _ in case.aggregates)])
    assert block is not None
    then, now = (_joined_rows(each, case, block) for each in (before, after))
    attribution = Attribution(block.forms, case.tables, _changes(before, after), (_all(then), _all(now)))
    rows = [{row[: len(case.keys)]: row for row in asked(each, case.sql)} for each in (before, after)]
    for key in rows[0].keys() & rows[1].keys():
        if rows[0][key] != rows[1][key]:
            parts = together(case, block, (before, after), attribution.parts(then[key], now[key]), key)
            yield _judged(case, block, parts, rows[0][key], rows[1][key]) or undoing(
                case, before, after, named_in(parts), key
            )


def _all(groups: dict[tuple[Any, ...], list[JoinedRow]]) -> list[JoinedRow]:
    return [row for rows in groups.values() for row in rows]


def _judged(
    case: Case, block: SummedBlock, parts: list[Part], old: tuple[Any, ...], new: tuple[Any, ...]
) -> str | None:
    for place, form in block.forms.items():
        if old[place] is None or new[place] is None:
            continue
        got = sum((part.amounts.get(place, Fraction(0)) for part in parts), Fraction(0))
        wanted = exact(new[place]) - exact(old[place])
        if got != wanted and (form.under is None or abs(got - wanted) > Fraction(1, 10**9)):
            return f"{case.sql}: {old} → {new}: column {place} differs by {wanted}, parts add up to {got}"
    return None


def together(
    case: Case, block: SummedBlock, versions: tuple[Tables, Tables], parts: list[Part], key: tuple[Any, ...]
) -> list[Part]:
    """Name what has to be undone together: as `compare` does, or by rerunning for outer joins."""
    before, after = versions
    kinds = {
        (table, each): kind
        for table, found in changed(before, after).items()
        for kind, ids in found.items()
        for each in ids
        if table in case.tables
    }
    if len({table for table, _ in kinds}) < 2:
        return parts

    def change(table: str, each: int) -> str:
        return kinds[table, each]

    if not block.pads:
        mixed = [each for at, each in _mixed(case, block, versions, kinds) if at == key]
        return list(with_partners(parts, mixed, change))
    then = _joined_rows(before, case, block)

    def rerun(named: Named) -> Undone:
        got = _joined_rows(undone(before, after, sorted(named)), case, block)
        extra, missing = Counter(got[key]) - Counter(then[key]), Counter(then[key]) - Counter(got[key])
        others = [row for at, rows in got.items() if at != key for row in rows]
        return Undone(*([_named(case, row) for row in rows] for rows in (extra, missing, others)))

    return list(until_undone(parts, rerun, frozenset(kinds), change))


def _mixed(
    case: Case, block: SummedBlock, versions: tuple[Tables, Tables], kinds: Mapping[tuple[str, int], str]
) -> Iterator[tuple[Any, MixedRow]]:
    """Join old rows of one table with new rows of the other, where both changed."""
    for old, new in (case.tables, case.tables[::-1]):
        tables = {old: versions[0][old], new: versions[1][new]}
        for key, rows in _joined_rows(tables, case, block).items():
            for row in rows:
                named = {table: frozenset(each for each in _named(case, row) if each[0] == table) for table in tables}
                if all(each in kinds for each in named[old] | named[new]):
                    yield key, MixedRow(named[old], named[new])


def _named(case: Case, row: JoinedRow) -> Named:
    return frozenset((table, each) for table, ids in zip(case.tables, row.ids, strict=True) for each in ids)


def undoing(case: Case, before: Tables, after: Tables, named: Named, key: tuple[Any, ...]) -> str | None:
    """Say what is wrong if the named rows are as they were, and nothing else is."""
    tables = undone(before, after, sorted(named))
    old, got = (
        next((row for row in asked(each, case.sql) if row[: len(case.keys)] == key), None) for each in (before, tables)
    )
    places = [
        *range(len(case.keys)),
        *(at for at, (_, text) in enumerate(case.aggregates, len(case.keys)) if text[:3] != "min"),
    ]
    if _close(*(row and tuple(row[at] for at in places) for row in (old, got))):
        return None  # nothing of a min is attributed
    return f"{case.sql}\nof {key}: {old} is not {got} when {sorted(named)} are undone\n{before}\n{after}"


def _close(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(
        a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) < 1e-9)
        for a, b in zip(one, other, strict=True)
    )


def _changes(before: Tables, after: Tables) -> dict[str, RowChanges | None]:
    found = changed(before, after)
    return {
        name: RowChanges(*(LineageSet(each[kind]) for kind in ("gone", "came", "differs")))
        for name, each in found.items()
    }


def _joined_rows(tables: Tables, case: Case, block: SummedBlock) -> dict[tuple[Any, ...], list[JoinedRow]]:
    values = [print_sql(each) for each in block.aggregates]
    ids = [_ID[table] for table in case.tables]
    found: dict[tuple[Any, ...], list[JoinedRow]] = defaultdict(list)
    keys = len(case.keys)
    for row in asked(tables, f"SELECT {', '.join([*case.keys, *values, *ids])} FROM {case.source}{case.condition}"):
        made_of = tuple(frozenset(() if each is None else (each,)) for each in row[keys + len(values) :])
        found[row[:keys]].append(JoinedRow(made_of, tuple(row[keys : keys + len(values)])))
    return found
