"""Ids from physical position: the offset of the file, plus the position of the row in it.

Registering reads footers only. The files' sizes, times and row counts are written into the manifest, and the kernel's
`dl_row_id` looks the offset of a file up there once per file, refusing a file that is not the registered one.
A file that is still there keeps its offset; what comes later is numbered after everything that was ever numbered.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.checks import look_alikes, still_the_same
from forward_lineage.row_ids.data_files import DataFile, Looks, list_files, read_footers, with_offsets
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.sources import refuse_lineage
from forward_lineage.row_ids.written_sql import ROW_ID
from forward_lineage.spark.names import data_source
from forward_lineage.spark.paths import local_path
from forward_lineage.spark.tables import columns_of, full_name, open_relation, open_table, parquet_location
from udafs.errors import BadArgumentError, ChangedError, NotTracedError


def from_files(spark: SparkSession, name: str, path: str | Path, last: Manifest | None = None) -> Manifest:
    """Register a Parquet file, or a folder of them, partitioned or not.

    Args:
        spark: any session.
        name: what queries will call it.
        path: local path.
        last: the version before; files that it knows keep their ids.

    Raises:
        BadArgumentError: there is no such path, or nothing in it.
        DamagedError: something in it is not Parquet.

    """
    place = local_path(str(path)).resolve()
    relation = data_source("parquet", place)
    source = {"path": str(place), "format": "parquet"}
    found = _Place(relation, place, source, view=f"SELECT * FROM {relation}")
    return _manifest(spark, name, found, last)


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
        kind = "a temporary view" if identity is None else "not stored as local Parquet files"
        raise NotTracedError(
            f"{name} is {kind}, so its rows have no positions to be identified by",
            instead="Give key= (unique columns), path= (its Parquet files) or order_by= (a materialised copy).",
        )
    found = _Place(identity, place, {"path": str(place), "table": name}, identity=identity)
    return _manifest(spark, name, found, last)


def merged(
    known: Sequence[DataFile], listed: Sequence[DataFile], next_id: int
) -> tuple[list[DataFile], list[tuple[int, int]], int]:
    """Let files that are still there keep their ids, and number the others after `next_id`.

    A file counts as still there when it was left alone, or moved: another path, the same size, time and footer.

    Returns:
        the listed files with offsets; the ranges of ids whose rows are gone; the first id that is not used.

    Raises:
        DamagedError: a new file is not Parquet.

    """
    twins = look_alikes(known)
    kept = _left_alone(known, listed, twins)
    gone = [file for file in known if file.path not in kept]
    unknown = read_footers([file for file in listed if file.path not in kept])
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
    folder: Path
    source: dict[str, Any]
    view: str | None = None
    identity: str | None = None


def _manifest(spark: SparkSession, name: str, place: _Place, last: Manifest | None) -> Manifest:
    listed = list_files(place.folder)
    if not listed:
        raise BadArgumentError(f"no Parquet file in {place.folder}", instead="Name a folder that holds some.")
    files, retired, next_id = merged(_known(last, place), listed, last.next_id if last is not None else 0)
    frame = open_relation(spark, place.relation)
    refuse_lineage(columns_of(frame), name)
    _check_listing({str(local_path(uri)) for uri in frame.inputFiles()}, files, name)
    return Manifest(
        name=name,
        provider=Provider.POSITION,
        columns=columns_of(frame),
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
    if last is None or last.provider is not Provider.POSITION or last.source.get("path") != place.source["path"]:
        return ()
    return last.files


def _check_listing(sparks: set[str], files: Sequence[DataFile], name: str) -> None:
    """Spark must read exactly the files that were numbered."""
    ours = {file.path for file in files}
    odd = sorted({file.path for file in files if file.rows} - sparks) or sorted(sparks - ours)
    if odd:
        raise ChangedError(
            f"Spark and the listing of {name} disagree about {odd[0]}", instead=f"Register {name} again."
        )
