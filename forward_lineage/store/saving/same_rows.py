"""Are rows that were made again those that were made before, and which is which?

As bags they must be the same; row by row they are matched, so that lineage goes to the rows it belongs to. Rows that
are equal in every column cannot be told apart: whichever gets whose lineage, some run of the query would have given it
so. Sums of floats may differ in their last bits, because Spark adds in another order every time. If all other columns
tell the rows apart, floats that are as good as equal match.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_AS_GOOD_AS = 1e-9  # relative
Numbers = npt.NDArray[np.int64]


def matched(before: pa.Table, again: pa.Table) -> Numbers | None:
    """Match rows that were made twice.

    Args:
        before: the rows as they were.
        again: the rows made again, with the same columns.

    Returns:
        for each row of `again` the number of the row of `before` that it is; None if they are not the same rows.

    """
    rows = before.num_rows
    if again.num_rows != rows or again.schema.types != before.schema.types:
        return None
    if again.equals(before):
        return np.arange(rows)
    exact: list[tuple[Numbers, Numbers]] = []
    floats: list[tuple[Numbers, Numbers]] = []
    for one, other in zip(before.columns, again.columns, strict=True):
        (floats if pa.types.is_floating(one.type) else exact).append(_codes(one, other))
    found = _paired([*exact, *floats], rows)
    if found is not None or not floats:
        return found
    found = _paired(exact, rows, distinct=True)
    if found is None:
        return None
    for one, other in zip(before.columns, again.columns, strict=True):
        if pa.types.is_floating(one.type) and not _as_good_as(one.take(pa.array(found)), other):
            return None
    return found


def _paired(codes: list[tuple[Numbers, Numbers]], rows: int, *, distinct: bool = False) -> Numbers | None:
    """Match rows by their codes, one pair of arrays a column; None where they differ, or are to be distinct and not."""
    if not codes:
        return np.arange(rows) if not distinct or rows <= 1 else None
    first = np.lexsort([one for one, _ in codes])
    second = np.lexsort([other for _, other in codes])
    if any(not np.array_equal(one[first], other[second]) for one, other in codes):
        return None
    if distinct and rows > 1 and not np.all(np.any([np.diff(one[first]) != 0 for one, _ in codes], axis=0)):
        return None
    found = np.empty(rows, np.int64)
    found[second] = first
    return found


def _codes(one: pa.ChunkedArray, other: pa.ChunkedArray) -> tuple[Numbers, Numbers]:
    """Numbers that are equal where values are, NULL and NaN included."""
    both = pa.chunked_array([*one.chunks, *other.chunks], one.type)
    whole = pa.concat_arrays(both.chunks) if both.num_chunks else pa.array([], both.type)
    try:
        whole = pc.dictionary_encode(whole, null_encoding="encode")
    except pa.ArrowNotImplementedError:  # nested types
        whole = pc.dictionary_encode(pa.array([repr(value) for value in whole.to_pylist()], pa.string()))
    numbers = np.asarray(whole.indices.to_numpy(zero_copy_only=False)).astype(np.int64)
    return numbers[: len(one)], numbers[len(one) :]


def _as_good_as(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    if not pc.is_valid(one).equals(pc.is_valid(other)):
        return False
    first, second = (np.asarray(pc.fill_null(each, 0).to_numpy()) for each in (one, other))
    return bool(np.allclose(first, second, rtol=_AS_GOOD_AS, atol=0, equal_nan=True))
