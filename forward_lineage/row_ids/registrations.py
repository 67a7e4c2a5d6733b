"""Registrations on disk: tomorrow's session knows today's ids.

    HOME/tables/<table>/<version>.json    immutable; the highest version counts
    HOME/tables/<table>/data-<random>/    Parquet files of a materialised copy or dictionary

Versions are kept as `forward_lineage.storage.versions` keeps them: a crash leaves no half manifest, and of two sessions
that register at once each gets a version of its own. The kernel reads them too, by their path.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids.manifest import WITH_A_LOG, Manifest, Provider
from forward_lineage.row_ids.written_sql import check_sql
from forward_lineage.spark.names import in_backticks, split_name
from forward_lineage.spark.paths import checked_path
from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.local_folder import LocalFolder, make_folder, writable
from forward_lineage.storage.own_files import check_no_link, warn_of_strangers
from forward_lineage.storage.versions import Kind, Versions
from forward_lineage.stored_tables import RowIds
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError, DamagedError, LineageError, NotRegisteredError

_LONGEST = 255  # bytes of the name of a file


def home_folder(home: str | Path | None = None) -> Path:
    """Return the folder of registrations and saved results: as given, $FORWARD_LINEAGE_HOME, or ./lineage_home.

    Warns when everybody may write it.

    Raises:
        BadArgumentError: no folder can be called so.

    """
    folder = checked_path(Path(home or os.environ.get("FORWARD_LINEAGE_HOME") or "lineage_home"), "home=").absolute()
    warn_of_strangers(folder)
    return folder


class Registrations:
    """The manifests under a home folder, which is made when the first is written.

    Args:
        home: the folder.

    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._place = LocalFolder(home / "tables")
        self._versions = Versions(self._place, REGISTRATION)

    def folder(self, name: str) -> Path:
        """Return the folder of a table; it may not exist yet."""
        return self._place.path(_folder_name(name))

    def path(self, manifest: Manifest) -> Path:
        """Return the file of a manifest."""
        return self.folder(manifest.name) / f"{manifest.version}.json"

    def latest(self, name: str) -> Manifest | None:
        """Return the newest version of a table's manifest, or None when it was never registered or was dropped.

        Raises:
            DamagedError: the file is damaged.
            SetupError: the file may not be read, or a later release wrote it.

        """
        return self._versions.latest(_folder_name(name))

    def version(self, name: str, version: int) -> Manifest:
        """Return one version.

        Raises:
            NotRegisteredError: there is no such version.
            LineageError: as for `latest`.

        """
        try:
            return self._versions.get(_folder_name(name), version)
        except MissingError as error:
            raise NotRegisteredError(
                error.what, instead=f"Register {name} again, and make DataFrames and results of it anew."
            ) from None

    def with_digest(self, name: str, digest: str) -> Manifest | None:
        """Return the last version that has a digest; None where there is none that can be read."""
        folder = _folder_name(name)
        for number in reversed(self._versions.numbers(folder)):
            with suppress(LineageError):
                manifest = self._versions.get(folder, number)
                if manifest.digest() == digest:
                    return manifest
        return None

    def write(self, draft: Callable[[Manifest | None], Manifest], name: str) -> Manifest:
        """Write the next version of a table; nothing is written when it would say the same as the last one.

        Args:
            draft: makes the manifest from the last version (None when there is none; it may be a dropped one, whose
                ids are not to be given again); called again when another session took the version meanwhile.
            name: the table.

        Raises:
            SetupError: the home cannot be written.
            DamagedError: the last version is damaged, so it is not known which ids were given.

        """
        folder = _folder_name(name)
        while True:
            newest, last = self._last(folder)
            manifest = replace(draft(last), version=newest + 1)
            _check_names(manifest)
            if last is not None and manifest.says_the_same(last):
                return last
            with suppress(TakenError):
                self._versions.put(folder, manifest.version, manifest)
                return manifest

    def _last(self, folder: str) -> tuple[int, Manifest | None]:
        """Return the number of the newest version, 0 when there is none, and what it says."""
        while newest := self._versions.newest(folder):
            with suppress(MissingError):  # a newer one came this very moment, and this one was cleared away
                return newest, self._versions.get(folder, newest)
        return 0, None

    def clear_results(self, name: str) -> None:
        """Remove what versions before the newest said of saved results whose rows are gone, and of drops.

        Nothing can be asked of them any more, and a result that is saved every hour would gather thousands. What was
        said of other tables stays: the ids of saved results are explained by it.

        Args:
            name: of a saved result.

        """
        folder = _folder_name(name)
        with suppress(LineageError):  # one is damaged, or the home may only be read: then they stay
            for number, manifest in self._versions.every(folder)[:-1]:
                if manifest.provider is Provider.DROPPED or _is_result_that_is_gone(manifest):
                    self._versions.remove(folder, number)

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none."""
        return self._versions.newest(_folder_name(name))

    def next_id(self, name: str) -> int:
        """Return the first id that no version of a table has ever given to a row."""
        folder = _folder_name(name)
        return max((manifest.next_id for _, manifest in self._versions.every(folder)), default=0)

    def base_table(self, manifest: Manifest) -> BaseTable:
        """Return what the rules need to know about a registered table, and what tables made of it say of its ids."""
        table = manifest.base_table(self.path(manifest))
        return replace(table, ids=self.ids(manifest).text())

    def ids(self, manifest: Manifest) -> RowIds:
        """Return what gives the rows of a registered table their ids, as it travels with tables made of it."""
        table, numbered = manifest.base_table(self.path(manifest)), manifest.provider.numbered
        if manifest.provider.by_format:  # its SQL names the files of a version
            table = replace(table, row_id=" ".join(manifest.key), relation="", identified=None)
        return RowIds(
            name=manifest.name,
            home=str(self.home),
            version=manifest.version,
            provider=manifest.provider.value,
            numbered=numbered,
            digest=manifest.digest(),
            trusted=manifest.trusted,
            row_id="" if numbered else table.row_id,
            relation="" if numbered else table.relation,
            identified=None if numbered else table.identified,
        )

    def catalog(self) -> Catalog:
        """Return every registered table as a catalog that needs no session."""
        return Catalog(self.base_table(manifest) for manifest in self)

    @contextmanager
    def new_data_folder(self, name: str) -> Iterator[Path]:
        """Yield a new folder for materialised rows; it is removed again if the block fails."""
        folder = self.folder(name) / f"data-{uuid.uuid4().hex[:12]}"
        check_no_link(self._place.root, folder.parent.name)
        with writable(folder.parent):
            make_folder(folder.parent)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def readable(self) -> tuple[list[Manifest], dict[str, LineageError]]:
        """Return the registered tables, and by name what is wrong with those whose manifest is damaged."""
        manifests, damaged = self._versions.all_latest()
        return manifests, {unquote(folder): error for folder, error in damaged.items()}

    def __iter__(self) -> Iterator[Manifest]:
        manifests, damaged = self._versions.all_latest()
        for error in damaged.values():
            raise error
        yield from manifests


def _folder_name(name: str) -> str:
    """Return the folder of a table: its name, with everything that is no letter, digit, - or _ as %XX.

    Raises:
        BadArgumentError: it is no name of a table, or longer than that of a folder may be.

    """
    folder = ".".join(quote(part, safe="").replace(".", "%2E") for part in split_name(name))
    if len(folder) > _LONGEST:
        raise BadArgumentError(
            f"{name[:40]}… is too long for the name of a table: a folder is called so",
            instead="Register it under a name of at most 85 letters.",
        )
    return folder


def _check_names(manifest: Manifest) -> None:
    """Names that cannot stand in SQL are refused before they stand in a manifest."""
    if manifest.provider is Provider.DROPPED:
        return
    for name in (*split_name(manifest.name, keep_case=True), *(column for column, _ in manifest.columns)):
        in_backticks(name)


def _is_result_that_is_gone(manifest: Manifest) -> bool:
    return manifest.provider is Provider.RESULT and not Path(manifest.source["path"]).exists()


def _damaged(where: str) -> DamagedError:
    return DamagedError(
        f"{where} is damaged", instead="Delete that file: the version before it counts then, or register again."
    )


def read(data: dict[str, Any], folder: str, number: int) -> Manifest:
    """Make a version of a registration of the fields of its manifest.

    Raises:
        ValueError: they cannot be such a version's; so may be another error that `Kind.read` names.

    """
    manifest = Manifest.from_data(data)
    if _folder_name(manifest.name) != folder or manifest.version != number:
        raise ValueError("the manifest of another version or table")
    check_sql(manifest)
    return manifest


REGISTRATION = Kind(
    write=Manifest.to_data,
    read=read,
    dropped=lambda manifest: manifest.provider is Provider.DROPPED,
    damaged=_damaged,
    latest=WITH_A_LOG,
)
