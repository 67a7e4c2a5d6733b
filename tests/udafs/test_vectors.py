"""The shared vectors of the byte format: the reference and `LineageSet` must agree with every one of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.udafs import make_vectors, reference_format
from udafs.errors import CorruptLineageError
from udafs.lineage_set import LineageSet


def vectors(name: str) -> list[Any]:
    loaded = json.loads((make_vectors.FOLDER / name).read_text(encoding="utf-8"))["vectors"]
    assert loaded
    return [pytest.param(vector, id=vector["name"]) for vector in loaded]


@pytest.mark.parametrize("vector", vectors("sets.json"))
def test_sets(vector: dict[str, Any]) -> None:
    ids = make_vectors.expand(vector)
    for setting in make_vectors.SETTINGS:
        value = bytes.fromhex(vector[setting])
        assert reference_format.encode(ids, setting) == value
        assert reference_format.decode(value) == ids
        assert LineageSet.from_ids(ids).to_bytes(setting) == value
        read = LineageSet.from_bytes(value)
        assert read == LineageSet(ids)
        assert read.ids().tolist() == ids
        assert LineageSet.from_bytes(value).to_bytes().hex() == vector["auto"]
        assert LineageSet.from_bytes(value).to_bytes("bdd").hex() == vector["bdd"]


@pytest.mark.parametrize("vector", vectors("readable.json"))
def test_readable(vector: dict[str, Any]) -> None:
    value = bytes.fromhex(vector["hex"])
    assert reference_format.decode(value) == vector["ids"]
    assert list(LineageSet.from_bytes(value)) == vector["ids"]


@pytest.mark.parametrize("vector", vectors("malformed.json"))
def test_malformed(vector: dict[str, Any]) -> None:
    value = bytes.fromhex(vector["hex"])
    with pytest.raises(reference_format.MalformedError, match=f"^{vector['keyword']}$"):
        reference_format.decode(value)
    with pytest.raises(CorruptLineageError, match=f"^corrupt lineage value: {vector['keyword']}: "):
        LineageSet.from_bytes(value)


def test_the_files_are_those_that_the_reference_writes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = {path.name: path.read_bytes() for path in make_vectors.FOLDER.glob("*.json")}
    monkeypatch.setattr(make_vectors, "FOLDER", tmp_path)
    make_vectors.main()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == committed


def test_every_keyword_of_the_format_has_a_vector() -> None:
    text = make_vectors.FOLDER.with_name("FORMAT.md").read_text(encoding="utf-8")
    table = text.split("## Malformed bytes")[1].split("##")[0]
    keywords = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    assert keywords == {keyword for _, keyword, _ in make_vectors.MALFORMED}


def test_the_worked_examples() -> None:
    text = make_vectors.FOLDER.with_name("FORMAT.md").read_text(encoding="utf-8")
    lines = text.split("## Worked examples")[1].split("|---|---|---|---|")[1].strip().split("\n\n")[0].splitlines()
    assert len(lines) == 5
    for line in lines:
        name, *values = (cell.strip() for cell in line.strip("|").split("|"))
        ids = [int(each) for each in name.strip("{}").split(",") if each]
        for encoding, value in zip(("set", "bdd", "roaring"), values, strict=True):
            assert LineageSet(ids).to_bytes(encoding).hex(" ") == value.strip("`")  # type: ignore[arg-type]
