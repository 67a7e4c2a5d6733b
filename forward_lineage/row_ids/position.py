"""Ids from physical position: the offset of the file, plus the position of the row in it.

Registering reads footers only. The files' sizes, times and row counts are written into the manifest, and the kernel's
`dl_row_id` looks the offset of a file up there once per file, refusing a file that is not the registered one.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids.data_files import DataFile, list_files, local_path, read_footers, with_offsets
from forward_lineage.row_ids.manifest import THIS_MANIFEST, Manifest
from forward_lineage.row_ids.spark_tables import columns_of, full_name, open_table, parquet_location
from forward_lineage.spark_errors import spark_errors
from forward_lineage.spark_names import data_source
from udafs.errors import LineageError

ROW_ID = f"dl_row_id({THIS_MANIFEST}, _metadata)"


def from_files(spark: SparkSession, name: str, path: str | Path) -> Manifest:
    """Register a Parquet file, or a folder of them, partitioned or not.

    Args:
        spark: any session.
        name: what queries will call it.
        path: local path.

    Raises:
        LineageError: there is no such path, or something in it is not Parquet.

    """
    place = local_path(str(path)).resolve()
    files = _placed(list_files(place), place)
    relation = data_source("parquet", place)
    return _manifest(spark, name, relation, files, source={"path": str(place), "format": "parquet"})


def from_catalog_table(spark: SparkSession, name: str) -> Manifest:
    """Register a table of Spark's catalog that is stored as Parquet files.

    Raises:
        LineageError: there is no such table, or its rows have no physical position.

    """
    open_table(spark, name)
    identity = full_name(spark, name)
    location = None if identity is None else parquet_location(spark, identity)
    if identity is None or location is None:
        kind = "a temporary view" if identity is None else "not stored as local Parquet files"
        raise LineageError(
            f"{name} is {kind}, so its rows have no positions to be identified by",
            instead="Give key= (unique columns), path= (its Parquet files) or order_by= (a materialised copy).",
        )
    files = _placed(list_files(location), location)
    return _manifest(spark, name, identity, files, source={"path": str(location), "table": name}, identity=identity)


def _placed(files: list[DataFile], place: Path) -> tuple[list[DataFile], int]:
    if not files:
        raise LineageError(f"no Parquet file in {place}")
    return with_offsets(read_footers(files))


def _manifest(
    spark: SparkSession,
    name: str,
    relation: str,
    placed: tuple[list[DataFile], int],
    *,
    source: dict[str, str],
    identity: str | None = None,
) -> Manifest:
    files, next_id = placed
    frame = _open(spark, relation)
    _check_listing(frame, files, name)
    return Manifest(
        name=name,
        provider="position",
        columns=columns_of(frame),
        relation=relation,
        row_id=ROW_ID,
        view=None if identity else f"SELECT * FROM {relation}",
        source=dict(source),
        identity=identity,
        files=tuple(files),
        next_id=next_id,
    )


def _open(spark: SparkSession, relation: str) -> DataFrame:
    sql = f"SELECT * FROM {relation}"
    with spark_errors(sql):
        return spark.sql(sql)


def _check_listing(frame: DataFrame, files: list[DataFile], name: str) -> None:
    """Spark must read exactly the files that were numbered."""
    ours = {file.path for file in files if file.rows}
    sparks = {str(local_path(uri)) for uri in frame.inputFiles()}
    odd = sorted(ours - sparks) or sorted(sparks - {file.path for file in files})
    if odd:
        raise LineageError(f"Spark and the listing of {name} disagree about {odd[0]}", instead=f"Register {name} again.")
