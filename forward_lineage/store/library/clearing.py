"""What is still needed of saved results, and clearing away the rest; all of it under the lock of the home.

A process that dies while it saves leaves a data folder that no manifest names. It held the lock of a file in that
folder, which died with it, so others know what to clear away. Where a manifest cannot be read, whatever it may name
stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.locks import is_held
from forward_lineage.storage.versions import Versions
from forward_lineage.store.library.busy import BUSY
from forward_lineage.store.library.later import is_left_over
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import DamagedError, LineageError

#: One version of a result: the name of its folder, and its number.
Key = tuple[str, int]


class Clearing:
    """Clears away what is not needed.

    Args:
        place: where results are kept.
        versions: their manifests; None stands for a drop marker.

    """

    def __init__(self, place: LocalFolder, versions: Versions[SavedResult | None]) -> None:
        self.place, self.versions = place, versions

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
        """Remove data folders of a result that no manifest names and nobody is writing, and later lineage of none."""
        try:
            numbers = self.versions.numbers(name)
            loaded = [self.versions.get(name, number) for number in numbers]
        except LineageError:
            return  # it may name any of them
        named = {saved.data for saved in loaded if saved is not None}
        for folder in self.place.folders(name):
            left = folder.startswith("data-") and folder not in named and not self._is_busy(f"{name}/{folder}")
            if left or is_left_over(folder, set(numbers)):
                self.place.delete_folder(f"{name}/{folder}")
        self.place.clear_unfinished(name)

    def _there(self) -> dict[Key, SavedResult | None]:
        """All versions; None for drop markers, and for damaged ones that are not the newest."""
        there: dict[Key, SavedResult | None] = {}
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

    def _is_busy(self, folder: str) -> bool:
        return is_held(self.place.path(folder) / BUSY)


def unneeded(there: Mapping[Key, SavedResult | None]) -> set[Key]:
    """Return the versions that nobody needs.

    A version is needed when it is the newest, when it or a later one of a result that was not dropped is kept, or when
    one that is needed was made of it.

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


def _parents(saved: SavedResult | None) -> set[Key]:
    tables = saved.tables if saved is not None else ()
    return {(table.name.lower(), table.version) for table in tables if table.is_result}
