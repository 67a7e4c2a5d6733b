"""Derived files: when they count, what takes whose place, what is cleared away, what goes beyond a budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage.storage.derived import DerivedFolders, beyond_budget, digest, take_place
from udafs.errors import DamagedError

WITNESS = "all.json"


def written(derived: DerivedFolders, of: str, text: str = "") -> None:
    with derived.making(), derived.writing(of) as folder:
        (folder / WITNESS).write_text(text)


def test_the_name_tells_all_that_something_depends_on() -> None:
    said = [("SELECT 1", 1), ("SELECT 1", 2), ("SELECT 1", "1"), ("SELECT", "1", 1), (("SELECT 1", 1),)]
    assert len({digest(*each) for each in said}) == len(said)
    assert digest("SELECT 1", 1) == digest("SELECT 1", 1)


def test_a_folder_counts_from_its_witness_on_and_takes_the_place_of_others(tmp_path: Path) -> None:
    derived = DerivedFolders(tmp_path, "views/one", WITNESS)
    assert derived.find("a") is None
    written(derived, "a")
    assert derived.find("a") == tmp_path / "views/one/a" and derived.find("b") is None
    written(derived, "b")
    assert derived.find("a") is None and derived.find("b") is not None
    (tmp_path / "views/one/b" / WITNESS).unlink()
    assert derived.find("b") is None, "somebody took files out of it"
    written(derived, "b", "anew")
    assert (tmp_path / "views/one/b" / WITNESS).read_text() == "anew"
    derived.forget()
    assert not (tmp_path / "views/one").exists() and tmp_path.exists()


def test_one_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    derived = DerivedFolders(tmp_path, "one", WITNESS)
    written(derived, "a")
    with pytest.raises(RuntimeError), derived.making(), derived.writing("b"):
        raise RuntimeError
    (tmp_path / "one" / ".dead.partial").mkdir()
    assert derived.find("a") is not None
    written(derived, "c")
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [".lock", "c"]


def test_nothing_is_read_made_or_forgotten_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "one").symlink_to(outside)
    derived = DerivedFolders(home, "one", WITNESS)
    with pytest.raises(DamagedError):
        derived.find("a")
    with pytest.raises(DamagedError), derived.making():
        pass
    derived.forget()
    assert outside.exists() and not list(outside.iterdir())


@pytest.mark.parametrize("theirs", ["whole", "half", None])
def test_of_two_that_make_the_same_the_quicker_one_stays(tmp_path: Path, theirs: str | None) -> None:
    new, folder = tmp_path / "new", tmp_path / "folder"
    new.mkdir()
    (new / WITNESS).write_text("mine")
    if theirs is not None:
        folder.mkdir()
        (folder / "other").touch()
    if theirs == "whole":
        (folder / WITNESS).write_text("theirs")
    take_place(new, folder, WITNESS)
    assert (folder / WITNESS).read_text() == ("theirs" if theirs == "whole" else "mine")
    assert not new.exists() and (folder / "other").exists() == (theirs == "whole")


def test_what_is_worth_least_for_its_bytes_goes_first() -> None:
    worth = {"a": 4.0, "b": 1.0, "c": 9.0, "d": 0.0}
    sized = [("a", 4), ("b", 4), ("c", 3), ("d", 2)]
    assert list(beyond_budget(sized, 13, worth.__getitem__)) == []
    assert list(beyond_budget(sized, 11, worth.__getitem__)) == ["d"]
    assert list(beyond_budget(sized, 10, worth.__getitem__)) == ["d", "b"]
    assert list(beyond_budget(sized, 0, worth.__getitem__)) == ["d", "b", "a", "c"]
