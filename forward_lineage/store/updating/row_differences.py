"""Two versions of a saved result, row number by row number: which rows are not what they were.

Values are compared bit by bit, not as SQL compares them: to SQL 0.0 is -0.0, and what was made of them may differ.
A column is read at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forward_lineage.relations.relation import Numbers
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import RowFile, SavedResult
from udafs.errors import ChangedError
from udafs.lineage_set import LineageSet

Mask = npt.NDArray[np.bool_]


def row_differences(then: SavedResult, now: SavedResult) -> RowChanges:
    """Tell which rows of a result went, came or differ, by their numbers.

    Raises:
        ChangedError: it has other columns.
        LineageError: a file is missing or damaged.

    """
    if then.columns != now.columns:
        raise ChangedError(f"{now.name} has other columns than in version {then.version}", instead="")
    for each in (then, now):
        check_row_files(each)
    shared = _shared(then, now)
    before, after = (_rest(each, shared) for each in (then, now))
    one, other = (_numbers(files) for files in (before, after))
    common, at_one, at_other = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    differs, columns = np.zeros(common.size, bool), set()
    for column, (name, _) in enumerate(then.columns if common.size else ()):
        here = _differ(_column(then, before, column).take(at_one), _column(now, after, column).take(at_other))
        differs |= here
        if here.any():
            columns.add(name)
    gone, came = LineageSet(np.setdiff1d(one, other)), LineageSet(np.setdiff1d(other, one))
    return RowChanges(gone, came, LineageSet(common[differs]), frozenset(columns))


def _shared(then: SavedResult, now: SavedResult) -> set[RowFile]:
    """The files of rows that both versions have: those of rows that were kept."""
    common = set(then.row_files) & set(now.row_files)
    return {file for file in common if (then.folder / file.path).samefile(now.folder / file.path)}


def _rest(saved: SavedResult, shared: set[RowFile]) -> list[RowFile]:
    return [file for file in saved.row_files if file.rows and file not in shared]


def _numbers(files: Sequence[RowFile]) -> Numbers:
    """The numbers of the rows in some files, one after the other."""
    spans = [np.arange(file.first_row, file.first_row + file.rows, dtype=np.int64) for file in files]
    return np.concatenate(spans) if spans else np.empty(0, np.int64)


def _column(saved: SavedResult, files: Sequence[RowFile], number: int) -> pa.Array:
    chunks: list[pa.Array] = []
    for file in files:
        part = pq.ParquetFile(saved.folder / file.path)
        name = part.schema_arrow.names[number]
        alone = "." not in name and part.schema_arrow.names.count(name) == 1  # a dot would lead into a struct
        table = part.read(columns=[name]) if alone else part.read()
        chunks += table.column(0 if alone else number).chunks
    return pa.concat_arrays(chunks)


def _differ(one: pa.Array, other: pa.Array) -> Mask:
    """Tell for each place whether the two have other bits there."""
    if len(one) == 0:
        return np.zeros(0, bool)
    if one.type != other.type:
        return np.ones(len(one), bool)
    valid = [pc.is_valid(each).to_numpy(zero_copy_only=False) for each in (one, other)]
    both = valid[0] & valid[1]
    return np.asarray((valid[0] != valid[1]) | (both & _other_values(one, other)))


def _other_values(one: pa.Array, other: pa.Array) -> Mask:
    kind = one.type
    if pa.types.is_floating(kind):
        bits = np.int64 if kind.bit_width == 64 else np.int32
        first, second = (np.asarray(pc.fill_null(each, 0.0).to_numpy(zero_copy_only=False)) for each in (one, other))
        return np.asarray(first.view(bits) != second.view(bits))
    if pa.types.is_nested(kind):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return np.array([repr(a) != repr(b) for a, b in pairs], bool)
    return np.asarray(pc.fill_null(pc.not_equal(one, other), True).to_numpy(zero_copy_only=False))
