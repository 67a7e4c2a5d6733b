"""Ids from physical position: the offset of the file, plus the position of the row in it.

Registering reads footers only. The files' sizes, times and row counts are written into the manifest. The kernel's
`dl_row_id` looks the offset of a file up there once per file, and refuses a file that is not the registered one. A file
that is still there keeps its offset. Later files are numbered after everything that was ever numbered.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.checks import look_alikes, still_the_same
from forward_lineage.row_ids.data_files import DataFile, Looks, read_footers, with_offsets
from forward_lineage.row_ids.file_locations import described, files_of, relation_of
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.parquet_function import by_kernel
from forward_lineage.row_ids.secrets import check_addresses
from forward_lineage.row_ids.sources import refuse_lineage
from forward_lineage.row_ids.written_sql import ROW_ID
from forward_lineage.spark.far_files import files_known
from forward_lineage.spark.paths import is_far, local_path
from forward_lineage.spark.tables import (
    columns_of,
    full_name,
    open_relation,
    open_table,
    parquet_location,
    refuse_file_metadata,
)
from udafs.errors import BadArgumentError, ChangedError, NotTracedError

Columns = tuple[tuple[str, str], ...]
"""Names and types, the types as Spark SQL writes them."""


def from_source(
    spark: SparkSession,
    name: str,
    where: Mapping[str, Any],
    last: Manifest | None = None,
    columns: Columns | None = None,
) -> Manifest:
    """Register Parquet files: one, a folder of them, partitioned or not, or what paths and patterns name.

    Args:
        spark: a session with the kernel attached.
        name: what queries will call it.
        where: what `source_of` made of the user's path.
        last: the version before; files that it knows keep their ids.
        columns: names and types, of files that we wrote ourselves and nobody changes; else Spark is asked.

    Raises:
        BadArgumentError: there is no such path, nothing in it, or a file named twice.
        DamagedError: something in it is not Parquet.
        ChangedError: it changed meanwhile.
        SetupError: its file system cannot be listed or read.

    """
    relation = relation_of(where)
    found = _Place(relation, {**where, "format": "parquet"}, view=f"SELECT * FROM {relation}")
    return _manifest(spark, name, found, last, columns)


def from_catalog_table(spark: SparkSession, name: str, last: Manifest | None = None) -> Manifest:
    """Register a table of Spark's catalog that is stored as Parquet files.

    Raises:
        WrongSqlError: there is no such table, or Spark cannot read it.
        NotTracedError: its rows have no physical position.

    """
    open_table(spark, name)
    identity = full_name(spark, name)
    place = None if identity is None else parquet_location(spark, identity)
    if identity is None or place is None:
        kind = "a temporary view" if identity is None else "not stored as Parquet files that Spark made"
        raise NotTracedError(
            f"{name} is {kind}, so its rows have no positions to be identified by",
            instead="Give key= (unique columns), path= (its Parquet files) or order_by= (a materialised copy).",
        )
    check_addresses([place])
    if is_far(place):  # Spark keeps what it listed until somebody says so
        spark.catalog.refreshTable(identity)
    found = _Place(identity, {"path": place, "table": name}, identity=identity)
    return _manifest(spark, name, found, last)


def merged(
    known: Sequence[DataFile], listed: Sequence[DataFile], next_id: int, spark: SparkSession | None = None
) -> tuple[list[DataFile], list[tuple[int, int]], int]:
    """Let files that are still there keep their ids, and number the others after `next_id`.

    A file counts as still there when it was left alone, or moved: another path, the same size, time and footer.

    Args:
        known: files of the version before.
        listed: files that are there.
        next_id: the first id that was never given.
        spark: a session that reaches them, where they are not local.

    Returns:
        the listed files with offsets; the ranges of ids whose rows are gone; the first id that is not used.

    Raises:
        DamagedError: a new file is not Parquet.

    """
    twins = look_alikes(known)
    kept = _left_alone(known, listed, twins)
    gone = [file for file in known if file.path not in kept]
    unknown = read_footers([file for file in listed if file.path not in kept], spark)
    moved = _moved([file for file in gone if file.looks not in twins], unknown)
    kept |= {path: replace(new, offset=old.offset) for path, (old, new) in moved.items()}
    added, next_id = with_offsets([file for file in unknown if file.path not in moved], next_id)
    placed = kept | {file.path: file for file in added}
    still_there = {old.path for old, _ in moved.values()}
    retired = [(file.offset, file.offset + file.rows) for file in gone if file.rows and file.path not in still_there]
    return [placed[file.path] for file in listed], retired, next_id


def _left_alone(known: Sequence[DataFile], listed: Sequence[DataFile], twins: Container[Looks]) -> dict[str, DataFile]:
    now = {file.path: file for file in listed}
    return {
        file.path: replace(file, inode=now[file.path].inode)
        for file in known
        if file.path in now and still_the_same(file, now[file.path], twins)
    }


def _moved(gone: Sequence[DataFile], new: Sequence[DataFile]) -> dict[str, tuple[DataFile, DataFile]]:
    """Return (what it was, what it is) of every new file that looks like one that is gone, by its path now."""
    by_looks = {file.looks: file for file in gone}
    return {file.path: (by_looks.pop(file.looks), file) for file in new if file.looks in by_looks}


@dataclass(frozen=True)
class _Place:
    """Parquet files and what names them: a path of the user's, or a table of Spark's catalog."""

    relation: str
    source: dict[str, Any]
    view: str | None = None
    identity: str | None = None


def _manifest(
    spark: SparkSession, name: str, place: _Place, last: Manifest | None, columns: Columns | None = None
) -> Manifest:
    where = described(place.source)
    listed = files_of(spark, place.source)
    if listed is None:
        raise BadArgumentError(f"there is no {where}", instead="Name a Parquet file, or a folder of them.")
    if not listed:
        raise BadArgumentError(f"no Parquet file in {where}", instead="Name a folder that holds some.")
    next_id = last.next_id if last is not None else 0
    files, retired, next_id = merged(_known(last, place), listed, next_id, spark)
    if columns is None or any(file.far for file in files):
        frame = open_relation(spark, by_kernel(place.relation))
        columns = columns_of(frame)
        _check_listing(frame, files, name)
    refuse_lineage(columns, name)
    refuse_file_metadata((column for column, _ in columns), name)
    return Manifest(
        name=name,
        provider=Provider.POSITION,
        columns=columns,
        relation=place.relation,
        row_id=ROW_ID,
        view=place.view,
        source=place.source,
        identity=place.identity,
        files=tuple(files),
        next_id=next_id,
        retired=(*(last.retired if last is not None else ()), *sorted(retired)),
    )


def _known(last: Manifest | None, place: _Place) -> tuple[DataFile, ...]:
    """The files of the version before, if it was registered from the same place."""
    if last is None or last.provider is not Provider.POSITION:
        return ()
    same = all(last.source.get(key) == place.source.get(key) for key in ("path", "paths"))
    return last.files if same else ()


def _check_listing(frame: DataFrame, files: Sequence[DataFile], name: str) -> None:
    """Spark must read exactly the files that were numbered."""
    if any(file.far for file in files):
        _check_far(frame, files, name)
        return
    sparks = {str(local_path(uri)) for uri in frame.inputFiles()}
    ours = {file.path for file in files}
    odd = sorted({file.path for file in files if file.rows} - sparks) or sorted(sparks - ours)
    if odd:
        raise ChangedError(
            f"Spark and the listing of {name} disagree about {odd[0]}", instead=f"Register {name} again."
        )


def _check_far(frame: DataFrame, files: Sequence[DataFile], name: str) -> None:
    """Spark listed them after their footers were read: what both listings show was there, and the same, in between.

    So what is written down is a state that there was, not some files before a change and others after it.
    """
    sparks = {(file.path, file.size, file.modified) for file in files_known(frame)}
    ours = {(file.path, file.size, file.modified) for file in files}
    if odd := sorted(sparks ^ ours):
        raise ChangedError(
            f"the files of {name} changed while they were registered: {odd[0][0]} is not what it was a moment ago",
            instead="Do it again, when nobody writes there.",
        )
    if any(file.modified <= 0 and not file.tag for file in files):
        raise NotTracedError(
            f"the file system of {name} does not say when files were written, so changes cannot be noticed",
            instead=f'Save a copy and query that: lineage.register("another_name", source="{name}").',
        )
