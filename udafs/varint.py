"""Unsigned LEB128 over whole arrays: the integers of `udafs/FORMAT.md`.

At most nine bytes (63 bits), shortest form only. numpy does a pass for each byte position, not a step for each number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udafs.errors import CorruptLineageError

UInt64s = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

MAX_BYTES = 9

_PART = 1 << 17  # bytes decoded at a time
_WINDOW = 3  # bytes behind a number's first that are read with it
_WHOLE = np.array([0x7F, 0x7F7F, 0x7F7F7F, 0x7F7F7F7F], np.uint32)  # the groups of a number of 1 … 4 bytes


def corrupt(keyword: str, detail: str) -> CorruptLineageError:
    """The error of malformed bytes; `keyword` is one of the table in FORMAT.md."""
    return CorruptLineageError(f"corrupt lineage value: {keyword}: {detail}")


def sizes(values: UInt64s) -> npt.NDArray[np.int64]:
    """Bytes that each of the values takes."""
    size = np.ones(values.shape, np.int64)
    if values.size:
        for position in range(1, (int(values.max()).bit_length() + 6) // 7):
            size += values >= np.uint64(1 << 7 * position)
    return size


def encode(values: UInt64s) -> bytes:
    """The varints of `values`, each below 2^63, one after the other."""
    size = sizes(values)
    longest = int(size.max(initial=1))
    if longest == 1:
        return values.astype(np.uint8).tobytes()
    ends = np.cumsum(size)
    starts = ends - size
    out = np.empty(int(ends[-1]), np.uint8)
    out[starts] = (values & np.uint64(127)).astype(np.uint8)
    rest, where = values, starts
    for position in range(1, longest):
        longer = np.flatnonzero(size > position)
        if len(longer) < len(where):
            rest, where, size = rest[longer], where[longer], size[longer]
        rest = rest >> np.uint64(7)
        out[where + (position - 1)] |= 128
        out[where + position] = (rest & np.uint64(127)).astype(np.uint8)
    return out.tobytes()


def decode(data: Bytes) -> UInt64s:
    """All varints of `data`, which must end with the last byte of one.

    Raises:
        CorruptLineageError: `truncated` or `varint`.

    """
    if data.size and data[-1] >= 128:
        raise corrupt("truncated", "the bytes end within a number")
    count = int(np.count_nonzero(data < 128))
    if count == data.size:
        return data.astype(np.uint64)
    if np.any((data[1:] == 0) & (data[:-1] >= 128)):
        raise corrupt("varint", "a number is not in its shortest form")
    padded = np.append(data, np.zeros(_WINDOW, np.uint8))
    values = np.empty(count, np.uint64)
    at = done = 0
    # A part at a time, so that what is computed on the way stays in the processor's cache.
    while at < data.size:
        ends = np.flatnonzero(data[at : at + _PART] < 128)
        values[done : done + ends.size] = _decode_part(padded[at:], ends)
        at += int(ends[-1]) + 1
        done += ends.size
    return values


def _decode_part(data: Bytes, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32] | UInt64s:
    """The numbers whose last bytes stand at `ends`, in data that have `_WINDOW` bytes more."""
    starts = np.zeros_like(ends)
    np.add(ends[:-1], 1, out=starts[1:])
    more = ends - starts
    if not ends.size or more.max() >= MAX_BYTES:
        raise corrupt("varint", f"a number takes more than {MAX_BYTES} bytes")
    decode_numbers = _decode_short if more.max() <= _WINDOW else _decode_long
    return decode_numbers(data[: int(ends[-1]) + 1 + _WINDOW], starts, more)


def _decode_short(data: Bytes, starts: npt.NDArray[np.int64], more: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Numbers of `more` bytes behind their first, at most `_WINDOW`, each seen through a window of so many."""
    windows: npt.NDArray[np.uint32] = np.ndarray(data.size - _WINDOW, "<u4", data, strides=(1,)).astype(np.uint32)
    groups = windows.take(starts) & _WHOLE.take(more)
    values = groups & np.uint32(0x7F)
    for position in range(1, int(more.max()) + 1):
        values |= (groups & np.uint32(0x7F << 8 * position)) >> np.uint32(position)
    return values


def _decode_long(data: Bytes, starts: npt.NDArray[np.int64], more: npt.NDArray[np.int64]) -> UInt64s:
    """The same of any length, a group at a time of the numbers that have so many."""
    values = (data[starts] & 127).astype(np.uint64)
    for position in range(1, int(more.max()) + 1):
        longer = np.flatnonzero(more >= position)
        values[longer] |= (data[starts[longer] + position] & 127).astype(np.uint64) << np.uint64(7 * position)
    return values


def decode_first(data: Bytes) -> tuple[int, int]:
    """The first varint of `data` and the number of its bytes."""
    head = data[: MAX_BYTES + 1]
    ends = np.flatnonzero(head < 128)
    if not ends.size:
        if data.size > MAX_BYTES:
            raise corrupt("varint", f"a number takes more than {MAX_BYTES} bytes")
        raise corrupt("truncated", "the bytes end within a number")
    length = int(ends[0]) + 1
    return int(decode(head[:length])[0]), length
