"""Deletion vectors: the positions of rows that a file still has and its table has not.

Sources: the Delta Transaction Log Protocol, "Deletion Vectors"; the Iceberg Table Spec, version 3, and its Puffin spec,
"deletion-vector-v1". Both hold a Roaring64 in the portable format, as our tag 02 does. Around it Delta has a magic
number, and in files its size and a checksum; Iceberg has the same in another order.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import numpy as np

from forward_lineage.row_ids.formats.log_files import LogPath, beside, read_part
from forward_lineage.row_ids.formats.snapshot import damaged
from forward_lineage.spark.paths import address_of, is_address, is_local, local_path
from udafs import roaring_reader
from udafs.errors import CorruptLineageError, DamagedError
from udafs.lineage_set import LineageSet

_DELTA_MAGIC = struct.pack("<i", 1681511377)
_ICEBERG_MAGIC = bytes.fromhex("d1d33964")
_WORD = 4  # bytes of a size, a magic number, a checksum
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UUID = 20  # characters of one in Z85
_GROUP = 5  # characters of Z85 for four bytes


def place_of(descriptor: Mapping[str, Any], folder: LogPath) -> tuple[LogPath, int, int] | None:
    """Return the file of a vector, the first byte in it, and how many there are; None: it stands in the log itself.

    Args:
        descriptor: a ``deletionVector``.
        folder: the table's.

    """
    if descriptor["storageType"] == "i":
        return None
    path = _delta_file(str(descriptor["storageType"]), str(descriptor["pathOrInlineDv"]), folder)
    return path, int(descriptor.get("offset") or 0), int(descriptor["sizeInBytes"]) + 2 * _WORD


def of_delta(descriptor: Mapping[str, Any], folder: LogPath) -> LineageSet:
    """Read the positions that an `add` of a Delta log leaves out.

    Args:
        descriptor: its ``deletionVector``.
        folder: the table's.

    Raises:
        DamagedError: the vector is missing, or is not what the protocol says.

    """
    said, size = str(descriptor["pathOrInlineDv"]), int(descriptor["sizeInBytes"])
    where = f"the deletion vector {said}"
    place = place_of(descriptor, folder)
    if place is None:
        data = _of_z85(said, where, "Delta")[:size]
    else:
        where = f"the deletion vector in {place[0]}"
        framed = _bytes_of(*place, "Delta")
        head, data, checksum = framed[:_WORD], framed[_WORD:-_WORD], framed[-_WORD:]
        _check(head == struct.pack(">i", size) and _sum(data) == checksum, where, "Delta")
    _check(data[:_WORD] == _DELTA_MAGIC, where, "Delta")
    return _positions(data[_WORD:], int(descriptor["cardinality"]), where, "Delta")


def of_iceberg(path: LogPath, offset: int, size: int, rows: int) -> LineageSet:
    """Read the positions in a blob of a Puffin file.

    Args:
        path: of the file.
        offset: where in it the blob begins.
        size: how many bytes it has.
        rows: how many positions there are, by the manifest.

    Raises:
        DamagedError: the file is missing, or is not what the spec says.

    """
    where = f"the deletion vector in {path}"
    data = _bytes_of(path, offset, size, "Iceberg")
    inner = data[_WORD:-_WORD]
    _check(data[:_WORD] == struct.pack(">i", len(inner)) and _sum(inner) == data[-_WORD:], where, "Iceberg")
    _check(inner[:_WORD] == _ICEBERG_MAGIC, where, "Iceberg")
    return _positions(inner[_WORD:], rows, where, "Iceberg")


def _positions(body: bytes, rows: int, where: str, kind: str) -> LineageSet:
    try:
        found = LineageSet(roaring_reader.decode(np.frombuffer(body, np.uint8)).listed())
    except CorruptLineageError:
        raise _wrong(where, kind) from None
    _check(len(found) == rows, where, kind)
    return found


def _delta_file(storage: str, said: str, folder: LogPath) -> LogPath:
    """A vector lies beside the data files under a UUID, in a folder of any name; or anywhere."""
    if storage == "u":
        named = uuid.UUID(bytes=_of_z85(said[-_UUID:], said, "Delta"))
        return folder / said[:-_UUID] / f"deletion_vector_{named}.bin"
    address = is_address(said) and not is_local(said)
    place = address_of(said) if address else str(local_path(said)) if is_address(said) else unquote(said)
    found = beside(folder, place)
    if found is None:
        raise damaged("Delta", place, "lies on another file system than the table")
    return found


def _of_z85(text: str, where: str, kind: str) -> bytes:
    _check(len(text) % _GROUP == 0 and all(each in _Z85 for each in text), where, kind)
    found = b""
    for at in range(0, len(text), _GROUP):
        number = 0
        for each in text[at : at + _GROUP]:
            number = number * len(_Z85) + _Z85.index(each)
        _check(number < 1 << 32, where, kind)
        found += number.to_bytes(_WORD, "big")
    return found


def _bytes_of(path: LogPath, offset: int, size: int, kind: str) -> bytes:
    try:
        return read_part(path, offset, size)
    except FileNotFoundError:
        raise damaged(kind, str(path), "is missing") from None


def _sum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _check(holds: bool, where: str, kind: str) -> None:
    if not holds:
        raise _wrong(where, kind)


def _wrong(where: str, kind: str) -> DamagedError:
    return damaged(kind, where, "is not what its format says")
