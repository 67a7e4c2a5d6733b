"""Versions of saved results on disk: publishing, what stays and what goes, sessions at once, damage."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.storage.sealed import seal
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.kinds import LATEST
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.saved_result import SavedResult
from tests.forward_lineage.storage.damage import damages
from tests.forward_lineage.store.shelf import put
from udafs.errors import LineageError, SetupError
from udafs.lineage_set import LineageSet


def folders(library: Library, name: str) -> list[str]:
    return sorted(path.name for path in (library.folder / name).glob("data-*"))


def test_a_manifest_reads_back_as_it_was(tmp_path: Path) -> None:
    saved = put(Library(tmp_path), "revenue", {"sales": {(0, 1), (3, 4)}}, cuts=(0, 2))
    assert Library(tmp_path).get("Revenue") == saved
    assert (saved.version, saved.keeps_numbers_of, saved.pairs, saved.granularity) == (1, 1, 2, "rows")
    assert [(each.first_row, each.rows, each.pairs) for each in saved.tables[0].segments] == [(0, 2, 1), (2, 10, 1)]


def test_where_the_ids_of_several_segments_lie_is_noted(tmp_path: Path) -> None:
    saved = put(Library(tmp_path), "revenue", {"sales": {(0, 1), (3, 4), (4, 9)}}, cuts=(0, 2))
    assert json.loads(saved.manifest_path.read_text())["format"] == 5
    again = Library(tmp_path)
    found = again.get("revenue")
    assert [(each.first_id, each.last_id) for each in found.tables[0].segments] == [(1, 1), (4, 9)]
    (found.folder / found.tables[0].segments[1].path).unlink()
    assert set(again.relation(found, found.tables[0]).forward(LineageSet([1, 10]))) == {0}
    with pytest.raises(CorruptSegmentError):
        again.relation(found, found.tables[0]).forward(LineageSet([5]))


def test_of_one_segment_it_is_not_and_earlier_releases_read_it(tmp_path: Path) -> None:
    saved = put(Library(tmp_path), "revenue", {"sales": {(0, 1), (3, 4)}})
    text = saved.manifest_path.read_text()
    assert json.loads(text)["format"] == 2
    assert "first_id" not in text


def test_overwriting_clears_the_version_before(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {"sales": {(0, 1)}})
    second = put(library, "revenue", {"sales": {(0, 2)}})
    assert second.version == 2 and folders(library, "revenue") == [second.data]
    with pytest.raises(LineageError, match=r"^result revenue has no version 1\. There are 2; older ones stay with"):
        library.get("revenue", 1)


@pytest.mark.slow
def test_a_session_that_asks_for_long_keeps_no_lineage_of_versions_that_are_gone(tmp_path: Path) -> None:
    writer, reader = Library(tmp_path), Library(tmp_path)
    relations = []
    for number in range(80):
        put(writer, "revenue", {"sales": {(0, number)}})
        saved = reader.get("revenue")
        relations.append(reader.relation(saved, saved.tables[0]))
        assert list(relations[-1].backward(LineageSet([0]))) == [number]
    assert len(reader.cache) < 40, "as many as are looked through now and then"
    assert list(relations[-1].backward(LineageSet([0]))) == [79], "the newest is kept"


def test_versions_are_kept_on_request(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {})
    put(library, "revenue", {}, kept=True)
    put(library, "revenue", {})
    put(library, "revenue", {})
    assert [each.version for each in library.versions("revenue")] == [1, 2, 4]


def test_versions_that_others_were_made_of_stay(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {"sales": {(0, 1)}})
    put(library, "report", {"revenue": {(0, 0)}}, results=frozenset({"revenue"}))
    put(library, "revenue", {"sales": {(0, 2)}})
    report = library.get("report")
    assert list(Pipeline(library, [report]).backward(report, LineageSet([0]), "sales").ids) == [1]
    put(library, "report", {"revenue": {(0, 0)}}, versions={"revenue": 2}, results=frozenset({"revenue"}))
    assert [each.version for each in library.versions("revenue")] == [2]


def test_a_dropped_result_serves_those_made_of_it(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {"sales": {(0, 1)}})
    put(library, "report", {"revenue": {(0, 0)}}, results=frozenset({"revenue"}))
    library.drop("revenue")
    assert [each.name for each in library.results()] == ["report"]
    report = library.get("report")
    assert list(Pipeline(library, [report]).backward(report, LineageSet([0]), "sales").ids) == [1]
    library.drop("report")
    assert folders(library, "revenue") == folders(library, "report") == []
    with pytest.raises(LineageError, match=r"^there is no saved result report\. Nothing is saved yet\."):
        library.drop("report")
    assert put(library, "revenue", {}).version == 3, "version numbers are never given twice"


def test_a_result_is_not_published_when_what_it_was_made_of_has_gone(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {})
    put(library, "revenue", {})
    with pytest.raises(LineageError, match=r"^revenue, which report is made of, was saved again while report was"):
        put(library, "report", {"revenue": set()}, versions={"revenue": 1}, results=frozenset({"revenue"}))
    assert library.latest("report") is None and folders(library, "report") == []


def test_sessions_that_save_at_once_each_get_a_version(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda i: put(Library(tmp_path), "revenue", {"sales": {(0, i)}}), range(24)))
    assert sorted(each.version for each in saved) == list(range(1, 25))
    library = Library(tmp_path)
    last = library.get("revenue")
    assert last.version == 24 and folders(library, "revenue") == [last.data]
    expected = next(i for i, each in enumerate(saved) if each.version == 24)
    assert list(library.relation(last, last.tables[0]).backward(LineageSet([0]))) == [expected]


def test_leavings_of_the_dead_are_cleared_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {})
    (library.folder / "revenue" / "data-dead").mkdir()
    (library.folder / "revenue" / ".x.partial").touch()
    with library.writing("revenue") as living:
        put(Library(tmp_path), "other", {})
        assert sorted(folders(library, "revenue")) == sorted([library.get("revenue").data, living.name])
    assert folders(library, "revenue") == [library.get("revenue").data]
    assert not list((library.folder / "revenue").glob(".x*"))


class TestDamage:
    @pytest.fixture
    def library(self, tmp_path: Path) -> Library:
        put(Library(tmp_path), "good", {"sales": {(0, 5)}})
        put(Library(tmp_path), "bad", {"sales": {(0, 5)}})
        return Library(tmp_path)

    def still_usable(self, library: Library) -> None:
        good = library.get("good")
        assert list(library.relation(good, good.tables[0]).forward(LineageSet([5]))) == [0]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: data[: len(data) // 2],
            lambda data: b"",
            lambda data: b"\xff\x00" + data,
            lambda data: data.replace(b'"rows": 12', b'"rows": 13'),
            lambda data: b"[1, 2]",
        ],
        ids=["cut short", "empty", "no text", "another number", "other JSON"],
    )
    def test_of_a_manifest(self, library: Library, damage: object) -> None:
        path = library.folder / "bad" / "1.json"
        path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
        message = (
            rf"^{path} is damaged or cut short\. Save the result again, or drop it; other results are not affected\.$"
        )
        with pytest.raises(CorruptSegmentError, match=message):
            library.get("bad")
        with pytest.raises(CorruptSegmentError, match=message):
            library.all_results()
        assert [each.name for each in library.results()] == ["good"] and set(library.damaged()) == {"bad"}
        self.still_usable(library)

    @pytest.mark.slow
    def test_no_flipped_bit_goes_unnoticed(self, library: Library) -> None:
        path = library.folder / "bad" / "1.json"
        for damaged in damages(path.read_bytes()):
            path.write_bytes(damaged)
            with pytest.raises(CorruptSegmentError, match=rf"^{path} is damaged or cut short\."):
                Library(library.folder.parent).latest("bad")

    def test_of_a_drop_marker(self, library: Library) -> None:
        library.drop("bad")
        path = library.folder / "bad" / "2.json"
        for damaged in damages(path.read_bytes()):
            path.write_bytes(damaged)
            if damaged.startswith(b'{\n "format": 1,'):
                continue  # the first format's drop markers had no checksum, and this still is one
            with pytest.raises(CorruptSegmentError, match=rf"^{path} is damaged or cut short\."):
                Library(library.folder.parent).latest("bad")

    def test_is_mended_by_saving_again(self, library: Library) -> None:
        (library.folder / "bad" / "1.json").write_text("{")
        assert put(library, "bad", {"sales": set()}).version == 2
        assert not library.damaged() and len(folders(library, "bad")) == 1

    def test_is_mended_by_dropping(self, library: Library) -> None:
        (library.folder / "bad" / "1.json").write_text("{")
        library.drop("bad")
        assert not library.damaged() and folders(library, "bad") == []

    def test_of_a_later_release(self, library: Library) -> None:
        path = library.folder / "bad" / "1.json"
        data = json.loads(path.read_text())
        data["format"] = 99
        path.write_text(json.dumps(data))
        with pytest.raises(
            LineageError,
            match=rf"1\.json has manifest format 99, this release reads up to {LATEST}\. Use the release that wrote",
        ):
            library.get("bad")

    def ask(self, library: Library) -> None:
        bad = library.get("bad")
        library.relation(bad, bad.tables[0]).forward(LineageSet([5]))

    def segment(self, library: Library) -> Path:
        bad: SavedResult = library.get("bad")
        return bad.folder / bad.tables[0].segments[0].path

    def test_of_a_segment(self, library: Library) -> None:
        path = self.segment(library)
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(CorruptSegmentError, match=rf"^{path} is damaged or cut short: its checksum is wrong"):
            self.ask(library)
        self.still_usable(library)

    def test_a_missing_segment(self, library: Library) -> None:
        path = self.segment(library)
        path.unlink()
        with pytest.raises(CorruptSegmentError, match=rf"^{path} cannot be read \(No such file or directory\)"):
            self.ask(library)
        self.still_usable(library)

    def test_the_segment_of_something_else(self, library: Library) -> None:
        path = self.segment(library)
        other = put(library, "other", {"sales": {(0, 6)}})
        path.write_bytes((other.folder / other.tables[0].segments[0].path).read_bytes())
        with pytest.raises(CorruptSegmentError, match=rf"^{path} is not the segment that the manifest names"):
            self.ask(library)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a/b", "../a", "a`b", "x" * 101, "a\n"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(LineageError, match=r"cannot be the name of a saved result\. Use letters, digits and _"):
        check_name(name)


@pytest.mark.parametrize("name", ["revenue", "_x9", "Umsätze", "select"])
def test_names_that_can_be(name: str) -> None:
    assert check_name(name) == name


def test_what_a_later_release_wrote_is_left_alone(tmp_path: Path) -> None:
    """It is not known what it was made of, so everything stays, and other results can be saved all the same."""
    library = Library(tmp_path)
    put(library, "revenue", {"sales": {(0, 1)}})
    put(library, "theirs", {})
    (library.folder / "theirs" / "2.json").write_bytes(seal({"format": LATEST + 1}))
    put(library, "revenue", {"sales": {(0, 2)}})
    assert [each.version for each in library.versions("revenue")] == [1, 2]
    assert len(folders(library, "theirs")) == 1 and set(library.damaged()) == {"theirs"}
    with pytest.raises(SetupError, match=rf"2\.json has manifest format {LATEST + 1}"):
        library.drop("theirs")


def test_a_save_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {})
    (library.folder / "revenue" / "1.json").write_text("{")
    with pytest.raises(ZeroDivisionError), library.writing("revenue"):
        raise ZeroDivisionError
    put(library, "revenue", {})
    assert folders(library, "revenue") == [library.get("revenue").data]


def test_data_is_on_the_disk_before_the_manifest_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, fsync, link = [], os.fsync, os.link

    def watched(opened: int) -> None:
        seen.append(os.fstat(opened).st_ino)
        fsync(opened)

    def linked(source: Path, target: Path) -> None:
        seen.append(target.name)  # type: ignore[arg-type]
        link(source, target)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(os, "link", linked)
    saved = put(Library(tmp_path), "revenue", {"sales": {(0, 1)}})
    before, after = seen[: seen.index("1.json")], seen[seen.index("1.json") + 1 :]  # type: ignore[arg-type]
    data = [saved.folder, saved.folder / "lineage", saved.folder / "lineage" / "sales"]
    assert {each.stat().st_ino for each in [*data, saved.folder / "lineage/sales/0.lineage"]} <= set(before)
    assert after == [saved.home.stat().st_ino]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(LineageError, match=r"results cannot be written: .*\. Pass home= a folder that you may write"):
        put(Library(tmp_path), "revenue", {})
