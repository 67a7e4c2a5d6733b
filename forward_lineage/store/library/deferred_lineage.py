"""Lineage that was captured after its result was saved, beside the result's own folder.   [Smoke, §3.2, DEFER]

    HOME/results/<name>/later-<version>/    what the save left for later
    HOME/results/<name>/whole-<version>/    all of it, also what the save left out
        lineage.json                        says what is in the folder, sealed; its fields are those of `LaterLineage`
        lineage/, stages/                   segments, as in a data folder

A folder gets its name at one stroke, when all that is in it has reached the disk. If two processes capture at once, the
second finds the result of the first. It may be deleted at any time: the next question captures again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.storage.derived import take_place
from forward_lineage.storage.fields import made
from forward_lineage.storage.local_folder import LocalFolder, sync_folders, writable
from forward_lineage.storage.locks import only_one
from forward_lineage.storage.own_files import read_file
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.store.library import bounds
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.saved_result import SavedResult, Stage, StageLineage, TableLineage, TracedTable
from forward_lineage.store.library.soundness import check_sound
from forward_lineage.store.library.write_marks import BUSY

LATER, WHOLE = "later", "whole"
_MANIFEST = "lineage.json"


@dataclass(frozen=True)
class LaterLineage:
    """The content of a folder: fields of `SavedResult`; `data` is the data folder whose rows have this lineage."""

    data: str
    tables: tuple[TableLineage, ...]
    refers: tuple[StageLineage, ...] = field(default=(), repr=False)
    stages: tuple[Stage, ...] = field(default=(), repr=False)


class Later:
    """The lineage that was captured later of the results of a home.

    Args:
        place: where results are kept.

    """

    def __init__(self, place: LocalFolder) -> None:
        self._place = place
        self._known: dict[Path, tuple[tuple[int, int], SavedResult]] = {}

    def find(self, saved: SavedResult, *, whole: bool) -> SavedResult | None:
        """Return a version of a result with the lineage that was captured later; None: it was not.

        Only its lineage can be read: rows are where they were.

        Args:
            saved: the version.
            whole: whether all its lineage is wanted, or what the save left for later.

        Raises:
            CorruptSegmentError: its entry is damaged.

        """
        key = _key(saved, whole)
        folder = self._place.path(key)
        try:
            file = os.lstat(folder / _MANIFEST)
        except OSError:
            self._known.pop(folder, None)
            return None
        written = file.st_ino, file.st_mtime_ns
        if folder not in self._known or self._known[folder][0] != written:
            self._known[folder] = written, self._read(saved, whole, key)
        return self._known[folder][1]

    def _read(self, saved: SavedResult, whole: bool, key: str) -> SavedResult:
        place = self._place.path(f"{key}/{_MANIFEST}")
        try:
            data = unseal(read_file(self._place.root, f"{key}/{_MANIFEST}"), str(place))
            found = made(LaterLineage, {name: value for name, value in data.items() if name != "format"})
            return _completed(saved, found, whole)
        except (ValueError, KeyError, TypeError, OSError) as error:
            again = "Delete its folder: the next question captures the lineage again."
            raise CorruptSegmentError(f"{place} is damaged: {error}", instead=again) from None

    @contextmanager
    def capturing(self, saved: SavedResult) -> Iterator[None]:
        """Let nobody else capture lineage of the result meanwhile, in this process or another.

        Raises:
            SetupError: the home cannot be written.

        """
        # Of a home in an object store the folder of the result may not be on this machine.
        with only_one(self._place.root, saved.name.lower(), ".capturing"):
            yield

    def publish(self, saved: SavedResult, folder: Path, lineage: LaterLineage, *, whole: bool) -> SavedResult:
        """Make lineage count that was captured, while `capturing`.

        Args:
            saved: whose it is.
            folder: a data folder that holds nothing else; it is gone afterwards.
            lineage: what is in it.
            whole: whether it is all there is.

        Raises:
            SetupError: the home cannot be written.

        """
        _completed(saved, lineage, whole)  # what cannot be read must not be published
        target = self._place.path(_key(saved, whole))
        with writable(folder):
            with (folder / _MANIFEST).open("xb") as file:
                file.write(seal(bounds.left_out(asdict(lineage))))
                file.flush()
                os.fsync(file.fileno())
            sync_folders(folder)
            take_place(folder, target, _MANIFEST)
            (target / BUSY).unlink(missing_ok=True)  # it came along
        found = self.find(saved, whole=whole)
        assert found is not None, "it was written"
        return found


def _key(saved: SavedResult, whole: bool) -> str:
    return f"{saved.name.lower()}/{WHOLE if whole else LATER}-{saved.version}"


def _completed(saved: SavedResult, lineage: LaterLineage, whole: bool) -> SavedResult:
    """A version with what was captured later in the place of what was not.

    Raises:
        ValueError: it is the lineage of other rows, or not that of all tables that it should be of.

    """
    if lineage.data != saved.data:
        raise ValueError("the lineage of other rows")
    segments = {each.table.lower(): each.segments for each in lineage.tables}
    wanted = {table.name.lower() for table in saved.tables if whole or table.captured is Captured.LATER}
    if segments.keys() != wanted:
        raise ValueError("the lineage of other tables")

    def with_lineage(table: TracedTable) -> TracedTable:
        only = None if whole else table.only
        return replace(table, segments=segments[table.name.lower()], captured=Captured.NOW, only=only)

    tables = tuple(with_lineage(table) if table.name.lower() in wanted else table for table in saved.tables)
    found = replace(saved, tables=tables, refers=lineage.refers, stages=lineage.stages)
    check_sound(found)
    return replace(found, data=_key(saved, whole).partition("/")[2])
