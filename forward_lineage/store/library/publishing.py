"""How results are written, so that each counts as a whole or not at all, with many sessions at once.

In a local home one short lock orders publishing, dropping and clearing. A mark that dies with its process says of a
folder that it is being written. An object store has neither. The session that puts its manifest there first has the
number. The other takes the next, if its request still holds. A lease says that a save is alive.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from forward_lineage.storage.homes import ObjectHome
from forward_lineage.storage.interface import TakenError
from forward_lineage.storage.leases import Lease
from forward_lineage.storage.local_folder import LocalFolder, sync_folders, writable
from forward_lineage.storage.locks import only_one
from forward_lineage.storage.mirror import Mirror
from forward_lineage.storage.object_store import LostError
from forward_lineage.storage.own_files import check_no_link
from forward_lineage.storage.versions import Versions
from forward_lineage.store.library.clearing import Clearing
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.soundness import is_name
from forward_lineage.store.library.write_marks import BusyMark, is_busy
from udafs.errors import ChangedError

Results = Versions[Saved | None]
Draft = Callable[[int], Saved | None]
"""Makes a manifest, given the number of the newest version so far; None: a drop marker. May refuse to."""


class Publishing(Protocol):
    """Writes the results of a home."""

    def writing(self, name: str) -> Iterator[Path]:
        """Yield a new data folder for a result, in a block; see `Library.writing`."""
        ...

    def publish(self, name: str, draft: Draft) -> Saved | None:
        """Make a version count, and clear away versions that nobody needs any more; returns it.

        Args:
            name: of the result, in lower case.
            draft: makes it; its number is the one behind the newest. Called again when another session took that.

        Raises:
            LineageError: what `draft` raises; the home cannot be written.

        """
        ...


class UnderLock:
    """Results of a local home.

    Args:
        place: their folder.
        versions: their manifests.

    """

    def __init__(self, place: LocalFolder, versions: Results) -> None:
        self._place, self._versions = place, versions
        self._clearing = Clearing(place, versions, lambda folder: is_busy(place.path(folder)))

    def writing(self, name: str) -> Iterator[Path]:
        """Yield a new data folder for a result, in a block; see `Library.writing`."""
        folder = self._place.path(name) / _new_name()
        with self._locked():
            self._clearing.clear_leavings()
            check_no_link(self._place.root, name)
            with writable(folder):
                folder.mkdir(parents=True)
                busy = BusyMark(folder)
        try:
            with writable(folder):
                yield folder
        finally:
            with self._locked():
                busy.remove()
                self._clearing.clear_folders(name)

    def publish(self, name: str, draft: Draft) -> Saved | None:
        """Make a version count, and clear away versions that nobody needs any more; returns it."""
        with self._locked():
            newest = self._versions.newest(name)
            saved = draft(newest)
            if saved is not None:
                with writable(saved.folder):
                    sync_folders(saved.folder)  # before the manifest names them
            self._versions.put(name, newest + 1, saved)
            self._clearing.clear_unneeded()
            if saved is None:
                self._clearing.clear_leavings()
        return saved

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with only_one(self._place.root, "", ".lock"):
            yield


class Optimistic:
    """Results of a home in an object store.

    A save has a lease from before it writes until it has published. While another's lives nobody removes versions,
    since that save may be about to name them. A data folder is removed when no manifest names it and no lease that
    lives is its own. A clearing may itself be suspended between its look at the leases and its deletions. Then it can
    still take a version that a new result was made of. Questions through it are then refused; none is answered wrongly.

    Args:
        home: the home.
        mirror: its results, and their folder on this machine.
        versions: their manifests.

    """

    def __init__(self, home: ObjectHome, mirror: Mirror, versions: Results) -> None:
        self._mirror, self._versions = mirror, versions
        self._leases = home.room("saving")
        self._near = LocalFolder(mirror.root)
        self._alive: dict[str, Lease] = {}  # by data folder
        self._published: set[str] = set()  # data folders that are, or may be

    def writing(self, name: str) -> Iterator[Path]:
        """Yield a new data folder for a result, in a block; see `Library.writing`."""
        data = _new_name()
        folder = self._near.path(name) / data
        lease = self._alive[data] = Lease(self._leases, _lease_name(name, data))
        try:
            self._clear_leavings(name, lease)
            with writable(folder):
                folder.mkdir(parents=True)
                busy = BusyMark(folder)
            try:
                with writable(folder):
                    yield folder
            finally:
                busy.remove()
                shutil.rmtree(folder, ignore_errors=True)
                if data not in self._published:
                    self._mirror.remove_folder(folder)
        finally:
            self._published.discard(data)
            del self._alive[data]
            lease.release()

    def publish(self, name: str, draft: Draft) -> Saved | None:
        """Make a version count, and clear away versions that nobody needs any more; returns it."""
        while True:
            newest = self._versions.newest(name)
            saved = draft(newest)
            if saved is not None:
                self._mirror.send(saved.folder)  # before the manifest names them
                self._still_mine(self._alive[saved.data], saved.name)
            # Should the store not answer, nobody knows whether it is published: then what was written stays, for
            # the next save to see.
            self._published |= {saved.data} if saved is not None else set()
            try:
                self._versions.put(name, newest + 1, saved)
                break
            except TakenError:  # another session was quicker: what is asked may still hold
                self._published -= {saved.data} if saved is not None else set()
        if saved is not None:
            self._clear_unneeded(self._alive[saved.data])
            return saved
        lease = Lease(self._leases, _lease_name(name, _new_name()))
        try:
            self._clear_unneeded(lease)
            self._clear_leavings(name, lease)
        finally:
            lease.release()
        return None

    def _still_mine(self, lease: Lease, name: str) -> None:
        """From now on nobody takes what was written for dead, as long as a lease lasts."""
        try:
            lease.renew()
        except LostError:
            raise ChangedError(
                f"the save of {name} slept for so long that another session took it for dead and cleared it away",
                instead="Save it again; FORWARD_LINEAGE_LEASE says for how long one may sleep.",
            ) from None

    # ------------------------------------------------------------ clearing away

    def _clear_unneeded(self, lease: Lease) -> None:
        with suppress(LostError):  # then others clear away
            if not any(lease.others().values()):
                self._clearing(lease).clear_unneeded()

    def _clear_leavings(self, name: str, lease: Lease) -> None:
        """Remove what saves left that died: of this result, and of others that left a lease behind."""
        with suppress(LostError):
            dead = [each for each, alive in lease.others().items() if not alive]
            for each in {name, *filter(is_name, map(_name_of, dead))}:
                self._clearing(lease).clear_folders(each)
            for each in dead:
                lease.is_alive(each)  # takes it away where nothing was written

    def _clearing(self, lease: Lease) -> Clearing:
        def is_busy_there(folder: str) -> bool:
            name, _, data = folder.partition("/")
            if not data.startswith("data-"):
                return False
            theirs = _lease_name(name, data)
            return theirs == lease.name or lease.is_alive(theirs) or is_busy(self._near.path(folder))

        return Clearing(self._mirror.store, self._versions, is_busy_there, self._near)


def _new_name() -> str:
    return f"data-{uuid.uuid4().hex[:12]}"


def _lease_name(name: str, data: str) -> str:
    return f"{name}.{data}"  # no result's name has a dot


def _name_of(lease: str) -> str:
    return lease.partition(".")[0]
