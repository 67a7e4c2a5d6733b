"""Saved results in a home that somebody else has been in: refused by name, nothing outside is read or cleared away."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.store.library.kinds import LATEST
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import RowFile
from forward_lineage.store.saving.appending import appended
from tests.forward_lineage.store.shelf import put
from udafs.errors import BadArgumentError, DamagedError, LineageError, NotSavedError
from udafs.lineage_set import LineageSet

PAIRS = {"sales": {(0, 1), (3, 4), (11, 2)}}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "home")
    put(library, "revenue", PAIRS, cuts=(0, 6))
    return library


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What must stay as it is: named like what is cleared away."""
    folder = tmp_path / "outside"
    for name in ("data-abc/rows", "data-abc/lineage"):
        (folder / name).mkdir(parents=True)
    for name in ("1.json", "2.json", ".1-x.partial", "data-abc/rows/part-0.parquet", "data-abc/.saving"):
        (folder / name).write_text("precious")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def rewritten(library: Library, change: Callable[[dict[str, Any]], object]) -> Library:
    """The home with the manifest of `revenue` changed under a right checksum, opened again."""
    path = library.folder / "revenue" / "1.json"
    fields = unseal(path.read_bytes(), "", latest=LATEST)
    change(fields)
    path.write_bytes(seal({key: value for key, value in fields.items() if key != "format"}))
    return Library(library.folder.parent)


# ---------------------------------------------------------------- manifests that say what cannot be


def test_unchanged_it_is_read(library: Library) -> None:
    assert rewritten(library, lambda fields: None).get("revenue").rows == 12


def _segment(**change: object) -> Callable[[dict[str, Any]], object]:
    return lambda fields: fields["tables"][0]["segments"][0].update(change)


def _rows(path: str, rows: int) -> Callable[[dict[str, Any]], object]:
    file = {"path": path, "first_row": 0, "rows": rows, "size": 1, "checksum": 1}
    return lambda fields: fields.update(row_files=[file])


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.update(data="../../outside/data-abc"),
        lambda fields: fields.update(data="/etc"),
        lambda fields: fields.update(data=""),
        lambda fields: fields.update(name="../tables/sales"),
        lambda fields: fields.update(name="other"),
        lambda fields: fields.update(version=2),
        lambda fields: fields.update(semantics="magic"),
        lambda fields: fields.update(rows=13),
        lambda fields: fields.update(keeps_numbers_of=2),
        lambda fields: fields.update(dropped=True),
        _rows("rows/../../x", 12),
        _rows("/etc/passwd", 12),
        _rows("rows/x", 11),
        lambda fields: fields["tables"].append(fields["tables"][0]),
        lambda fields: fields["tables"][0]["segments"].pop(),
        lambda fields: fields["tables"][0]["segments"].reverse(),
        lambda fields: fields["tables"][0].update(name="../sales"),
        lambda fields: fields["tables"][0].update(manifest=None),
        lambda fields: fields["tables"][0]["manifest"].update(name="other"),
        lambda fields: fields["tables"][0]["manifest"].update(source={"files": [{"path": 5}]}),
        lambda fields: fields["tables"][0].update(granules=["x"]),
        lambda fields: fields["tables"][0].update(dictionary="../..", granules=["x"]),
        lambda fields: fields["tables"][0].update(provider="result", manifest=None, name="../sales"),
        _segment(path="lineage/../../../outside/1.json"),
        _segment(path="lineage//x"),
        _segment(path="rows/x"),
        _segment(first_row=1),
        _segment(rows=-1),
        _segment(pairs=-1),
        _segment(form="zip"),
        _segment(size=-1),
        _segment(checksum=1 << 32),
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be(library: Library, outside: Path, change: Callable[[dict[str, Any]], object]) -> None:
    before = contents(outside)
    library = rewritten(library, change)
    with pytest.raises(DamagedError, match=r"revenue/1\.json is damaged or cut short\. Save the result"):
        library.get("revenue")
    put(library, "other", PAIRS)
    library.drop("revenue")
    assert contents(outside) == before and [each.name for each in library.results()] == ["other"]


@pytest.mark.parametrize("change", [_segment(pairs=2**62), _segment(pairs=0), _segment(size=10**6), _segment(size=1)])
def test_a_segment_that_is_not_what_the_manifest_says(
    library: Library, change: Callable[[dict[str, Any]], object]
) -> None:
    library = rewritten(library, change)
    saved = library.get("revenue")
    with pytest.raises(DamagedError, match=r"/0\.lineage (is damaged|has [\d,]+ bytes)"):
        library.relation(saved, saved.tables[0]).backward(LineageSet([0]))


def test_a_table_of_a_catalog_has_an_expression_and_no_key(library: Library) -> None:
    """`ForwardLineage.use` registers nothing; what a result was made of is noted all the same."""
    adopted = {"key": [], "provider": "column", "relation": "(SELECT 1)", "source": {"relation": "(SELECT 1)"}}
    library = rewritten(library, lambda fields: fields["tables"][0]["manifest"].update(adopted))
    assert library.get("revenue").tables[0].registration() is not None


# ---------------------------------------------------------------- links


def test_a_result_that_is_a_link(library: Library, outside: Path) -> None:
    before = contents(outside)
    (library.folder / "linked").symlink_to(outside)
    for ask in (library.get, library.drop, lambda name: put(library, name, PAIRS)):
        with pytest.raises(DamagedError, match="/results/linked is a link"):
            ask("linked")
    assert "linked" in library.damaged()
    put(library, "other", PAIRS)
    library.drop("other")
    assert contents(outside) == before and library.get("revenue").rows == 12


def test_a_data_folder_that_is_a_link(library: Library, outside: Path) -> None:
    before = contents(outside)
    (library.folder / "revenue" / "data-abc").symlink_to(outside / "data-abc")
    put(library, "revenue", PAIRS)
    library.drop("revenue")
    assert contents(outside) == before


@pytest.mark.parametrize("part", ["lineage", "lineage/sales", "lineage/sales/0.lineage"])
def test_lineage_behind_a_link(library: Library, tmp_path: Path, part: str) -> None:
    saved = library.get("revenue")
    place = saved.folder / part
    shutil.move(place, tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    with pytest.raises(DamagedError, match=rf"/{part} is a link"):
        library.relation(saved, saved.tables[0]).backward(LineageSet([0]))


def test_a_lock_that_is_a_link(library: Library, outside: Path) -> None:
    before = contents(outside)
    (library.folder / ".lock").unlink()
    (library.folder / ".lock").symlink_to(outside / "1.json")
    with pytest.raises(DamagedError, match=r"/\.lock is a link"):
        library.drop("revenue")
    assert contents(outside) == before


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(library: Library) -> None:
    saved = library.get("revenue")
    (saved.folder / "lineage" / "sales" / "0.lineage").unlink()
    os.mkfifo(saved.folder / "lineage" / "sales" / "0.lineage")
    with pytest.raises(DamagedError, match=r"0\.lineage is no file"):
        library.relation(saved, saved.tables[0]).backward(LineageSet([0]))
    (saved.folder / "rows").mkdir()
    os.mkfifo(saved.folder / "rows" / "a.parquet")
    with_pipe = replace(saved, row_files=(RowFile("rows/a.parquet", 0, 12, 0, 0),))
    with pytest.raises(CorruptSegmentError, match=r"a\.parquet is no file"):
        check_row_files(with_pipe)


def test_a_file_of_rows_that_nobody_wrote(library: Library) -> None:
    """Spark reads every file of the folder: rows would appear, without lineage."""
    saved = library.get("revenue")
    (saved.folder / "rows").mkdir()
    for name in ("a.parquet", ".a.parquet.crc", "_SUCCESS"):
        (saved.folder / "rows" / name).touch()
    known = replace(saved, row_files=(RowFile("rows/a.parquet", 0, 12, 0, 0),))
    check_row_files(known)
    (saved.folder / "rows" / "b.parquet").touch()
    with pytest.raises(CorruptSegmentError, match=r"/rows/b\.parquet is not in the manifest, and Spark would read it"):
        check_row_files(known)


def test_appending_takes_nothing_from_behind_a_link(library: Library, tmp_path: Path) -> None:
    saved = library.get("revenue")
    shutil.move(saved.folder / "lineage", tmp_path / "moved")
    (saved.folder / "lineage").symlink_to(tmp_path / "moved")
    with pytest.raises(DamagedError, match="/lineage is a link"):
        appended(saved, replace(saved, data="data-new"))


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name", ["../tables/x", "..", ".", "", "a/b", "/etc", "a\0b", "a b", "1a", "\ud800", "x" * 101, "語" * 90]
)
def test_what_is_no_name_is_not_looked_for(library: Library, tmp_path: Path, name: str) -> None:
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for ask in (library.get, library.drop):
        with pytest.raises(NotSavedError, match=r"^there is no saved result "):
            ask(name)
    with pytest.raises(BadArgumentError, match="cannot be the name of a saved result"):
        check_name(name)
    assert library.latest(name) is None and library.newest(name) == 0 and library.versions(name) == []
    assert sorted(str(path) for path in tmp_path.rglob("*") if path.name != ".lock") == [
        each for each in before if not each.endswith(".lock")
    ]


def test_names_that_look_alike_are_two(library: Library) -> None:
    put(library, "sаles", {})  # with a Cyrillic а
    put(library, "sales", {})
    assert len({saved.name for saved in library.results()} - {"revenue"}) == 2


def test_folders_that_are_no_results(library: Library) -> None:
    for name in ("a b", "x" * 150, "DL.x"):
        (library.folder / name).mkdir()
        (library.folder / name / "1.json").write_text(json.dumps({"format": 1, "dropped": False}))
    assert [saved.name for saved in library.results()] == ["revenue"]
    with pytest.raises(LineageError):
        library.all_results()
