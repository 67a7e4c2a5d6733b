"""Columns of small non-negative integers as few bytes: what a segment is made of.

A column is written the shorter of two ways: as byte planes (all lowest bytes, then all second bytes, …), each
compressed by itself because the low bytes of lineage are noise and the high ones nearly constant; or as varints.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udafs import varint

_PLANES, _VARINTS = 0, 1
_RAW, _ZSTD = 0, 1
#: A column of zeros takes no bytes, so nothing but this bounds what damaged bytes can ask for.
_MOST_NUMBERS = 1 << 27
_ZSTD_CODEC = pa.Codec("zstd", compression_level=9)


class Writer:
    """Numbers and columns one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def number(self, value: int) -> None:
        """One integer below 2^63."""
        self.parts.append(varint.encode(np.array([value], np.uint64)))

    def column(self, values: npt.NDArray[np.int64] | npt.NDArray[np.uint64]) -> None:
        """A column of at most 2^27 integers below 2^63."""
        column = values.astype(np.uint64)
        if column.size > _MOST_NUMBERS:
            raise ValueError(f"a column of {column.size} numbers, a segment has at most {_MOST_NUMBERS}")
        self.number(column.size)
        planes = b"".join(map(_block, _byte_planes(column)))
        numbers = _block(varint.encode(column)) if column.size else b""
        ways = ((_PLANES, planes), (_VARINTS, numbers))
        way, data = min(ways, key=lambda each: len(each[1]))
        width = _width(column) if way == _PLANES else 0
        self.parts += [bytes([way << 4 | width]), data]

    def bytes(self) -> bytes:
        """Everything written so far."""
        return b"".join(self.parts)


class Reader:
    """What a `Writer` wrote. Raises ValueError where the bytes cannot be right."""

    def __init__(self, data: bytes) -> None:
        self.data = np.frombuffer(data, np.uint8)
        self.at = 0

    def number(self) -> int:
        """See `Writer`."""
        value, length = varint.decode_first(self.data[self.at :])
        self.at += length
        return value

    def column(self) -> npt.NDArray[np.int64]:
        """See `Writer`."""
        size = self.number()
        if size > _MOST_NUMBERS:
            raise ValueError(f"a column says it has {size} numbers, a segment has at most {_MOST_NUMBERS}")
        way, width = divmod(int(self._take(1)[0]), 16)
        if way == _VARINTS:
            values = varint.decode(self._block(9 * size)) if size else np.empty(0, np.uint64)
        elif way == _PLANES and width <= 8:
            if not width:
                return np.zeros(size, np.int64)
            blocks = [self._block(size, exactly=True) for _ in range(width)]
            # The planes are little-endian: joined byte by byte they are the numbers themselves.
            planes = np.zeros((size, 8), np.uint8)
            for plane, block in enumerate(blocks):
                planes[:, plane] = block
            values = planes.reshape(-1).view("<u8")
        else:
            raise ValueError(f"a column of an unknown kind ({way}, {width})")
        if values.size != size:
            raise ValueError(f"a column of {values.size} numbers says it has {size}")
        return values.astype(np.int64)

    def end(self) -> None:
        """There must be nothing left."""
        if self.at < self.data.size:
            raise ValueError(f"{self.data.size - self.at} bytes too many")

    def _take(self, count: int) -> npt.NDArray[np.uint8]:
        if count > self.data.size - self.at:
            raise ValueError(f"{count} bytes announced, {self.data.size - self.at} follow")
        self.at += count
        return self.data[self.at - count : self.at]

    def _block(self, most: int, exactly: bool = False) -> npt.NDArray[np.uint8]:
        codec, size, packed = self.number(), self.number(), self.number()
        if (
            codec not in (_RAW, _ZSTD)
            or size > most
            or (exactly and size != most)
            or (codec == _RAW and size != packed)
        ):
            raise ValueError(f"a block of kind {codec} with {size} bytes in {packed}")
        data = self._take(packed)
        if codec == _RAW:
            return data
        return np.frombuffer(_ZSTD_CODEC.decompress(data, size), np.uint8)


def _width(column: npt.NDArray[np.uint64]) -> int:
    return (int(column.max(initial=0)).bit_length() + 7) // 8


def _byte_planes(column: npt.NDArray[np.uint64]) -> list[bytes]:
    return [(column >> np.uint64(8 * plane)).astype(np.uint8).tobytes() for plane in range(_width(column))]


def _block(data: bytes) -> bytes:
    packed = _ZSTD_CODEC.compress(data, asbytes=True)
    codec, best = (_ZSTD, packed) if len(packed) < len(data) else (_RAW, data)
    return varint.encode(np.array([codec, len(data), len(best)], np.uint64)) + best
