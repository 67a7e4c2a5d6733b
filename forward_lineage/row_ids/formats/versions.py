"""Whether the registered version of a table with a log is still the current one, and what its ids mean later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.data_files import first_missing, stat_files
from forward_lineage.row_ids.formats import delta, iceberg
from forward_lineage.row_ids.formats.log_files import LogPath, located
from forward_lineage.row_ids.formats.snapshot import Snapshot, digest_of
from forward_lineage.row_ids.manifest import Manifest, Provider
from udafs.errors import ChangedError

FORMATS = {"delta": Provider.DELTA, "iceberg": Provider.ICEBERG}
LOGS = {Provider.DELTA: delta, Provider.ICEBERG: iceberg}


@dataclass(frozen=True)
class Table:
    """A table with a log of its own.

    Attributes:
        provider: the format's.
        place: its folder, or for Iceberg a metadata file.
        identity: the full name by which a catalog of Spark's knows it, in backticks; None: it is known by its path.

    """

    provider: Provider
    place: LogPath
    identity: str | None = None


def check_kept(last: Manifest, table: Table) -> None:
    """Check that ids in the version before mean the same rows now.

    Raises:
        ChangedError: they do not, or that is not known.

    """
    if why := broken(last, table, LOGS[table.provider].read(table.place)):
        raise ChangedError(
            f"ids of table {last.name} may mean other rows now: {why}",
            instead=f'Register "{last.name}" again: its ids then mean other rows than those in what was saved before.',
        )


def table_of(spark: SparkSession, manifest: Manifest) -> Table:
    """Return where the log of a table is that was registered by its path."""
    return Table(manifest.provider, located(spark, manifest.source["path"]))


def check_version(spark: SparkSession, manifest: Manifest, table: Table) -> None:
    """Compare a table's log with what was registered; no file but the last of the log is read.

    Args:
        spark: a session that reaches the files.
        manifest: the registration.
        table: where the log is now.

    Raises:
        ChangedError: there is another version now, the log was made anew, or files are gone that a clone has.

    """
    source = manifest.source
    if manifest.identity is not None and _moved(manifest, table):
        raise ChangedError(
            f"table {manifest.name} is another one now: its log is in {table.place}, and was in {source['path']}",
            instead=f'Register "{manifest.name}" again.',
        )
    version, log = _current(manifest, table.place)
    if version != source["version"]:
        was = source["version"] if manifest.provider is Provider.DELTA else source["log"].rpartition("/")[2]
        raise ChangedError(
            f"table {manifest.name} has changed: version {version} of it is there, and version {was} was registered",
            instead=f'Call lineage.refresh("{manifest.name}").',
        )
    if digest_of(log) != source["log_digest"]:
        raise ChangedError(
            f"table {manifest.name} is another one now: {log} is not what was registered",
            instead=f'Register "{manifest.name}" again.',
        )
    if manifest.provider is Provider.DELTA:
        _check_cloned_files(spark, manifest)


def _check_cloned_files(spark: SparkSession, manifest: Manifest) -> None:
    """Check that files outside the table's folder are there: a shallow clone has those of the table it was made of.

    VACUUM of that table takes them away, and the log of the clone does not say so.
    """
    folder = f"{manifest.source['path']}/"
    elsewhere = [file.path for file in manifest.files if not file.path.startswith(folder)]
    if gone := first_missing(elsewhere, stat_files(elsewhere, spark)):
        raise ChangedError(
            f"rows of {manifest.name} cannot be read: {gone} is missing, a file of the table that it is a clone of; "
            "VACUUM of that table takes away what only clones have",
            instead="Make the clone again, and register that.",
        )


def _moved(manifest: Manifest, table: Table) -> bool:
    """Whether a name leads to another place; the metadata files of an Iceberg table lie in one folder."""
    place = str(manifest.source["path"])
    if table.provider is not manifest.provider:
        return True
    if table.provider is Provider.DELTA:
        return str(table.place) != place
    return str(table.place.parent) != place.rpartition("/")[0]


def _current(manifest: Manifest, place: LogPath) -> tuple[str, LogPath]:
    """Return the table's last version, and where it is written down."""
    source = manifest.source
    if manifest.provider is Provider.DELTA:
        version = delta.current_version(place)
        return str(version), delta.commit_file(place, version)
    log = iceberg.current_metadata(place)
    return (source["version"] if str(log) == source["log"] else log.name), log


def broken(last: Manifest, table: Table, now: Snapshot) -> str | None:
    """Say why ids of the version before may mean other rows; None: they mean the same."""
    then: Mapping[str, Any] = last.source
    if last.provider is not table.provider:
        return f"they were given by {last.provider}"
    if last.key[:2] != (now.table_id, now.location):
        return f"{now.what} is another table, or a clone: its id is {now.table_id}"
    if now.next_id < then["next_id"]:
        return f"{now.what} has begun anew with its ids"
    return _not_tracked(then, table, now) if table.provider is Provider.DELTA else None


def _not_tracked(then: Mapping[str, Any], table: Table, now: Snapshot) -> str | None:
    """Of Delta: where row tracking is off, or its feature dropped, ids may be given anew."""
    since, until = int(then["version"]), int(now.version)
    if until < since or digest_of(delta.commit_file(table.place, since)) not in (None, then["log_digest"]):
        return f"{now.what} has another history"
    kept = delta.kept_ids(table.place, since, until)
    if kept is None:
        return f"the log of {now.what} does not reach back to version {since} any more"
    return None if kept else f"{now.what} did not track rows all the time since version {since}"


def taken_away(name: str, change: str) -> ChangedError:
    """Return the error for an earlier version whose files are gone."""
    return ChangedError(
        f"rows of {name} cannot be read: {change}; VACUUM and expired snapshots take old files away",
        instead="Read a later version.",
    )
