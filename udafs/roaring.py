"""Tag 02: Roaring64 in the portable format of the RoaringFormatSpec, checked while it is read.

Written and read here instead of by pyroaring: its choice between containers depends on how a bitmap came about, which
is not canonical, and its reader trusts the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
class Container:
    """One checked container of up to 2^16 ids.

    Attributes:
        base: the id of its value 0, a multiple of 2^16.
        kind: ARRAY, RUN or BITMAP.
        cardinality: number of ids.
        data: the values (uint16), the runs (uint16 pairs: first value, length − 1) or the bitmap (8192 bytes).

    """

    base: int
    kind: int
    cardinality: int
    data: npt.NDArray[np.uint16] | npt.NDArray[np.uint8]

    def values(self) -> Ids:
        """The ids less `base`, ascending."""
        if self.kind == ARRAY:
            return self.data.astype(np.int64)
        if self.kind == BITMAP:
            bits = np.unpackbits(self.data.view(np.uint8), bitorder="little")
            return np.flatnonzero(bits.view(bool))
        first, last = self.runs()
        length = last - first + 1
        values: Ids = np.arange(self.cardinality) + np.repeat(first - np.cumsum(length) + length, length)
        return values

    def runs(self) -> tuple[Ids, Ids]:
        """First and last value of each run, less `base`."""
        if self.kind == RUN:
            pairs = self.data.reshape(-1, 2).astype(np.int64)
            return pairs[:, 0], pairs[:, 0] + pairs[:, 1]
        values = self.values()
        gap = np.flatnonzero(np.diff(values) != 1)
        return values[np.append(0, gap + 1)], values[np.append(gap, values.size - 1)]


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


def decode(body: Bytes) -> list[Container]:
    """The containers of a body of tag 02, in ascending order.

    Raises:
        CorruptLineageError: with a keyword of FORMAT.md.

    """
    reader = _Reader(body)
    containers: list[Container] = []
    last = -1
    for _ in range(reader.number(8, "the number of bitmaps")):
        high = reader.number(4, "a bitmap's high half")
        if high >= 1 << 31:
            raise corrupt("range", f"ids above {2**63 - 1}")
        if high <= last:
            raise corrupt("roaring", f"the high half {high} after {last}")
        last = high
        containers.extend(_decode_bitmap(reader, high << 32))
    if reader.at < body.size:
        raise corrupt("trailing", f"{body.size - reader.at} bytes after the last bitmap")
    return containers


def _decode_bitmap(reader: _Reader, high: int) -> Iterator[Container]:
    start = reader.at
    cookie = reader.number(4, "a bitmap's cookie")
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.unpackbits(reader.take((count + 7) // 8, "the run flags"), bitorder="little")
    elif cookie == _COOKIE:
        count = reader.number(4, "the number of containers")
        if count > 1 << 16:
            raise corrupt("roaring", f"{count} containers in a bitmap, {1 << 16} are the most")
        flags = np.zeros(count, np.uint8)
    else:
        raise corrupt("roaring", f"unknown cookie {cookie}")
    heads = reader.take(4 * count, "the keys").view("<u2").reshape(-1, 2).astype(np.int64)
    if np.any(np.diff(heads[:, 0]) <= 0):
        raise corrupt("roaring", "the keys of the containers are not ascending")
    offsets = None
    if cookie == _COOKIE or count >= _OFFSETS_FROM:
        offsets = reader.take(4 * count, "the offsets").view("<u4").tolist()
    for i, (key, cardinality) in enumerate(heads.tolist()):
        if offsets is not None and offsets[i] != reader.at - start:
            raise corrupt("roaring", f"container {i} stands at {reader.at - start}, not at {offsets[i]}")
        yield _decode_container(reader, high | key << 16, cardinality + 1, bool(flags[i]))


def _decode_container(reader: _Reader, base: int, cardinality: int, is_run: bool) -> Container:
    if is_run:
        count = reader.number(2, "the number of runs")
        data = reader.take(4 * count, "the runs").view("<u2")
        pairs = data.reshape(-1, 2).astype(np.int64)
        last = pairs[:, 0] + pairs[:, 1]
        if np.any(last > 0xFFFF) or np.any(pairs[1:, 0] <= last[:-1]):
            raise corrupt("roaring", "the runs of a container overlap, or leave it")
        found = int(pairs[:, 1].sum()) + count
        kind = RUN
    elif cardinality <= _ARRAY_LIMIT:
        data = reader.take(2 * cardinality, "an array container").view("<u2")
        if np.any(data[1:] <= data[:-1]):
            raise corrupt("roaring", "the values of an array container are not ascending")
        found, kind = cardinality, ARRAY
    else:
        data = reader.take(_BITMAP_BYTES, "a bitmap container")
        found, kind = int(np.unpackbits(data).sum()), BITMAP
    if found != cardinality:
        raise corrupt("roaring", f"a container of {found} ids says it has {cardinality}")
    return Container(base, kind, cardinality, data)


def listed(containers: list[Container]) -> Ids:
    """All ids, ascending. The caller has looked at their number."""
    out = np.empty(sum(each.cardinality for each in containers), np.int64)
    at = 0
    for each in containers:
        np.add(each.values(), each.base, out=out[at : at + each.cardinality])
        at += each.cardinality
    return out


def intervals(containers: list[Container]) -> tuple[Ids, Ids]:
    """First and last id of each maximal run of ids; never more than four for each byte of the value."""
    if not containers:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    runs = [(each.base + first, each.base + last) for each in containers for first, last in [each.runs()]]
    first, last = (np.concatenate(side) for side in zip(*runs, strict=True))
    apart = first[1:] - last[:-1] > 1
    return first[np.append(True, apart)], last[np.append(apart, True)]
