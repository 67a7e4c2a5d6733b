"""Files that are named by their path, read by the kernel's `dl_parquet`, which remembers what columns they have.

Spark reads a footer wherever parquet.`path` stands, in a job of 30 to 80 milliseconds; see `rewrites.kernel_files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.tables import CHECK_FILES
from rewrites.kernel_files import is_plain
from rewrites.lineage_functions import DL_PARQUET
from udafs.requests import ask

_BY_PATH = re.compile(r"parquet\.`([^`]+)`")


def by_kernel(relation: str) -> str:
    """Return what stands after FROM as the same relation, read by the kernel if it is parquet.`path`."""
    named = _BY_PATH.fullmatch(relation)
    return f"{DL_PARQUET}('{named[1]}')" if named is not None and is_plain(named[1]) else relation


def know_columns(spark: SparkSession, path: str, schema: Mapping[str, Any]) -> None:
    """Spare Spark the look into files whose columns are known.

    Args:
        spark: a session with the kernel attached.
        path: of a file or a folder, local or an address.
        schema: what the files' footers say that their columns are, as Spark writes a schema as JSON.

    Raises:
        FailedQueryError: Spark cannot list the files.

    """
    if is_plain(path):
        with spark_errors(instead=CHECK_FILES):
            ask(spark, "known columns", path=path, columns=json.dumps(schema))
