"""Tag 02, written: sorted ids as Roaring64, in the containers that FORMAT.md prescribes.

Written here instead of by pyroaring: its choice between containers depends on how a bitmap came about, which is not
canonical.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from udafs.delta import Ids
from udafs.roaring_format import BITMAP_BYTES, COOKIE, COOKIE_WITH_RUNS, OFFSETS_FROM

ARRAY, RUN, BITMAP = range(3)


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
        sizes = np.stack([2 * cardinality, 2 + 4 * runs, np.full_like(runs, BITMAP_BYTES)])
        return cls(ids, starts, cardinality, run_starts, runs, sizes.argmin(axis=0), sizes.min(axis=0))

    def bitmaps(self) -> Ids:
        """Index of the first container of each 32-bit bitmap."""
        high = self.ids[self.starts] >> 32
        return np.flatnonzero(np.diff(high, prepend=-1))


def _header_sizes(containers: Ids, with_runs: npt.NDArray[np.bool_]) -> Ids:
    offsets = np.where(with_runs & (containers < OFFSETS_FROM), 0, 4 * containers)
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
        yield (COOKIE_WITH_RUNS | (count - 1) << 16).to_bytes(4, "little")
        yield np.packbits(is_run, bitorder="little").tobytes()
    else:
        yield COOKIE.to_bytes(4, "little") + count.to_bytes(4, "little")
    keys = layout.ids[layout.starts[containers]] >> 16 & 0xFFFF
    yield np.stack([keys, layout.cardinality[containers] - 1], axis=1).astype("<u2").tobytes()
    if not with_runs or count >= OFFSETS_FROM:
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
