"""Nothing below a home is reached through a link, and no pipe or device is waited for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.locks import Lock, is_held
from forward_lineage.storage.own_files import read_file, warn_of_strangers
from udafs.errors import DamagedError

OUTSIDE = b"somebody else's"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody else, with a file, an unfinished one, and a folder of data."""
    folder = tmp_path / "outside"
    (folder / "data-1").mkdir(parents=True)
    for name in ("1.json", ".1-x.partial", "data-1/x"):
        (folder / name).write_bytes(OUTSIDE)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> LocalFolder:
    place = LocalFolder(tmp_path / "home" / "results")
    place.put_new("a/1.json", b"ours")
    return place


def untouched(outside: Path) -> bool:
    return {path.name for path in outside.rglob("*")} == {"1.json", ".1-x.partial", "data-1", "x"} and all(
        path.read_bytes() == OUTSIDE for path in outside.rglob("*") if path.is_file()
    )


EVERYTHING: list[Callable[[LocalFolder], object]] = [
    lambda place: place.get("b/1.json"),
    lambda place: place.put_new("b/2.json", b"x"),
    lambda place: place.delete("b/1.json"),
    lambda place: place.objects("b"),
    lambda place: place.folders("b"),
    lambda place: place.clear_unfinished("b"),
]


@pytest.mark.parametrize("ask", EVERYTHING)
def test_a_folder_that_is_a_link(place: LocalFolder, outside: Path, ask: Callable[[LocalFolder], object]) -> None:
    (place.root / "b").symlink_to(outside)
    with pytest.raises(DamagedError, match=r"/results/b is a link\. Nothing in a home may be a link"):
        ask(place)
    place.delete_folder("b/data-1")
    place.delete_folder("b")
    assert untouched(outside) and place.get("a/1.json") == b"ours"


def test_the_room_itself_is_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "results").symlink_to(outside)
    place = LocalFolder(tmp_path / "home" / "results")
    for ask in (place.folders, place.objects, place.clear_unfinished):
        with pytest.raises(DamagedError, match="/home/results is a link"):
            ask("")
    place.delete_folder("data-1")
    assert untouched(outside)


def test_the_home_itself_may_be_a_link(tmp_path: Path, place: LocalFolder) -> None:
    (tmp_path / "elsewhere").symlink_to(tmp_path / "home")
    assert LocalFolder(tmp_path / "elsewhere" / "results").get("a/1.json") == b"ours"


def test_a_file_that_is_a_link_is_there_and_not_read(place: LocalFolder, outside: Path) -> None:
    (place.root / "a" / "2.json").symlink_to(outside / "1.json")
    (place.root / "a" / "3.json").symlink_to("/nowhere")
    assert sorted(place.objects("a")) == ["1.json", "2.json", "3.json"], (
        "the newest version is not silently another one"
    )
    for name in ("2.json", "3.json"):
        assert place.exists(f"a/{name}")
        with pytest.raises(DamagedError, match=rf"/a/{name} is a link"):
            place.get(f"a/{name}")
        place.delete(f"a/{name}")
    assert untouched(outside) and place.objects("a") == ["1.json"]


@pytest.mark.timeout(20)
def test_pipes_and_devices_are_not_waited_for(place: LocalFolder) -> None:
    os.mkfifo(place.root / "a" / "2.json")
    os.mkfifo(place.root / "a" / ".saving")
    assert sorted(place.objects("a")) == ["1.json", "2.json"]
    with pytest.raises(DamagedError, match=r"/a/2\.json is no file\. Delete it: it was not put there"):
        place.get("a/2.json")
    with pytest.raises(DamagedError, match="is no file"):
        Lock(place.root / "a" / ".saving")
    assert is_held(place.root / "a" / ".saving"), "who can tell"
    with pytest.raises(DamagedError, match="/dev/zero is no file"):
        read_file(Path("/dev"), "zero")


def test_a_lock_that_is_a_link_leaves_what_it_leads_to_alone(tmp_path: Path, outside: Path) -> None:
    (tmp_path / ".lock").symlink_to(outside / "1.json")
    with pytest.raises(DamagedError, match=r"\.lock is a link"):
        Lock(tmp_path / ".lock")
    (tmp_path / "hard").hardlink_to(outside / "1.json")
    with Lock(tmp_path / "hard"):
        pass
    assert untouched(outside), "a lock is never written"


def test_a_file_too_large_to_be_right(tmp_path: Path) -> None:
    with (tmp_path / "1.json").open("wb") as file:
        file.truncate(1 << 40)  # it takes no room
    with pytest.raises(DamagedError, match=r"1\.json has 1,099,511,627,776 bytes, at most 1,073,741,824 can be right"):
        read_file(tmp_path, "1.json")


def test_a_home_that_everybody_may_write(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_strangers(tmp_path)
        warn_of_strangers(tmp_path / "nowhere")
    (tmp_path / "tables").chmod(0o777)
    with pytest.warns(UserWarning, match=r"everybody on this machine may write .*/tables, and so"):
        warn_of_strangers(tmp_path)
