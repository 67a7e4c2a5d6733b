"""Rows that were made again, beside those of before: which replaces which, and what is made of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.updating.first_rows import FirstRows
from forward_lineage.store.updating.growing_groups import Growing
from forward_lineage.store.updating.grown_values import grown
from forward_lineage.store.updating.hidden_sums import MOST_GROUPS, Hidden
from forward_lineage.store.updating.joining_rows import NotProvableError
from forward_lineage.store.updating.matching import Names, matched
from forward_lineage.store.updating.new_rows import MadeAgain, Pairs
from forward_lineage.store.updating.replacement_rules import Added, Keyed
from udafs.lineage_set import LineageSet

Part = tuple[pa.Table, dict[str, Pairs]]
"""Rows that were made again, and by table, in lower case, what they were made of."""
Row = tuple[Any, ...]
_NO_PAIRS: Pairs = (np.empty(0, np.int64), np.empty(0, np.int64))


def made_again(
    saved: SavedResult, went: LineageSet, how: tuple[Added, ...] | Keyed, parts: Sequence[Part]
) -> MadeAgain:
    """Match rows that were made again with those that went, by their keys, or by what they were made of."""
    numbers = went.ids()
    old = rows_of(saved, numbers)
    rows = pa.concat_tables([rows for rows, _ in parts]) if parts else old.slice(0, 0)
    lineage = stacked(parts)
    names: tuple[Names, Names]
    if isinstance(how, Keyed) and how.hidden is not None:
        name = how.hidden.table
        names = _by_common_rows((old, pairs_of(saved, name, numbers)), (rows, lineage.get(name, _NO_PAIRS)))
    elif isinstance(how, Keyed):
        columns = how.columns
        names = _by_key(old, columns), _by_key(rows, columns)
    else:
        relations = {edge.name.lower(): pairs_of(saved, edge.name, numbers) for edge in saved.tables}
        names = _by_lineage(relations, len(numbers)), _by_lineage(lineage, rows.num_rows)
    return MadeAgain(rows, lineage, matched(names[0], numbers.tolist(), names[1]), went)


def first_of_all(saved: SavedResult, first: FirstRows, parts: Sequence[Part]) -> MadeAgain:
    """The first of the rows of before and new ones. From the first new one on, all have new numbers, which ascend."""
    numbers = np.array(list(saved.numbers()), np.int64)
    lineage = {edge.name.lower(): pairs_of(saved, edge.name, numbers) for edge in saved.tables}
    return first_of_both(first, numbers, (rows_of(saved, numbers), lineage), parts)


def first_of_both(first: FirstRows, numbers: Numbers, saved: Part, parts: Sequence[Part]) -> MadeAgain:
    """Return the first of saved rows, which have these numbers, and of new ones."""
    old, lineage = saved
    both = [(old, lineage), *((rows.cast(old.schema), pairs) for rows, pairs in parts)]
    rows, lineage = pa.concat_tables([each for each, _ in both]), stacked(both)
    places = first.of(listed(rows))
    stay = next((at for at, place in enumerate(places) if at != place or place >= old.num_rows), len(places))
    again = np.array(places[stay:], np.int64)
    now = np.full(rows.num_rows, -1, np.int64)
    now[again] = np.arange(again.size)
    there = {name: (now[at], ids) for name, (at, ids) in lineage.items()}
    kept = {name: (at[at >= 0], ids[at >= 0]) for name, (at, ids) in there.items()}
    return MadeAgain(rows.take(again), kept, np.full(again.size, -1, np.int64), LineageSet(numbers[stay:]))


@dataclass(frozen=True)
class Groups:
    """Groups of rows that came or went, beside those that the result had.

    Attributes:
        numbers: of the rows of the result with the same keys, ascending.
        came: the groups of the rows that came, hidden columns behind.
        lineage: of these.
        went: the groups of the rows that went, or differ, as they were; None: there are none.
        gone: the ids of these rows in the table that they are of.
        then: the hidden columns of rows of the result, by the numbers of these.
        now: the hidden columns of all groups as they are now, by keys; None: `then` tells them.

    """

    numbers: Numbers
    came: pa.Table
    lineage: dict[str, Pairs]
    went: pa.Table | None = None
    gone: LineageSet = field(default_factory=LineageSet)
    then: Mapping[int, Row] = field(default_factory=dict)
    now: Mapping[Row, Row] | None = None


def added_up(saved: SavedResult, how: Growing, groups: Groups) -> tuple[MadeAgain, Hidden]:
    """Return the groups that rows came to or went from, as they are now; and the hidden columns of all groups."""
    numbers = groups.numbers
    old = rows_of(saved, numbers)
    pairs = {edge.name.lower(): pairs_of(saved, edge.name, numbers) for edge in saved.tables}
    kinds = [*(kind.lower() for _, kind in saved.columns), *how.kinds]
    found = put_together(how, kinds, listed(old), pairs, groups)
    columns = [pa.array([row[i] for row in found.rows], field.type) for i, field in enumerate(old.schema)]
    replaced = np.array([-1 if place < 0 else numbers[place] for place in found.places], np.int64)
    made = MadeAgain(pa.table(columns, schema=old.schema), found.lineage, replaced, LineageSet(numbers))
    sums = _sums_of_others(saved, how, groups)
    hidden = (row[len(how.columns) :] for row in found.rows)
    return made, {**sums, **dict(zip(made.numbered(saved.numbers_end).tolist(), hidden, strict=True))}


def _sums_of_others(saved: SavedResult, how: Growing, groups: Groups) -> Hidden:
    """The hidden columns of groups that are as they were, if they are to be kept."""
    if not how.hidden or saved.rows > MOST_GROUPS:
        return {}
    others = np.setdiff1d(np.array(list(saved.numbers()), np.int64), groups.numbers)
    if groups.now is None:
        return {number: groups.then[number] for number in others.tolist()}
    rows = listed(rows_of(saved, others))
    return {number: groups.now[_key(row, how)] for number, row in zip(others.tolist(), rows, strict=True)}


@dataclass(frozen=True)
class Together:
    """Groups as they are now.

    Attributes:
        rows: their values, hidden ones behind.
        places: of each the place of the row of before that it replaces; −1: it is a new group.
        lineage: of them.

    """

    rows: list[Row]
    places: list[int]
    lineage: dict[str, Pairs]


def put_together(
    how: Growing, kinds: Sequence[str], then: Sequence[Row], pairs: Mapping[str, Pairs], groups: Groups
) -> Together:
    """Put groups of before and of rows that came or went together.

    Args:
        how: how they grow.
        kinds: the types of all columns, as Spark names them.
        then: rows of before.
        pairs: by table, in lower case, their lineage.
        groups: the others. Its numbers are those of the rows of before.

    """
    rows_that_came = listed(groups.came)
    came, went = (_by_keys(how, kinds, each) for each in (rows_that_came, listed(groups.went)))
    stays = {table: ~np.isin(ids, groups.gone.ids()) for table, (_, ids) in pairs.items()}
    left = {place for table, (at, _) in pairs.items() for place in at[stays[table]].tolist()}
    found, now = Together([], [], {}), dict[Row, int]()
    for place, row in enumerate(then):
        key = _key(row, how)
        if not is_gone(how, is_left=place in left, comes=key in came):
            now[key] = len(found.rows)
            whole = (*row, *groups.then.get(int(groups.numbers[place]), ()))
            asked = None if groups.now is None else groups.now.get(key)
            if groups.now is not None and asked is None:
                raise NotProvableError("a group is not there any more, although rows of it are")
            found.rows.append(grown(how, kinds, whole, came=came.get(key), went=went.get(key), now=asked))
            found.places.append(place)
    for key, row in came.items():
        if key not in now:
            now[key] = len(found.rows)
            found.rows.append(row)
            found.places.append(-1)
    of_old = np.array([now.get(_key(row, how), -1) for row in then], np.int64)
    of_new = np.array([now[_key(row, how)] for row in rows_that_came], np.int64)
    for table in pairs.keys() | groups.lineage.keys():
        (at, ids), (at_new, new) = pairs.get(table, _NO_PAIRS), groups.lineage.get(table, _NO_PAIRS)
        mine = stays[table] & (of_old[at] >= 0) if table in pairs else at >= 0
        both = np.stack([np.append(of_old[at[mine]], of_new[at_new]), np.append(ids[mine], new)])
        places, of_ids = np.unique(both, axis=1)
        found.lineage[table] = places, of_ids
    return found


def _by_keys(how: Growing, kinds: Sequence[str], rows: Sequence[Row]) -> dict[Row, Row]:
    """Groups by their keys; those of several parts of the joined rows are added up."""
    found: dict[Row, Row] = {}
    for row in rows:
        key = _key(row, how)
        found[key] = grown(how, kinds, found[key], came=row) if key in found else row
    return found


def is_gone(how: Growing, *, is_left: bool, comes: bool) -> bool:
    """Tell whether a group is there no more: none of the rows that it was made of stays, and none comes."""
    return bool(how.keys) and not is_left and not comes


def listed(rows: pa.Table | None) -> list[Row]:
    """Return the rows of a table."""
    return [] if rows is None else list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _key(row: Row, how: Growing) -> Row:
    return tuple(row[place] for place in how.keys)


def rows_of(saved: SavedResult, numbers: Numbers) -> pa.Table:
    """The rows of some numbers, which are ascending."""
    found = [pq.read_table(saved.folder / saved.row_files[0].path).slice(0, 0)]
    for file in saved.row_files:
        low, high = np.searchsorted(numbers, [file.first_row, file.first_row + file.rows])
        if low < high:
            found.append(pq.read_table(saved.folder / file.path).take(numbers[low:high] - file.first_row))
    return pa.concat_tables(found)


def pairs_of(saved: SavedResult, table: str, numbers: Numbers) -> Pairs:
    """Pairs of places among some numbers, which are ascending, and ids in a table."""
    edge = saved.traced(table)
    assert edge is not None, "it is one of its own"
    rows, ids = relation_of(saved, edge).restrict(rows=LineageSet(numbers)).pairs()
    return np.searchsorted(numbers, rows), ids


def relation_of(saved: SavedResult, edge: TracedTable) -> StoredRelation:
    """Return the lineage of a result in a table."""
    return StoredRelation(saved.segment_files(edge.segments), SegmentCache())


def stacked(parts: Sequence[Part]) -> dict[str, Pairs]:
    """Return the lineage of the rows of several parts, one after the other."""
    found: dict[str, list[Pairs]] = {}
    before = 0
    for rows, pairs in parts:
        for table, (places, ids) in pairs.items():
            found.setdefault(table, []).append((places + before, ids))
        before += rows.num_rows
    return {
        table: (np.concatenate([each[0] for each in listed]), np.concatenate([each[1] for each in listed]))
        for table, listed in found.items()
    }


def _by_key(rows: pa.Table, columns: Sequence[int]) -> Names:
    """Names of rows: all values, and keys alone."""
    keys = zip(*(rows.column(column).to_pylist() for column in columns), strict=True)
    return list(zip(_whole(rows), keys, strict=True))


def _whole(rows: pa.Table) -> list[str]:
    return [repr(row) for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)]


def _by_common_rows(old: tuple[pa.Table, Pairs], new: tuple[pa.Table, Pairs]) -> tuple[Names, Names]:
    """Names of rows of then and now: all values, and the row of then that was made of a row that one was made of."""
    part_of = dict(zip(*(side.tolist() for side in reversed(old[1])), strict=True))
    pairs = zip(*(side.tolist() for side in new[1]), strict=True)
    common = {place: part_of[one] for place, one in pairs if one in part_of}
    return (
        [(whole, place) for place, whole in enumerate(_whole(old[0]))],
        [(whole, common.get(place, -1)) for place, whole in enumerate(_whole(new[0]))],
    )


def _by_lineage(lineage: dict[str, Pairs], rows: int) -> Names:
    """Names of rows: what they were made of."""
    found: list[list[tuple[str, int]]] = [[] for _ in range(rows)]
    for table in sorted(lineage):
        for place, one in zip(*(side.tolist() for side in lineage[table]), strict=True):
            found[place].append((table, one))
    return [(tuple(each),) for each in found]
