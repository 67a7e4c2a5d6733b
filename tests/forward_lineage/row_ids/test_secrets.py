"""Secrets in reader options are kept by reference only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forward_lineage import ForwardLineage
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.secrets import (
    REDACTED,
    check_options,
    check_path,
    redacted,
    resolved_options,
    same_options,
)
from udafs.errors import BadArgumentError

SECRETS = [
    ("password", "x"),
    ("PASSWORD", "x"),
    ("fs.s3a.secret.key", "x"),
    ("sfPassword", "x"),
    ("private_key_passphrase", "x"),
    ("apiKey", "x"),
    ("accesskeyid", "x"),
    ("oauth.token", "x"),
    ("awsCredentials", "x"),
    ("password", "a${env:PW}"),
    ("url", "jdbc:postgresql://ann:pw@host/db"),
    ("url", "jdbc:postgresql://host/db?user=ann&password=pw"),
    ("url", "jdbc:sqlserver://host;user=ann;Password=pw"),
    ("endpoint", "https://token@host/"),
]
PLAIN = [
    ("header", "true"),
    ("sep", ";"),
    ("multiLine", True),
    ("samplingRatio", 0.5),
    ("keyboard", "de"),
    ("url", "jdbc:postgresql://host:5432/db?ssl=true"),
    ("url", "s3a://bucket/a@b"),
    ("password", "${env:PW}"),
    ("url", "jdbc:postgresql://${env:U}:${env:PW}@host/db"),
    ("url", "jdbc:x://host/db?password=${env:PW}&ssl=true"),
]


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_a_secret_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(BadArgumentError) as refused:
        check_options({"header": "true", name: value})
    assert str(refused.value) == (
        f"option {name} holds a secret, which a manifest would keep. Put it into the environment, and say "
        f'options={{"{name}": "${{env:NAME}}"}}: the reference is kept, and looked up whenever files are read.'
    )
    assert redacted({"options": {name: value}}) == {"options": {name: REDACTED}}


@pytest.mark.parametrize(("name", "value"), PLAIN)
def test_other_options_are_kept(name: str, value: object) -> None:
    assert check_options({name: value}) == {name: str(value)}
    assert redacted({"path": "/x", "options": {name: value}}) == {"path": "/x", "options": {name: value}}


def test_references_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "it's $ecret")
    assert resolved_options({"a": "${env:PW}", "b": "x${env:PW}y", "c": True}) == {
        "a": "it's $ecret",
        "b": "xit's $ecrety",
        "c": True,
    }
    monkeypatch.delenv("PW")
    with pytest.raises(BadArgumentError, match=r"^option a refers to the environment variable PW, which is not set"):
        resolved_options({"a": "${env:PW}"})


def test_a_secret_in_a_path() -> None:
    check_path("s3a://bucket/folder")
    check_path("/data/the key=1/t.csv")
    with pytest.raises(BadArgumentError, match=r"^path= holds a user or a password"):
        check_path("s3a://AKIA:secret@bucket/folder")


def test_files_are_read_in_the_same_way_whatever_opens_them() -> None:
    assert same_options({"header": "true", "password": "${env:PW}"}, {"header": "true", "password": REDACTED})
    assert not same_options({"header": "true"}, {"header": "false"})
    assert not same_options({"header": "true"}, {})


def test_a_copy_read_with_a_secret(lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("v;w\n1;a\n2;b\n")
    given = {"header": "true", "sep": "${env:TOKEN_OF_TEST}", "inferSchema": "true"}
    monkeypatch.setenv("TOKEN_OF_TEST", ";")
    manifest = lineage.register("t", path=tmp_path / "t.csv", format="csv", options=given)
    assert [column for column, _ in manifest.columns] == ["v", "w"], "the separator was looked up"
    kept = json.loads((lineage.registrations.path(manifest)).read_text())
    assert kept["source"]["options"] == given
    again = lineage.register("t", path=tmp_path / "t.csv", format="csv", options=given)
    assert again.version == 1, "the same files, read in the same way"
    with pytest.raises(BadArgumentError, match=r"^option password holds a secret"):
        lineage.register("u", path=tmp_path / "t.csv", format="csv", options={"password": "x"})


def test_what_an_earlier_release_kept() -> None:
    data = {
        "name": "t", "provider": "copy", "columns": [["v", "int"]], "relation": "r", "row_id": "i", "files": [],
        "retired": [], "key": [], "order_by": [], "version": 1, "next_id": 0,
        "source": {"path": "/x", "data": "/d", "options": {"sep": ";", "password": "pw"}},
    }  # fmt: skip
    manifest = Manifest.from_data(data)
    assert manifest.source["options"] == {"sep": ";", "password": REDACTED}
    assert "pw" not in repr(manifest)
    assert "pw" not in str(manifest.to_data())
