"""Rows of two versions of a saved result, matched by key: which were added, removed, changed."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError, ChangedError
from udafs.lineage_set import LineageSet

Values = tuple[Any, ...]


@dataclass(frozen=True)
class MatchedRow:
    """A row that is not what it was.

    Attributes:
        key: its values in the key columns.
        before: number and values in the earlier version; None: it was added.
        after: number and values in the later version; None: it was removed.

    """

    key: Values
    before: tuple[int, Values] | None
    after: tuple[int, Values] | None

    @property
    def change(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"

    @property
    def numbers(self) -> tuple[int | None, int | None]:
        """Its numbers in both; None: it is not there."""
        before, after = (None if side is None else side[0] for side in (self.before, self.after))
        return before, after


def key_places(saved: SavedResult, key: Sequence[str]) -> tuple[int, ...]:
    """Return the places of columns by name.

    Raises:
        BadArgumentError: there is no such column, or there are two.

    """
    names = [name.lower() for name, _ in saved.columns]
    for each in key:
        if names.count(each.lower()) != 1:
            which = "no column" if each.lower() not in names else "two columns"
            raise BadArgumentError(
                f"{saved.name} has {which} {each}", instead=f"It has {', '.join(name for name, _ in saved.columns)}."
            )
    return tuple(names.index(each.lower()) for each in key)


def matched_rows(
    then: SavedResult,
    now: SavedResult,
    key: Sequence[int],
    asked: tuple[LineageSet, LineageSet] | None = None,
) -> list[MatchedRow]:
    """Return the rows that differ between two versions, in the order of the later one, then those that went.

    Values are compared bit by bit; NULL is a value of a key like any other.

    Args:
        then: the earlier version.
        now: the later version.
        key: places of the key columns.
        asked: row numbers in each that are asked about; None: all.

    Raises:
        BadArgumentError: two rows of a version have one key.
        ChangedError: the versions have other columns.
        LineageError: a file is missing or damaged.

    """
    if then.columns != now.columns:
        raise ChangedError(
            f"{now.name} has other columns in version {now.version} than in version {then.version}",
            instead="Compare versions with the same columns.",
        )
    before, after = (_by_key(each, key) for each in (then, now))
    found = []
    for kept, (number, values) in after.items():
        old = before.get(kept)
        if old is None or _bits(old[1]) != _bits(values):
            found.append(MatchedRow(tuple(values[at] for at in key), old, (number, values)))
    gone = [each for kept, each in before.items() if kept not in after]
    found += [MatchedRow(tuple(values[at] for at in key), (number, values), None) for number, values in gone]
    if asked is None:
        return found
    then_asked, now_asked = (set(map(int, each)) for each in asked)
    return [
        row
        for row in found
        if (row.before and row.before[0] in then_asked) or (row.after and row.after[0] in now_asked)
    ]


def rows_of(saved: SavedResult) -> list[Values]:
    """Return all rows of a version, by their numbers."""
    check_row_files(saved)
    rows: list[Values] = []
    for file in saved.row_files:
        columns = pq.ParquetFile(saved.folder / file.path).read().columns if file.rows else []
        rows += zip(*(column.to_pylist() for column in columns), strict=True)
    return rows


def _by_key(saved: SavedResult, key: Sequence[int]) -> dict[Any, tuple[int, Values]]:
    found: dict[Any, tuple[int, Values]] = {}
    for number, values in enumerate(rows_of(saved)):
        kept = tuple(comparable(values[at]) for at in key)
        if kept in found:
            named = ", ".join(saved.columns[at][0] for at in key) or "no column"
            shown = ", ".join(str(values[at]) for at in key)
            raise BadArgumentError(
                f"{named} is no key of version {saved.version} of {saved.name}: two rows have {shown or 'the same'}",
                instead="Give key= columns that tell its rows apart.",
            )
        found[kept] = number, values
    return found


def comparable(value: Any) -> Any:
    """Return what is equal for values that GROUP BY puts together, and can be hashed."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return repr(value) if isinstance(value, list | dict) else value


def _bits(values: Values) -> list[Any]:
    return [struct.pack("d", each) if isinstance(each, float) else repr(each) for each in values]
