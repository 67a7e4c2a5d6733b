"""A hash of 128 bits for each row of a table with a key, kept so that a later version can be told from this one.

HOME/tables/<table>/data-<random>/    Parquet files of ``id BIGINT, hash BINARY``; the manifest lists them
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.row_ids.checks import check_files, first_change, other_table
from forward_lineage.row_ids.data_files import input_files, list_files, stat_files
from forward_lineage.row_ids.formats.watching import check_logs
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.parquet_function import by_kernel
from forward_lineage.row_ids.row_hash import row_hash
from forward_lineage.row_ids.sources import have_changed
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import data_source
from forward_lineage.spark.own_parquet import write_parquet
from forward_lineage.spark.tables import open_relation

_KEPT = "hashes"


def written(spark: SparkSession, manifest: Manifest, folder: Path) -> Manifest:
    """Write a hash for each row of a table, in one pass, and return its manifest with them.

    Args:
        spark: the session.
        manifest: a registration whose ids are values of the table.
        folder: a new folder.

    Raises:
        NotTracedError: a column has a type whose values are not compared.
        ChangedError: the table changed meanwhile.
        FailedQueryError: Spark cannot read or write.

    """
    sql = hashed(manifest.relation, manifest.row_id, manifest)
    with spark_errors():
        write_parquet(spark.sql(sql), folder, compression="zstd")
    now = open_relation(spark, manifest.relation)
    if manifest.files:
        check_files(manifest, input_files(now))
        check_logs(spark, manifest)
    if have_changed(now, manifest.source):
        raise other_table(manifest, "rows that are in no file have changed")
    files = [file.to_json() for file in list_files(folder)]
    return replace(manifest, source={**manifest.source, _KEPT: {"data": str(folder), "files": files}})


def without(manifest: Manifest) -> Manifest:
    """Return a registration as it would be if no hashes were kept."""
    return replace(manifest, source={key: value for key, value in manifest.source.items() if key != _KEPT})


def are_kept(manifest: Manifest) -> bool:
    """Tell whether there are hashes of the rows of a version, untouched."""
    files = manifest.hash_files()
    return bool(files) and first_change(files, stat_files(file.path for file in files)) is None


def of_version(manifest: Manifest) -> str:
    """Write the kept hashes as a query: ``id, hash``."""
    return f"SELECT id, hash FROM {by_kernel(data_source('parquet', manifest.source[_KEPT]['data']))}"


def hashed(relation: str, row_id: str, manifest: Manifest) -> str:
    """Write the hashes of the rows of a relation as a query: ``id, hash``."""
    return f"SELECT {row_id} AS id, {row_hash(manifest.columns, manifest.name)} AS hash FROM {by_kernel(relation)}"
