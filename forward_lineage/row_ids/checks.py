"""Before a query runs: is every traced table still what was registered? A listing, no data and no footers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.data_files import DataFile, list_files, read_footers, stat_files
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.spark_tables import (
    columns_of,
    fingerprint,
    full_name,
    input_files,
    last_part,
    open_relation,
    open_table,
)
from udafs.errors import LineageError

BY_POSITION = ("position", "copy")


def check_unchanged(spark: SparkSession, manifest: Manifest) -> None:
    """Compare a registered table with its manifest.

    Raises:
        LineageError: the name means another table now, or a file has changed, is missing or is new; the message names
        the
            table, the file and `lineage.refresh`.

    """
    if manifest.provider in BY_POSITION or manifest.provider == "result":
        check_files(manifest, current_files(manifest))
        _check_name(spark, manifest)
        _check_source_of_copy(manifest)
        return
    _check_name(spark, manifest)
    # Of registered files the manifest describes the relation, not the view that gives it its name.
    frame = open_table(spark, manifest.name) if manifest.view is None else open_relation(spark, manifest.relation)
    if manifest.columns != columns_of(frame):
        raise _other_table(manifest, _column_change(manifest.columns, columns_of(frame)))
    if manifest.source.get("fingerprint") != fingerprint(frame):
        raise _other_table(manifest, "it is defined in another way now")
    if manifest.files:
        check_files(manifest, list(input_files(frame)))


def current_files(manifest: Manifest) -> list[DataFile]:
    """List the files that a query of a table registered by position would read now."""
    path = Path(manifest.source["data"] if "data" in manifest.source else manifest.source["path"])
    if not path.exists():
        raise LineageError(
            f"{path}, which table {manifest.name} was registered from, is missing",
            instead=f'Put it back, or register "{manifest.name}" again.',
        )
    return list_files(path)


def check_files(manifest: Manifest, found: list[DataFile]) -> None:
    """Compare a listing with the manifest's.

    Raises:
        LineageError: they differ; the message names one file, and how it differs.

    """
    then = {file.path: file for file in manifest.files}
    now = {file.path: file for file in found}
    for path, file in then.items():
        if path not in now:
            raise _broken(manifest, path, "is missing")
        if not still_the_same(file, now[path]):
            raise _broken(manifest, path, _how(file, now[path]))
    for path in now:
        if path not in then:
            raise _broken(manifest, path, "is new")


def still_the_same(then: DataFile, now: DataFile) -> bool:
    """Tell whether a file was left alone: same size and time, and the same file or at least the same footer.

    Copying a data folder with its times keeps sizes and times and changes inodes, and so does swapping two files:
    then the footer decides.
    """
    if then.same_place_and_time(now):
        return True
    if (then.size, then.modified) != (now.size, now.modified) or not then.footer:
        return False
    return read_footers([now])[0].footer == then.footer


def _check_source_of_copy(manifest: Manifest) -> None:
    """A copy is good for as long as the files it was made from stay; of other sources nothing is known."""
    for then in manifest.source.get("files", ()):
        file = DataFile(**then)
        now = stat_files([file.path])
        if not now or (now[0].size, now[0].modified) != (file.size, file.modified):
            how = _how(file, now[0]) if now else "is missing"
            raise LineageError(
                f"table {manifest.name} is a copy of files that have changed: {file.path} {how}",
                instead=f'Register "{manifest.name}" again; its rows then get new ids.',
            )


def _how(then: DataFile, now: DataFile) -> str:
    if now.size < then.size:
        return f"has shrunk from {then.size} to {now.size} bytes"
    if now.size > then.size:
        return f"has grown from {then.size} to {now.size} bytes"
    return "was written again" if now.modified != then.modified else "is another file under the same name"


def _broken(manifest: Manifest, path: str, how: str) -> LineageError:
    since = f"since version {manifest.version} was registered"
    return LineageError(
        f"the ids of table {manifest.name} no longer hold: {path} {how} {since}",
        instead=f'Call lineage.refresh("{manifest.name}").',
    )


def _other_table(manifest: Manifest, how: str) -> LineageError:
    return LineageError(
        f"table {manifest.name} is not what was registered as version {manifest.version}: {how}",
        instead=f'Register "{manifest.name}" again.',
    )


def _column_change(then: tuple[tuple[str, str], ...], now: tuple[tuple[str, str], ...]) -> str:
    for old in then:
        if old not in now:
            return f"column {old[0]} {old[1]} is gone"
    for new in now:
        if new not in then:
            return f"column {new[0]} {new[1]} is new"
    return "its columns are in another order"


def _check_name(spark: SparkSession, manifest: Manifest) -> None:
    """The name that queries use must lead to the rows that the ids were given to."""
    if manifest.view is not None:
        if view_text(spark, manifest.name) != manifest.view:
            raise _other_table(manifest, "the temporary view that registration made was dropped or replaced")
        return
    open_table(spark, manifest.name)
    means = full_name(spark, manifest.name)
    if means != manifest.identity:
        raise _other_table(manifest, f"the name means {means or 'a temporary view'} now")


def view_text(spark: SparkSession, name: str) -> str | None:
    """Return the SQL of a temporary view, None when there is no view of that name that was made from SQL."""
    session: Any = spark._jsparkSession
    found = session.sessionState().catalog().getRawTempView(last_part(name))
    text = found.get().tableMeta().viewText() if found.isDefined() else None
    return str(text.get()) if text is not None and text.isDefined() else None
