"""Derived files: made of things that are kept elsewhere, to answer quicker; made anew when they are gone or damaged.

    PLACE/<what was asked>/<of what>/    a derived folder; the name is a `digest` of expressions, versions and settings
    PLACE/<what was asked>/.lock         held by whoever makes it; others wait and find it made
    PLACE/…/.<random>.partial/           one that is being made

They say nothing that the things they were made of do not say. So nothing here is mourned: what is of other versions,
damaged or half done, is passed over and cleared away. All that is derived is kept by these rules:

- Its name says all that it depends on. Who asks of other versions, or under other settings, asks for another name.
- It counts when its *witness* is there: a file that is written last, or the name of its folder.
- It gets its name at one stroke. Of two that make the same, the second finds that of the first.
- Files beyond a budget go, those of least worth for their bytes first.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from forward_lineage.storage.local_folder import sync_folder, writable
from forward_lineage.storage.locks import only_one
from forward_lineage.storage.own_files import check_no_link

T = TypeVar("T")


def digest(*said: object) -> str:
    """Return a short name for what something was derived of: it differs where what was said differs."""
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


class DerivedFolders:
    """The folders that were derived to answer one thing.

    Args:
        place: where all that is derived for the same purpose is, below a home.
        asked: a short name for what was asked, or several one below the other, as ``views/3f2a``.
        witness: the file in a folder that is written last, and without which it does not count.

    """

    def __init__(self, place: Path, asked: str, witness: str) -> None:
        self._place, self._asked, self._witness = place, asked, witness
        self._folder = place / asked

    def find(self, of: str) -> Path | None:
        """Return the folder that was derived of some things, if it counts.

        Raises:
            DamagedError: it is reached through a link.

        """
        check_no_link(self._place, self._asked)
        folder = self._folder / of
        return folder if (folder / self._witness).exists() else None

    @contextmanager
    def making(self) -> Iterator[None]:
        """Let nobody else derive for the same meanwhile, in this process or another.

        Raises:
            SetupError: the home cannot be written.

        """
        with only_one(self._place, self._asked, ".lock"):
            yield

    @contextmanager
    def writing(self, of: str) -> Iterator[Path]:
        """Yield an empty folder, while `making`; at the end it takes the place of those derived of other things.

        Processes that have files of those open keep them.

        Raises:
            SetupError: the home cannot be written.

        """
        unfinished = self._folder / f".{uuid.uuid4().hex[:12]}.partial"
        for old in self._folder.glob(".*.partial"):  # of whoever was killed: only one makes these
            shutil.rmtree(old, ignore_errors=True)
        with writable(self._folder):
            unfinished.mkdir()
        try:
            yield unfinished
            for old in self._folder.iterdir():
                if old.is_dir() and old != unfinished:
                    shutil.rmtree(old, ignore_errors=True)
            with writable(self._folder):
                unfinished.rename(self._folder / of)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def forget(self) -> None:
        """Remove all of it."""
        if not self._folder.is_symlink():
            shutil.rmtree(self._folder, ignore_errors=True)


def take_place(new: Path, folder: Path, witness: str = "") -> None:
    """Give a folder that is made its name; whoever was quicker has made the same.

    Args:
        new: the folder, all of whose files have reached the disk.
        folder: the name.
        witness: a file without which a folder of that name does not count, and is removed; "": any counts.

    Raises:
        OSError: it cannot have it.

    """
    if folder.exists() and not (folder / witness).exists():  # somebody took files out of it
        shutil.rmtree(folder, ignore_errors=True)
    try:
        new.rename(folder)
        sync_folder(folder.parent)
    except OSError:
        if not (folder / witness).exists():
            raise
        shutil.rmtree(new, ignore_errors=True)


def beyond_budget(sized: Iterable[tuple[T, int]], budget: int, worth: Callable[[T], float]) -> Iterator[T]:
    """Yield what has to go so that the rest fits a budget: that of least worth for its bytes first.

    Args:
        sized: each thing, and the bytes that it takes.
        budget: bytes of all that stays.
        worth: of a thing; things of equal worth a byte go in the order given.

    """
    found = list(sized)
    excess = sum(size for _, size in found) - budget
    for each, size in sorted(found, key=lambda pair: worth(pair[0]) / max(pair[1], 1)):
        if excess <= 0:
            return
        excess -= size
        yield each
