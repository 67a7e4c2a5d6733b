"""Reading tag 02 where containers of all kinds, and several 32-bit bitmaps, stand side by side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.udafs import reference_format
from udafs import roaring_reader
from udafs.errors import CorruptLineageError
from udafs.lineage_set import LineageSet

BLOCK = 1 << 16
KINDS = {
    "array": [3, 65_533, 65_535],
    "short array": [0],  # below the value the array before it ends with
    "run": [*range(100, 300), *range(60_000, BLOCK)],
    "bitmap": list(range(1, BLOCK, 3)),
}


def ids_of(kinds: tuple[str, ...], start: int) -> list[int]:
    """Containers of these kinds in consecutive blocks."""
    return [start + BLOCK * block + value for block, kind in enumerate(kinds) for value in KINDS[kind]]


def encoded(kinds: tuple[str, ...]) -> bytearray:
    return bytearray(reference_format.encode(ids_of(kinds, 0), "roaring"))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_kinds_of_containers_in_any_order(count: int) -> None:
    for kinds in itertools.permutations(KINDS, count):
        ids = ids_of(kinds, 7 * BLOCK)
        read = LineageSet.from_bytes(reference_format.encode(ids, "roaring"))
        assert np.array_equal(read.ids(), ids)


def test_several_bitmaps() -> None:
    # With and without run containers, offsets, and an odd number of bytes of run flags.
    kinds = [
        ("array", "run"),
        ("bitmap",),
        ("array", "short array"),
        ("run", "bitmap", "array", "run"),
        ("array",) * 20,
    ]
    ids = [row_id for high, each in enumerate(kinds) for row_id in ids_of(each, (3 * high + 1) << 32)]
    assert np.array_equal(LineageSet.from_bytes(reference_format.encode(ids, "roaring")).ids(), ids)


def test_an_empty_bitmap_between_others() -> None:
    one, other = (reference_format.encode(ids_of(kinds, 0), "roaring")[13:] for kinds in (("array", "run"), ("array",)))
    empty = (12346).to_bytes(4, "little") + bytes(4)
    halves = [high.to_bytes(4, "little") + bitmap for high, bitmap in ((0, one), (1, empty), (9, other))]
    read = LineageSet.from_bytes(b"\x02" + (3).to_bytes(8, "little") + b"".join(halves))
    assert np.array_equal(read.ids(), ids_of(("array", "run"), 0) + ids_of(("array",), 9 << 32))


def test_intervals_of_all_kinds() -> None:
    ids = np.array(ids_of(("run", "array", "run", "bitmap", "run", "array", "short array"), 0))
    first, last = roaring_reader.decode(
        np.frombuffer(reference_format.encode(ids.tolist(), "roaring")[1:], np.uint8)
    ).intervals()
    assert np.array_equal(np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]), ids)
    assert np.all(first[1:] - last[:-1] > 1)


# In the middle of array, array, run, array, bitmap: cookie 12347, so from byte 13 on the cookie (4), a byte of flags,
# 5 keys (20), 5 offsets (20), then the containers of 6, 6, 10, 6 and 8192 bytes.
FIVE = ("array", "array", "run", "array", "bitmap")
CONTAINERS = 13 + 4 + 1 + 20 + 20


def at_container(number: int) -> int:
    return CONTAINERS + sum((6, 6, 10, 6, 8192)[:number])


@pytest.mark.parametrize(
    ("at", "new", "message"),
    [
        (CONTAINERS - 12, b"\x3e", "container 2 stands at 57, not at 62"),
        (at_container(1) + 2, b"\x02\x00", "array container are not ascending"),
        (at_container(3) + 2, b"\x03\x00", "array container are not ascending"),
        (at_container(2) + 6, b"\x10\x00", "runs of a container overlap"),
        (at_container(2) + 8, b"\xff\xff", "runs of a container overlap, or leave it"),
        (at_container(2) + 4, b"\x08", "a container of 5545 ids says it has 5736"),
        (at_container(4) + 1000, b"\x00\x00", "a container of 21840 ids says it has 21845"),
        (13 + 4 + 1 + 4, b"\x02", "keys of the containers are not ascending"),
    ],
)
def test_faults_in_the_middle(at: int, new: bytes, message: str) -> None:
    value = encoded(FIVE)
    assert LineageSet.from_bytes(value).ids().tolist() == ids_of(FIVE, 0)
    value[at : at + len(new)] = new
    with pytest.raises(CorruptLineageError, match=f"^corrupt lineage value: roaring: .*{message}"):
        LineageSet.from_bytes(value)


@pytest.mark.parametrize("kinds", [FIVE, ("array", "array"), ("run", "array"), ("array", "run", "run")])
def test_cut_anywhere(kinds: tuple[str, ...]) -> None:
    value = encoded(kinds)
    for end in range(1, min(len(value), at_container(5))):
        with pytest.raises(CorruptLineageError, match=r"^corrupt lineage value: truncated: "):
            LineageSet.from_bytes(value[:end])
