"""Opening what lies in a home: files of ours only, reached through no link.

A home may be a link itself, since whoever names it means what it leads to. Below it nothing is: a link could lead what
we read, clear away or write over to any place that the process may reach. A pipe or a device in place of a file could
keep a reader waiting for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from udafs.errors import DamagedError
from udafs.user_warnings import warn_user

#: Of a file that is read whole, in bytes: a manifest of three million files.
LARGEST = 1 << 30
_NO_LINK = "Nothing in a home may be a link; the home itself may. Put the file there, or delete the link."
_NO_FILE = "Delete it: it was not put there by forward_lineage."


def check_no_link(root: Path, key: str) -> None:
    """Check that neither a place in a home nor a folder above it is a link; what is not there is none.

    Args:
        root: the folder of the home; neither may it be one.
        key: the place below it.

    Raises:
        DamagedError: one of them is; the message names it.

    """
    place = root
    for part in ("", *key.split("/")):
        place = place / part
        try:
            mode = os.lstat(place).st_mode
        except OSError:  # whoever opens it says what is wrong
            return
        if stat.S_ISLNK(mode):
            raise DamagedError(f"{place} is a link", instead=_NO_LINK)


def read_file(root: Path, key: str, most: int = LARGEST) -> bytes:
    """Read a file of a home whole.

    Args:
        root: the folder of the home.
        key: the file below it.
        most: how many bytes it may have.

    Raises:
        DamagedError: it is no file, or reached through a link, or larger; the message names it.
        OSError: it cannot be read.

    """
    check_no_link(root, key)
    with open(open_file(root / key, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise DamagedError(f"{root / key} has {size:,} bytes, at most {most:,} can be right", instead=_NO_FILE)
        return file.read(most)


def open_file(path: Path, flags: int) -> int:
    """Open a file that is one, and neither a link nor a pipe nor a device; returns its descriptor.

    Args:
        path: of the file.
        flags: as of `os.open`.

    Raises:
        DamagedError: it is none.
        OSError: it cannot be opened.

    """
    # Opening a pipe would wait for somebody at its other end.
    try:
        opened = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DamagedError(f"{path} is a link", instead=_NO_LINK) from None
        if error.errno == errno.ENXIO:
            raise DamagedError(f"{path} is no file", instead=_NO_FILE) from None
        raise
    mode = os.fstat(opened).st_mode
    if not stat.S_ISREG(mode):
        os.close(opened)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "Is a directory", str(path))
        raise DamagedError(f"{path} is no file", instead=_NO_FILE)
    return opened


def warn_of_strangers(home: Path) -> None:
    """Warn of a home that everybody on this machine may write: who can, decides what answers say."""
    for folder in (home, home / "tables", home / "results"):
        try:
            mode = folder.stat().st_mode
        except OSError:
            continue
        if mode & stat.S_IWOTH:
            warn_user(
                f"everybody on this machine may write {folder}, and so decide what answers say: chmod o-w {folder}"
            )
