"""Objects as files under a local folder, on the disk when a call returns."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.own_files import check_no_link, read_file
from udafs.errors import DamagedError, SetupError

_UNFINISHED = ".partial"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class LocalFolder:
    """The `Storage` that a folder is; it is made when the first object is written.

    An object is written to a hidden file beside its place and then linked there. Unlike a rename, a link fails when the
    name is taken. A process that is killed leaves at most the hidden file. No link below the folder is followed.

    Args:
        root: the folder.

    """

    at_once = 1

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Return the file of an object."""
        return self.root / key

    def where(self, key: str) -> str:
        """Return what messages call an object: a path, an address."""
        return str(self.path(key))

    def get(self, key: str) -> bytes:
        """Return an object."""
        path = self.path(key)
        try:
            return read_file(self.root, key)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MissingError(f"{path} cannot be read: {error.strerror}") from None
        except OSError as error:
            raise _unreadable(path, error) from None

    def exists(self, key: str) -> bool:
        """Tell whether there is an object of that key."""
        return os.path.lexists(self.path(key))  # a link is there, too: whoever reads it is told

    def put_new(self, key: str, data: bytes) -> None:
        """Write an object whole or not at all; it is there to stay when this returns."""
        path = self.path(key)
        check_no_link(self.root, key.rpartition("/")[0])
        with writable(path.parent):
            make_folder(path.parent)
            if self.exists(key):  # the usual case of many at once, told without waiting for the disk
                raise _taken(path)
            with _written_aside(path, data) as unfinished:
                try:
                    os.link(unfinished, path)
                except FileExistsError:
                    raise _taken(path) from None
            sync_folder(path.parent)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there; after a crash of the machine it may be back."""
        path = self.path(key)
        check_no_link(self.root, key.rpartition("/")[0])
        with writable(path.parent):
            path.unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        """Remove all objects below a folder; what cannot be removed stays.

        A folder that is reached through a link stays.
        """
        with suppress(DamagedError):
            check_no_link(self.root, folder)
            shutil.rmtree(self.path(folder), ignore_errors=True)

    def objects(self, folder: str) -> list[str]:
        """Return the names of the objects right in a folder, in no order; none of a folder that is not there.

        Hidden files are none. Links and pipes are there, though nobody can read them.
        """
        entries = self._entries(folder)
        return [each.name for each in entries if not (each.is_dir(follow_symlinks=False) or each.name.startswith("."))]

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders right in a folder, in no order; none of a folder that is not there."""
        return [entry.name for entry in self._entries(folder) if entry.is_dir()]

    def clear_unfinished(self, folder: str) -> None:
        """Remove what puts that were cut off left behind in a folder; only while nobody else puts into it."""
        for entry in self._entries(folder):
            if entry.name.startswith(".") and entry.name.endswith(_UNFINISHED):
                Path(entry.path).unlink(missing_ok=True)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        path = self.path(folder)
        check_no_link(self.root, folder)
        try:
            with os.scandir(path) as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _unreadable(path, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; each that is made has reached the disk when this returns."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; what the files hold must have been brought there before."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # file systems that cannot do so for a folder
            raise
    finally:
        os.close(opened)


def sync_folders(folder: Path) -> None:
    """Bring the names in a folder and in all folders below it to the disk."""
    for place, _, _ in os.walk(folder):
        sync_folder(Path(place))


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Say what is to be done when something in a folder cannot be written.

    Raises:
        SetupError: the block raised an OSError, of files and not of a connection.

    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        raise unwritable(folder, error) from None


def unwritable(folder: Path, error: OSError, where: str = "") -> SetupError:
    """Return what is to be said when something in a folder cannot be written.

    Args:
        folder: the folder.
        error: what the system said.
        where: on which machine, with a space in front, if it is not this one.

    """
    full = error.errno in _NO_ROOM
    return SetupError(
        f"{folder} cannot be written{where}: {os.strerror(error.errno) if error.errno else error}",
        instead="Make room there, or pass home= a folder that has some."
        if full
        else "Pass home= a folder that you may write, or set FORWARD_LINEAGE_HOME.",
    )


@contextmanager
def _written_aside(path: Path, data: bytes) -> Iterator[Path]:
    """Yield a hidden file beside a path that holds the data, on the disk; it is gone when the block ends."""
    unfinished = path.with_name(f".{path.stem}-{uuid.uuid4().hex[:12]}{_UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def _taken(path: Path) -> TakenError:
    return TakenError(f"{path} is there already")


def _unreadable(path: Path, error: OSError) -> SetupError:
    return SetupError(f"{path} cannot be read: {error.strerror}", instead="Give this process the right to read it.")
