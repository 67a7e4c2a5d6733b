"""The footers of a table's Parquet files about its columns: bounds of values, NULLs, how rows are clustered.

Exact or not there: a column counts only where every row group of every file says what is in it. Text may be cut short
by whoever wrote the file, so its bounds are bounds, not values that occur.   [PBDS, §4.4, §6.2: min(a), max(a)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from forward_lineage.columns.files import is_of_folders, opened
from forward_lineage.row_ids.manifest import Manifest

_READERS = 8
_OLD_TIMES = "INT96"  # a physical type whose statistics nobody may rely on


@dataclass(frozen=True)
class Group:
    """A column in one row group.

    Attributes:
        rows: of the group, NULLs included.
        nulls: how many of them are NULL.
        low: no value is below; None where all are NULL.
        high: no value is above.
        size: compressed bytes.

    """

    rows: int
    nulls: int
    low: Any
    high: Any
    size: int


@dataclass(frozen=True)
class ColumnStatistics:
    """A column of a table.

    Attributes:
        groups: what is in each row group, file after file.
        exact: whether the bounds are values that occur.

    """

    groups: tuple[Group, ...]
    exact: bool

    @property
    def low(self) -> Any:
        """The least value, or something below it; None where there is no value."""
        return min((each.low for each in self.groups if each.low is not None), default=None)

    @property
    def high(self) -> Any:
        """The greatest value, or something above it; None where there is no value."""
        return max((each.high for each in self.groups if each.high is not None), default=None)

    @property
    def has_nulls(self) -> bool:
        """Whether a row is NULL there."""
        return any(each.nulls for each in self.groups)

    @property
    def overlap(self) -> float:
        """The part of the row groups that one value of the column is looked for in, from 0 to 1; in the mean.

        1 ÷ number of groups where rows lie in the order of the column, 1 where each group has values from all over.
        """
        ends = [(each.low, each.high) for each in self.groups if each.low is not None]
        if not ends:
            return 1.0
        place = {value: 2 * i for i, value in enumerate(sorted({value for pair in ends for value in pair}))}
        lows, highs = (np.array([place[pair[end]] for pair in ends]) for end in (0, 1))
        asked = (lows + highs) // 2  # what is in the middle of a group
        holding = np.searchsorted(np.sort(lows), asked, "right") - np.searchsorted(np.sort(highs), asked, "left")
        return float(holding.mean() / len(ends))


def statistics_of(manifest: Manifest) -> Mapping[str, ColumnStatistics]:
    """Return what is known of a table's columns, by their names in lower case.

    Args:
        manifest: its registration.

    Returns:
        nothing where its rows are not those of local Parquet files that it lists.

    Raises:
        DamagedError: a file cannot be read.

    """
    if not manifest.provider.by_position or not manifest.near:
        return {}
    names = tuple(name for name, _ in manifest.columns if not is_of_folders(manifest, name))
    return _statistics(tuple((file.path, file.footer) for file in manifest.files), names)


@lru_cache(maxsize=256)
def _statistics(files: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> Mapping[str, ColumnStatistics]:
    """Of files by path and checksum of the footer: what is remembered is about files that look as they did."""
    with ThreadPoolExecutor(_READERS) as pool:
        footers = list(pool.map(_footer, (path for path, _ in files)))
    found = {name.lower(): _column(footers, name) for name in names}
    return {name: column for name, column in found.items() if column is not None}


def _footer(path: str) -> pq.FileMetaData:
    with opened(path, ()) as file:
        return file.metadata


def _column(footers: Sequence[pq.FileMetaData], name: str) -> ColumnStatistics | None:
    groups: list[Group] = []
    exact = True
    for footer in footers:
        place = _place(footer, name)
        if place is None:
            return None
        for chunk, rows in _chunks(footer, place):
            group = _group(chunk, rows)
            if group is None:
                return None
            groups.append(group)
            exact = exact and not isinstance(group.low, str | bytes)
    return ColumnStatistics(tuple(groups), exact)


def _place(footer: pq.FileMetaData, name: str) -> int | None:
    """The place of a column that is not nested, found as Spark does: by name, whatever its case; None: not sure."""
    if footer.num_row_groups == 0:
        paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    else:
        first = footer.row_group(0)
        paths = [first.column(i).path_in_schema for i in range(first.num_columns)]
    found = [i for i, path in enumerate(paths) if path.lower() == name.lower()]
    return found[0] if len(found) == 1 and footer.schema.column(found[0]).max_repetition_level == 0 else None


def _chunks(footer: pq.FileMetaData, place: int) -> Iterator[tuple[pq.ColumnChunkMetaData, int]]:
    for i in range(footer.num_row_groups):
        group = footer.row_group(i)
        if group.num_rows:
            yield group.column(place), group.num_rows


def _group(chunk: pq.ColumnChunkMetaData, rows: int) -> Group | None:
    said = chunk.statistics
    if said is None or chunk.physical_type == _OLD_TIMES or not said.has_null_count:
        return None
    if said.null_count == rows:
        return Group(rows, rows, None, None, chunk.total_compressed_size)
    if not said.has_min_max or _is_of_floats(said.min, said.max):
        return None
    return Group(rows, said.null_count, said.min, said.max, chunk.total_compressed_size)


def _is_of_floats(low: Any, high: Any) -> bool:
    """Whether NaN may be among the values, which bounds leave out and Spark counts as the greatest."""
    return isinstance(low, float) or isinstance(high, float)
