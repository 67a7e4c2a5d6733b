"""Saved results in an object store: what holds of them in folders holds here, of many machines, and what it costs."""

from __future__ import annotations

import multiprocessing
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.storage.homes import ObjectHome
from forward_lineage.storage.leases import VARIABLE
from forward_lineage.storage.object_store import ObjectStore
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from tests import races
from tests.forward_lineage.store.shelf import ROWS, put
from tests.object_server import BUCKET, ObjectServer
from udafs.errors import ChangedError, LineageError, SetupError
from udafs.lineage_set import LineageSet

SECONDS = 3.0  # of a lease; a server says when something was written in whole seconds


@pytest.fixture
def home(store_server: ObjectServer) -> ObjectHome:
    return ObjectHome(f"s3://{BUCKET}/{uuid.uuid4().hex}")


@pytest.fixture
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(SECONDS))


def keys(home: ObjectHome) -> list[str]:
    return sorted(each.key for each in ObjectStore(home.address).tree(""))


def folders(home: ObjectHome, name: str) -> list[str]:
    return sorted(each for each in home.room("results").folders(name) if each.startswith("data-"))


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From now on this is another machine: nothing that was read is here."""
    monkeypatch.setenv("FORWARD_LINEAGE_CACHE", str(tmp_path / uuid.uuid4().hex))


def backward(library: Library, saved: SavedResult, *rows: int) -> list[int]:
    return list(library.relation(saved, saved.tables[0]).backward(LineageSet(rows)))


def test_what_one_machine_saves_another_reads(
    home: ObjectHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved = put(Library(home), "revenue", {"sales": {(0, 1), (3, 4)}}, cuts=(0, 2))
    elsewhere(monkeypatch, tmp_path)
    library = Library(home)
    found = library.get("Revenue")
    assert (found.version, found.data, found.tables) == (1, saved.data, saved.tables)
    assert backward(library, found, 0) == [1] and backward(library, found, 3) == [4]
    assert keys(home) == [
        "results/revenue/1.json",
        f"results/revenue/{saved.data}/lineage/sales/0.lineage",
        f"results/revenue/{saved.data}/lineage/sales/2.lineage",
    ]


def test_overwriting_keeping_and_dropping(home: ObjectHome) -> None:
    library = Library(home)
    put(library, "revenue", {"sales": {(0, 1)}})
    second = put(library, "revenue", {"sales": {(0, 2)}})
    assert second.version == 2 and folders(home, "revenue") == [second.data]
    put(library, "revenue", {"sales": {(0, 3)}}, kept=True)
    put(library, "report", {"revenue": {(0, 0)}}, versions={"revenue": 3}, results=frozenset({"revenue"}))
    put(library, "revenue", {"sales": {(0, 4)}})
    assert [each.version for each in Library(home).versions("revenue")] == [2, 3, 4]
    report = Library(home).get("report")
    assert list(Pipeline(library, [report]).backward(report, LineageSet([0]), "sales").ids) == [3]
    library.drop("revenue")
    assert [each.name for each in Library(home).results()] == ["report"]
    library.drop("report")
    assert folders(home, "revenue") == folders(home, "report") == [] and library.results() == []
    assert [key for key in keys(home) if key.startswith("saving/")] == []
    with pytest.raises(LineageError, match=r"^there is no saved result report\. Nothing is saved yet\."):
        library.drop("report")
    assert put(library, "revenue", {}).version == 6, "version numbers are never given twice"


def test_a_save_that_fails_leaves_nothing(home: ObjectHome) -> None:
    library = Library(home)
    with pytest.raises(KeyError), library.writing("revenue") as folder:
        library.files.send(_written(folder))
        raise KeyError
    put(library, "revenue", {})
    put(library, "revenue", {})
    with pytest.raises(ChangedError, match=r"^revenue, which report is made of, was saved again while report was"):
        put(library, "report", {"revenue": {(0, 0)}}, versions={"revenue": 1}, results=frozenset({"revenue"}))
    assert len(keys(home)) == 1 and library.latest("report") is None


def _written(folder: Path) -> Path:
    (folder / "lineage").mkdir()
    (folder / "lineage" / "half").write_bytes(b"half")
    return folder


def test_a_store_that_does_not_answer_when_asked_to_publish_loses_nothing(
    home: ObjectHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, put_new = Library(home), ObjectStore.put_new

    def unanswered(store: ObjectStore, key: str, data: bytes) -> None:
        put_new(store, key, data)
        raise SetupError(f"{store.where(key)} cannot be written: the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "put_new", unanswered)
        with pytest.raises(SetupError):
            put(library, "revenue", {"sales": {(0, 1)}})
    saved = Library(home).get("revenue")
    assert backward(Library(home), saved, 0) == [1], "it was published, whatever we were told"
    assert put(library, "revenue", {"sales": {(0, 2)}}).version == 2


def test_sessions_that_save_at_once_each_get_a_version(home: ObjectHome) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda i: put(Library(home), "revenue", {"sales": {(0, i)}}), range(16)))
    assert sorted(each.version for each in saved) == list(range(1, 17))
    library = Library(home)
    last = library.get("revenue")
    assert backward(library, last, 0) == [next(i for i, each in enumerate(saved) if each.version == last.version)]
    newest = put(library, "revenue", {"sales": {(0, 1)}})
    assert folders(home, "revenue") == [newest.data], "what is not needed goes when nobody else saves"


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(7200)])])
def test_every_race_has_one_winner(home: ObjectHome, tmp_path: Path, count: int) -> None:
    for place in (home, tmp_path / "home"):
        found = races.run(place, count, 2)
        assert found.right == count and sum(found.winners) == count


def test_the_living_are_left_alone(home: ObjectHome) -> None:
    library = Library(home)
    with library.writing("revenue") as living:
        library.files.send(_written(living))
        put(Library(home), "revenue", {})
        put(Library(home), "other", {})
        assert living.name in folders(home, "revenue")
    assert living.name not in folders(home, "revenue")


def _write_half(home: ObjectHome, told: Connection) -> None:
    library = Library(home)
    with library.writing("revenue") as folder:
        library.files.send(_written(folder))
        told.send(folder.name)
        told.recv()  # never comes


def test_the_next_save_clears_away_what_a_killed_one_left(home: ObjectHome, short_leases: None) -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    writer = spawn.Process(target=_write_half, args=(home, theirs))
    writer.start()
    assert ours.poll(120)
    left = ours.recv()
    writer.kill()
    writer.join()
    assert Library(home).names() == ["revenue"] and Library(home).latest("revenue") is None, "nothing is half there"
    put(Library(home), "other", {})
    assert folders(home, "revenue") == [left], "it may live still"
    time.sleep(SECONDS + 2)
    put(Library(home), "other", {})
    assert folders(home, "revenue") == [] and len(keys(home)) == 1


def _save_for_ever(home: ObjectHome, told: Connection) -> None:
    library = Library(home)
    while True:
        version = library.newest("revenue") + 1
        told.send(put(library, "revenue", {"sales": {(row, version * row) for row in range(ROWS)}}).version)


@pytest.mark.timeout(600)
def test_saves_that_are_killed_at_any_moment_are_whole_or_not_there(home: ObjectHome) -> None:
    seed = random.randrange(1 << 30)
    moments, spawn = random.Random(seed), multiprocessing.get_context("spawn")
    for _ in range(4):
        ours, theirs = spawn.Pipe()
        writer = spawn.Process(target=_save_for_ever, args=(home, theirs))
        writer.start()
        assert ours.poll(120)
        told = ours.recv()
        time.sleep(moments.uniform(0, 0.3))
        writer.kill()
        writer.join()
        while ours.poll():
            told = ours.recv()
        library = Library(home)
        saved = library.get("revenue")
        assert saved.version in (told, told + 1), f"seed {seed}"
        assert [backward(library, saved, row) for row in range(ROWS)] == [[saved.version * row] for row in range(ROWS)]


class TestRequests:
    def test_of_a_question_for_one_row(self, home: ObjectHome, store_server: ObjectServer) -> None:
        put(Library(home), "revenue", {"sales": {(row, row) for row in range(ROWS)}}, cuts=tuple(range(ROWS)))
        library = Library(home)
        store_server.requests()
        assert backward(library, library.get("revenue"), 5) == [5]
        assert len(store_server.requests()) == 3, "which versions there are, the manifest, one segment of twelve"
        assert backward(library, library.get("revenue"), 6) == [6]
        assert len(store_server.requests()) == 2
        assert backward(library, library.get("revenue"), 6) == [6]
        assert len(store_server.requests()) == 1

    def test_through_a_pipeline(self, home: ObjectHome, store_server: ObjectServer) -> None:
        library = Library(home)
        put(library, "revenue", {"sales": {(0, 1)}})
        put(library, "report", {"revenue": {(0, 0)}}, results=frozenset({"revenue"}))
        for requests in (5, 2):
            store_server.requests()
            report = library.get("report")
            assert list(Pipeline(library, [report]).backward(report, LineageSet([0]), "sales").ids) == [1]
            assert len(store_server.requests()) <= requests


class TestDamage:
    def test_of_a_segment(self, home: ObjectHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        saved = put(Library(home), "revenue", {"sales": {(0, 1)}})
        place, (entry,) = home.room("results"), saved.tables[0].segments
        key = f"revenue/{saved.data}/{entry.path}"
        whole = place.get(key)
        for damaged in (whole[:-1], whole + b"x", whole[:-1] + bytes([whole[-1] ^ 1]), b""):
            place.delete(key)
            place.put_new(key, damaged)
            with pytest.raises(LineageError):
                backward(Library(home), saved, 0)
        place.delete(key)
        with pytest.raises(LineageError, match="no such object"):
            backward(Library(home), saved, 0)

    def test_of_a_manifest(self, home: ObjectHome) -> None:
        put(Library(home), "good", {"sales": {(0, 5)}})
        put(Library(home), "bad", {"sales": {(0, 5)}})
        place = home.room("results")
        text = place.get("bad/1.json")
        place.delete("bad/1.json")
        place.put_new("bad/1.json", text.replace(b'"rows": 12', b'"rows": 13'))
        library = Library(home)
        with pytest.raises(CorruptSegmentError, match=rf"^{home}/results/bad/1\.json is damaged or cut short\."):
            library.get("bad")
        assert [each.name for each in library.results()] == ["good"] and set(library.damaged()) == {"bad"}
        library.drop("bad")
        assert Library(home).damaged() == {}
