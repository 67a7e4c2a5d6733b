"""Before a query runs: is every traced table still what was registered? A listing, no data and no footers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.data_files import DataFile, Looks, input_files, of_far, read_footers, stat_files
from forward_lineage.row_ids.file_locations import described, files_of
from forward_lineage.row_ids.formats.named_tables import current
from forward_lineage.row_ids.formats.versions import check_version, table_of, taken_away
from forward_lineage.row_ids.formats.watching import check_logs
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.sources import check_repeatable, check_watched, have_changed
from forward_lineage.spark.errors import NOT_FOUND
from forward_lineage.spark.far_files import files_there
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.paths import is_far
from forward_lineage.spark.tables import (
    columns_of,
    fingerprint,
    full_name,
    open_relation,
    open_table,
    view_text,
)
from udafs.attach import is_remote
from udafs.errors import ChangedError, WrongSqlError

_AUTHORITY = 2  # slashes before it


def check_unchanged(spark: SparkSession, manifest: Manifest) -> None:
    """Compare a registered table with its manifest.

    Raises:
        ChangedError: the name means another table now, or a file has changed, is missing or is new. The message names
            the table, the file and the remedy.

    """
    if manifest.provider.by_position:
        check_files(manifest, current_files(spark, manifest))
        _check_name(spark, manifest)
        _check_copied_files(spark, manifest)
        return
    if manifest.is_past:
        check_there(spark, manifest)
        _check_name(spark, manifest)
        return
    if manifest.provider.by_format:
        if manifest.identity is None:
            check_version(spark, manifest, table_of(spark, manifest))
            _check_name(spark, manifest)
        else:  # a full name means what its catalog says
            check_version(spark, manifest, current(spark, manifest.identity, manifest.name))
        return
    opened = _check_name(spark, manifest)
    if manifest.view is not None and manifest.source.keys() & {"path", "paths"} and _left_alone(spark, manifest):
        _check_copied_files(spark, manifest)
        return
    # Of registered files the manifest describes the relation, not the view that gives it its name.
    frame = opened if opened is not None else open_relation(spark, manifest.relation)
    _check_definition(manifest, frame)
    if not manifest.trusted:
        check_repeatable(frame, manifest.name)
        check_watched(frame, manifest.name)
    if manifest.provider is Provider.DICTIONARY:
        _check_dictionary(spark, manifest, frame)
    elif manifest.files or not manifest.trusted:
        check_files(manifest, input_files(frame))
    if not manifest.trusted:
        check_logs(spark, manifest)
    if have_changed(frame, manifest.source):
        raise other_table(manifest, "rows that are in no file have changed")
    _check_copied_files(spark, manifest)


def check_there(spark: SparkSession, manifest: Manifest) -> None:
    """Check that the files of an earlier version of a table with a log are there; nobody changes them.

    Raises:
        ChangedError: one is gone.

    """
    if change := first_change(manifest.files, stat_files((file.path for file in manifest.files), spark)):
        raise taken_away(manifest.name, change)


def _check_copied_files(spark: SparkSession, manifest: Manifest) -> None:
    copied = manifest.copied_files()
    if copied:
        check_copied(manifest, copied, _source_now(spark, manifest, copied))


def check_copied(manifest: Manifest, copied: Sequence[DataFile], found: Sequence[DataFile]) -> None:
    """Compare a listing with what a copy was made from.

    Raises:
        ChangedError: they differ.

    """
    if change := first_change(copied, found):
        raise ChangedError(
            f"table {manifest.name} is a copy of files that have changed: {change}",
            instead=_copy_again(manifest),
        )


def _copy_again(manifest: Manifest) -> str:
    ids = "get new ids" if manifest.provider is Provider.COPY else "keep their ids"
    if not manifest.can_be_copied_again:
        return f'Register "{manifest.name}" again; its rows then {ids}.'
    return f'Call lineage.refresh("{manifest.name}"); its rows then {ids}.'


def _check_definition(manifest: Manifest, frame: DataFrame) -> None:
    columns = columns_of(frame)
    if manifest.view is not None and "relation" in manifest.source:  # the view has the columns that a catalog names
        columns = tuple(column for column in manifest.columns if column in columns)
    if manifest.columns != columns:
        raise other_table(manifest, _column_change(manifest.columns, columns))
    if manifest.source.get("fingerprint") != fingerprint(frame):
        raise other_table(manifest, "it is defined in another way now")


def _check_dictionary(spark: SparkSession, manifest: Manifest, frame: DataFrame) -> None:
    check_files(manifest, current_files(spark, manifest))
    looked_up = manifest.source_files()
    if (looked_up or not manifest.trusted) and (change := first_change(looked_up, input_files(frame))):
        raise ChangedError(
            f"table {manifest.name} is not in step with its dictionary: {change}",
            instead=f'Call lineage.refresh("{manifest.name}").',
        )


def _left_alone(spark: SparkSession, manifest: Manifest) -> bool:
    """Tell by a listing that registered files are what they were; opening them again costs Spark a job."""
    return first_change(manifest.files, current_files(spark, manifest)) is None


def _source_now(spark: SparkSession, manifest: Manifest, copied: Sequence[DataFile]) -> list[DataFile]:
    """List what a copy was made from: a folder or table shows new files too."""
    source = manifest.copied_from
    if (of_table := _files_of_table(spark, manifest)) is not None:
        return of_table
    if "paths" in source:
        return files_of(spark, {"paths": source["paths"]}) or []
    place = source.get("path", "")
    folder = bool(place) and (is_far(place) or is_remote(spark) or Path(place).is_dir())
    if folder and (found := files_of(spark, {"path": place})) is not None:
        return found
    near = stat_files((file.path for file in copied if not file.far), spark)
    far = [file.path for file in copied if file.far]
    return near + [of_far(file) for file in files_there(spark, _folders(far), far)] if far else near


def _files_of_table(spark: SparkSession, manifest: Manifest) -> list[DataFile] | None:
    """The files of a table that was copied; None if none was, or its name means another one in this session."""
    table = manifest.copied_from.get("table")
    if not table or not manifest.can_be_copied_again or not _is_there(spark, table):
        return None
    frame = open_table(spark, table)
    return list(input_files(frame)) if fingerprint(frame) == manifest.copied_from["fingerprint"] else None


def _folders(files: Sequence[str]) -> list[str]:
    """Return a folder that holds all of the files, if there is one."""
    common = os.path.commonprefix(list(files)).rpartition("/")[0]  # noqa: RUF071 - of addresses, to the last slash
    return [common] if len(files) > 1 and common.count("/") > _AUTHORITY else []


def current_files(spark: SparkSession, manifest: Manifest) -> list[DataFile]:
    """List the files, or those of the copy or dictionary, that a table was registered from.

    Raises:
        ChangedError: they are gone.
        SetupError: their file system cannot be listed.

    """
    found = files_of(spark, manifest.source)
    if found is None:
        raise missing(manifest)
    return found


def missing(manifest: Manifest) -> ChangedError:
    """Return the error that says that what a table was registered from is not there any more."""
    where = described(manifest.source)
    return ChangedError(
        f"{where}, which table {manifest.name} was registered from, is missing",
        instead=f'Put it back, or register "{manifest.name}" again.',
    )


def check_files(manifest: Manifest, found: Sequence[DataFile]) -> None:
    """Compare a listing with the manifest's.

    Raises:
        ChangedError: they differ; the message names one file, and how it differs.

    """
    if change := first_change(manifest.files, found):
        since = f"since version {manifest.version} was registered"
        raise ChangedError(
            f"the ids of table {manifest.name} no longer hold: {change} {since}",
            instead=f'Call lineage.refresh("{manifest.name}").',
        )


def first_change(then: Sequence[DataFile], found: Sequence[DataFile]) -> str | None:
    """Say which file differs first, and how; None: none."""
    now = {file.path: file for file in found}
    twins = look_alikes(then)
    for file in then:
        if file.path not in now:
            return f"{file.path} is missing"
        if not still_the_same(file, now[file.path], twins):
            return f"{file.path} {_how(file, now[file.path])}"
    known = {file.path for file in then}
    return next((f"{file.path} is new" for file in found if file.path not in known), None)


def look_alikes(files: Sequence[DataFile]) -> set[Looks]:
    """Return size, time and footer of those files that share all three: only the inode tells them apart."""
    counts = Counter(file.looks for file in files)
    return {looks for looks, count in counts.items() if count > 1}


def still_the_same(then: DataFile, now: DataFile, twins: Container[Looks]) -> bool:
    """Tell whether a file was left alone: same size and time, and the same file or at least the same footer.

    Copying a data folder with its times keeps sizes and times and changes inodes. Swapping two files does, too: then
    the footer decides, unless another registered file has the same one.
    """
    if then.same_place_and_time(now):
        return True
    if (then.size, then.modified) != (now.size, now.modified):
        return False
    if then.far or then.looks in twins:  # far away the tag differs: it was written again
        return False
    if not then.footer:  # of other formats the footer is not known; sizes and times must do
        return True
    return read_footers([now])[0].footer == then.footer


def _how(then: DataFile, now: DataFile) -> str:
    if now.size < then.size:
        return f"has shrunk from {then.size} to {now.size} bytes"
    if now.size > then.size:
        return f"has grown from {then.size} to {now.size} bytes"
    return "was written again" if now.modified != then.modified else "is another file under the same name"


def other_table(manifest: Manifest, how: str) -> ChangedError:
    """Return the error that says how a name leads elsewhere than when it was registered."""
    return ChangedError(
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


def check_name(spark: SparkSession, manifest: Manifest) -> None:
    """Check that the name of a table of Spark's catalog means the table that was registered, before it is read by name.

    Raises:
        ChangedError: it means another one, as it may after USE.

    """
    if manifest.identity is not None:
        means = full_name(spark, manifest.name) if _is_there(spark, manifest.name) else None
        if means != manifest.identity:
            raise other_table(manifest, f"the name means {means or 'no table'} now")


def _is_there(spark: SparkSession, name: str) -> bool:
    return bool(spark.catalog.tableExists(quoted_name(name)))


def _check_name(spark: SparkSession, manifest: Manifest) -> DataFrame | None:
    """Names that queries use must lead to the rows that got ids; returns the table, if it is one of Spark's."""
    if manifest.gives_name:
        if view_text(spark, manifest.name) != manifest.view:
            raise other_table(manifest, "the temporary view that registration made was dropped or replaced")
        return None
    opened = _opened(spark, manifest)
    means = full_name(spark, _known_as(manifest))
    if means != manifest.identity:
        raise other_table(manifest, f"the name means {means or 'a temporary view'} now")
    return opened


def _known_as(manifest: Manifest) -> str:
    """The meaning of a name is asked when a statement is read; the table itself is known by its full name."""
    return manifest.identity or manifest.name


def _opened(spark: SparkSession, manifest: Manifest) -> DataFrame:
    try:
        return open_table(spark, _known_as(manifest))
    except WrongSqlError as error:
        if error.condition != NOT_FOUND:
            raise
        again = f'Create it as it was, or register "{manifest.name}" again.'
        raise ChangedError(error.what, instead=again) from None
