"""Tag 02, read: the ids of a Roaring64 value, every length checked before anything is taken for it.

Read here instead of by pyroaring, whose reader trusts the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from udafs.delta import MAX_ID, Ids
from udafs.roaring_format import ARRAY_LIMIT, BITMAP_BYTES, COOKIE, COOKIE_WITH_RUNS, OFFSETS_FROM
from udafs.varint import Bytes, corrupt


@dataclass(frozen=True)
class Contents:
    """The ids of a checked body: one by one where its bytes list them, else as runs.

    Attributes:
        ids: those of the array and bitmap containers, ascending.
        first: the first id of each run of the run containers, ascending.
        last: the last id of each.

    """

    ids: Ids
    first: Ids
    last: Ids

    @property
    def cardinality(self) -> int:
        """The number of ids."""
        return self.ids.size + int((self.last - self.first + 1).sum())

    def listed(self) -> Ids:
        """All ids, ascending. The caller has looked at their number."""
        if not self.first.size:
            return self.ids
        length = self.last - self.first + 1
        ends = np.cumsum(length)
        of_runs = np.arange(ends[-1]) + np.repeat(self.first - ends + length, length)
        return _merged(self.ids, of_runs)

    def intervals(self) -> tuple[Ids, Ids]:
        """First and last id of each maximal run of ids."""
        # They are disjoint: the ends in ascending order belong to the beginnings in ascending order.
        first, last = _merged(self.ids, self.first), _merged(self.ids, self.last)
        apart = np.ones(first.size + 1, bool)
        np.greater(first[1:] - last[:-1], 1, out=apart[1:-1])
        return first[apart[:-1]], last[apart[1:]]


def _merged(some: Ids, others: Ids) -> Ids:
    """All of two ascending arrays, ascending."""
    if not some.size or not others.size:
        return some if some.size else others
    # The stable sort finds the two ascending runs and merges them.
    return np.sort(np.concatenate([some, others]), kind="stable")


class _Reader:
    """The bytes from the left; nothing is allocated before it is known to be there."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int, what: str) -> Bytes:
        if count > self.data.size - self.at:
            raise corrupt("truncated", f"{what} needs {count} bytes, {self.data.size - self.at} follow")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, width: int, what: str) -> int:
        return int.from_bytes(self.take(width, what).tobytes(), "little")


class _Bitmap(NamedTuple):
    """Where the containers of a 32-bit bitmap are; nothing in them has been looked at.

    Attributes:
        high: the high half of its ids.
        heads: key and cardinality − 1 of each container, shape (containers, 2).
        is_run: whether it is a run container.
        begin: where it begins in the body.
        end: where it ends.

    """

    high: int
    heads: npt.NDArray[np.uint16]
    is_run: npt.NDArray[np.bool_]
    begin: Ids
    end: Ids


@dataclass(frozen=True)
class _Containers:
    """Containers of a body in ascending order; every array but `body` has one entry a container.

    Attributes:
        body: the bytes they stand in.
        base: the id of the container's value 0, a multiple of 2^16.
        cardinality: number of its ids, as the header says.
        begin: where its values, runs or bits begin in `body`.
        end: where they end.

    """

    body: Bytes
    base: Ids
    cardinality: Ids
    begin: Ids
    end: Ids

    def only(self, which: npt.NDArray[np.bool_]) -> _Containers:
        return _Containers(self.body, self.base[which], self.cardinality[which], self.begin[which], self.end[which])

    def data(self) -> Bytes:
        """The values, runs or bits, container after container."""
        # Containers mostly stand one behind the other: a stretch of them is a single copy.
        apart = np.ones(self.base.size + 1, bool)
        np.not_equal(self.begin[1:], self.end[:-1], out=apart[1:-1])
        stretches = zip(self.begin[apart[:-1]].tolist(), self.end[apart[1:]].tolist(), strict=True)
        return np.concatenate([self.body[begin:end] for begin, end in stretches])


def decode(body: Bytes) -> Contents:
    """The ids of a body of tag 02.

    Raises:
        CorruptLineageError: with a keyword of FORMAT.md.

    """
    none = np.empty(0, np.int64)
    bitmaps = _bitmaps(body)
    if not bitmaps:
        return Contents(none, none, none)
    is_run = np.concatenate([each.is_run for each in bitmaps])
    containers = _containers(body, bitmaps, is_run)
    is_bits = ~is_run & (containers.cardinality > ARRAY_LIMIT)
    is_array = ~(is_run | is_bits)
    ids = _array_ids(containers.only(is_array)) if is_array.any() else none
    if is_bits.any():
        ids = _merged(ids, _bitmap_ids(containers.only(is_bits)))
    return Contents(ids, *(_run_ids(containers.only(is_run)) if is_run.any() else (none, none)))


def _bitmaps(body: Bytes) -> list[_Bitmap]:
    """A pass over the headers."""
    reader = _Reader(body)
    bitmaps: list[_Bitmap] = []
    last = -1
    for _ in range(reader.number(8, "the number of bitmaps")):
        last = _take_high_half(reader, last)
        bitmaps.append(_take_bitmap(reader, last))
    if reader.at < body.size:
        raise corrupt("trailing", f"{body.size - reader.at} bytes after the last bitmap")
    return bitmaps


def _take_high_half(reader: _Reader, last: int) -> int:
    """The high half of a bitmap's ids, `last` being that of the bitmap before."""
    high = reader.number(4, "a bitmap's high half")
    if high >= 1 << 31:
        raise corrupt("range", f"ids above {MAX_ID}")
    if high <= last:
        raise corrupt("roaring", f"the high half {high} after {last}")
    return high


def _take_bitmap(reader: _Reader, high: int) -> _Bitmap:
    start = reader.at
    is_run, with_offsets = _take_cookie(reader)
    heads = reader.take(4 * is_run.size, "the keys").view("<u2").reshape(-1, 2)
    offsets = reader.take(4 * is_run.size * with_offsets, "the offsets").view("<u4")
    first = reader.at
    size = _take_containers(reader, heads[:, 1], is_run)
    end = first + size.cumsum()
    begin = end - size
    if with_offsets and (offsets != begin - start).any():
        i = np.argmax(offsets != begin - start)
        raise corrupt("roaring", f"container {i} stands at {begin[i] - start}, not at {offsets[i]}")
    return _Bitmap(high, heads, is_run, begin, end)


def _take_cookie(reader: _Reader) -> tuple[npt.NDArray[np.bool_], bool]:
    """The containers of a bitmap that are run containers, and whether it has offsets."""
    cookie = reader.number(4, "a bitmap's cookie")
    if cookie & 0xFFFF == COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = reader.take((count + 7) // 8, "the run flags")
        return np.unpackbits(flags, count=count, bitorder="little").view(bool), count >= OFFSETS_FROM
    if cookie != COOKIE:
        raise corrupt("roaring", f"unknown cookie {cookie}")
    count = reader.number(4, "the number of containers")
    if count > 1 << 16:
        raise corrupt("roaring", f"{count} containers in a bitmap, {1 << 16} are the most")
    return np.zeros(count, bool), True


def _take_containers(reader: _Reader, ids_less_1: npt.NDArray[np.uint16], is_run: npt.NDArray[np.bool_]) -> Ids:
    """Read past the containers of a bitmap: the bytes of each."""
    size = np.where(ids_less_1 < ARRAY_LIMIT, 2 + 2 * ids_less_1.astype(np.int64), BITMAP_BYTES)
    size[is_run] = 0
    ends = np.cumsum(size)
    passed = 0
    # The length of a run container stands at its beginning.
    for i in np.flatnonzero(is_run).tolist():
        reader.take(int(ends[i]) - passed, "the containers")
        passed = int(ends[i])
        runs = reader.number(2, "the number of runs")
        reader.take(4 * runs, "the runs")
        size[i] = 2 + 4 * runs
    reader.take(int(ends[-1]) - passed if ends.size else 0, "the containers")
    return size


def _containers(body: Bytes, bitmaps: list[_Bitmap], is_run: npt.NDArray[np.bool_]) -> _Containers:
    """All containers, their order checked."""
    high = np.repeat([each.high << 32 for each in bitmaps], [each.is_run.size for each in bitmaps])
    key, ids_less_1 = np.concatenate([each.heads for each in bitmaps]).T.astype(np.int64)
    base = high | key << 16
    if (base[1:] <= base[:-1]).any():
        raise corrupt("roaring", "the keys of the containers are not ascending")
    # The values of a run container follow the number of its runs.
    begin = np.concatenate([each.begin for each in bitmaps]) + 2 * is_run
    return _Containers(body, base, ids_less_1 + 1, begin, np.concatenate([each.end for each in bitmaps]))


def _array_ids(containers: _Containers) -> Ids:
    ids = np.repeat(containers.base, containers.cardinality)
    ids += containers.data().view("<u2")
    if (ids[1:] <= ids[:-1]).any():
        raise corrupt("roaring", "the values of an array container are not ascending")
    return ids


def _bitmap_ids(containers: _Containers) -> Ids:
    bitmaps = containers.data().reshape(-1, BITMAP_BYTES)
    _check_cardinality(containers, np.bitwise_count(bitmaps.view("<u8")).sum(axis=1, dtype=np.int64))
    ids = np.empty(containers.cardinality.sum(), np.int64)
    at = 0
    # A step for each container: its bits, a byte each, stay in the cache.
    for bitmap, base, cardinality in zip(bitmaps, containers.base, containers.cardinality.tolist(), strict=True):
        values = np.flatnonzero(np.unpackbits(bitmap, bitorder="little").view(bool))
        np.add(values, base, out=ids[at : at + cardinality])
        at += cardinality
    return ids


def _run_ids(containers: _Containers) -> tuple[Ids, Ids]:
    """First and last id of each run."""
    value, more = containers.data().view("<u2").reshape(-1, 2).T.astype(np.int64)
    runs = (containers.end - containers.begin) >> 2
    first = np.repeat(containers.base, runs) + value
    last = first + more
    if (value + more > 0xFFFF).any() or (first[1:] <= last[:-1]).any():
        raise corrupt("roaring", "the runs of a container overlap, or leave it")
    ids_before = np.append(0, np.cumsum(more + 1))
    ends = np.cumsum(runs)
    _check_cardinality(containers, ids_before[ends] - ids_before[ends - runs])
    return first, last


def _check_cardinality(containers: _Containers, found: Ids) -> None:
    wrong = found != containers.cardinality
    if wrong.any():
        i = wrong.argmax()
        raise corrupt("roaring", f"a container of {found[i]} ids says it has {containers.cardinality[i]}")
