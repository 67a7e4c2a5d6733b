"""Locks that a dead process does not keep."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from forward_lineage.storage.locks import Lock, is_held


def test_held_until_released(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path), "there is no such file"
    with Lock(path):
        assert is_held(path)
    assert not is_held(path) and path.exists()


def test_given_back_on_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), Lock(tmp_path / "lock"):
        raise KeyError
    assert not is_held(tmp_path / "lock")


def test_when_it_cannot_be_found_out_it_is_held(tmp_path: Path) -> None:
    assert is_held(tmp_path), "a folder cannot be opened so"


def test_one_at_a_time(tmp_path: Path) -> None:
    inside = []
    most = []

    def work(number: int) -> None:
        with Lock(tmp_path / "lock"):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    assert set(most) == {1} and len(most) == 200


def _hold(path: Path, told: Connection) -> None:
    lock = Lock(path)
    told.send("held")
    told.recv()  # never comes
    lock.release()


def test_a_dead_process_does_not_keep_it(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    holder = spawn.Process(target=_hold, args=(tmp_path / "lock", theirs))
    holder.start()
    assert ours.poll(60) and ours.recv() == "held"
    assert is_held(tmp_path / "lock")
    holder.kill()
    holder.join(timeout=60)
    assert not is_held(tmp_path / "lock")
    with Lock(tmp_path / "lock"):
        pass
