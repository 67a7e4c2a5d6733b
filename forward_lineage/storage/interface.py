"""The interface that manifests, and the removal of what they no longer name, need of the place where they are kept.

A place holds *objects*: bytes under a key, which is a path of parts with ``/`` between, relative to the place. One
suite tests the laws for every implementation (tests/forward_lineage/storage/test_storage.py):

    put_new(k, b); get(k)                   gives b
    put_new(k, b) by many at once           one of them returns, the others get a TakenError; b is the winner's
    put_new(k, b), stopped at any moment    k is there with all of b, or is not there
    put_new(k, b) has returned              k survives a crash of the machine
    delete(k); get(k)                       raises MissingError

There is no rename, no append and no writing over: object stores have none, or none that is atomic. A local folder does
with a link, S3 with `If-None-Match: *`, what `put_new` promises.
"""

from __future__ import annotations

from typing import Protocol

from udafs.errors import DamagedError, NameTakenError


class TakenError(NameTakenError):
    """There is an object of that key already; it was not touched."""

    remedy = "Do it again: another session was quicker."


class MissingError(DamagedError):
    """There is no object of that key."""

    remedy = "Do it again: another session cleared it away, or a file was deleted by hand."


class Storage(Protocol):
    """A place for objects.

    Attributes:
        at_once: how many things it is best asked at the same time: 1 where an answer takes no time.

    """

    @property
    def at_once(self) -> int:
        """See above."""
        ...

    def get(self, key: str) -> bytes:
        """Return an object.

        Raises:
            MissingError: there is none.
            DamagedError: what is there is no object: a link, a pipe.
            SetupError: it may not be read.

        """
        ...

    def exists(self, key: str) -> bool:
        """Tell whether there is an object of that key."""
        ...

    def put_new(self, key: str, data: bytes) -> None:
        """Write an object whole or not at all; it is there to stay when this returns.

        Raises:
            TakenError: there is one already.
            SetupError: the place cannot be written.

        """
        ...

    def delete(self, key: str) -> None:
        """Remove an object, if it is there; after a crash of the machine it may be back.

        Raises:
            SetupError: the place cannot be written.

        """
        ...

    def delete_folder(self, folder: str) -> None:
        """Remove all objects below a folder; what cannot be removed stays."""
        ...

    def objects(self, folder: str) -> list[str]:
        """Return the names of the objects right in a folder, in no order; none of a folder that is not there."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders right in a folder, in no order; none of a folder that is not there."""
        ...

    def clear_unfinished(self, folder: str) -> None:
        """Remove what puts that were cut off left behind in a folder; only while nobody else puts into it."""
        ...

    def where(self, key: str) -> str:
        """Return what messages call an object: a path, an address."""
        ...
