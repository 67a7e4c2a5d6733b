"""Views on disk: what is read is what was written, what is damaged is not read, what was begun and left is cleared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from forward_lineage.columns.array_cache import Shelf
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.views import engine_files
from forward_lineage.views.cubes import Limits
from forward_lineage.views.linked import LinkedViews
from tests.forward_lineage.views.random_views import LIMITS, Model, models

FEW = Model(5, (3, 2, 2), (
    frozenset({(0, 0), (1, 1), (2, 2), (2, 3)}), frozenset({(0, 0), (1, 4)}), frozenset({(0, 0), (1, 0), (1, 3)})
), ((1, None, -70000, 4, 5), (0.5, 1.0, 2.0, 3.0, 4.0)), ((0, 1), (), (1,)))  # fmt: skip
IDS = np.array([3, 7, 8, 2**40, 2**62])


def written(linked: LinkedViews, home: Path, versions: str = "one") -> Shelf:
    shelf = Shelf(home, "views", "asked")
    views = [linked._views[name] for name in linked.names]
    with shelf.making(), shelf.writing(versions) as writer:
        engine_files.write(writer, views, linked.engine, IDS[: linked.rows] if linked.rows <= IDS.size else None)
    return shelf


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(), LIMITS)
def test_what_is_read_is_what_was_written(tmp_path: Path, model: Model, limits: Limits) -> None:
    linked = model.linked(limits)
    reader = written(linked, tmp_path).find("one")
    assert reader is not None
    found = engine_files.read(reader, ("t", 1), trusted=False)
    for view in linked.names:
        first, second = linked.brush(view, [0]), found.brush(view, [0])
        assert all(first.table(other) == second.table(other) for other in linked.names)
        assert first.ways == second.ways


def test_ids_are_those_of_the_table(tmp_path: Path) -> None:
    reader = written(FEW.linked(Limits()), tmp_path).find("one")
    assert reader is not None
    hand = engine_files.read(reader, ("t", 1), trusted=False).hand()
    hand.brush("v0", [2])
    assert list(hand.ids()) == [8, 2**40]


def test_every_file_is_checked(tmp_path: Path) -> None:
    shelf = written(FEW.linked(Limits(cells=8, heavy=0)), tmp_path)
    files = sorted((tmp_path / "views" / "asked" / "one").iterdir())
    assert len(files) > 20
    for file in files:
        data = file.read_bytes()
        for spoilt in (data[:-1], data + b"\0", bytes([data[0] ^ 1]) + data[1:]):
            file.write_bytes(spoilt)
            assert shelf.find("one") is None, file.name
        file.unlink()
        assert shelf.find("one") is None, file.name
        (file.parent / "elsewhere").write_bytes(data)
        file.symlink_to(file.parent / "elsewhere")
        assert shelf.find("one") is None, file.name
        file.unlink()
        file.write_bytes(data)
    assert shelf.find("one") is not None


def test_only_the_latest_versions_stay(tmp_path: Path) -> None:
    linked = FEW.linked(Limits())
    shelf = written(linked, tmp_path)
    open_ = shelf.find("one")
    left = tmp_path / "views" / "asked" / ".left.partial"
    left.mkdir()
    written(linked, tmp_path, "two")
    assert sorted(each.name for each in (tmp_path / "views" / "asked").iterdir()) == [".lock", "two"]
    assert shelf.find("one") is None
    assert open_ is not None
    assert engine_files.read(open_, ("t", 1), trusted=False).brush("v0", [0])["v1"].tolist() == [1, 0]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    shelf = written(FEW.linked(Limits()), tmp_path)
    with pytest.raises(ZeroDivisionError), shelf.making(), shelf.writing("two") as writer:
        writer.put("0.codes", np.arange(3))
        raise ZeroDivisionError
    assert shelf.find("one") is not None
    assert shelf.find("two") is None


def test_what_was_read_cannot_be_written(tmp_path: Path) -> None:
    reader = written(FEW.linked(Limits()), tmp_path).find("one")
    assert reader is not None
    with pytest.raises(ValueError, match="read-only"):
        reader["0.codes"][0] = 1


@pytest.mark.parametrize("kind", ["|O", "V8", "<U2", "nonsense", "<i4"])
def test_an_array_of_another_kind_is_not_read(tmp_path: Path, kind: str) -> None:
    shelf = written(FEW.linked(Limits()), tmp_path)
    manifest = tmp_path / "views" / "asked" / "one" / "views.json"
    said = unseal(manifest.read_bytes(), "views.json")
    (ids,) = (each for each in said["arrays"] if each["name"] == "ids")
    assert ids["kind"] == "<i8"
    ids["kind"] = kind
    manifest.write_bytes(seal(said))
    assert shelf.find("one") is None
