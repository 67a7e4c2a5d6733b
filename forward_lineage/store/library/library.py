"""The saved results under a home folder: versions, what is still needed of them, and saving at once from many sessions.

Data is written to a folder of its own first, and counts from the moment its manifest is linked under the next version
number. A process that dies before leaves a folder that no manifest names; it held a lock on that folder, which died
with it, so the next save knows what to clear away. One short lock of the home orders publishing, dropping and clearing.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.library.saved_result import FORMAT, SavedResult, TracedTable
from udafs.errors import LineageError

_NAME = re.compile(r"[^\W\d]\w{0,99}")
_DROPPED = "dropped"
_BUSY = ".saving"  # locked by the process that writes the folder, for as long as it lives


class Library:
    """Saved results by name.

    Args:
        home: the folder of registrations and saved results; made when the first result is saved.

    """

    def __init__(self, home: Path) -> None:
        self.folder = home / "results"
        self.cache = SegmentCache()
        self._read: dict[Path, SavedResult | None] = {}  # manifests are immutable: each is read once
        self._relations: dict[tuple[Path, str], StoredRelation] = {}

    # ------------------------------------------------------------ reading

    def names(self) -> list[str]:
        """Return the names of all results that were ever saved, dropped ones included."""
        return sorted(each.name for each in self.folder.iterdir() if each.is_dir()) if self.folder.is_dir() else []

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none; a drop counts as a version."""
        return max(_versions(self._home(name)), default=0)

    def latest(self, name: str) -> SavedResult | None:
        """Return the newest version; None when there is no such result, or it was dropped.

        Raises:
            LineageError: the manifest is damaged.

        """
        while newest := self.newest(name):
            with suppress(FileNotFoundError):  # another session saved it again this very moment
                return self._load(self._home(name) / f"{newest}.json")
        return None

    def get(self, name: str, version: int | None = None) -> SavedResult:
        """Return a version of a result, the newest unless told otherwise.

        Raises:
            LineageError: there is no such result or version, or its manifest is damaged.

        """
        found = self.latest(name) if version is None else None
        if version is not None:
            with suppress(FileNotFoundError):
                found = self._load(self._home(name) / f"{version}.json")
        if found is not None:
            return found
        if version is not None and self.latest(name) is not None:
            there = ", ".join(str(each) for each in sorted(_versions(self._home(name))))
            raise LineageError(
                f"result {name} has no version {version}",
                instead=f"There are {there}; older ones stay with keep_versions=True.",
            )
        raise self._unknown(name)

    def versions(self, name: str) -> list[SavedResult]:
        """Return all versions of a result that are there, oldest first; none of a dropped one."""
        if self.latest(name) is None:
            return []
        found = []
        for version in sorted(_versions(self._home(name))):
            with suppress(FileNotFoundError):
                found += [each for each in [self._load(self._home(name) / f"{version}.json")] if each]
        return found

    def results(self) -> list[SavedResult]:
        """Return the newest version of every result, by name; damaged ones are left out, see `damaged`."""
        return [found for found in self._each()[0] if found]

    def damaged(self) -> dict[str, LineageError]:
        """Return what is wrong with results whose manifest cannot be read, by name."""
        return self._each()[1]

    def all_results(self) -> list[SavedResult]:
        """Return the newest version of every result.

        Raises:
            LineageError: a manifest is damaged, so an answer over all results could not be complete.

        """
        found, damaged = self._each()
        for error in damaged.values():
            raise error
        return found

    def relation(self, saved: SavedResult, table: TracedTable) -> StoredRelation:
        """Return the lineage of a result in a table that it was made of directly; segments are read when asked."""
        key = saved.manifest_path, table.name.lower()
        if key not in self._relations:
            self._relations[key] = StoredRelation(saved.segment_files(table), self.cache)
        return self._relations[key]

    def _each(self) -> tuple[list[SavedResult], dict[str, LineageError]]:
        found, damaged = [], {}
        for name in self.names():
            try:
                saved = self.latest(name)
            except LineageError as error:
                damaged[name] = error
            else:
                found += [saved] if saved is not None else []
        return found, damaged

    def _unknown(self, name: str) -> LineageError:
        names = [each.name for each in self.results()]
        close = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=3) or names[:8]
        known = f"Saved: {', '.join(close)}." if names else "Nothing is saved yet."
        return LineageError(f"there is no saved result {name}", instead=f"{known} lineage.save(…) saves one.")

    def _home(self, name: str) -> Path:
        return self.folder / name.lower()

    def _load(self, path: Path) -> SavedResult | None:
        if path in self._read and not path.exists():  # cleared away since
            del self._read[path]
        if path not in self._read:
            text = path.read_bytes().decode("utf-8", errors="replace")
            self._read[path] = None if _is_drop(text) else SavedResult.from_json(text, path)
        return self._read[path]

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a new data folder for a result. It is removed unless it was published when the block ends.

        Raises:
            LineageError: the home cannot be written.

        """
        folder = self._home(name) / f"data-{uuid.uuid4().hex[:12]}"
        with self._locked():
            self._clear_leavings()
            folder.mkdir(parents=True)
            busy = _lock(folder / _BUSY)
        try:
            yield folder
        finally:
            with self._locked():
                (folder / _BUSY).unlink(missing_ok=True)
                busy.close()
                if folder.name not in self._named_by(folder.parent):
                    shutil.rmtree(folder, ignore_errors=True)

    def publish(self, draft: Callable[[int], SavedResult]) -> SavedResult:
        """Make a result count, and clear away versions that nobody needs any more.

        Args:
            draft: makes the manifest, given the number of the newest version so far; may refuse to.

        Raises:
            LineageError: a result that this one was made of has gone meanwhile.

        """
        with self._locked():
            name = draft(0).name
            newest = self.newest(name)
            saved = replace(draft(newest), version=newest + 1, home=self._home(name))
            if saved.keeps_numbers_of == 0:
                saved = replace(saved, keeps_numbers_of=saved.version)
            for table in saved.tables:
                if table.is_result and not (self._home(table.name) / f"{table.version}.json").exists():
                    raise LineageError(
                        f"{table.name}, which {name} is made of, was saved again while {name} was being saved",
                        instead=f"Save {name} again, so that it is made of what {table.name} is now.",
                    )
            _write(saved.manifest_path, saved.to_json())
            self._clear_unneeded()
        return saved

    def drop(self, name: str) -> None:
        """Forget a result. Versions that other results were made of stay on disk until these are gone too.

        Raises:
            LineageError: there is no such result.

        """
        with self._locked():
            newest = self.newest(name)
            with suppress(CorruptSegmentError):  # a damaged result can be dropped
                if not newest or self.latest(name) is None:
                    raise self._unknown(name)
            _write(self._home(name) / f"{newest + 1}.json", json.dumps({"format": FORMAT, _DROPPED: True}) + "\n")
            self._clear_unneeded()
            self._clear_leavings()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = _lock(self.folder / ".lock")
        except OSError as error:
            raise LineageError(
                f"{self.folder} cannot be written: {error.strerror}",
                instead="Pass home= a folder that you may write, or set FORWARD_LINEAGE_HOME.",
            ) from None
        try:
            yield
        finally:
            lock.close()

    def _clear_unneeded(self) -> None:
        """Remove versions that are neither the newest nor kept, and that no other version was made of."""
        there: dict[tuple[str, int], SavedResult | None] = {}
        for name in self.names():
            for version in _versions(self._home(name)):
                try:
                    there[name, version] = self._load(self._home(name) / f"{version}.json")
                except CorruptSegmentError:
                    if version == self.newest(name):
                        return  # what it was made of is not known: keep everything
                    there[name, version] = None
        newest = {name: self.newest(name) for name, _ in there}
        dropped = {name for name, version in newest.items() if there[name, version] is None}
        needed = {key for key, saved in there.items() if key[1] == newest[key[0]]}
        kept = {name: max((v for n, v in there if n == name and _keeps(there[n, v])), default=0) for name in newest}
        needed |= {(name, version) for name, version in there if version <= kept[name] and name not in dropped}
        ahead = list(needed)
        while ahead:
            saved = there.get(ahead.pop())
            parents = (
                [(table.name.lower(), table.version) for table in saved.tables if table.is_result] if saved else []
            )
            ahead += [key for key in parents if key not in needed]
            needed.update(parents)
        for name, version in there.keys() - needed:
            (self._home(name) / f"{version}.json").unlink()
        for name in {name for name, _ in there.keys() - needed}:
            self._clear_folders(self._home(name))

    def _clear_leavings(self) -> None:
        for name in self.names():
            self._clear_folders(self._home(name))

    def _clear_folders(self, home: Path) -> None:
        try:
            named = self._named_by(home)
        except CorruptSegmentError:
            return  # it may name any of them
        for folder in home.glob("data-*"):
            if folder.name not in named and not _is_busy(folder / _BUSY):
                shutil.rmtree(folder, ignore_errors=True)
        for partial in home.glob(".*.partial"):
            partial.unlink(missing_ok=True)

    def _named_by(self, home: Path) -> set[str]:
        loaded = [self._load(home / f"{version}.json") for version in _versions(home)]
        return {saved.data for saved in loaded if saved}


def check_name(name: str) -> str:
    """Return the name of a result if it is one.

    Raises:
        LineageError: it has other characters than letters, digits and _, or begins with a digit, or is too long.

    """
    if not _NAME.fullmatch(name):
        raise LineageError(
            f"{name!r} cannot be the name of a saved result",
            instead="Use letters, digits and _, at most 100, a letter or _ first: queries call the result so.",
        )
    return name


def _keeps(saved: SavedResult | None) -> bool:
    return saved is not None and saved.kept


def _versions(home: Path) -> list[int]:
    if not home.is_dir():
        return []
    return [int(file.stem) for file in home.glob("*.json") if file.stem.isdigit()]


def _is_drop(text: str) -> bool:
    try:
        return bool(json.loads(text).get(_DROPPED))
    except (ValueError, AttributeError):
        return False


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; it must not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".", suffix=".partial", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(file.name, path)
    finally:
        Path(file.name).unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lock(path: Path) -> IO[str]:
    """Wait for the lock of a file; it is given back when the file is closed, or its process dies."""
    file = path.open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _is_busy(path: Path) -> bool:
    try:
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
