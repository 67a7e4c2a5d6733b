"""Arrays of a table on disk: made once, then mapped into memory by every process that asks for the same.

HOME/<room>/<what was asked>/<of which versions>/    <room>.json, sealed, written last; one file an array, raw

They are derived files (`storage.derived`). Checksums are compared whenever a folder is opened; that also brings it into
memory.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.storage.derived import DerivedFolders
from forward_lineage.storage.fields import made
from forward_lineage.storage.local_folder import writable
from forward_lineage.storage.own_files import check_no_link, open_file
from forward_lineage.storage.sealed import seal, unseal
from udafs.errors import DamagedError

_PIECE = 1 << 24
_KINDS = "biuf"  # numbers only: an array of objects would be one of addresses
_AGAIN = "Ask again: it is made anew."


@dataclass(frozen=True)
class ArrayFile:
    """An array on disk.

    Attributes:
        name: of the file.
        kind: its type, as numpy writes it.
        shape: its shape.
        checksum: the CRC-32 of its bytes.

    """

    name: str
    kind: str
    shape: tuple[int, ...]
    checksum: int


@dataclass(frozen=True)
class Contents:
    """The contents of a folder of arrays.

    Attributes:
        arrays: its arrays.
        described: what they mean, as JSON-able data.

    """

    arrays: tuple[ArrayFile, ...]
    described: dict[str, Any]


class Writer:
    """A folder that is being made.

    Its calls raise a SetupError when the folder cannot be written, or the disk is full.

    Args:
        folder: where; it is there and empty.
        manifest: the name of the file that says what the others are.

    """

    def __init__(self, folder: Path, manifest: str) -> None:
        self._folder, self._manifest = folder, manifest
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def allocate(self, name: str, size: int, kind: Any) -> npt.NDArray[Any]:
        """Return an array of zeros that is a file."""
        if not size:
            return self.put(name, np.zeros(0, kind))
        path = self._folder / name
        with writable(self._folder), path.open("wb") as file:
            # A disk that is full says so now; to a file with holes it would say so by ending the process.
            os.posix_fallocate(file.fileno(), 0, size * np.dtype(kind).itemsize)
        found = np.memmap(path, kind, "r+", shape=(size,))
        self._arrays[name] = found
        return found

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a folder for what is gone when the block ends."""
        folder = self._folder / "scratch"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def put(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Write an array."""
        with writable(self._folder):
            (self._folder / name).write_bytes(np.ascontiguousarray(array).data)
        self._arrays[name] = array
        return array

    def put_table(self, name: str, table: pa.Table) -> None:
        """Write a table."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self.put(name, np.frombuffer(sink.getvalue(), np.uint8))

    def finish(self, described: dict[str, Any]) -> None:
        """Write what the arrays mean; from now on they count."""
        files = []
        for name, array in self._arrays.items():
            files.append(ArrayFile(name, array.dtype.str, array.shape, _checksum(array)))
        data = seal({"arrays": [asdict(file) for file in files], "described": described})
        with writable(self._folder):
            (self._folder / self._manifest).write_bytes(data)


class ArrayReader:
    """A folder that was made.

    Args:
        folder: where.
        manifest: the name of the file that says what the others are.

    Attributes:
        folder: where.

    Raises:
        DamagedError: a file is missing, damaged, or reached through a link.

    """

    def __init__(self, folder: Path, manifest: str) -> None:
        self.folder = folder
        try:
            data = unseal(bytes(self._bytes(manifest)), str(folder / manifest))
            contents = made(Contents, {name: value for name, value in data.items() if name != "format"})
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DamagedError(f"{folder / manifest} is damaged or missing: {error}", instead=_AGAIN) from None
        self.described = contents.described
        self._arrays = {file.name: self._opened(file) for file in contents.arrays}

    def get(self, name: str) -> npt.NDArray[Any] | None:
        """Return an array, None when there is none of the name."""
        return self._arrays.get(name)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return an array; it cannot be written."""
        return self._arrays[name]

    def table(self, name: str) -> pa.Table:
        """Return a table."""
        with pa.ipc.open_file(pa.py_buffer(self._arrays[name].tobytes())) as reader:
            return reader.read_all()

    def _opened(self, file: ArrayFile) -> npt.NDArray[Any]:
        try:
            kind = np.dtype(file.kind)
            data = self._bytes(file.name)
        except (OSError, TypeError) as error:
            raise DamagedError(f"{self.folder / file.name} cannot be read: {error}", instead=_AGAIN) from None
        whole = kind.kind in _KINDS and data.size == prod(file.shape) * kind.itemsize
        if not whole or _checksum(data) != file.checksum:
            raise DamagedError(f"{self.folder / file.name} is damaged or cut short", instead=_AGAIN)
        return data.view(kind).reshape(file.shape)

    def _bytes(self, name: str) -> npt.NDArray[np.uint8]:
        check_no_link(self.folder, name)
        with os.fdopen(open_file(self.folder / name, os.O_RDONLY), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return np.zeros(0, np.uint8)
            return np.memmap(file, np.uint8, "r")


class Shelf:
    """Where the arrays that answer something are kept; see `storage.derived`.

    Args:
        home: the folder of registrations and results.
        room: whose arrays they are, e.g. ``views``.
        asked: a short name for what was asked.

    """

    def __init__(self, home: Path, room: str, asked: str) -> None:
        self._manifest = f"{room}.json"
        self._derived = DerivedFolders(home / room, asked, self._manifest)
        self.making, self.forget = self._derived.making, self._derived.forget

    def find(self, versions: str) -> ArrayReader | None:
        """Return what was made of some versions, if it is there and whole."""
        folder = self._derived.find(versions)
        try:
            return None if folder is None else ArrayReader(folder, self._manifest)
        except DamagedError:
            return None

    @contextmanager
    def writing(self, versions: str) -> Iterator[Writer]:
        """Yield what to write arrays with, while `making`; they take the place of those of other versions at the end.

        Raises:
            SetupError: the home cannot be written.

        """
        with self._derived.writing(versions) as folder:
            yield Writer(folder, self._manifest)


def _checksum(array: npt.NDArray[Any]) -> int:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    found = 0
    for first in range(0, data.size, _PIECE):
        found = zlib.crc32(data[first : first + _PIECE].data, found)
    return found
