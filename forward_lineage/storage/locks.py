"""Locks of files that a dead process does not keep: the system gives them back when their holder ends.

They hold between threads as between processes, on one machine and on network file systems that know `flock`. Object
stores have none; leases, which time takes back, stand in for them there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from forward_lineage.storage.local_folder import make_folder, writable
from forward_lineage.storage.own_files import check_no_link, open_file
from udafs.errors import DamagedError


class Lock:
    """The lock of a file, held from when this is made (which waits for others) until it is released.

    Args:
        path: the file; made if it is not there, not removed, and not written.

    Raises:
        DamagedError: it is a link, or no file.

    """

    def __init__(self, path: Path) -> None:
        self._file = os.fdopen(open_file(path, os.O_RDWR | os.O_CREAT), "rb")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let others have it."""
        self._file.close()

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@contextmanager
def only_one(root: Path, key: str, name: str) -> Iterator[None]:
    """Let nobody else hold the lock of a folder while the block runs, in this process or another.

    Args:
        root: a folder of a home, from which on nothing may be a link.
        key: of the folder below it, which is made if it is not there.
        name: of the file of the lock.

    Raises:
        SetupError: the home cannot be written.
        DamagedError: the lock is reached through a link.

    """
    check_no_link(root, f"{key}/{name}")
    folder = root / key
    with writable(folder):
        make_folder(folder)
        lock = Lock(folder / name)
    with lock:
        yield


def is_held(path: Path) -> bool:
    """Tell whether somebody who lives holds the lock of a file; when that cannot be found out, yes."""
    try:
        with os.fdopen(open_file(path, os.O_RDWR), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except (OSError, DamagedError):
        return True
    return False
