"""What `home=` may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.storage.homes import ObjectHome, object_home
from udafs.errors import BadArgumentError


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("s3://bucket/a/b c/", "s3://bucket/a/b c"),
        ("S3A://bucket", "s3://bucket"),
        ("gs://bucket/x", "gs://bucket/x"),
        ("az://container/x", "az://container/x"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
    ],
)
def test_an_address_is_a_home_in_an_object_store(said: str, address: str) -> None:
    assert object_home(said) == ObjectHome(address)


@pytest.mark.parametrize("said", ["home", "/a/b", "a:b", "../home", Path("/a/s3"), "C"])
def test_a_path_is_no_address(said: str | Path) -> None:
    assert object_home(said) is None


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("hdfs://namenode:8020/home", "no place for a home: .* Give a folder that all machines share"),
        ("viewfs://cluster/home", "no place for a home"),
        ("memory:///", "no place for a home"),
        ("file:///home", "no place for a home"),
        ("s3:/bucket/home", "two slashes"),
        (Path("s3://bucket/home"), "Give the address of a home as text"),
        ("s3://", "neither a bucket nor a folder"),
        ("s3://key:secret@bucket/home", "credentials come from the environment"),
        ("s3://bucket/../other", "neither a bucket nor a folder"),
        ("s3://bucket//home", "neither a bucket nor a folder"),
        ("s3://bucket/home?x=1", "neither a bucket nor a folder"),
    ],
)
def test_what_is_no_home(said: str | Path, message: str) -> None:
    with pytest.raises(BadArgumentError, match=message) as error:
        object_home(said)
    assert "secret" not in str(error.value)


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_HOME", "s3://bucket/prefix")
    assert str(home_folder()) == "s3://bucket/prefix"
    assert home_folder("here") == Path("here").absolute()
