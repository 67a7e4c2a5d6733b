"""Unsigned LEB128 over whole arrays: the integers of `udafs/FORMAT.md`.

At most nine bytes (63 bits), shortest form only. numpy does a pass for each byte position, not a step for each number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from udafs.errors import CorruptLineageError

UInt64s = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

MAX_BYTES = 9

_FEW = 8  # below one number in so many, the longer ones are picked out instead of going through all


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
    ends = np.flatnonzero(data < 128)
    if data.size and (not ends.size or ends[-1] != data.size - 1):
        raise corrupt("truncated", "the bytes end within a number")
    if ends.size == data.size:
        return data.astype(np.uint64)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    size = ends - starts + 1
    longest = int(size.max())
    if longest > MAX_BYTES:
        raise corrupt("varint", f"a number takes {longest} bytes, {MAX_BYTES} are the most")
    if np.any((data[1:] == 0) & (data[:-1] >= 128)):
        raise corrupt("varint", "a number is not in its shortest form")
    # Half the memory to go through where no number has more than 28 bits.
    width: Any = np.uint32 if longest <= 4 else np.uint64
    groups = np.append(data & 127, np.zeros(longest, np.uint8))
    values: Any = groups[starts].astype(width)
    for position in range(1, longest):
        longer = size > position
        if _FEW * np.count_nonzero(longer) < values.size:
            few = np.flatnonzero(longer)
            values[few] |= groups[starts[few] + position].astype(width) << width(7 * position)
        else:
            values |= (groups[starts + position].astype(width) << width(7 * position)) * longer
    decoded: UInt64s = values.astype(np.uint64)
    return decoded


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
