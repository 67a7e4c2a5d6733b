"""Files of a home as code sees them that works with local paths: in the home's folder, or in a store and here in part.

Savers and readers of a result are given paths below a folder. In a local home they are the files. In an object home a
file may be in the store, here, or both: Tasks send the files that they write. Files of the driver are sent before the
manifest names them. Files that are read are fetched, once, and checked against size and checksum. None of these files
ever changes.
"""

from __future__ import annotations

import os
import shutil
import uuid
import zlib
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from forward_lineage.storage.interface import MissingError
from forward_lineage.storage.local_folder import writable
from forward_lineage.storage.object_store import AT_ONCE, ObjectStore
from forward_lineage.storage.own_files import LARGEST, open_file, read_file
from udafs.errors import DamagedError

#: When a file that was fetched and checked says that it was written: whoever touches it gives it another time.
FETCHED = 1_000_000_000 * 1_000_000_000
_HIDDEN = (".", "_")  # beginnings of names of files that are nobody's


class Files(Protocol):
    """The files below a folder on this machine, wherever else they are."""

    def address(self, folder: Path) -> str:
        """Return where tasks send what they write into a folder; empty where driver and tasks share it."""
        ...

    def read(self, path: Path, size: int | None = None) -> bytes:
        """Return a file whole.

        Args:
            path: the file.
            size: how many bytes it may have at most.

        Raises:
            OSError: it is not here.
            LineageError: it is not there, cannot be read, or is larger.

        """
        ...

    def fetch(self, path: Path, size: int | None = None, checksum: int | None = None) -> None:
        """See that a file is on this machine, whole; one that is nowhere is not.

        Raises:
            DamagedError: it is another one than size and CRC-32 say.

        """
        ...

    def fetch_all(self, files: Iterable[tuple[Path, int | None, int | None]]) -> None:
        """Do as `fetch` for several files, each with its size and checksum."""
        ...

    def rename(self, path: Path, other: Path) -> None:
        """Give a file another name, below the same folder."""
        ...

    def share(self, pairs: Sequence[tuple[Path, Path]]) -> None:
        """Give each first file of some pairs the second name as well."""
        ...

    def remove(self, paths: Collection[Path]) -> None:
        """Remove files, if they are anywhere."""
        ...

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder with all that is in it."""
        ...

    def below(self, folder: Path) -> set[Path]:
        """Return the files below a folder, hidden ones included."""
        ...

    def send(self, folder: Path) -> None:
        """Bring the files below a folder to where they stay; those whose name begins with ``.`` or ``_`` do not."""
        ...


class LocalFiles:
    """Files that are nowhere else; `send` is left to whoever brings them to the disk."""

    def __deepcopy__(self, memo: Any) -> LocalFiles:
        return self

    def address(self, folder: Path) -> str:
        """Return where tasks send what they write into a folder; empty where driver and tasks share it."""
        return ""

    def read(self, path: Path, size: int | None = None) -> bytes:
        """Return a file whole."""
        return path.read_bytes()

    def fetch(self, path: Path, size: int | None = None, checksum: int | None = None) -> None:
        """Do nothing: the file is here, or nowhere."""

    def fetch_all(self, files: Iterable[tuple[Path, int | None, int | None]]) -> None:
        """Do as `fetch` for several files, each with its size and checksum."""

    def rename(self, path: Path, other: Path) -> None:
        """Give a file another name, below the same folder."""
        path.rename(other)

    def share(self, pairs: Sequence[tuple[Path, Path]]) -> None:
        """Give each first file of some pairs the second name as well."""
        for path, other in pairs:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.unlink(missing_ok=True)
            try:
                os.link(path, other)
            except OSError:  # a file system without links
                shutil.copy2(path, other)
                with other.open("rb") as copy:
                    os.fsync(copy.fileno())

    def remove(self, paths: Collection[Path]) -> None:
        """Remove files, if they are anywhere."""
        for path in paths:
            path.unlink(missing_ok=True)

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder with all that is in it."""
        shutil.rmtree(folder, ignore_errors=True)

    def below(self, folder: Path) -> set[Path]:
        """Return the files below a folder, hidden ones included."""
        return {path for path in folder.rglob("*") if not path.is_dir()}

    def send(self, folder: Path) -> None:
        """Bring the files below a folder to where they stay; those whose name begins with ``.`` or ``_`` do not."""


LOCAL = LocalFiles()


class Mirror:
    """Files of a place in an object store, some of them here.

    Args:
        store: the place.
        root: the folder on this machine that stands for it.

    """

    def __init__(self, store: ObjectStore, root: Path) -> None:
        self.store, self.root = store, root

    def __deepcopy__(self, memo: Any) -> Mirror:
        return self

    def key(self, path: Path) -> str:
        """Return the key of a file."""
        return path.relative_to(self.root).as_posix()

    def address(self, folder: Path) -> str:
        """Return where tasks send what they write into a folder; empty where driver and tasks share it."""
        return self.store.where(self.key(folder))

    def read(self, path: Path, size: int | None = None) -> bytes:
        """Return a file whole."""
        most = LARGEST if size is None else size
        try:
            return read_file(self.root, self.key(path), most)
        except (FileNotFoundError, NotADirectoryError):
            return self.store.get(self.key(path), most)

    def fetch(self, path: Path, size: int | None = None, checksum: int | None = None) -> None:
        """See that a file is on this machine, whole; fetch it once."""
        if os.path.lexists(path):  # whoever reads it looks whether it is what it was
            return
        unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
        with writable(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with suppress(MissingError):
                    self.store.get_to(self.key(path), unfinished)
                    _check(unfinished, self.store.where(self.key(path)), size, checksum)
                    os.utime(unfinished, ns=(FETCHED, FETCHED))
                    unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def fetch_all(self, files: Iterable[tuple[Path, int | None, int | None]]) -> None:
        """Do as `fetch` for several files, each with its size and checksum. Many at once."""
        missing = [each for each in files if not os.path.lexists(each[0])]
        with ThreadPoolExecutor(max(1, min(AT_ONCE, len(missing)))) as pool:
            list(pool.map(lambda each: self.fetch(*each), missing))

    def rename(self, path: Path, other: Path) -> None:
        """Give a file another name, below the same folder. The store copies it, nothing comes here."""
        if path.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            path.rename(other)
            return
        self.store.copy(self.key(path), self.key(other))
        self.store.delete(self.key(path))

    def share(self, pairs: Sequence[tuple[Path, Path]]) -> None:
        """Give each first file of some pairs the second name as well."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda pair: self.store.copy(self.key(pair[0]), self.key(pair[1])), pairs))

    def remove(self, paths: Collection[Path]) -> None:
        """Remove files, if they are anywhere."""
        LOCAL.remove(paths)
        self.store.delete_all(map(self.key, paths))

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder with all that is in it."""
        shutil.rmtree(folder, ignore_errors=True)
        self.store.delete_folder(self.key(folder))

    def below(self, folder: Path) -> set[Path]:
        """Return the files below a folder, hidden ones included."""
        return LOCAL.below(folder) | {self.root / self.key(folder) / key for key in self._keys(folder)}

    def send(self, folder: Path) -> None:
        """Bring the files below a folder to where they stay; those whose name begins with ``.`` or ``_`` do not.

        The file is there already.
        """
        ours = [path for path in LOCAL.below(folder) if not path.name.startswith(_HIDDEN)]
        self._at_once(path for path in ours if path.stat().st_mtime_ns != FETCHED)

    def send_all(self) -> None:
        """Send every file below the root, those of hidden names, too: of a task, which nobody else can see."""
        self._at_once(LOCAL.below(self.root))

    def _at_once(self, paths: Iterable[Path]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda path: self.store.send(self.key(path), path), paths))

    def _keys(self, folder: Path) -> Iterable[str]:
        key = self.key(folder)
        return (each.key.removeprefix(f"{key}/") for each in self.store.tree(key))


def _check(path: Path, where: str, size: int | None, checksum: int | None) -> None:
    found = checksum_of(path)
    if size not in (None, found[0]):
        raise DamagedError(f"{where} is damaged: it has {found[0]} bytes, not {size}")
    if checksum not in (None, found[1]):
        raise DamagedError(f"{where} is damaged: its checksum is wrong")


def checksum_of(path: Path, *, to_disk: bool = False) -> tuple[int, int]:
    """Return size and CRC-32 of a file, which is read in pieces."""
    size = checksum = 0
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        while piece := file.read(1 << 20):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
        if to_disk:
            os.fsync(file.fileno())
    return size, checksum
