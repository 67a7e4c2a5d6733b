"""The saved things under a home folder, of whatever kind: reading them, and saving at once from many sessions.

Data is written to a folder of its own first, and counts from the moment its manifest is there under the next version
number. The module `publishing` keeps sessions from each other's results, and `clearing` removes files.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from forward_lineage.relations.forward_index import Progress
from forward_lineage.relations.paths import PathsRelation
from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.storage.homes import Home, folder_of
from forward_lineage.storage.interface import MissingError
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.mirror import LOCAL, Files, Mirror
from forward_lineage.storage.own_files import LARGEST, read_file
from forward_lineage.storage.versions import Kind, Versions
from forward_lineage.store.library.clearing import Clearing
from forward_lineage.store.library.deferred_lineage import Later
from forward_lineage.store.library.forward_indexes import ForwardIndexes, IndexReport
from forward_lineage.store.library.kinds import LATEST, saved_of
from forward_lineage.store.library.publishing import Optimistic, Publishing, Results, UnderLock
from forward_lineage.store.library.read_lineage import CaptureRest, ReadLineage
from forward_lineage.store.library.saved import SAVE_AGAIN, Saved
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.library.soundness import check_sound, is_name
from forward_lineage.store.library.write_marks import is_busy
from udafs.errors import (
    BadArgumentError,
    ChangedError,
    DamagedError,
    LineageError,
    NameTakenError,
    NotSavedError,
    listed,
)

_DROPPED = {"dropped": True}
S = TypeVar("S", bound=Saved)


class Library:
    """Saved things by name.

    A *result* is of the kind that queries can read, rows. `latest`, `get`, `results` and `all_results` know results
    alone; `find`, `saved`, `every` and `all_saved` know all kinds.

    Args:
        home: where registrations and saved results are; made when the first result is saved.

    Attributes:
        folder: of results; of a home in an object store, that of copies.
        files: in that folder, wherever else they are.
        later: lineage that was captured after its result was saved.
        indexes: of lineage, for forward questions.
        lineage: of all results, as it is read.

    """

    def __init__(self, home: Home) -> None:
        self.folder = folder_of(home) / "results"
        self.cache = SegmentCache(read=self._bytes_of)
        near = LocalFolder(self.folder)
        kind = Kind(_fields, self.read, dropped=lambda saved: saved is None, damaged=_damaged, latest=LATEST)
        self.files: Files = LOCAL
        if isinstance(home, Path):
            self._versions: Results = Versions(near, kind)
            self._publishing: Publishing = UnderLock(near, self._versions)
        else:
            self.files = mirror = Mirror(home.room("results"), self.folder)
            self._versions = Versions(mirror.store, kind)
            self._publishing = Optimistic(home, mirror, self._versions)
        self.later = Later(near)
        self.indexes = ForwardIndexes(near)
        self.lineage = ReadLineage(self.later, self.cache, self.indexes)

    def capturing(self, rest: CaptureRest) -> Library:
        """Return the same library to ask: lineage that a question needs and nobody has captured, is captured then.

        Args:
            rest: captures it; it may use this library, which does not.

        """
        found = copy(self)
        found.lineage = ReadLineage(self.later, self.cache, self.indexes, rest)
        return found

    # ------------------------------------------------------------ reading

    def names(self) -> list[str]:
        """Return the names of all results that were ever saved, dropped ones included."""
        return self._versions.names()

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none; a drop counts as a version."""
        return self._versions.newest(name.lower()) if is_name(name) else 0

    def find(self, name: str) -> Saved | None:
        """Return the newest version of a thing; None when there is no such thing, or it was dropped.

        Raises:
            DamagedError: the manifest is damaged.
            SetupError: the manifest may not be read, or a later release wrote it.

        """
        return self._versions.latest(name.lower()) if is_name(name) else None

    def latest(self, name: str) -> SavedResult | None:
        """Return the newest version of a result; None when there is no such result. As for `find`."""
        found = self.find(name)
        return found if isinstance(found, SavedResult) else None

    def get(self, name: str, version: int | None = None) -> SavedResult:
        """Return a version of a result, the newest unless told otherwise.

        Raises:
            NotSavedError: there is no such result or version; there is, but it is of another kind.
            LineageError: as for `find`.

        """
        found = self.saved(name, version)
        if not isinstance(found, SavedResult):
            raise NotSavedError(
                f"{found.name} is a saved {found.called}, and no rows that queries can read",
                instead=f"lineage.{found.called}({found.name!r}) returns it.",
            )
        return found

    def saved(self, name: str, version: int | None = None) -> Saved:
        """Return a version of a thing, the newest unless told otherwise.

        Raises:
            NotSavedError: there is no such thing or version.
            LineageError: as for `find`.

        """
        found = self.find(name) if version is None else self._version(name, version)
        if found is not None:
            return found
        if version is not None and self.find(name) is not None:
            there = ", ".join(str(each) for each in self._versions.numbers(name.lower()))
            raise NotSavedError(
                f"result {name} has no version {version}",
                instead=f"There are {there}; older ones stay with keep_versions=True.",
            )
        raise self._unknown(name)

    def versions(self, name: str) -> list[Saved]:
        """Return all versions of a thing that are there, oldest first; none of a dropped one."""
        if self.find(name) is None:
            return []
        found = (self._version(name, version) for version in self._versions.numbers(name.lower()))
        return [saved for saved in found if saved is not None]

    def results(self) -> list[SavedResult]:
        """Return the newest version of every result, by name; damaged ones are left out, see `damaged`."""
        return _results(self.every()[0])

    def damaged(self) -> dict[str, LineageError]:
        """Return what is wrong with results whose manifest cannot be read, by name."""
        return self.every()[1]

    def every(self) -> tuple[list[Saved], dict[str, LineageError]]:
        """Return the newest version of everything, by name, and what `damaged` does, from one look at the home."""
        found, damaged = self._versions.all_latest()
        return [saved for saved in found if saved is not None], damaged

    def all_results(self) -> list[SavedResult]:
        """Return the newest version of every result. Raises errors as `all_saved` does."""
        return _results(self.all_saved())

    def all_saved(self) -> list[Saved]:
        """Return the newest version of everything.

        Raises:
            LineageError: a manifest is damaged, so an answer over all could not be complete.

        """
        found, damaged = self.every()
        for error in damaged.values():
            raise error
        return found

    def relation(self, saved: Saved, table: TracedTable) -> StoredRelation | PathsRelation:
        """Return the lineage of a result in a table that it was made of directly; see `ReadLineage.relation`."""
        return self.lineage.relation(saved, table)

    def create_index(self, name: str, progress: Progress = lambda done: None) -> IndexReport:
        """Make an index for forward questions about a saved thing, in the place of the one before.

        Lineage that nobody has captured yet is not in it.

        Raises:
            LineageError: as for `saved`; a segment is damaged; the home cannot be written.

        """
        saved = self.saved(name)
        if isinstance(saved, SavedResult):
            later = (self.later.find(saved, whole=whole) for whole in (True, False))
            saved = next((each for each in later if each is not None), saved)
        with self.writing(saved.name) as folder:
            return self.indexes.make(saved, SegmentCache(0, self._bytes_of), folder, progress)

    def _bytes_of(self, path: Path, size: int | None) -> bytes:
        if isinstance(self.files, Mirror):
            data = self.files.read(path, size)
        else:
            data = read_file(self.folder, path.relative_to(self.folder).as_posix(), LARGEST if size is None else size)
        if size not in (None, len(data)):
            raise CorruptSegmentError(f"{path} has {len(data):,} bytes, the manifest says {size:,}")
        return data

    def _version(self, name: str, version: int) -> Saved | None:
        with suppress(MissingError):
            return self._versions.get(name.lower(), version) if is_name(name) else None
        return None

    def _unknown(self, name: str) -> NotSavedError:
        names = [each.name for each in self.every()[0]]
        close = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=3) or names
        known = f"Saved: {listed(close)}." if names else "Nothing is saved yet."
        return NotSavedError(f"there is no saved result {name}", instead=f"{known} lineage.save(…) saves one.")

    def _home(self, name: str) -> Path:
        return self.folder / name.lower()

    def read(self, data: dict[str, Any], name: str, number: int) -> Saved | None:
        """Make a version of a thing of the fields of its manifest; None when it was dropped.

        Raises:
            ValueError: they cannot be such a version's; so may be another error that `Kind.read` names.

        """
        if data == {"format": data["format"], **_DROPPED}:
            return None
        saved = saved_of(data, self._home(name), self.files)
        if saved.name.lower() != name or saved.version != number or not is_name(name):
            raise ValueError("the manifest of another version or result")
        check_sound(saved)
        return saved

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a new data folder for a result. It is removed unless it was published when the block ends.

        Raises:
            SetupError: the home cannot be written.

        """
        yield from self._publishing.writing(name.lower())

    def publish(self, draft: Callable[[int], S]) -> S:
        """Make a thing count, and clear away versions that nobody needs any more.

        Args:
            draft: makes the manifest, given the number of the newest version so far; may refuse to.

        Raises:
            ChangedError: a result that this one was made of has gone meanwhile.
            NameTakenError: the name is that of a thing of another kind.
            SetupError: the home cannot be written.

        """
        name = draft(0).name

        def numbered(newest: int) -> S:
            saved = replace(draft(newest), version=newest + 1, home=self._home(name), files=self.files)
            if saved.keeps_numbers_of == 0:
                saved = replace(saved, keeps_numbers_of=saved.version)
            self.check_kind(saved.name, type(saved))
            self._check_parents(saved)
            return saved

        return cast(S, self._publishing.publish(name.lower(), numbered))

    def drop(self, name: str) -> None:
        """Forget a result. Versions that other results were made of stay on disk until these are gone too.

        Raises:
            NotSavedError: there is no such result.
            SetupError: the home cannot be written.

        """

        def marker(newest: int) -> None:
            with suppress(DamagedError):  # a damaged result can be dropped
                if not newest or self.find(name) is None:
                    raise self._unknown(name)

        if not is_name(name):
            raise self._unknown(name)
        self._publishing.publish(name.lower(), marker)

    def check_kind(self, name: str, kind: type[Saved]) -> None:
        """Check that the next version of a name may be of a kind: versions are of one, until it is dropped.

        Raises:
            NameTakenError: the newest is of another.

        """
        with suppress(DamagedError):  # a damaged result can be saved again
            before = self.find(name)
            if before is not None and before.kind != kind.kind:
                raise NameTakenError(
                    f"{name} is a saved {before.called}, of which a saved {kind.called} is no version",
                    instead="Choose another name, or drop it first.",
                )

    def clear_copies(self, name: str) -> None:
        """Remove copies on this machine of versions of a result that are gone; a local home has none."""
        if self.files is not LOCAL and is_name(name) and (self.folder / name.lower()).exists():
            near = LocalFolder(self.folder)
            Clearing(near, self._versions, lambda folder: is_busy(near.path(folder))).clear_folders(name.lower())

    def _check_parents(self, saved: Saved) -> None:
        for table in saved.inputs:
            if table.is_result and not self._versions.exists(table.name.lower(), table.version):
                raise ChangedError(
                    f"{table.name}, which {saved.name} is made of, was saved again while {saved.name} was being saved",
                    instead=f"Save {saved.name} again, so that it is made of what {table.name} is now.",
                )


def _results(found: list[Saved]) -> list[SavedResult]:
    return [each for each in found if isinstance(each, SavedResult)]


def check_name(name: str) -> str:
    """Return the name of a result if it is one.

    Raises:
        BadArgumentError: it has other characters than letters, digits and _, or begins with a digit, or is too long.

    """
    if not is_name(name):
        raise BadArgumentError(
            f"{name!r} cannot be the name of a saved result",
            instead="Use letters, digits and _, at most 100, a letter or _ first: queries call the result so.",
        )
    return name


def _fields(saved: Saved | None) -> dict[str, Any]:
    return _DROPPED if saved is None else saved.to_data()


def _damaged(where: str) -> CorruptSegmentError:
    return CorruptSegmentError(f"{where} is damaged or cut short", instead=SAVE_AGAIN)
