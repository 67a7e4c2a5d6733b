"""Locks of files that a dead process does not keep: the system gives them back when their holder ends.

They hold between threads as between processes, on one machine and on network file systems that know `flock`. Object
stores have none; leases, which time takes back, stand in for them there.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from forward_lineage.storage.own_files import open_file
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
