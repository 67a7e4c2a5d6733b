"""Columns of small non-negative integers as few bytes: what a segment is made of.

A column is written the shortest of three ways: as byte planes, as varints, or as compressed varints. Byte planes are
all lowest bytes, then all second bytes, …. Each is compressed by itself, because the low bytes of lineage are noise and
the high ones nearly constant. Nothing is written that the reader can know: not how many numbers there are, no length of
what is not compressed. Half of all results are small, and there such numbers would be a third of the file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udafs import varint
from udafs.errors import NotTracedError

_PLANES, _VARINTS, _PACKED_VARINTS = 0, 1, 2
#: A column of zeros takes no bytes, so nothing but this bounds what damaged bytes can ask for.
MOST_NUMBERS = 1 << 27
#: More effort finds nothing in noise: over TPC-H's lineage, level 9 takes half as long again and 1 % more bytes.
_ZSTD = pa.Codec("zstd", compression_level=1)


class Writer:
    """Numbers and columns one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def number(self, value: int) -> None:
        """One integer below 2^63."""
        self.parts.append(_numbers(value))

    def column(self, values: npt.NDArray[np.int64] | npt.NDArray[np.uint64]) -> None:
        """A column of at most 2^27 integers below 2^63; how many they are, the reader has to know.

        Raises:
            NotTracedError: more than that.

        """
        if values.size > MOST_NUMBERS:
            raise NotTracedError(
                f"a column of {values.size} numbers, a segment has at most {MOST_NUMBERS}",
                instead="Some row was made of too many base rows to name them one by one: save it with LINEAGE ON.",
            )
        if values.size == 1:
            value = int(values[0])  # a plane would take two bytes
            self.parts.append(bytes([_VARINTS << 4]) + _numbers(value) if value else bytes([_PLANES << 4]))
        elif values.size:
            self.parts.append(_shortest(values.astype(np.uint64)))

    def bytes(self) -> bytes:
        """Everything written so far."""
        return b"".join(self.parts)


def _shortest(column: npt.NDArray[np.uint64]) -> bytes:
    """A column in the shortest of its ways, on a tie in the first."""
    bits = int(column.max()).bit_length()
    width = (bits + 7) // 8
    if not width:
        return bytes([_PLANES << 4])  # nothing is shorter than one byte
    varints = varint.encode(column)
    packed: bytes = _ZSTD.compress(varints, asbytes=True)
    if bits < 8:  # then the only plane is the varints
        written = [_plane(varints, packed)]
    else:
        planes = ((column >> np.uint64(8 * plane)).astype(np.uint8).tobytes() for plane in range(width))
        written = list(map(_plane, planes))
    return min(
        bytes([_PLANES << 4 | width]) + b"".join(written),
        bytes([_VARINTS << 4]) + varints,
        bytes([_PACKED_VARINTS << 4]) + _numbers(len(varints), len(packed)) + packed,
        key=len,
    )


class Reader:
    """The output of a `Writer`. Raises ValueError if the bytes cannot be right."""

    def __init__(self, data: bytes) -> None:
        self.data = np.frombuffer(data, np.uint8)
        self.at = 0
        #: Of a column; a reader who knows what must come lowers it, before anything is unpacked.
        self.most_numbers = MOST_NUMBERS

    def number(self) -> int:
        """One integer below 2^63."""
        value, length = varint.decode_first(self.data[self.at :])
        self.at += length
        return value

    def column(self, size: int) -> npt.NDArray[np.int64]:
        """A column of at most 2^27 integers below 2^63; how many they are, the reader has to know.

        `size` numbers, at most `most_numbers` of them.
        """
        if size > self.most_numbers:
            raise ValueError(f"a column of {size} numbers, this segment has at most {self.most_numbers}")
        if not size:
            return np.empty(0, np.int64)
        way, width = divmod(int(self._take(1)[0]), 16)
        if way == _PLANES and width <= 8:
            return self._planes(size, width).astype(np.int64)
        if way == _VARINTS and not width:
            return self._varints(size).astype(np.int64)
        if way == _PACKED_VARINTS and not width:
            return self._packed_varints(size).astype(np.int64)
        raise ValueError(f"a column of an unknown kind ({way}, {width})")

    def end(self) -> None:
        """There must be nothing left."""
        if self.at < self.data.size:
            raise ValueError(f"{self.data.size - self.at} bytes too many")

    def _take(self, count: int) -> npt.NDArray[np.uint8]:
        if count > self.data.size - self.at:
            raise ValueError(f"{count} bytes announced, {self.data.size - self.at} follow")
        self.at += count
        return self.data[self.at - count : self.at]

    def _planes(self, size: int, width: int) -> npt.NDArray[np.uint64]:
        # The planes are little-endian: joined byte by byte they are the numbers themselves.
        planes = np.zeros((size, 8), np.uint8)
        for plane in range(width):
            packed = self.number()
            data = self._take(packed)
            planes[:, plane] = data if packed == size else _unpacked(data, size)
        return planes.reshape(-1).view("<u8")

    def _varints(self, size: int) -> npt.NDArray[np.uint64]:
        ends = np.flatnonzero(self.data[self.at : self.at + varint.MAX_BYTES * size] < 128)
        if ends.size < size:
            raise ValueError(f"{size} numbers announced, {ends.size} follow")
        return varint.decode(self._take(int(ends[size - 1]) + 1))

    def _packed_varints(self, size: int) -> npt.NDArray[np.uint64]:
        length, packed = self.number(), self.number()
        if length > varint.MAX_BYTES * size:
            raise ValueError(f"{size} numbers in {length} bytes")
        values = varint.decode(_unpacked(self._take(packed), length))
        if values.size != size:
            raise ValueError(f"a column of {values.size} numbers, not of {size}")
        return values


def zigzag(step: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Steps between numbers below 2^63, modulo 2^63, as numbers below 2^63 that are small for either sign."""
    centred = (step + (1 << 62) & (1 << 63) - 1) - (1 << 62)
    return centred << 1 ^ centred >> 63


def steps(written: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The steps that `zigzag` wrote, −2^62 … 2^62 − 1."""
    return written >> 1 ^ -(written & 1)


def announced(count: npt.NDArray[np.int64]) -> int:
    """The sum of a column, which is the size of another: one that damaged bytes cannot make overflow."""
    if int(count.max(initial=0)) > MOST_NUMBERS:
        raise ValueError(f"{count.max()} numbers announced, a segment has at most {MOST_NUMBERS}")
    return int(count.sum())


def _numbers(*values: int) -> bytes:
    """Varints; of a few numbers this takes less time than `varint.encode`."""
    found = bytearray()
    for value in values:
        rest = value
        while rest > 127:
            found.append(rest & 127 | 128)
            rest >>= 7
        found.append(rest)
    return bytes(found)


def _plane(data: bytes, packed: bytes | None = None) -> bytes:
    """Its length and the data: compressed if that is shorter, so the length says whether it is."""
    packed = _ZSTD.compress(data, asbytes=True) if packed is None else packed
    best = packed if len(packed) < len(data) else data
    return _numbers(len(best)) + best


def _unpacked(packed: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    data = np.frombuffer(_ZSTD.decompress(packed, size), np.uint8)
    if data.size != size:
        raise ValueError(f"{data.size} bytes unpacked, not {size}")
    return data
