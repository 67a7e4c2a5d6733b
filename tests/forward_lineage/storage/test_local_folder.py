"""Objects in a local folder: on the disk when a call returns, whole or not there wherever it is cut off."""

from __future__ import annotations

import io
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterator
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.local_folder import LocalFolder, sync_folder, sync_folders, writable
from udafs.errors import LineageError, SetupError

OLD, NEW = b"old", b"new " * 1000
STEPS = ("mkdir", "open", "fsync", "link", "unlink")


class KilledError(BaseException):
    """The process was killed here; nothing that it would have done later happens."""


class Killed:
    """Kills what runs before its n-th step on the file system: from there on no step does anything.

    What was written but not yet brought to the disk is half lost.
    """

    def __init__(self, patched: pytest.MonkeyPatch, after: int) -> None:
        self.left = after
        self.steps: list[str] = []
        for name in STEPS:
            patched.setattr(os, name, self._counted(name, getattr(os, name)))
        patched.setattr(io, "open", self._counted("open a file", io.open))

    def _counted(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **options: object) -> object:
            if self.left == 0:
                if name == "fsync" and stat.S_ISREG(os.fstat(args[0]).st_mode):  # type: ignore[arg-type]
                    os.ftruncate(args[0], os.fstat(args[0]).st_size // 2)  # type: ignore[arg-type]
                raise KilledError
            self.left -= 1
            self.steps.append(name)
            return real(*args, **options)

        return step


def killed_puts(folder: Path) -> Iterator[tuple[LocalFolder, Killed, bool]]:
    """Put an object of two again and again, each time killed one step later; the last time nothing stops it."""
    for step in range(100):
        place = LocalFolder(folder / str(step))
        place.put_new("a/1.json", OLD)
        with pytest.MonkeyPatch.context() as patched:
            killed = Killed(patched, step)
            try:
                place.put_new("b/2.json", NEW)
            except KilledError:
                done = False
            else:
                done = True
        yield place, killed, done
        if done:
            return


def test_killed_at_any_step_it_is_whole_or_not_there(tmp_path: Path) -> None:
    seen = []
    for place, _, done in killed_puts(tmp_path):
        assert place.get("a/1.json") == OLD
        there = place.objects("b") == ["2.json"]
        assert place.exists("b/2.json") == there and (there or not done)
        if there:
            assert place.get("b/2.json") == NEW
        else:
            with pytest.raises(MissingError):
                place.get("b/2.json")
        seen.append((there, bool(list(place.root.glob("b/.*")))))
    assert set(seen) == {(False, False), (False, True), (True, True), (True, False)}, "every state was met"


def test_what_a_killed_put_left_is_no_object_and_is_cleared_away(tmp_path: Path) -> None:
    for place, _, _ in killed_puts(tmp_path):
        before = place.objects("b")
        place.clear_unfinished("b")
        assert not list(place.root.glob("b/.*")) and place.objects("b") == before
        if not before:
            place.put_new("b/2.json", NEW)
        assert place.get("b/2.json") == NEW


def test_an_error_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "a").mkdir()
    with pytest.raises(
        SetupError, match=r"/a cannot be written: No space left on device\. Make room there, or pass home="
    ):
        LocalFolder(tmp_path).put_new("a/1", NEW)
    assert not list((tmp_path / "a").iterdir())


class Watched:
    """What is brought to the disk, and when names appear, in order."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        fsync, link, mkdir = os.fsync, os.link, os.mkdir

        def watched_fsync(opened: int) -> None:
            found = os.fstat(opened)
            self.seen.append(f"fsync {self._name(found)}" if stat.S_ISDIR(found.st_mode) else "fsync the file")
            fsync(opened)

        def watched_link(source: Path, target: Path) -> None:
            self.seen.append(f"link {target.name}")
            link(source, target)

        def watched_mkdir(path: Path, *more: int) -> None:
            self.seen.append(f"mkdir {Path(path).name}")
            mkdir(path, *more)
            self.folders[Path(path).stat().st_ino] = Path(path).name

        self.folders: dict[int, str] = {}
        for name, watched in (("fsync", watched_fsync), ("link", watched_link), ("mkdir", watched_mkdir)):
            patched.setattr(os, name, watched)

    def _name(self, found: os.stat_result) -> str:
        return self.folders.get(found.st_ino, "what was there")


def test_it_is_on_the_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content before the name, the name before the return; and so each folder that was made for it."""
    watched = Watched(monkeypatch)
    place = LocalFolder(tmp_path / "home")
    place.put_new("a/1", OLD)
    made = ["mkdir home", "fsync what was there", "mkdir a", "fsync home"]
    assert watched.seen == [*made, "fsync the file", "link 1", "fsync a"]
    watched.seen.clear()
    place.put_new("a/2", NEW)
    assert watched.seen == ["fsync the file", "link 2", "fsync a"]


def test_folders_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    for name in ("top", "top/x", "top/y", "top/x/z"):
        (tmp_path / name).mkdir()
    watched.seen.clear()
    sync_folders(tmp_path / "top")
    assert sorted(watched.seen) == ["fsync top", "fsync x", "fsync y", "fsync z"]


def test_file_systems_that_cannot_sync_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(error: OSError) -> Callable[[int], None]:
        def fsync(_: int) -> None:
            raise error

        return fsync

    monkeypatch.setattr(os, "fsync", refuses(OSError(22, "Invalid argument")))
    sync_folder(tmp_path)
    monkeypatch.setattr(os, "fsync", refuses(OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)


def _put_each_round(folder: Path, who: int, rounds: int, together: Barrier, wins: Queue[tuple[int, int]]) -> None:
    place = LocalFolder(folder)
    for number in range(rounds):
        together.wait(timeout=60)
        try:
            place.put_new(f"a/{number}", b"%d" % who * 100)
        except TakenError:
            continue
        wins.put((number, who))
    wins.close()
    wins.join_thread()


def test_of_two_processes_exactly_one_wins(tmp_path: Path) -> None:
    rounds = 200
    spawn = multiprocessing.get_context("spawn")
    together, wins = spawn.Barrier(2), spawn.Queue()
    workers = [spawn.Process(target=_put_each_round, args=(tmp_path, who, rounds, together, wins)) for who in (1, 2)]
    for worker in workers:
        worker.start()
    won = [wins.get(timeout=120) for _ in range(rounds)]
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    assert wins.empty() and sorted(number for number, _ in won) == list(range(rounds))
    place = LocalFolder(tmp_path)
    for number, who in won:
        assert place.get(f"a/{number}") == b"%d" % who * 100
    assert len(list((tmp_path / "a").iterdir())) == rounds, "nothing unfinished is left"


def test_hidden_files_are_no_objects(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in (".lock", ".1-abc.partial", "1"):
        (tmp_path / "a" / name).touch()
    place = LocalFolder(tmp_path)
    assert place.objects("a") == ["1"]
    place.clear_unfinished("a")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".lock", "1"]


@pytest.mark.parametrize("in_the_way", ["home", "home/a"])
def test_a_file_in_the_way(tmp_path: Path, in_the_way: str) -> None:
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).write_text("x")
    place = LocalFolder(tmp_path / "home")
    assert place.folders("a") == place.objects("a") == [] and not place.exists("a/1")
    with pytest.raises(MissingError):
        place.get("a/1")
    with pytest.raises(SetupError, match=r"/home/a cannot be written: (Not a directory|File exists)\. Pass home="):
        place.put_new("a/1", NEW)


def test_what_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = LocalFolder(tmp_path)
    (tmp_path / "folder").mkdir()
    message = r"/folder cannot be read: Is a directory\. Give this process the right to read it\."
    with pytest.raises(SetupError, match=message):
        place.get("folder")

    def denied(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(LineageError, match=r"/a cannot be read: Permission denied\."):
        place.objects("a")


def test_a_connection_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConnectionRefusedError), writable(tmp_path):
        raise ConnectionRefusedError(111)


def test_an_error_without_a_number_is_said_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"cannot be written: what a library says\. Pass home="), writable(tmp_path):
        raise OSError("what a library says")
