"""Leases: what tells the living from the dead where there are no locks."""

from __future__ import annotations

import multiprocessing
import time
import uuid
from multiprocessing.connection import Connection

import pytest

from forward_lineage.storage.leases import VARIABLE, Lease, seconds
from forward_lineage.storage.object_store import LostError, ObjectStore
from tests.object_server import BUCKET, ObjectServer
from udafs.errors import BadArgumentError

SECONDS = 3.0  # a server says when something was written in whole seconds


@pytest.fixture
def place(store_server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setenv(VARIABLE, str(SECONDS))
    return ObjectStore(f"s3://{BUCKET}/{uuid.uuid4().hex}")


def test_who_renews_lives(place: ObjectStore) -> None:
    ours, theirs = Lease(place, "ours"), Lease(place, "theirs")
    time.sleep(SECONDS + 2)
    assert ours.others() == {"theirs": True} and ours.is_alive("theirs")
    theirs.release()
    assert ours.others() == {} and not ours.is_alive("theirs")
    ours.release()
    assert place.tree("") == []


def _hold(place: ObjectStore, told: Connection) -> None:
    lease = Lease(place, "theirs")
    told.send("held")
    told.recv()  # never comes
    lease.release()


def test_a_dead_process_does_not_keep_one(place: ObjectStore) -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    holder = spawn.Process(target=_hold, args=(place, theirs))
    holder.start()
    assert ours.poll(60) and ours.recv() == "held"
    lease = Lease(place, "ours")
    assert lease.is_alive("theirs")
    holder.kill()
    holder.join()
    time.sleep(SECONDS + 2)
    assert lease.others() == {"theirs": False}
    assert not lease.is_alive("theirs") and lease.others() == {}, "taken away"
    lease.release()


def test_who_slept_for_too_long_is_told(place: ObjectStore) -> None:
    sleeper = Lease(place, "sleeper")
    sleeper._over.set()  # as if the process stood still
    sleeper._thread.join()
    time.sleep(SECONDS + 2)
    lease = Lease(place, "ours")
    assert not lease.is_alive("sleeper")
    with pytest.raises(LostError):
        sleeper.renew()
    lease.release()
    sleeper.release()


@pytest.mark.parametrize("said", ["0", "-1", "soon", "inf", "nan"])
def test_a_time_that_is_none(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(BadArgumentError, match="in seconds"):
        seconds()
