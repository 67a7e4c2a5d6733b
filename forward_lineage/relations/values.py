"""From a column of lineage values to a relation: what saving a result does with the rows that Spark hands over.

Values repeat (every row of TPC-H Q11 has the same 32,077 ids), so each different one is decoded once. Most are tiny, so
those of tag 00 are decoded all together, not one by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import runs_in
from forward_lineage.relations.runs import RunsRelation
from udafs import roaring_reader, varint
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
    if is_delta.all():
        return _of_counts(*_decode_deltas(data, starts))
    lone = np.flatnonzero(is_delta)
    found: list[tuple[Numbers, Numbers, Numbers]] = []
    if lone.size:
        deltas = values.take(pa.array(lone))
        begin = np.frombuffer(deltas.buffers()[1], np.int64)[: lone.size + 1]
        count, first, last = _decode_deltas(np.frombuffer(deltas.buffers()[2], np.uint8), begin)
        found.append((np.repeat(lone, count), first, last))
    for other in np.flatnonzero(~is_delta).tolist():
        first, last = _runs_of(data[starts[other] : starts[other + 1]])
        found.append((np.full(first.size, other), first, last))
    owner, first, last = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable") if lone.size else slice(None)
    return RunsRelation.from_runs(owner[order], first[order], last[order])


def _of_counts(count: Numbers, first: Numbers, last: Numbers) -> RunsRelation:
    """The relation of sets of so many runs each, no two alike but for those without any."""
    row = np.flatnonzero(count)
    starts = np.append(0, np.cumsum(count[row]))
    return RunsRelation(row, np.arange(row.size), starts, first, last)


def _runs_of(value: Bytes) -> tuple[Numbers, Numbers]:
    """First and last id of each run of a value of any encoding but tag 00."""
    if value[0] == TAGS["roaring"]:
        return roaring_reader.decode(value[1:]).intervals()
    ids = LineageSet.from_bytes(value.data).ids()
    begins, ends = runs_in(ids)
    return ids[begins], ids[ends]


def _decode_deltas(data: Bytes, starts: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Values of tag 00, one behind the other, as runs: how many each has, and the first and last id of each run."""
    opens, stops = starts[:-1], starts[1:]
    if not opens.size:
        return opens, opens, opens
    if np.any(stops - opens == 1) or np.any(data[stops - 1] >= 128):
        raise varint.corrupt("truncated", "the bytes end within a number")
    body = data[opens[0] : stops[-1]]
    numbers = varint.decode(body)  # the tags, too: each is a number, 0
    # The numbers of a body end where its bytes end.
    ends = stops - opens[0] if numbers.size == body.size else np.cumsum(body < 128)[stops - opens[0] - 1]
    tags = np.append(0, ends[:-1])
    if np.any(numbers[tags + 1] != (ends - tags - 2).astype(np.uint64)):
        raise varint.corrupt("truncated", "another number of ids than announced")
    count, first, last = _runs_in(numbers, tags, ends)
    # As in `udafs.delta`: within a body, the first id beyond the range is seen before the sum can wrap.
    if first.min(initial=0) < 0 or last.min(initial=0) < 0:
        raise varint.corrupt("range", f"an id above {MAX_ID}")
    return count, first, last


def _runs_in(numbers: npt.NDArray[np.uint64], tags: Numbers, ends: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The runs of bodies, each a tag, a count, and deltas up to its end; ids modulo 2^64. The numbers are used up."""
    # A run begins behind a gap, and with each body.
    gap = numbers != 0
    gap[tags] = gap[tags + 1] = False
    full = ends - tags > 2
    gap[tags[full] + 2] = True
    numbers += np.uint64(1)
    total = np.cumsum(numbers, out=numbers).view(np.int64)
    before = total[tags + 1] + 1
    first = total[gap]
    count = ends - tags - 2
    if first.size == count.sum():  # every id is a run
        first -= np.repeat(before, count)
        return count, first, first
    at, count = np.flatnonzero(gap), np.add.reduceat(gap, tags, dtype=np.int64)
    upto = np.append(at[1:], 0) - 1  # a run ends in front of the next one, or with its body
    upto[np.cumsum(count)[full] - 1] = ends[full] - 1
    before = np.repeat(before, count)
    return count, first - before, total[upto] - before
