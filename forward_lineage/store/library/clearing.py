"""The saved results that are still needed, and the removal of the rest; of a local home all of it under its lock.

A process that dies while it saves leaves a data folder that no manifest names. It held the lock of a file in that
folder, which died with it, or a lease, which ends. So others know what to remove. If a manifest cannot be read, all
that it may name stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from forward_lineage.storage.interface import Storage
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.versions import Versions
from forward_lineage.store.library.deferred_lineage import LATER, WHOLE
from forward_lineage.store.library.forward_indexes import INDEX
from forward_lineage.store.library.saved import Saved
from udafs.errors import DamagedError, LineageError

#: One version of a result: the name of its folder, and its number.
Key = tuple[str, int]


class Clearing:
    """Clears away what is not needed.

    Args:
        place: where results are kept.
        versions: their manifests; None stands for a drop marker.
        is_busy: tells of a data folder whether somebody who lives is writing it.
        copies: where copies of some of it are.

    """

    def __init__(
        self,
        place: Storage,
        versions: Versions[Saved | None],
        is_busy: Callable[[str], bool],
        copies: LocalFolder | None = None,
    ) -> None:
        self.places, self.versions = [place] if copies is None else [place, copies], versions
        self._is_busy = is_busy

    def clear_unneeded(self) -> None:
        """Remove versions that are neither the newest nor kept, and that no other version was made of."""
        try:
            there = self._there()
        except LineageError:
            return  # what it was made of is not known: keep everything
        gone = unneeded(there)
        for name, number in gone:  # before what they name: at no time does a manifest name what is not there
            self.versions.remove(name, number)
        for name in {name for name, _ in gone}:
            self.clear_folders(name)

    def clear_leavings(self) -> None:
        """Remove what saves that were cut off have left."""
        for name in self.versions.names():
            self.clear_folders(name)

    def clear_folders(self, name: str) -> None:
        """Remove data folders of a result that no manifest names and nobody is writing, and what is derived of none."""
        for place in self.places:
            self._clear_in(place, name)

    def _clear_in(self, place: Storage, name: str) -> None:
        try:
            folders = place.folders(name)
            left = [each for each in self._unnamed(name, folders) if not self._is_busy(f"{name}/{each}")]
            # Where no lock keeps others out: what was there, is not being written any more, and is not named now
            # either, nobody can come to name.
            gone = self._unnamed(name, left) if left else ()
        except LineageError:
            return  # a manifest that cannot be read may name any of them
        for folder in gone:
            place.delete_folder(f"{name}/{folder}")
        place.clear_unfinished(name)

    def _unnamed(self, name: str, folders: Sequence[str]) -> list[str]:
        """Those of some folders of a result that none of its manifests names."""
        numbers = self.versions.numbers(name)
        loaded = [self.versions.get(name, number) for number in numbers]
        there = [saved for saved in loaded if saved is not None]
        named = {saved.data for saved in there}
        derived = {LATER: set(numbers), WHOLE: set(numbers), INDEX: {saved.keeps_numbers_of for saved in there}}
        return [
            each for each in folders if (each.startswith("data-") and each not in named) or _is_left_over(each, derived)
        ]

    def _there(self) -> dict[Key, Saved | None]:
        """All versions; None for drop markers, and for damaged ones that are not the newest."""
        there: dict[Key, Saved | None] = {}
        for name in self.versions.names():
            numbers = self.versions.numbers(name)
            for number in numbers:
                try:
                    there[name, number] = self.versions.get(name, number)
                except DamagedError:
                    if number == numbers[-1]:
                        raise
                    there[name, number] = None
        return there


def _is_left_over(folder: str, derived: Mapping[str, set[int]]) -> bool:
    """Tell by its name whether a folder was derived of versions that are not there."""
    kind, _, number = folder.partition("-")
    return kind in derived and not (number.isdecimal() and int(number) in derived[kind])


def unneeded(there: Mapping[Key, Saved | None]) -> set[Key]:
    """Return the versions that nobody needs.

    A version is needed when it is the newest, or when one that is needed was made of it. It is also needed when it, or
    a later one of a result that was not dropped, is kept.

    Args:
        there: all versions; None for those that name nothing, like drop markers.

    """
    newest: dict[str, int] = {}
    kept: dict[str, int] = {}  # up to this one
    for (name, number), saved in sorted(there.items(), key=lambda item: item[0]):
        newest[name] = number
        if saved is not None and saved.kept:
            kept[name] = number
    dropped = {name for name, number in newest.items() if there[name, number] is None}
    needed = set(newest.items())
    needed |= {(name, number) for name, number in there if name not in dropped and number <= kept.get(name, 0)}
    ahead = list(needed)
    while ahead:
        more = _parents(there.get(ahead.pop())) - needed
        needed |= more
        ahead += more
    return there.keys() - needed


def _parents(saved: Saved | None) -> set[Key]:
    tables = saved.inputs if saved is not None else ()
    return {(table.name.lower(), table.version) for table in tables if table.is_result}
