"""Values of two attributes on one scale: equal numbers for equal values, or ranks in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.columns.comparing import WHOLE
from forward_lineage.frontend.constraints import Attribute, errors_of
from forward_lineage.profiling.codes import Array, Codes
from rewrites.refusals import refuse

Numbers = npt.NDArray[np.int64]


def check_comparable(one: tuple[Attribute, T.DataType], other: tuple[Attribute, T.DataType]) -> None:
    """Check that equal numbers and equal bytes are what Spark means by equal values of two attributes.

    Raises:
        NotTracedError: they have different types, which Spark would cast.

    """
    (mine, kind), (theirs, like) = one, other
    if kind == like or (isinstance(kind, WHOLE) and isinstance(like, WHOLE)):
        return
    with errors_of(mine.constraint):
        refuse(
            mine.tree,
            f"{mine.text} is {kind.simpleString()} and {theirs.text} is {like.simpleString()}",
            "Cast one of them: CAST(… AS …).",
        )


def ranked(one: Codes, other: Codes) -> tuple[Numbers, Numbers]:
    """Return for the number of each value of two attributes its rank among the values of both; −1 for NULL.

    Strings and binaries are compared byte by byte, NaN is greater than all other numbers, as in Spark.

    Returns:
        two arrays, of `one.count` and `other.count` ranks.

    """
    values = pa.concat_arrays([_wide(one.values), _wide(other.values)])
    listed = values.dictionary_encode()
    rank = np.empty(len(listed.dictionary), np.int64)
    rank[pc.sort_indices(listed.dictionary).to_numpy()] = np.arange(rank.size)
    ranks = rank[listed.indices.to_numpy()]
    return np.append(ranks[: len(one.values)], -1), np.append(ranks[len(one.values) :], -1)


def _wide(values: pa.Array) -> pa.Array:
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64())
    if values.type == pa.string():
        return values.cast(pa.large_string())
    return values


def joined(one: Sequence[Numbers], other: Sequence[Numbers], sizes: tuple[int, int]) -> tuple[Numbers, Numbers, int]:
    """Put several numbers of each row into one, the same for the same numbers on both sides.

    Args:
        one: columns of numbers from −1 on, one number for each row of a side.
        other: the same of the other side.
        sizes: how many rows there are on either side.

    Returns:
        a number for each row, from 0, of either side; and below what they are.

    """
    mine, theirs = (np.zeros(size, np.int64) for size in sizes)
    count = 1
    for left, right in zip(one, other, strict=True):
        width = int(max(left.max(initial=-1), right.max(initial=-1))) + 2
        mine, theirs = mine * width + left + 1, theirs * width + right + 1
        count *= width
        if count > max(sum(sizes), 1):
            listed = pa.array(np.concatenate([mine, theirs])).dictionary_encode()
            numbers, count = listed.indices.to_numpy().astype(np.int64), len(listed.dictionary)
            mine, theirs = numbers[: sizes[0]], numbers[sizes[0] :]
    return mine, theirs, count


def of_rows(numbers: Numbers, codes: Array) -> Numbers:
    """Return the number of each row, given that of each value."""
    found: Numbers = numbers[codes]
    return found
