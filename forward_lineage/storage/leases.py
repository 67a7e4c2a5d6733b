"""Leases: objects that say that their owner lives. They are to sessions on many machines what a lock is on one.

    <place>/<name>    written by its owner again and again; by nobody for `seconds`: the owner is dead

Time is the store's. A lease is as old as the difference between the store's times of it and of one that was written
just now. A dead one is removed on condition that it has not changed. Its owner, should it only have slept, renews on
the same condition. So one of them learns that it has lost.
"""

from __future__ import annotations

import os
import threading
import uuid
from contextlib import suppress
from datetime import datetime, timedelta

from forward_lineage.storage.interface import MissingError
from forward_lineage.storage.object_store import LostError, ObjectEntry, ObjectStore
from udafs.errors import BadArgumentError, LineageError

VARIABLE = "FORWARD_LINEAGE_LEASE"
_SECONDS = 600.0
_RENEWALS = 4  # in the time that a lease lasts


def seconds() -> float:
    """Return how long a lease lasts that nobody renews; $FORWARD_LINEAGE_LEASE, the same in all sessions of a home.

    Raises:
        BadArgumentError: it is no number, or none above 0.

    """
    said = os.environ.get(VARIABLE)
    try:
        found = _SECONDS if said is None else float(said)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise BadArgumentError(f"{VARIABLE}={said} is no time", instead="Give it in seconds, e.g. 600.")
    return found


class Lease:
    """A lease of this process, renewed until it is released.

    Args:
        place: where leases are.
        name: of the lease.

    Raises:
        SetupError: the store cannot be written.

    """

    def __init__(self, place: ObjectStore, name: str) -> None:
        self.place, self.name = place, name
        self._lasts = seconds()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._tag = place.put_tagged(name, _text())
        self._thread = threading.Thread(target=self._go_on, name=f"lease of {name}", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Make it last from now on.

        Raises:
            LostError: it was taken away: this process has slept too long.

        """
        with self._lock:
            self._tag = self.place.replace(self.name, _text(), self._tag)

    def release(self) -> None:
        """Give it back; what another process has taken is left alone."""
        self._over.set()
        self._thread.join()
        with suppress(LineageError):
            self.place.delete(self.name)

    def others(self) -> dict[str, bool]:
        """Return the leases of others, and whether their owners live; this one is renewed, to know what time it is.

        Raises:
            LostError: it was taken away.

        """
        self.renew()
        listed = {each.key: each for each in self.place.tree("")}
        if self.name not in listed:
            raise LostError(f"{self.place.where(self.name)} is gone")
        now = listed.pop(self.name).modified
        return {name: self._lasts_still(each, now) for name, each in listed.items()}

    def is_alive(self, name: str) -> bool:
        """Tell whether the owner of another lease lives; a dead one's is taken away.

        Raises:
            LostError: this lease was taken away.

        """
        try:
            theirs = self.place.entry(name)
        except MissingError:
            return False
        self.renew()
        if self._lasts_still(theirs, self.place.entry(self.name).modified):
            return True
        return not self._take_away(name, theirs.tag)

    def _take_away(self, name: str, tag: str | None) -> bool:
        """Take away what was a dead owner's lease when it had this tag; tells whether it is gone."""
        try:
            self.place.replace(name, _text(), tag)
            self.place.delete(name)
        except LostError:
            return not self.place.exists(name)
        return True

    def _lasts_still(self, lease: ObjectEntry, now: datetime) -> bool:
        return now - lease.modified < timedelta(seconds=self._lasts)

    def _go_on(self) -> None:
        while not self._over.wait(self._lasts / _RENEWALS):
            with suppress(LineageError):  # whoever relies on it asks, and is told
                self.renew()


def _text() -> bytes:
    """Something that was never there, so that no two renewals have one tag."""
    return uuid.uuid4().hex.encode()
