"""Paths as Spark names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage.spark.paths import is_local, local_path
from udafs.errors import NotTracedError


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/data/t", "/data/t"),
        ("t.parquet", "t.parquet"),
        ("file:/data/a%20b", "/data/a b"),
        ("file:///data/t", "/data/t"),
        ("a:b", "a:b"),
    ],
)
def test_local_paths(uri: str, path: str) -> None:
    assert local_path(uri) == Path(path)


@pytest.mark.parametrize("uri", ["s3a://bucket/t", "hdfs:/data/t"])
def test_what_is_not_on_this_machine_has_no_path(uri: str) -> None:
    assert not is_local(uri)
    with pytest.raises(NotTracedError, match=r"is not on a local file system. Row positions need local files"):
        local_path(uri)


def test_what_spark_lists() -> None:
    assert is_local("file:///data/t/part-0.parquet") and is_local("/data/t")
