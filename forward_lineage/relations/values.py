"""From a column of lineage values to a relation: what saving a result does with the rows that Spark hands over.

Values repeat (every row of TPC-H Q11 has the same 32,077 ids), so each different one is decoded once; most are tiny,
so those of tag 00 are decoded all together, not one by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import ranges
from forward_lineage.relations.runs import RunsRelation
from udafs import varint
from udafs.delta import MAX_ID
from udafs.errors import CorruptLineageError
from udafs.lineage_set import TAGS, LineageSet

Bytes = npt.NDArray[np.uint8]


def relation_of_values(values: pa.Array | pa.ChunkedArray) -> RunsRelation:
    """The relation of a column of lineage values: row i has the ids of value i; NULL has none.

    Args:
        values: of type binary or large_binary, any encodings mixed.

    Raises:
        CorruptLineageError: a value is malformed; the message has a keyword of FORMAT.md and the number of the row.

    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = values.cast(pa.large_binary()).dictionary_encode()
    known = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
    row = np.flatnonzero(known)
    index = encoded.indices.drop_null().to_numpy().astype(np.int64)
    try:
        sets = _relation_of_sets(encoded.dictionary)
    except CorruptLineageError:
        _name_the_row(values)
        raise
    # The dictionary is in the order of first rows, so the numbers of its sets are right for the rows, too.
    at = np.searchsorted(sets.row, index)
    kept = at < sets.row.size
    kept[kept] = sets.row[at[kept]] == index[kept]
    return RunsRelation(row[kept], sets.set_of_row[at[kept]], sets.set_starts, sets.first, sets.last)


def _name_the_row(values: pa.Array) -> None:
    """Raise the error of the first malformed value again, with its row."""
    for row, value in enumerate(values):
        if value.is_valid:
            try:
                LineageSet.from_bytes(value.as_buffer())
            except CorruptLineageError as error:
                raise CorruptLineageError(f"{error.what}, in row {row}") from error


def _relation_of_sets(values: pa.Array) -> RunsRelation:
    """The relation of different values, by their numbers."""
    starts = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    if np.any(np.diff(starts) == 0):
        raise varint.corrupt("empty", "no byte at all")
    is_delta = data[starts[:-1]] == TAGS["set"]
    number, ids = _decode_deltas(data, starts[:-1][is_delta] + 1, starts[1:][is_delta])
    numbers, listed = [np.flatnonzero(is_delta)[number]], [ids]
    for other in np.flatnonzero(~is_delta).tolist():
        listed.append(LineageSet.from_bytes(data[starts[other] : starts[other + 1]].data).ids())
        numbers.append(np.full(listed[-1].size, other))
    return RunsRelation.from_pairs(np.concatenate(numbers), np.concatenate(listed))


def _decode_deltas(data: Bytes, starts: Numbers, stops: Numbers) -> tuple[Numbers, Numbers]:
    """Bodies of tag 00 as pairs (number of the body, id), sorted."""
    size = stops - starts
    if np.any(size == 0) or np.any(data[stops - 1] >= 128):
        raise varint.corrupt("truncated", "the bytes end within a number")
    body = data[ranges(starts, size)]
    numbers = varint.decode(body)
    # The numbers of a body end where its bytes end.
    ends = np.cumsum(body < 128)[np.cumsum(size) - 1] if body.size else size
    heads = np.append(0, ends)[:-1]
    count = ends - heads - 1
    if np.any(numbers[heads] != count.astype(np.uint64)):
        raise varint.corrupt("truncated", "another number of ids than announced")
    is_delta = np.ones(numbers.size, bool)
    is_delta[heads] = False
    total = np.cumsum(numbers[is_delta] + np.uint64(1), dtype=np.uint64)
    before = np.append(np.zeros(1, np.uint64), total)[np.cumsum(count) - count]
    ids = total - np.repeat(before, count) - np.uint64(1)
    # As in `udafs.delta`: within a body, the first id beyond the range is seen before the sum can wrap.
    if np.any(ids > np.uint64(MAX_ID)):
        raise varint.corrupt("range", f"an id above {MAX_ID}")
    return np.repeat(np.arange(count.size), count), ids.view(np.int64)
