"""Ids from physical position: the offset of the file, plus the position of the row in it.

Registering reads footers only. The files' sizes, times and row counts are written into the manifest, and the kernel's
`dl_row_id` looks the offset of a file up there once per file, refusing a file that is not the registered one.
A file that is still there keeps its offset; what comes later is numbered after everything that was ever numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.checks import look_alikes, still_the_same
from forward_lineage.row_ids.data_files import DataFile, list_files, local_path, read_footers, with_offsets
from forward_lineage.row_ids.manifest import THIS_MANIFEST, Manifest, Provider
from forward_lineage.spark.names import data_source
from forward_lineage.spark.tables import (
    columns_of,
    full_name,
    open_relation,
    open_table,
    parquet_location,
)
from udafs.errors import LineageError

ROW_ID = f"dl_row_id({THIS_MANIFEST}, _metadata)"


def from_files(spark: SparkSession, name: str, path: str | Path, last: Manifest | None = None) -> Manifest:
    """Register a Parquet file, or a folder of them, partitioned or not.

    Args:
        spark: any session.
        name: what queries will call it.
        path: local path.
        last: the version before; files that it knows keep their ids.

    Raises:
        LineageError: there is no such path, or something in it is not Parquet.

    """
    place = local_path(str(path)).resolve()
    relation = data_source("parquet", place)
    source = {"path": str(place), "format": "parquet"}
    return _manifest(spark, name, relation, place, source=source, last=last, view=f"SELECT * FROM {relation}")


def from_catalog_table(spark: SparkSession, name: str, last: Manifest | None = None) -> Manifest:
    """Register a table of Spark's catalog that is stored as Parquet files.

    Raises:
        LineageError: there is no such table, or its rows have no physical position.

    """
    open_table(spark, name)
    identity = full_name(spark, name)
    place = None if identity is None else parquet_location(spark, identity)
    if identity is None or place is None:
        kind = "a temporary view" if identity is None else "not stored as local Parquet files"
        raise LineageError(
            f"{name} is {kind}, so its rows have no positions to be identified by",
            instead="Give key= (unique columns), path= (its Parquet files) or order_by= (a materialised copy).",
        )
    source = {"path": str(place), "table": name}
    return _manifest(spark, name, identity, place, source=source, last=last, identity=identity)


def merged(
    known: Sequence[DataFile], listed: Sequence[DataFile], next_id: int
) -> tuple[list[DataFile], list[tuple[int, int]], int]:
    """Let files that are still there keep their ids, and number the others after `next_id`.

    A file counts as still there when it was left alone, or moved: another path, the same size, time and footer.

    Returns:
        the listed files with offsets; the ranges of ids whose rows are gone; the first id that is not used.

    Raises:
        LineageError: a new file is not Parquet.

    """
    now = {file.path: file for file in listed}
    twins = look_alikes(known)
    kept = {
        file.path: replace(file, inode=now[file.path].inode)
        for file in known
        if file.path in now and still_the_same(file, now[file.path], twins)
    }
    gone = {file.path: file for file in known if file.path not in kept}
    moved = {(file.size, file.modified, file.footer): file for file in gone.values()}
    new = read_footers([file for file in listed if file.path not in kept])
    for file in new:
        looks = (file.size, file.modified, file.footer)
        if looks in moved and looks not in twins:
            before = moved.pop(looks)
            del gone[before.path]
            kept[file.path] = replace(file, offset=before.offset)
    added, next_id = with_offsets([file for file in new if file.path not in kept], next_id)
    retired = [(file.offset, file.offset + file.rows) for file in gone.values() if file.rows]
    placed = {**kept, **{file.path: file for file in added}}
    return [placed[file.path] for file in listed], retired, next_id


def _manifest(
    spark: SparkSession,
    name: str,
    relation: str,
    place: Path,
    *,
    source: dict[str, Any],
    last: Manifest | None,
    view: str | None = None,
    identity: str | None = None,
) -> Manifest:
    listed = list_files(place)
    if not listed:
        raise LineageError(f"no Parquet file in {place}")
    same = last is not None and last.provider is Provider.POSITION and last.source.get("path") == source["path"]
    known = last.files if last is not None and same else ()
    files, retired, next_id = merged(known, listed, last.next_id if last is not None else 0)
    frame = open_relation(spark, relation)
    _check_listing({str(local_path(uri)) for uri in frame.inputFiles()}, files, name)
    return Manifest(
        name=name,
        provider=Provider.POSITION,
        columns=columns_of(frame),
        relation=relation,
        row_id=ROW_ID,
        view=view,
        source=source,
        identity=identity,
        files=tuple(files),
        next_id=next_id,
        retired=(*(last.retired if last is not None else ()), *sorted(retired)),
    )


def _check_listing(sparks: set[str], files: Sequence[DataFile], name: str) -> None:
    """Spark must read exactly the files that were numbered."""
    ours = {file.path for file in files}
    odd = sorted({file.path for file in files if file.rows} - sparks) or sorted(sparks - ours)
    if odd:
        raise LineageError(
            f"Spark and the listing of {name} disagree about {odd[0]}", instead=f"Register {name} again."
        )
