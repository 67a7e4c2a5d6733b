"""The names of tables and saved results in OpenLineage, by its rules for names of datasets.

A dataset is named after its place: ``file`` + path, ``s3://bucket`` + key, ``hdfs://host:port`` + path. A temporary
view or a DataFrame has no place that can be named. It has the namespace of the jobs and the name that queries use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from openlineage.client.naming.dataset import GCS, S3, LocalFileSystem
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.spark.names import joined, split_name


class Name(NamedTuple):
    """A dataset's name.

    Attributes:
        namespace: the data source.
        name: within it.
        table: what Spark's catalog calls it; "" if it does not.

    """

    namespace: str
    name: str
    table: str = ""


def of_place(place: str) -> Name:
    """Name what lies under a path or an address."""
    scheme, authority, path, *_ = (
        urlsplit(place) if "://" in place or place.startswith("file:") else ("file", "", place)
    )
    if scheme == "file":
        known: Any = LocalFileSystem(unquote(path) if place.startswith("file:") else path)
    elif scheme in ("s3", "s3a", "s3n"):
        known = S3(authority, path.strip("/") or "/")
    elif scheme in ("gs", "gcs"):
        known = GCS(authority, path.strip("/") or "/")
    else:
        return Name(f"{scheme}://{authority}", path.rstrip("/") or "/")
    name = known.get_name()
    return Name(known.get_namespace(), name.rstrip("/") or "/")


def of_registration(manifest: Manifest, spark: SparkSession, namespace: str) -> list[Name]:
    """Name what a registered table is read from: one dataset, or one for each of several paths."""
    if manifest.identity is not None:
        return [of_catalog_table(manifest.identity, spark, namespace)]
    source: Mapping[str, Any] = manifest.source
    if "paths" in source:
        return [of_place(each) for each in source["paths"]]
    if "path" in source:
        return [of_place(source["path"])]
    return [Name(namespace, str(source.get("table") or manifest.name))]


def of_catalog_table(name: str, spark: SparkSession, namespace: str) -> Name:
    """Name a table of Spark's catalog: where it lies, and what it is called there."""
    parts = split_name(name, keep_case=True)
    called = ".".join(parts)
    try:
        described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {joined(parts)}").collect()}
    except PySparkException:
        return Name(namespace, called)
    place = described.get("Location")
    full = ".".join(filter(None, (described.get("Catalog"), described.get("Database"), described.get("Table"))))
    return of_place(place)._replace(table=full or called) if place else Name(namespace, full or called)
