"""Where the files of a table are: a path, or several paths and patterns, on whatever file system.

A manifest's `source` says so: ``path`` is a local path, or an address such as ``viewfs://cluster/data``. It means just
that file or folder. ``paths`` are several, or patterns, in Hadoop's syntax (``*?[]{}``, a backslash before a plain
character). They are looked up at every listing, as by Spark's readers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.row_ids.data_files import DataFile, is_data, list_files, of_far
from forward_lineage.row_ids.secrets import check_path
from forward_lineage.spark import far_files
from forward_lineage.spark.names import data_source, data_sources, glob_literal
from forward_lineage.spark.paths import is_address, is_far, is_local, local_path
from udafs.attach import is_remote
from udafs.errors import BadArgumentError

Paths = str | Path | Sequence[str | Path]


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


def source_of(spark: SparkSession, path: Paths) -> dict[str, Any]:
    """Return what a manifest says of where files are, ``path`` or ``paths``.

    Args:
        spark: the session.
        path: what the user says; text with wildcards is a pattern, if there is nothing of just that name.

    Raises:
        BadArgumentError: see `place_of`; or there is no path, or they lie on several file systems.
        SetupError: see `place_of`.

    """
    given = [(each, _is_pattern(spark, each)) for each in as_list(path)]
    if len(given) == 1 and not given[0][1]:
        return {"path": place_of(spark, given[0][0])}
    patterns = [
        _pattern(spark, str(each)) if is_pattern else glob_literal(place_of(spark, each)) for each, is_pattern in given
    ]
    data_sources("parquet", patterns)  # refuses what cannot be one relation
    return {"paths": patterns}


def _is_pattern(spark: SparkSession, path: str | Path) -> bool:
    text = str(path)
    if isinstance(path, Path) or glob_literal(text) == text:
        return False
    check_path(text)
    if not is_address(text) and far_files.default_is_local(spark):
        return not (far_files.is_there(spark, f"file:{text}") if is_remote(spark) else os.path.lexists(text))
    return not far_files.is_there(spark, text)


def _pattern(spark: SparkSession, text: str) -> str:
    if not is_address(text) and far_files.default_is_local(spark):
        return os.path.abspath(text)  # noqa: PTH100 - a pattern leads nowhere yet
    address = far_files.qualified(spark, text)
    near = is_local(address) and far_files.default_is_local(spark)
    return "/" + address.removeprefix("file:").lstrip("/") if near else address


def relation_of(source: Mapping[str, Any]) -> str:
    """Write the Parquet files of a source as what stands after FROM."""
    return data_sources("parquet", source["paths"]) if "paths" in source else data_source("parquet", source["path"])


def files_of(spark: SparkSession, source: Mapping[str, Any]) -> list[DataFile] | None:
    """List the files of a manifest's source, in order; None if it, or one of its paths, is not there.

    Raises:
        BadArgumentError: a file is named twice, and Spark would read it twice.
        SetupError: their file system cannot be listed.

    """
    if "data" in source or "path" in source:
        return files_under(spark, str(source["data"] if "data" in source else source["path"]))
    found: list[DataFile] = []
    for pattern in source["paths"]:
        there = _matched(spark, pattern)
        if there is None:
            return None
        found += there
    counts = Counter(file.path for file in found)
    if twice := next((path for path, count in counts.items() if count > 1), None):
        raise BadArgumentError(f"{twice} is named twice", instead="Spark would read its rows twice: name it once.")
    return sorted(found, key=lambda file: file.path)


def _matched(spark: SparkSession, pattern: str) -> list[DataFile] | None:
    """List the files of a pattern; local files in the usual way, once Hadoop has said which."""
    if is_far(pattern):
        found = far_files.files_under(spark, pattern, pattern=True)
        return None if found is None else list(map(of_far, found))
    roots = [
        Path("/" + root.removeprefix("file:").lstrip("/")) for root in far_files.matching(spark, f"file:{pattern}")
    ]
    if not roots:
        return None
    if is_remote(spark):
        listed = [list_files(root, spark) for root in roots]
        return [file for files in listed for file in files if is_data(Path(file.path).name)]
    return [file for root in roots if root.is_dir() or is_data(root.name) for file in list_files(root)]


def files_under(spark: SparkSession, place: str) -> list[DataFile] | None:
    """List the Parquet files under a place, in order; None if there is nothing.

    Raises:
        SetupError: their file system cannot be listed.

    """
    if is_far(place):
        found = far_files.files_under(spark, place)
        return None if found is None else sorted(map(of_far, found), key=lambda file: file.path)
    path = Path(place)
    if is_remote(spark):
        near = far_files.near_files(spark, place)
        return None if near is None else sorted((DataFile(*file) for file in near), key=lambda file: file.path)
    return list_files(path) if os.path.exists(path) else None  # noqa: PTH110 - of a name that is too long `Path.exists` raises


def described(source: Mapping[str, Any]) -> str:
    """Return what messages call a manifest's source."""
    if "paths" in source:
        return ", ".join(map(str, source["paths"]))
    return str(source["data"] if "data" in source else source["path"])


def as_list(path: Paths) -> list[str | Path]:
    """Return what was given as one path or several."""
    return [path] if isinstance(path, str | Path) else list(path)
