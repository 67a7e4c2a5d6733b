"""Manifests in numbered versions: immutable, the highest number counts.

    <place>/<name>/<number>.json    sealed, see `sealed`; numbers count from 1 and are never given twice

Forgetting a thing is a version too, the *drop marker*. The first session that puts an object there has the number. So
if two sessions write at once, each gets a number of its own, or is told that the one it wanted is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forward_lineage.storage.interface import MissingError, Storage
from forward_lineage.storage.sealed import FORMAT, seal, unseal
from udafs.errors import BadArgumentError, DamagedError, LineageError

M = TypeVar("M")
_NUMBERED = re.compile(r"([1-9][0-9]*)\.json", re.ASCII)


@dataclass(frozen=True)
class Kind(Generic[M]):
    """How one kind of manifest is written and read.

    Attributes:
        write: gives its fields, JSON-able.
        read: makes it from the output of `write`, in this release or an earlier one, its name and its number. It raises
            a ValueError, or a BadArgumentError about a name, when the fields cannot be such a manifest.
        dropped: tells a drop marker from others.
        damaged: gives the error that says of a file that it is damaged, and what to do.
        latest: the last format that there is of it.

    """

    write: Callable[[M], Mapping[str, Any]]
    read: Callable[[dict[str, Any], str, int], M]
    dropped: Callable[[M], bool]
    damaged: Callable[[str], DamagedError]
    latest: int = FORMAT

    def of_bytes(self, data: bytes, name: str, number: int, where: str) -> M:
        """Make a manifest of the bytes of its file.

        Args:
            data: the bytes.
            name: of the thing.
            number: of the version.
            where: the file, for messages.

        Raises:
            DamagedError: as `damaged` says.
            SetupError: a later release wrote it.

        """
        try:
            return self.read(unseal(data, where, self.latest), name, number)
        except (ValueError, TypeError, KeyError, AttributeError, BadArgumentError):
            raise self.damaged(where) from None


class Versions(Generic[M]):
    """The manifests of one kind in one place. Each is read once, since none ever changes.

    Args:
        storage: the place.
        kind: of manifest.

    """

    def __init__(self, storage: Storage, kind: Kind[M]) -> None:
        self.storage, self.kind = storage, kind
        self._read: dict[str, dict[int, M]] = {}  # by name, then number

    def names(self) -> list[str]:
        """Return everything that ever had a version, dropped things included, in order."""
        return sorted(self.storage.folders(""))

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of the versions that are there, oldest first."""
        there = sorted(int(found[1]) for found in map(_NUMBERED.fullmatch, self.storage.objects(name)) if found)
        self._forget_all_but(name, set(there))
        return there

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none; a drop marker counts."""
        return max(self.numbers(name), default=0)

    def exists(self, name: str, number: int) -> bool:
        """Tell whether a version is there."""
        return self.storage.exists(_key(name, number))

    def get(self, name: str, number: int) -> M:
        """Return one version.

        Raises:
            MissingError: there is no such version, or not any more.
            DamagedError: as `Kind.damaged` says.
            SetupError: it may not be read, or a later release wrote it.

        """
        if number in self._read.get(name, {}) and not self.exists(name, number):  # cleared away since
            self._forget(name, number)
        return self._load(name, number)

    def every(self, name: str) -> list[tuple[int, M]]:
        """Return the versions that are there with their numbers, oldest first.

        Raises:
            LineageError: as for `get`.

        """
        found = []
        for number in self.numbers(name):
            with suppress(MissingError):  # cleared away this very moment
                found.append((number, self._load(name, number)))
        return found

    def last(self, name: str) -> M | None:
        """Return the newest version, which may be a drop marker; None when there is none at all.

        Raises:
            LineageError: as for `get`.

        """
        while number := self.newest(name):
            with suppress(MissingError):  # a newer one came this very moment, and this one was cleared away
                return self._load(name, number)
        return None

    def latest(self, name: str) -> M | None:
        """Return the newest version; None when there is none, or when it is a drop marker.

        Raises:
            LineageError: as for `get`.

        """
        found = self.last(name)
        return None if found is None or self.kind.dropped(found) else found

    def all_latest(self) -> tuple[list[M], dict[str, LineageError]]:
        """Return the newest version of everything, in order, and by name what is wrong with those that are damaged."""
        names = self.names()
        if self.storage.at_once > 1 and len(names) > 1:  # each is some requests to a store that is far away
            with ThreadPoolExecutor(self.storage.at_once) as pool:
                found = list(pool.map(self._latest_or_error, names))
        else:
            found = list(map(self._latest_or_error, names))
        damaged = {name: each for name, each in zip(names, found, strict=True) if isinstance(each, LineageError)}
        return [each for each in found if each is not None and not isinstance(each, LineageError)], damaged

    def _latest_or_error(self, name: str) -> M | LineageError | None:
        try:
            return self.latest(name)
        except LineageError as error:
            return error

    def put(self, name: str, number: int, manifest: M) -> None:
        """Write a version; it counts from the moment this returns.

        Raises:
            TakenError: there is a version of that number.
            SetupError: the place cannot be written.

        """
        self.storage.put_new(_key(name, number), seal(self.kind.write(manifest)))
        self._keep(name, number, manifest)

    def remove(self, name: str, number: int) -> None:
        """Remove a version that nobody needs any more; its number must not become the newest's again."""
        self.storage.delete(_key(name, number))
        self._forget(name, number)

    def _load(self, name: str, number: int) -> M:
        with suppress(KeyError):
            return self._read[name][number]
        key = _key(name, number)
        where, data = self.storage.where(key), self.storage.get(key)
        found = self.kind.of_bytes(data, name, number, where)
        self._keep(name, number, found)
        return found

    def _keep(self, name: str, number: int, manifest: M) -> None:
        self._read.setdefault(name, {})[number] = manifest

    def _forget(self, name: str, number: int) -> None:
        self._read.get(name, {}).pop(number, None)

    def _forget_all_but(self, name: str, there: set[int]) -> None:
        """Forget versions that another process cleared away: a session that only reads would keep each it ever read."""
        for number in set(self._read.get(name, ())) - there:
            self._forget(name, number)


def _key(name: str, number: int) -> str:
    return f"{name}/{number}.json"
