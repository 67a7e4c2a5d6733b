"""Registrations on disk: tomorrow's session knows today's ids.

    HOME/tables/<table>/<version>.json    immutable; the highest version counts
    HOME/tables/<table>/data-<random>/    Parquet files of a materialised copy or dictionary
    HOME/tables/<table>/granules-…/       values of LINEAGE ON, see `forward_lineage.tracing.granule_cache`

Versions are kept as `forward_lineage.storage.versions` keeps them: a crash leaves no half manifest. If two sessions
register at once, each gets a version of its own. The kernel reads them too, by their path.

Of a home in an object store the kernel reads copies, in the home's folder on this machine (``registered/``). Entries
that make a saved result a table are kept there alone, under ``tables/``. They say where its rows are read on this
machine, and can be made again from the result. Its versions count from `OF_THIS_MACHINE`, so that none is ever
another's.
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
from forward_lineage.row_ids.manifest import WITH_A_FAR_LOG, Manifest, Provider
from forward_lineage.row_ids.written_sql import check_sql
from forward_lineage.spark.names import in_backticks, split_name
from forward_lineage.spark.paths import checked_path
from forward_lineage.storage.homes import Home, ObjectHome, folder_of, object_home, room_of
from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.local_folder import LocalFolder, make_folder, writable
from forward_lineage.storage.own_files import check_no_link, warn_of_strangers
from forward_lineage.storage.sealed import seal
from forward_lineage.storage.versions import Kind, Versions
from forward_lineage.stored_tables import RowIds
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError, DamagedError, LineageError, NotRegisteredError, SetupError

_GRANULES = "granules-"
_LONGEST = 255  # bytes of the name of a file
OF_THIS_MACHINE = 1 << 40


def home_folder(home: str | Path | ObjectHome | None = None) -> Home:
    """Return where registrations and saved results are: as given, $FORWARD_LINEAGE_HOME, or ./lineage_home.

    Warns when everybody on this machine may write it.

    Raises:
        BadArgumentError: no folder can be called so, or the address is none of a home.

    """
    given = home or os.environ.get("FORWARD_LINEAGE_HOME") or "lineage_home"
    far = given if isinstance(given, ObjectHome) else object_home(given)
    if far is not None:
        warn_of_strangers(far.folder)
        return far
    folder = checked_path(Path(str(given)), "home=").absolute()
    warn_of_strangers(folder)
    return folder


class Registrations:
    """The manifests of a home, which is made when the first is written.

    Args:
        home: where it is.

    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._near = LocalFolder(folder_of(home) / "tables")
        self._versions = Versions(room_of(home, "tables"), REGISTRATION)
        #: Of saved results, and whatever else of them there is.
        self._of_results = self._versions if isinstance(home, Path) else Versions(self._near, REGISTRATION)

    def folder(self, name: str) -> Path:
        """Return the folder of a table on this machine; it may not exist yet."""
        return self._near.path(_folder_name(name))

    def path(self, manifest: Manifest) -> Path:
        """Return the file of a manifest; of one in an object store a copy, which is made if need be."""
        if isinstance(self.home, Path) or manifest.version >= OF_THIS_MACHINE:
            return self.folder(manifest.name) / f"{manifest.version}.json"
        folder = LocalFolder(self.home.folder / "registered")
        key = f"{_folder_name(manifest.name)}/{manifest.version}-{manifest.digest()}.json"
        if (manifest.provider.by_position or manifest.provider.by_format) and not folder.exists(key):
            with suppress(TakenError):
                folder.put_new(key, seal(manifest.to_data()))
        return folder.path(key)

    def _kept_in(self, version: int) -> Versions[Manifest]:
        return self._of_results if version >= OF_THIS_MACHINE else self._versions

    def _all_versions(self) -> list[Versions[Manifest]]:
        """The store's content comes first: other machines see that, too."""
        return [self._versions] if self._of_results is self._versions else [self._versions, self._of_results]

    def latest(self, name: str) -> Manifest | None:
        """Return the newest version of a table's manifest, or None when it was never registered or was dropped.

        Raises:
            DamagedError: the file is damaged.
            SetupError: the file may not be read, or a later release wrote it.

        """
        folder = _folder_name(name)
        found = (each.latest(folder) for each in self._all_versions())
        return next((each for each in found if each is not None), None)

    def version(self, name: str, version: int) -> Manifest:
        """Return one version.

        Raises:
            NotRegisteredError: there is no such version.
            LineageError: as for `latest`.

        """
        try:
            return self._kept_in(version).get(_folder_name(name), version)
        except MissingError as error:
            raise NotRegisteredError(
                error.what, instead=f"Register {name} again, and make DataFrames and results of it anew."
            ) from None

    def with_digest(self, name: str, digest: str) -> Manifest | None:
        """Return the last version that has a digest; None where there is none that can be read."""
        folder = _folder_name(name)
        for versions in self._all_versions():
            for number in reversed(versions.numbers(folder)):
                with suppress(LineageError):
                    manifest = versions.get(folder, number)
                    if manifest.digest() == digest:
                        return manifest
        return None

    def write(self, draft: Callable[[Manifest | None], Manifest], name: str, *, of_result: bool = False) -> Manifest:
        """Write the next version of a table; nothing is written when it would say the same as the last one.

        Args:
            draft: makes the manifest from the last version (None when there is none). That may be a dropped one, whose
                ids are not to be given again. It is called again when another session took the version meanwhile.
            name: the table.
            of_result: whether it is a saved result.

        Raises:
            SetupError: the home cannot be written.
            DamagedError: the last version is damaged, so it is not known which ids were given.

        """
        folder = _folder_name(name)
        versions = self._of_results if of_result else self._versions
        first = 1 if versions is self._versions else OF_THIS_MACHINE
        while True:
            newest, last = _last(versions, folder)
            manifest = replace(draft(last), version=max(newest + 1, first))
            _check_names(manifest)
            if last is not None and manifest.says_the_same(last):
                return last
            with suppress(TakenError):
                versions.put(folder, manifest.version, manifest)
                return manifest

    def clear_results(self, name: str) -> None:
        """Remove what versions before the newest said of saved results whose rows are gone, and of drops.

        Nothing can be asked of them any more, and a result that is saved every hour would gather thousands. Entries of
        other tables stay: they explain the ids of saved results.

        Args:
            name: of a saved result.

        """
        folder = _folder_name(name)
        with suppress(LineageError):  # one is damaged, or the home may only be read: then they stay
            for number, manifest in self._of_results.every(folder)[:-1]:
                if manifest.provider is Provider.DROPPED or _is_result_that_is_gone(manifest):
                    self._of_results.remove(folder, number)

    def newest(self, name: str) -> int:
        """Return the number of the newest version, 0 when there is none; results do not count in a store."""
        return self._versions.newest(_folder_name(name))

    def newest_versions(self) -> dict[str, int]:
        """Return the number of the newest version of everything; it changes when somebody registers something."""
        return {folder: each.newest(folder) for each in self._all_versions() for folder in each.names()}

    def next_id(self, name: str) -> int:
        """Return the first id that no version of a table has ever given to a row."""
        folder = _folder_name(name)
        every = (manifest for versions in self._all_versions() for _, manifest in versions.every(folder))
        return max((manifest.next_id for manifest in every), default=0)

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
        """Yield a new folder for materialised rows; it is removed again if the block fails.

        Raises:
            SetupError: it cannot be written, or the home is in an object store, which has no folders for Spark.

        """
        if not isinstance(self.home, Path):
            raise SetupError(
                f"{name} would need a copy of rows or keys that Spark writes, and {self.home} is no place for it",
                instead=f"Write the rows as Parquet where Spark has them, and give path=; or give key= one integer "
                f"column; or pass home= a folder, for {name} alone if need be.",
            )
        folder = self.folder(name) / f"data-{uuid.uuid4().hex[:12]}"
        check_no_link(self._near.root, folder.parent.name)
        with writable(folder.parent):
            make_folder(folder.parent)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def granules_folder(self, manifest: Manifest, digest: str) -> Path:
        """Return the folder of what is kept of the values of a table's rows; it may not exist yet."""
        return self.folder(manifest.name) / f"{_GRANULES}{manifest.version}-{digest}"

    def clear_granules(self, name: str, before: int | None = None) -> None:
        """Remove what is kept of the values of a table's rows, of versions before one, or all."""
        for old in self.folder(name).glob(f"{_GRANULES}*"):
            version = old.name.removeprefix(_GRANULES).partition("-")[0]
            if before is None or (version.isdigit() and int(version) < before):
                shutil.rmtree(old, ignore_errors=True)

    def readable(self) -> tuple[list[Manifest], dict[str, LineageError]]:
        """Return the registered tables, and by name what is wrong with those whose manifest is damaged."""
        manifests, damaged = self._all_latest()
        return manifests, {unquote(folder): error for folder, error in damaged.items()}

    def __iter__(self) -> Iterator[Manifest]:
        manifests, damaged = self._all_latest()
        for error in damaged.values():
            raise error
        yield from manifests

    def _all_latest(self) -> tuple[list[Manifest], dict[str, LineageError]]:
        manifests, damaged = self._versions.all_latest()
        if self._of_results is not self._versions:
            taken = {_folder_name(each.name) for each in manifests} | damaged.keys()
            more, wrong = self._of_results.all_latest()
            manifests += [each for each in more if _folder_name(each.name) not in taken]
            damaged = wrong | damaged
        return manifests, damaged


def _last(versions: Versions[Manifest], folder: str) -> tuple[int, Manifest | None]:
    """Return the number of the newest version, 0 when there is none, and what it says."""
    while newest := versions.newest(folder):
        with suppress(MissingError):  # a newer one came this very moment, and this one was cleared away
            return newest, versions.get(folder, newest)
    return 0, None


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
    latest=WITH_A_FAR_LOG,
)
