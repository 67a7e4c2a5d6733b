"""Manifests in numbered versions, in every place: which counts, what is read when, what damage does."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from forward_lineage.storage.interface import MissingError, Storage, TakenError
from forward_lineage.storage.sealed import seal
from forward_lineage.storage.versions import Kind, Versions
from udafs.errors import DamagedError, SetupError


def _write(text: str) -> Mapping[str, Any]:
    return {"text": text}


def _read(fields: dict[str, Any], name: str, number: int) -> str:
    reads.append(f"{name}: {fields['text']}")
    return fields["text"] + ""  # a TypeError unless it is a text


reads: list[str] = []
TEXTS = Kind(write=_write, read=_read, dropped=lambda text: text == "dropped", damaged=lambda w: DamagedError(f"{w}!"))


@pytest.fixture
def versions(place: Storage) -> Versions[str]:
    reads.clear()
    return Versions(place, TEXTS)


def test_the_highest_counts(versions: Versions[str]) -> None:
    assert (versions.newest("a"), versions.latest("a"), versions.last("a"), versions.names()) == (0, None, None, [])
    for number in (1, 2, 10, 9):
        versions.put("a", number, f"v{number}")
    assert (versions.newest("a"), versions.latest("a"), versions.numbers("a")) == (10, "v10", [1, 2, 9, 10])
    assert versions.get("a", 2) == "v2" and versions.names() == ["a"]


def test_a_number_is_given_once(versions: Versions[str]) -> None:
    versions.put("a", 1, "first")
    with pytest.raises(TakenError):
        versions.put("a", 1, "second")
    assert versions.get("a", 1) == "first" == Versions(versions.storage, TEXTS).latest("a")


def test_each_is_read_once(versions: Versions[str]) -> None:
    versions.put("a", 1, "v1")
    others = Versions(versions.storage, TEXTS)
    assert [others.latest("a"), others.get("a", 1), others.last("a"), others.all_latest()[0]] == [
        "v1",
        "v1",
        "v1",
        ["v1"],
    ]
    assert versions.latest("a") == "v1" and reads == ["a: v1"], "and what one wrote oneself is not read"


def test_one_that_another_session_removed_is_not_answered_from_memory(versions: Versions[str]) -> None:
    versions.put("a", 1, "v1")
    versions.put("a", 2, "v2")
    Versions(versions.storage, TEXTS).remove("a", 1)
    with pytest.raises(MissingError):
        versions.get("a", 1)
    assert not versions.exists("a", 1) and versions.exists("a", 2) and versions.numbers("a") == [2]


def test_drop_markers(versions: Versions[str]) -> None:
    versions.put("a", 1, "v1")
    versions.put("a", 2, "dropped")
    assert (versions.latest("a"), versions.last("a"), versions.newest("a")) == (None, "dropped", 2)
    assert versions.all_latest() == ([], {}) and versions.names() == ["a"]
    versions.put("a", 3, "again")
    assert versions.latest("a") == "again"


@pytest.mark.parametrize("data", [b"", b"{", seal({"text": 3}), seal({}), seal({"text": "x"})[:-1], b"\xff"])
def test_a_damaged_one(versions: Versions[str], data: bytes) -> None:
    versions.put("a", 1, "v1")
    versions.storage.put_new("b/1.json", data)
    for reading in (versions.latest, versions.last, lambda name: versions.get(name, 1)):
        with pytest.raises(DamagedError, match=rf"^{versions.storage.where('b/1.json')}!"):
            reading("b")
    found, damaged = versions.all_latest()
    assert found == ["v1"] and list(damaged) == ["b"] and isinstance(damaged["b"], DamagedError)
    assert versions.newest("b") == 1, "its number stays taken"
    versions.put("b", 2, "mended")
    assert versions.all_latest() == (["v1", "mended"], {})


def test_one_of_a_later_release_is_named_among_the_damaged(versions: Versions[str]) -> None:
    versions.storage.put_new("b/1.json", seal({"format": 4}))
    assert isinstance(versions.all_latest()[1]["b"], SetupError)


def test_what_others_removed_is_forgotten(versions: Versions[str]) -> None:
    """A session that only reads would otherwise keep every version it ever read."""
    writer = Versions(versions.storage, TEXTS)
    for number in range(1, 20):
        writer.put("a", number, f"v{number}")
        writer.remove("a", number - 1)
        assert versions.latest("a") == f"v{number}"
    assert sum(len(read) for read in versions._read.values()) == 1


def test_every_version_is_given_with_its_number(versions: Versions[str]) -> None:
    for number in (2, 10, 9):
        versions.put("a", number, f"v{number}")
    assert versions.every("a") == [(2, "v2"), (9, "v9"), (10, "v10")]
    assert versions.every("b") == []


def test_other_files_are_no_versions(versions: Versions[str]) -> None:
    for name in ("0.json", "01.json", "x.json", "1.json.old", "²", "².json", "-1.json", "1 .json", "1.txt"):
        versions.storage.put_new(f"a/{name}", b"x")
    assert versions.numbers("a") == [] and versions.latest("a") is None


class Overtaken:
    """A place in which another session writes version 2 and removes version 1 just before version 1 is read."""

    def __init__(self, place: Storage) -> None:
        self.place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.place, name)

    def get(self, key: str) -> bytes:
        if key == "a/1.json" and self.place.exists(key):
            self.place.put_new("a/2.json", seal({"text": "v2"}))
            self.place.delete(key)
        return self.place.get(key)


def test_one_that_is_overtaken_while_it_is_read(place: Storage) -> None:
    Versions(place, TEXTS).put("a", 1, "v1")
    assert Versions(Overtaken(place), TEXTS).latest("a") == "v2"


@pytest.mark.slow
def test_many_that_write_at_once_each_get_a_number(place: Storage) -> None:
    def write(text: str) -> int:
        versions = Versions(place, TEXTS)
        while True:
            number = versions.newest("a") + 1
            try:
                versions.put("a", number, text)
            except TakenError:
                continue
            return number

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(write, map(str, range(64))))
    assert sorted(numbers) == list(range(1, 65))
    versions = Versions(place, TEXTS)
    assert [versions.get("a", number) for number in numbers] == list(map(str, range(64)))
