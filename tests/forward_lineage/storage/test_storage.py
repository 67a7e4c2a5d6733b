"""The laws of `Storage`, for every implementation: what manifests take for granted of the place where they are."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from forward_lineage.storage.interface import MissingError, Storage, TakenError
from forward_lineage.storage.local_folder import LocalFolder
from tests.forward_lineage.storage.places import InMemory
from udafs.errors import LineageError


def test_there_and_back(place: Storage) -> None:
    for key, data in {"a/1.json": b"one", "a/2.json": b"", "ä b/c/d": bytes(range(256)) * 1000}.items():
        assert not place.exists(key)
        place.put_new(key, data)
        assert place.exists(key) and place.get(key) == data


def test_what_is_there_is_never_written_over(place: Storage) -> None:
    place.put_new("a/1", b"first")
    with pytest.raises(TakenError):
        place.put_new("a/1", b"second")
    assert place.get("a/1") == b"first" and place.objects("a") == ["1"]


def test_what_is_not_there(place: Storage) -> None:
    for key in ("a", "a/1", "a/b/c"):
        with pytest.raises(MissingError):
            place.get(key)
        place.delete(key)
        place.delete_folder(key)
        place.clear_unfinished(key)
        assert not place.exists(key) and place.objects(key) == place.folders(key) == []


def test_what_is_deleted_is_gone_and_its_key_is_free(place: Storage) -> None:
    place.put_new("a/1", b"first")
    place.delete("a/1")
    with pytest.raises(MissingError):
        place.get("a/1")
    place.put_new("a/1", b"second")
    assert place.get("a/1") == b"second"


def test_objects_and_folders_are_listed_apart(place: Storage) -> None:
    for key in ("a/1.json", "a/2.json", "a/data/x", "b/c/y", "z"):
        place.put_new(key, b"x")
    assert (sorted(place.folders("")), place.objects("")) == (["a", "b"], ["z"])
    assert (place.folders("a"), sorted(place.objects("a"))) == (["data"], ["1.json", "2.json"])
    place.delete_folder("a")
    assert place.objects("a") == [] and place.objects("b/c") == ["y"]


@pytest.mark.slow
def test_many_at_once_have_one_winner(place: Storage) -> None:
    def wins(number: int) -> bool:
        try:
            place.put_new(f"a/{number // 8}", b"%d" % number)
        except TakenError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(wins, range(8 * 50)))
    for group in range(50):
        winners = [number for number in range(8 * group, 8 * group + 8) if won[number]]
        assert [b"%d" % number for number in winners] == [place.get(f"a/{group}")]
    assert len(place.objects("a")) == 50


def test_errors_say_which_object_and_what_to_do(place: Storage) -> None:
    place.put_new("a/1", b"x")
    with pytest.raises(LineageError) as taken:
        place.put_new("a/1", b"x")
    with pytest.raises(LineageError) as missing:
        place.get("a/2")
    assert place.where("a/1") in taken.value.what and place.where("a/2") in missing.value.what
    assert taken.value.instead and missing.value.instead


KEYS = st.sampled_from(["a/1", "a/2", "a/b/1", "c/1"])
FOLDERS = st.sampled_from(["", "a", "a/b", "c"])


class AsInMemory(RuleBasedStateMachine):
    """A local folder does as a dictionary does, whatever is done in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.model = InMemory()
        self.place = LocalFolder(Path(self.scratch.name))

    def teardown(self) -> None:
        self.scratch.cleanup()

    @rule(key=KEYS, data=st.binary(max_size=4))
    def put_new(self, key: str, data: bytes) -> None:
        try:
            self.model.put_new(key, data)
        except TakenError:
            with pytest.raises(TakenError):
                self.place.put_new(key, data)
        else:
            self.place.put_new(key, data)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.model.delete(key)
        self.place.delete(key)

    @rule(folder=st.sampled_from(["a", "a/b", "c"]))
    def delete_folder(self, folder: str) -> None:
        self.model.delete_folder(folder)
        self.place.delete_folder(folder)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.place.exists(key) == self.model.exists(key)
        if self.model.exists(key):
            assert self.place.get(key) == self.model.get(key)

    @rule(folder=FOLDERS)
    def objects(self, folder: str) -> None:
        assert sorted(self.place.objects(folder)) == sorted(self.model.objects(folder))


TestAsInMemory = AsInMemory.TestCase
TestAsInMemory.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
