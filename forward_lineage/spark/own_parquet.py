"""Parquet files that we have Spark write: copies, dictionaries, arrays. Values are written unchanged, however old."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from forward_lineage.spark.settings import configured
from forward_lineage.spark.versions import OLD_TIMES_AS_THEY_ARE


def write_parquet(rows: DataFrame, folder: Path | str, **options: str) -> None:
    """Let Spark compute rows and write them to a folder that is not there yet.

    Args:
        rows: the rows.
        folder: where to.
        options: of the writer, e.g. ``compression="zstd"``.

    Raises:
        PySparkException: Spark refuses or fails; before 4.0 also one of py4j's (`spark.versions.FAILURES`).

    """
    with configured(rows.sparkSession, OLD_TIMES_AS_THEY_ARE):
        rows.write.options(**options).parquet(str(folder))
