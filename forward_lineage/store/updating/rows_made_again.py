"""Rows that were made again, beside those of before: which replaces which, and what is made of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.updating.first_rows import FirstRows
from forward_lineage.store.updating.growing_groups import Growing, grown
from forward_lineage.store.updating.matching import Names, matched
from forward_lineage.store.updating.new_rows import MadeAgain, Pairs
from forward_lineage.store.updating.replacement_rules import Added, Keyed
from udafs.lineage_set import LineageSet

Part = tuple[pa.Table, dict[str, Pairs]]
"""Rows that were made again, and by table, in lower case, what they were made of."""
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
    old = rows_of(saved, numbers)
    lineage = {edge.name.lower(): pairs_of(saved, edge.name, numbers) for edge in saved.tables}
    both = [(old, lineage), *((rows.cast(old.schema), pairs) for rows, pairs in parts)]
    rows, lineage = pa.concat_tables([each for each, _ in both]), stacked(both)
    places = first.of(list(zip(*(column.to_pylist() for column in rows.columns), strict=True)))
    stay = next((at for at, place in enumerate(places) if at != place or place >= old.num_rows), len(places))
    again = np.array(places[stay:], np.int64)
    now = np.full(rows.num_rows, -1, np.int64)
    now[again] = np.arange(again.size)
    there = {name: (now[at], ids) for name, (at, ids) in lineage.items()}
    kept = {name: (at[at >= 0], ids[at >= 0]) for name, (at, ids) in there.items()}
    return MadeAgain(rows.take(again), kept, np.full(again.size, -1, np.int64), LineageSet(numbers[stay:]))


def added_up(
    saved: SavedResult, how: Growing, numbers: Numbers, more: pa.Table, lineage: dict[str, Pairs]
) -> MadeAgain:
    """Groups of rows that came, with what groups of the same keys had before, under these numbers."""
    old = rows_of(saved, numbers)
    then, now = (list(zip(*(column.to_pylist() for column in each.columns), strict=True)) for each in (old, more))
    kinds = [kind.lower() for _, kind in saved.columns]
    by_key = {_key(row, how): place for place, row in enumerate(then)}
    before = np.array([by_key.get(_key(row, how), -1) for row in now], np.int64)
    rows = [
        row if place < 0 else grown(how.columns, kinds, then[place], row)
        for row, place in zip(now, before.tolist(), strict=True)
    ]
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(more.schema)]
    known = np.flatnonzero(before >= 0)
    together = dict(lineage)
    for edge in saved.tables:
        places, ids = pairs_of(saved, edge.name, numbers)
        of_old = np.full(numbers.size, -1, np.int64)
        of_old[before[known]] = known
        mine = of_old[places] >= 0
        here = lineage.get(edge.name.lower(), _NO_PAIRS)
        pairs = np.stack([np.append(of_old[places][mine], here[0]), np.append(ids[mine], here[1])])
        places_of, ids_of = np.unique(pairs, axis=1)
        together[edge.name.lower()] = places_of, ids_of
    replaced = np.where(before < 0, -1, numbers[before]) if numbers.size else before
    return MadeAgain(pa.table(columns, schema=more.schema), together, replaced, LineageSet(replaced[replaced >= 0]))


def _key(row: tuple[object, ...], how: Growing) -> tuple[object, ...]:
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
