"""Where the files of a table are: a path, or several paths and patterns, on whatever file system.

A manifest's `source` says so: ``path`` is a local path, or an address such as ``viewfs://cluster/data``. It means just
that file or folder. ``paths`` are several, or patterns, in Hadoop's syntax (``*?[]{}``, a backslash before what is
meant as it stands): what they name is looked up at every listing, as Spark's readers do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.data_files import DataFile, list_files, of_far
from forward_lineage.row_ids.secrets import check_path
from forward_lineage.spark import far_files
from forward_lineage.spark.paths import is_address, is_far, is_local, local_path
from udafs.errors import BadArgumentError


def place_of(spark: SparkSession, path: str | Path) -> str:
    """Return where a path of the user's leads: an absolute local path, or an address with its file system.

    Raises:
        BadArgumentError: an address with a user or a password in it, or one that `pathlib` has spoilt.
        SetupError: the session knows no such file system.

    """
    text = str(path)
    if isinstance(path, Path) and is_address(text) and not is_local(text):
        raise BadArgumentError(f"{text} is a pathlib.Path, which cannot be an address", instead="Give it as text.")
    check_path(text)
    if not is_address(text) or is_local(text):
        near = local_path(text)
        if far_files.default_is_local(spark):
            return str(near.resolve())
        text = f"file:{near}" if is_local(text) and is_address(text) else text
    return far_files.qualified(spark, text)


def files_of(spark: SparkSession, source: Mapping[str, Any]) -> list[DataFile] | None:
    """List the files of a manifest's source; None if it is not there.

    Raises:
        SetupError: their file system cannot be listed.

    """
    place = str(source["data"] if "data" in source else source["path"])
    return files_under(spark, place)


def files_under(spark: SparkSession, place: str) -> list[DataFile] | None:
    """List the Parquet files under a place, in order; None if there is nothing.

    Raises:
        SetupError: their file system cannot be listed.

    """
    if is_far(place):
        found = far_files.files_under(spark, place)
        return None if found is None else sorted(map(of_far, found), key=lambda file: file.path)
    path = Path(place)
    return list_files(path) if path.exists() else None


def described(source: Mapping[str, Any]) -> str:
    """Return what messages call a manifest's source."""
    return str(source["data"] if "data" in source else source["path"])


def as_list(path: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """Return what was given as one path or several."""
    return [path] if isinstance(path, str | Path) else list(path)
