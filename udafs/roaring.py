"""Tag 02: Roaring64 in the portable format of the RoaringFormatSpec, checked while it is read.

Written and read here instead of by pyroaring: its choice between containers depends on how a bitmap came about, which
is not canonical, and its reader trusts the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from udafs.varint import Bytes, corrupt

Ids = npt.NDArray[np.int64]

ARRAY, RUN, BITMAP = range(3)
_COOKIE, _COOKIE_WITH_RUNS = 12346, 12347
_ARRAY_LIMIT = 4096  # ids in an array container at most
_BITMAP_BYTES = 8192
_OFFSETS_FROM = 4  # containers from which a bitmap with runs has an offset header


# ---------------------------------------------------------------- writing


@dataclass(frozen=True)
class _Layout:
    """How sorted ids fall into containers; every array but `ids` and `run_starts` has one entry a container.

    Attributes:
        ids: all of them.
        starts: index in `ids` of the container's first id.
        cardinality: number of its ids.
        run_starts: index in `ids` of the first id of each run; no run crosses a container.
        runs: number of the container's runs.
        kind: ARRAY, RUN or BITMAP, the smallest, on a tie in this order.
        body: bytes of the container.

    """

    ids: Ids
    starts: Ids
    cardinality: Ids
    run_starts: Ids
    runs: Ids
    kind: Ids
    body: Ids

    @classmethod
    def of(cls, ids: Ids) -> _Layout:
        new_container = np.ones(ids.size, bool)
        np.not_equal(ids[1:] >> 16, ids[:-1] >> 16, out=new_container[1:])
        new_run = new_container.copy()
        new_run[1:] |= np.diff(ids) != 1
        starts, run_starts = np.flatnonzero(new_container), np.flatnonzero(new_run)
        cardinality = np.diff(starts, append=ids.size)
        runs = np.diff(np.searchsorted(run_starts, starts), append=run_starts.size)
        sizes = np.stack([2 * cardinality, 2 + 4 * runs, np.full_like(runs, _BITMAP_BYTES)])
        return cls(ids, starts, cardinality, run_starts, runs, sizes.argmin(axis=0), sizes.min(axis=0))

    def bitmaps(self) -> Ids:
        """Index of the first container of each 32-bit bitmap."""
        high = self.ids[self.starts] >> 32
        return np.flatnonzero(np.diff(high, prepend=-1))


def _header_sizes(containers: Ids, with_runs: npt.NDArray[np.bool_]) -> Ids:
    offsets = np.where(with_runs & (containers < _OFFSETS_FROM), 0, 4 * containers)
    return np.where(with_runs, 4 + (containers + 7) // 8, 8) + 4 * containers + offsets


def size(ids: Ids) -> int:
    """Bytes of the body that `encode` would write, without writing it."""
    if not ids.size:
        return 8
    layout = _Layout.of(ids)
    first = layout.bitmaps()
    with_runs = np.logical_or.reduceat(layout.kind == RUN, first)
    headers = _header_sizes(np.diff(first, append=layout.starts.size), with_runs)
    return 8 + 4 * first.size + int(headers.sum()) + int(layout.body.sum())


def encode(ids: Ids) -> bytes:
    """The body of tag 02. `ids` are strictly ascending and not negative."""
    if not ids.size:
        return bytes(8)
    layout = _Layout.of(ids)
    first = layout.bitmaps().tolist()
    out = [len(first).to_bytes(8, "little")]
    for begin, end in zip(first, [*first[1:], layout.starts.size], strict=True):
        out.append(int(ids[layout.starts[begin]] >> 32).to_bytes(4, "little"))
        out.extend(_encode_bitmap(layout, begin, end))
    return b"".join(out)


def _encode_bitmap(layout: _Layout, begin: int, end: int) -> Iterator[bytes]:
    containers = slice(begin, end)
    count = end - begin
    is_run = layout.kind[containers] == RUN
    with_runs = bool(is_run.any())
    if with_runs:
        yield (_COOKIE_WITH_RUNS | (count - 1) << 16).to_bytes(4, "little")
        yield np.packbits(is_run, bitorder="little").tobytes()
    else:
        yield _COOKIE.to_bytes(4, "little") + count.to_bytes(4, "little")
    keys = layout.ids[layout.starts[containers]] >> 16 & 0xFFFF
    yield np.stack([keys, layout.cardinality[containers] - 1], axis=1).astype("<u2").tobytes()
    if not with_runs or count >= _OFFSETS_FROM:
        header = int(_header_sizes(np.array([count]), np.array([with_runs]))[0])
        yield (header + np.cumsum(layout.body[containers]) - layout.body[containers]).astype("<u4").tobytes()
    low = (layout.ids & 0xFFFF).astype("<u2") if count == layout.starts.size else None
    for container in range(begin, end):
        yield _encode_container(layout, container, low)


def _encode_container(layout: _Layout, container: int, low: npt.NDArray[np.uint16] | None) -> bytes:
    start = int(layout.starts[container])
    part = slice(start, start + int(layout.cardinality[container]))
    values = low[part] if low is not None else (layout.ids[part] & 0xFFFF).astype("<u2")
    if layout.kind[container] == ARRAY:
        return values.tobytes()
    if layout.kind[container] == BITMAP:
        bits = np.zeros(1 << 16, bool)
        bits[values] = True
        return np.packbits(bits, bitorder="little").tobytes()
    at = np.searchsorted(layout.run_starts, start)
    first = layout.run_starts[at : at + layout.runs[container]] - start
    length = np.diff(first, append=values.size)
    return first.size.to_bytes(2, "little") + np.stack([values[first], length - 1], axis=1).astype("<u2").tobytes()


# ---------------------------------------------------------------- reading


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
    is_bits = ~is_run & (containers.cardinality > _ARRAY_LIMIT)
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
        high = reader.number(4, "a bitmap's high half")
        if high >= 1 << 31:
            raise corrupt("range", f"ids above {2**63 - 1}")
        if high <= last:
            raise corrupt("roaring", f"the high half {high} after {last}")
        last = high
        bitmaps.append(_take_bitmap(reader, high))
    if reader.at < body.size:
        raise corrupt("trailing", f"{body.size - reader.at} bytes after the last bitmap")
    return bitmaps


def _take_bitmap(reader: _Reader, high: int) -> _Bitmap:
    start = reader.at
    cookie = reader.number(4, "a bitmap's cookie")
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = reader.take((count + 7) // 8, "the run flags")
        is_run = np.unpackbits(flags, count=count, bitorder="little").view(bool)
    elif cookie == _COOKIE:
        count = reader.number(4, "the number of containers")
        if count > 1 << 16:
            raise corrupt("roaring", f"{count} containers in a bitmap, {1 << 16} are the most")
        is_run = np.zeros(count, bool)
    else:
        raise corrupt("roaring", f"unknown cookie {cookie}")
    heads = reader.take(4 * count, "the keys").view("<u2").reshape(-1, 2)
    with_offsets = cookie == _COOKIE or count >= _OFFSETS_FROM
    offsets = reader.take(4 * count * with_offsets, "the offsets").view("<u4")
    first = reader.at
    size = _take_containers(reader, heads[:, 1], is_run)
    end = first + size.cumsum()
    begin = end - size
    if with_offsets and (offsets != begin - start).any():
        i = np.argmax(offsets != begin - start)
        raise corrupt("roaring", f"container {i} stands at {begin[i] - start}, not at {offsets[i]}")
    return _Bitmap(high, heads, is_run, begin, end)


def _take_containers(reader: _Reader, ids_less_1: npt.NDArray[np.uint16], is_run: npt.NDArray[np.bool_]) -> Ids:
    """Read past the containers of a bitmap: the bytes of each."""
    size = np.where(ids_less_1 < _ARRAY_LIMIT, 2 + 2 * ids_less_1.astype(np.int64), _BITMAP_BYTES)
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
    bitmaps = containers.data().reshape(-1, _BITMAP_BYTES)
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
