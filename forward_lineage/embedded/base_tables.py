"""Registered tables of a home whose rows are Parquet files on this machine: are they what was registered, and rows."""

from __future__ import annotations

from pathlib import Path

from forward_lineage.embedded.identified import Identified
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.parquet_rows import DataFileRows
from forward_lineage.row_ids.checks import check_copied, check_files, first_change, missing
from forward_lineage.row_ids.data_files import DataFile, list_files, read_footers, stat_files
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.spark.paths import is_far
from forward_lineage.store.library.saved_result import TracedTable
from udafs.errors import LineageError


class BaseTables:
    """The registered tables of a home.

    Args:
        registrations: of the home.

    """

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._read: dict[str, Manifest] = {}

    def registered(self, name: str) -> Manifest:
        """Return a table's registration.

        Raises:
            NotRegisteredError: there is none.

        """
        return registered(self._registrations, name)

    def check_known(self, name: str) -> None:
        """Check that there is such a table at all.

        Raises:
            NotRegisteredError: it is not registered.

        """
        self.registered(name)

    def takes_on_trust(self, name: str) -> bool:
        """Tell whether a table is registered with ``trusted=True`` now."""
        manifest = self._registrations.latest(name)
        return manifest is not None and manifest.trusted

    def version(self, name: str) -> int | None:
        """Return the version of a table that a query would read; None when it changed and nobody registered that.

        Raises:
            NeedsSpark: only Spark can tell.

        """
        try:
            manifest = self._registrations.latest(name)
            if manifest is not None:
                check_unchanged(manifest)
        except LineageError:
            return None
        return None if manifest is None else manifest.version

    def same_ids(self, one: TracedTable, other: TracedTable) -> bool:
        """Tell whether ids of two versions of a table mean the same rows.

        Raises:
            NeedsSpark: they are not of one version.

        """
        if one.version != other.version:
            raise NeedsSpark(f"ids of {one.name} in two versions")
        return True

    def rows(self, edge: TracedTable) -> Identified:
        """Return the rows of a table that results were made of, as they were then.

        Raises:
            ChangedError: it is not what was registered any more.
            NotRegisteredError: it is not registered any more.
            NeedsSpark: only Spark reads them, or knows whether they are the same.

        """
        now = self.registered(edge.name)
        if now.version != edge.version or edge.trusted:
            raise NeedsSpark(f"{edge.name}, which is registered as another version now, or is taken on trust")
        return self._opened(now)

    def rows_now(self, name: str) -> Identified:
        """Return the present rows of a table; errors as for `rows`."""
        return self._opened(self.registered(name))

    def _opened(self, now: Manifest) -> Identified:
        if now.trusted:
            raise NeedsSpark(f"{now.name}, which is taken on trust")
        self._read[now.name.lower()] = now
        return _identified(now)

    def check_still(self, name: str) -> None:
        """Check, behind the reading of rows, that a table was what was registered then all the time.

        Raises:
            ChangedError: it is not.

        """
        check_unchanged(self._read[name.lower()])


def check_unchanged(manifest: Manifest) -> None:
    """Compare a registered table with its manifest, as `row_ids.checks.check_unchanged` does in a session.

    Raises:
        ChangedError: a file has changed, is missing or is new.
        NeedsSpark: it is a table that only Spark knows.

    """
    place = check_readable(manifest)
    if manifest.provider is Provider.KEY:
        if first_change(manifest.files, _listed(manifest, place)) is not None:
            raise NeedsSpark(f"{manifest.name}, whose files are others now")
        _check_copied(manifest)
        return
    check_files(manifest, _listed(manifest, place))
    _check_copied(manifest)


def check_readable(manifest: Manifest) -> str:
    """Check that a table's rows are in files that are read here, and return where.

    Raises:
        NeedsSpark: it is a table that only Spark knows.

    """
    source = manifest.source
    place = source.get("data") or source.get("path")
    if manifest.view is None or place is None or "paths" in source or is_far(place) or not manifest.near:
        raise NeedsSpark(f"{manifest.name}, which only Spark knows")
    if manifest.provider not in (Provider.KEY, Provider.POSITION, Provider.COPY):
        raise NeedsSpark(f"ids of {manifest.name} by {manifest.provider}")
    return str(place)


def _check_copied(manifest: Manifest) -> None:
    copied = manifest.copied_files()
    if copied:
        check_copied(manifest, copied, _source_now(manifest, copied))


def _listed(manifest: Manifest, place: str) -> list[DataFile]:
    path = Path(place)
    if not path.exists():
        raise missing(manifest)
    return list_files(path)


def _source_now(manifest: Manifest, copied: tuple[DataFile, ...]) -> list[DataFile]:
    """List what a copy was made from: a folder shows new files too."""
    place = manifest.copied_from.get("path", "")
    if any(file.far for file in copied) or (place and is_far(place)):
        raise NeedsSpark(f"what {manifest.name} is a copy of")
    if place and Path(place).is_dir():
        return list_files(Path(place))
    return stat_files(file.path for file in copied)


def _identified(manifest: Manifest) -> Identified:
    check_unchanged(manifest)
    return rows_in_files(manifest)


def rows_in_files(manifest: Manifest) -> Identified:
    """Return the rows in the files of a version of a table; whether these are still what they were is not checked.

    Raises:
        NeedsSpark: the key is no column of the table.

    """
    files = [file for file in manifest.files if file.rows or not manifest.provider.by_position]
    key = None
    if manifest.provider is Provider.KEY:
        files = read_footers(files)  # which a key's registration does not count the rows of
        key = next((name for name, _ in manifest.columns if name.lower() == manifest.key[0].lower()), None)
        if key is None:
            raise NeedsSpark(f"ids of {manifest.name} from {manifest.key[0]}")
    place = manifest.source.get("data") or manifest.source.get("path")
    root = str(place) if place and Path(place).is_dir() else None
    rows = tuple(DataFileRows(file.path, file.rows, 0 if key else file.offset, root) for file in files)
    return Identified(manifest.name, manifest.columns, rows, key)
