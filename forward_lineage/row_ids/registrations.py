"""Registrations on disk: tomorrow's session knows today's ids.

    HOME/tables/<table>/<version>.json    immutable; the highest version counts
    HOME/tables/<table>/data-<random>/    Parquet files of a materialised copy or dictionary

A version is written to a temporary file and then linked under its number, which fails if the number is taken. So a
crash leaves no half manifest, and of two sessions that register at once each gets a version of its own: nothing is
overwritten.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.spark.names import split_name
from rewrites.tables import BaseTable
from udafs.errors import LineageError


def home_folder(home: str | Path | None = None) -> Path:
    """Return the folder of registrations and saved results: as given, $FORWARD_LINEAGE_HOME, or ./lineage_home."""
    return Path(home or os.environ.get("FORWARD_LINEAGE_HOME") or "lineage_home").absolute()


class Registrations:
    """The manifests under a home folder, which is made when the first is written.

    Args:
        home: the folder.

    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._read: dict[Path, Manifest] = {}  # versions are immutable: each is read once

    def folder(self, name: str) -> Path:
        """Return the folder of a table; it may not exist yet."""
        parts = (quote(part, safe="").replace(".", "%2E") for part in split_name(name))
        return self.home / "tables" / ".".join(parts)

    def path(self, manifest: Manifest) -> Path:
        """Return the file of a manifest."""
        return self.folder(manifest.name) / f"{manifest.version}.json"

    def latest(self, name: str) -> Manifest | None:
        """Return the newest version of a table's manifest, or None when it was never registered or was dropped.

        Raises:
            LineageError: the file is damaged.

        """
        return self._latest(self.folder(name))

    def version(self, name: str, version: int) -> Manifest:
        """Return one version.

        Raises:
            LineageError: there is no such version, or the file is damaged.

        """
        return self._load(self.folder(name) / f"{version}.json")

    def write(self, draft: Callable[[Manifest | None], Manifest], name: str) -> Manifest:
        """Write the next version of a table; nothing is written when it would say the same as the last one.

        Args:
            draft: makes the manifest from the last version (None when there is none; it may be a dropped one, whose
                ids are not to be given again); called again when another session took the version meanwhile.
            name: the table.

        Raises:
            LineageError: the home cannot be written.

        """
        while True:
            folder = self.folder(name)
            newest = max(_versions(folder), default=0)
            last = self._load(folder / f"{newest}.json") if newest else None
            manifest = replace(draft(last), version=newest + 1)
            if last is not None and manifest.says_the_same(last):
                return last
            try:
                self._write(manifest)
            except FileExistsError:
                continue
            return manifest

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none."""
        return max(_versions(self.folder(name)), default=0)

    def next_id(self, name: str) -> int:
        """Return the first id that no version of a table has ever given to a row."""
        folder = self.folder(name)
        return max((self._load(folder / f"{version}.json").next_id for version in _versions(folder)), default=0)

    def base_table(self, manifest: Manifest) -> BaseTable:
        """Return what the rules need to know about a registered table."""
        return manifest.base_table(self.path(manifest))

    def catalog(self) -> Catalog:
        """Return every registered table as a catalog that needs no session."""
        return Catalog(self.base_table(manifest) for manifest in self)

    @contextmanager
    def new_data_folder(self, name: str) -> Iterator[Path]:
        """Yield a new folder for materialised rows; it is removed again if the block fails."""
        folder = self.folder(name) / f"data-{uuid.uuid4().hex[:12]}"
        with _writable(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def readable(self) -> tuple[list[Manifest], dict[str, LineageError]]:
        """Return the registered tables, and by name what is wrong with those whose manifest is damaged."""
        manifests, damaged = [], {}
        for folder in self._folders():
            try:
                manifest = self._latest(folder)
            except LineageError as error:
                damaged[unquote(folder.name)] = error
            else:
                manifests += [manifest] if manifest is not None else []
        return manifests, damaged

    def __iter__(self) -> Iterator[Manifest]:
        for folder in self._folders():
            manifest = self._latest(folder)
            if manifest is not None:
                yield manifest

    def _folders(self) -> list[Path]:
        tables = self.home / "tables"
        return sorted(tables.iterdir()) if tables.is_dir() else []

    def _latest(self, folder: Path) -> Manifest | None:
        newest = max(_versions(folder), default=0)
        manifest = self._load(folder / f"{newest}.json") if newest else None
        return None if manifest is None or manifest.provider is Provider.DROPPED else manifest

    def _load(self, path: Path) -> Manifest:
        if path not in self._read:
            try:
                text = path.read_text(encoding="utf-8")
            except OSError as error:
                raise LineageError(f"{path} cannot be read: {error.strerror}") from None
            self._read[path] = Manifest.from_json(text, path)
        return self._read[path]

    def _write(self, manifest: Manifest) -> None:
        path = self.path(manifest)
        with _writable(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False, encoding="utf-8") as file:
                file.write(manifest.to_json())
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(file.name, path)  # unlike a rename, fails when the version is taken
            finally:
                Path(file.name).unlink()
        self._read[path] = manifest


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise LineageError(
            f"{folder} cannot be written: {error.strerror}",
            instead="Pass home= a folder that you may write, or set FORWARD_LINEAGE_HOME.",
        ) from None


def _versions(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return [int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()]
