"""What an object store does beyond the laws of `Storage`, asked of a server; what is said when it does not."""

from __future__ import annotations

import pickle
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.object_store import LostError, ObjectStore
from tests.object_server import BUCKET, ObjectServer, answers_lost
from udafs.errors import DamagedError, SetupError


@pytest.fixture
def store(store_server: ObjectServer) -> ObjectStore:
    return ObjectStore(f"s3://{BUCKET}/{uuid.uuid4().hex}")


def test_a_part_of_an_object(store: ObjectStore, store_server: ObjectServer) -> None:
    store.put_new("a", bytes(range(256)))
    assert store.get_range("a", 10, 3) == b"\x0a\x0b\x0c" and store.get_range("a", 250, 100) == bytes(range(250, 256))
    with pytest.raises(MissingError):
        store.get_range("b", 0, 1)


def test_what_is_too_large_is_not_read(store: ObjectStore) -> None:
    store.put_new("a", bytes(1000))
    with pytest.raises(DamagedError, match=r"has 1,000 bytes, at most 999 can be right"):
        store.get("a", 999)


def test_replaced_only_if_it_is_what_was_seen(store: ObjectStore) -> None:
    first = store.put_tagged("a", b"1")
    second = store.replace("a", b"2", first)
    with pytest.raises(LostError):
        store.replace("a", b"3", first)
    with pytest.raises(LostError):
        store.replace("b", b"3", first)
    assert store.get("a") == b"2" and store.entry("a").tag == second


def test_of_many_that_replace_one_wins(store: ObjectStore) -> None:
    tag = store.put_tagged("a", b"0")

    def wins(number: int) -> bool:
        try:
            store.replace("a", b"%d" % number, tag)
        except LostError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(wins, range(1, 33))) == 1


def test_files_are_sent_and_fetched_as_they_are(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(range(256)) * (12 << 12))  # in several parts
    store.send("a/large", tmp_path / "large")
    store.copy("a/large", "b")
    store.get_to("b", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "large").read_bytes()


def test_more_than_a_listing_gives_at_once(store: ObjectStore, store_server: ObjectServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put_new(f"a/{number}", b""), range(1100)))
    store_server.requests()
    assert len(store.objects("a")) == 1100 and len(store.tree("")) == 1100
    assert len(store_server.requests()) == 4, "one for each thousand"
    store.delete_folder("a")
    assert store.tree("") == []


def test_an_answer_that_is_lost_is_no_loss(store: ObjectStore, store_server: ObjectServer,
                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    with answers_lost(store_server, lost=("PUT", "PUT")) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.address)
        tag = store.put_tagged("a", b"mine")
        assert proxy.lost == ["PUT"], "the store had it, and we were not told"
        assert store.replace("a", b"mine, too", tag) == store.entry("a").tag
        assert proxy.lost == ["PUT", "PUT"]
        assert store.get("a") == b"mine, too"
        with pytest.raises(TakenError):
            store.put_new("a", b"mine")


def test_it_goes_to_another_process_as_an_address(store: ObjectStore) -> None:
    store.put_new("a", b"1")
    text = pickle.dumps(store)
    assert b"of this machine" not in text, "no credentials"
    assert pickle.loads(text).get("a") == b"1"


@pytest.mark.parametrize("what", ["get", "put", "list"])
def test_no_such_bucket(store_server: ObjectServer, what: str) -> None:
    store = ObjectStore("s3://no-such-bucket/home")
    ask = {"get": lambda: store.get("a"), "put": lambda: store.put_new("a", b""), "list": lambda: store.objects("a")}
    with pytest.raises(SetupError, match=r"there is no such bucket\. Make it"):
        ask[what]()


def test_no_credentials(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SetupError, match=r"no credentials in the environment\. Set AWS_ACCESS_KEY_ID"):
        store.get("a")


def test_no_tls(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(SetupError, match=r"without TLS\. Set AWS_ALLOW_HTTP"):
        store.get("a")
