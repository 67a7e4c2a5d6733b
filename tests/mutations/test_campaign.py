"""A few of each kind that Python alone reads; what both languages read: tests/udafs/test_kernel_codecs.py."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest

from tests.mutations.campaign import LONGEST, Counts, judge, spoil
from tests.mutations.kinds import KINDS, REFUSED, Kind
from tests.mutations.spoiling import parts, spoilt, spoilt_json


@pytest.mark.parametrize(("kind", "count"), [("segments", 3000), ("results", 2000)])
def test_refused_or_well_formed(kind: str, count: int) -> None:
    total = Counts()
    for chunk in spoil(kind, count, seed=7):
        total.add(chunk)
    assert not total.faults
    assert total.tried == count and 0 < count - total.refused < count / 3, "some can still be read"
    assert total.added < 100 << 20


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_million(kind: str) -> None:
    faults = [fault for chunk in spoil(kind, 1_000_000, seed=1) for fault in chunk.faults]
    assert not faults


class Wrong(Kind):
    """Reads with every fault that a reader may have."""

    seeds = (b"",)

    def spoilt(self, dice: Random) -> bytes:
        return b""

    def judged(self, data: bytes) -> str:
        match data:
            case b"key":
                raise KeyError("x")
            case b"deep":
                return self.judged(data)
            case b"assert":
                raise AssertionError("not in order")
            case b"slow":
                begun = time.process_time()
                while time.process_time() < begun + LONGEST:
                    pass
            case b"bomb":
                np.zeros(1 << 50)
        return REFUSED


def test_faults_are_noticed() -> None:
    found, judged = judge(Wrong(), [b"key", b"fine", b"deep", b"assert", b"slow", b"bomb"], "here")
    assert [fault.split("\n")[0] for fault in found.faults] == [
        "here, number 0: b'key'", "here, number 2: b'deep'", "here, number 3: b'assert'", "here, number 4: b'slow'",
        "here, number 5: b'bomb'",
    ]  # fmt: skip
    whats = ("KeyError", "RecursionError", "not in order", " s", "MemoryError")
    assert [what in fault for what, fault in zip(whats, found.faults, strict=True)] == [True] * 5
    assert (found.tried, found.refused, judged[1]) == (6, 2, REFUSED)


def test_the_same_seed_spoils_alike() -> None:
    seeds = [bytes(range(100)), b"x" * 50]
    one, other = ([spoilt(seeds[0], dice, seeds) for _ in range(500)] for dice in (Random(3), Random(3)))
    assert one == other and len(set(one)) > 400
    assert {len(each) < 100 for each in one} == {True, False}
    texts = {repr(spoilt_json({"a": [1, {"b": "x"}], "c": None}, Random(i), parts([{"d": [2]}]))) for i in range(200)}
    assert len(texts) > 100
