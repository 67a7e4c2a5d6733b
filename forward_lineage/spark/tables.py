"""What Spark says about a table or view: columns, what it is, the files it reads."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from forward_lineage.row_ids.data_files import DataFile, local_path, stat_files
from forward_lineage.spark.errors import condition, spark_errors, without_stack_traces
from forward_lineage.spark.fidelity import canonical
from forward_lineage.spark.names import quoted_name, split_name
from udafs.attach import kernel_object
from udafs.errors import LineageError

STORED_VIEW = "org.apache.spark.sql.forwardlineage.StoredView"  # see udafs/scala/session/StoredView.scala
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def open_table(spark: SparkSession, name: str) -> DataFrame:
    """Return the table or view that Spark knows by this name.

    Raises:
        LineageError: there is none, or Spark cannot read it.

    """
    sql = f"SELECT * FROM {quoted_name(name)}"
    try:
        with without_stack_traces():
            return spark.sql(sql)
    except AnalysisException as error:
        if condition(error) == "TABLE_OR_VIEW_NOT_FOUND":
            raise LineageError(
                f"Spark knows no table or view {name}",
                instead=f'Create it first, or name its files: lineage.register("{name}", path="…").',
            ) from None
        with spark_errors(sql):
            raise


def open_relation(spark: SparkSession, relation: str) -> DataFrame:
    """Return what stands after FROM, e.g. ``parquet.`/data/x```.

    Raises:
        LineageError: Spark cannot read it.

    """
    sql = f"SELECT * FROM {relation}"
    with spark_errors(sql):
        return spark.sql(sql)


def columns_of(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """Return names and types of the columns, the types as Spark SQL writes them."""
    return tuple((field.name, type_name(field.dataType)) for field in frame.schema.fields)


def type_name(data_type: DataType) -> str:
    """Return a type as Spark SQL writes it."""
    return data_type.simpleString()


def full_name(spark: SparkSession, name: str) -> str | None:
    """Return the full name of a table of Spark's catalog; None for a temporary view or a path."""
    table = spark.catalog.getTable(quoted_name(name))
    if table.isTemporary or table.catalog is None or not table.namespace:
        return None
    return ".".join(f"`{part}`" for part in (table.catalog, *table.namespace, table.name))


def fingerprint(frame: DataFrame) -> str:
    """Return a checksum of what a table or view is: its definition, not its rows."""
    analyzed: Any = frame._jdf.queryExecution().analyzed()
    return hashlib.sha256(canonical(analyzed.treeString()).encode()).hexdigest()[:16]


def input_files(frame: DataFrame) -> tuple[DataFile, ...]:
    """Return the local files that a table or view reads, in order; empty when it reads none or they lie elsewhere."""
    uris = frame.inputFiles()
    if any(_SCHEME.match(uri) and not uri.startswith("file:") for uri in uris):
        return ()
    return tuple(sorted(stat_files(str(local_path(uri)) for uri in uris), key=lambda file: file.path))


def parquet_location(spark: SparkSession, identity: str) -> Path | None:
    """Return the folder of a catalog table that is stored as local Parquet files, else None."""
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {identity}").collect()}
    if (described.get("Provider") or "").lower() != "parquet" or not described.get("Location"):
        return None
    return local_path(described["Location"])


def last_part(name: str) -> str:
    """Return the table's own name, without catalog and database."""
    return split_name(name, keep_case=True)[-1]


def view_text(spark: SparkSession, name: str) -> str | None:
    """Return the SQL of a temporary view, None when there is no view of that name that was made from SQL."""
    text = kernel_object(spark, STORED_VIEW).text(spark._jsparkSession, last_part(name))
    return None if text is None else str(text)
