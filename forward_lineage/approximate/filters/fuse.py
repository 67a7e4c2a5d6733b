"""A binary fuse filter: each key has four cells, whose fingerprints add up (XOR) to the key's.

Fingerprints have 1 to 8 bits. With r bits a key that is not there is found with probability 2⁻ʳ, at 1.075 r bits for
each key of a million. So 1 % takes 7.5 bits; a Bloom filter takes 9.6.   [Graf and Lemire 2022, Binary Fuse Filters]

Cells are found by taking off, round by round, keys that have a cell to themselves. numpy does a round at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.hashing import Hashes, Truths, mixed

_ARITY = 4
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_LARGEST_SEGMENT = 1 << 18
_TRIES = 64
Cells = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FuseFilter:
    """Keys, as a filter.

    Attributes:
        cells: the fingerprints, `width` bits each, packed.
        width: how many bits each has; 0: the filter finds every key.
        segment: how many cells each segment has, a power of 2.
        segments: where the first cell of a key may be.
        seed: with which keys are hashed.
        size: how many keys were put in; with none, no key is found.

    """

    cells: Bytes
    width: int
    segment: int
    segments: int
    seed: int
    size: int

    @property
    def bits(self) -> int:
        """How many bits the cells take."""
        return int(self.cells.size) * 8

    def contains(self, keys: Hashes) -> Truths:
        """Tell for each key whether it may be there; all that are there are found."""
        if not self.size or not self.width:
            return np.full(keys.size, self.size > 0)
        hashes = _seeded(keys, self.seed)
        found = np.zeros(keys.size, np.uint8)
        for cells in _cells(hashes, self.segment, self.segments):
            found ^= self._at(cells)
        return np.asarray(found == _fingerprints(hashes, self.width))

    def _at(self, cells: Cells) -> Bytes:
        first = cells * self.width
        at, shift = first >> 3, (first & 7).astype(np.uint16)
        two = self.cells[at].astype(np.uint16) | (self.cells[at + 1].astype(np.uint16) << 8)
        return np.asarray((two >> shift) & ((1 << self.width) - 1), np.uint8)


def width_for(rate: float) -> int:
    """Return how many bits a fingerprint takes, for a rate of false positives.

    Examples:
        >>> width_for(0.01)
        7

    """
    return min(max(math.ceil(-math.log2(rate)), 0), 8)


def bits_for(keys: int, width: int) -> int:
    """Return how many bits a filter of so many keys takes."""
    segment, segments = _shape(max(keys, 2))
    return 8 * _packed_size((segments + _ARITY - 1) * segment, width) if keys and width else 0


def fuse_filter(keys: Hashes, width: int) -> FuseFilter:
    """Return a filter of some keys.

    Args:
        keys: distinct ones, uint64.
        width: how many bits each fingerprint has, 0 to 8.

    """
    if not keys.size or not width:
        return FuseFilter(np.zeros(0, np.uint8), width, 1, 1, 0, int(keys.size))
    segment, segments = _shape(max(int(keys.size), 2))
    for seed in range(_TRIES):
        hashes = _seeded(keys, seed)
        places = np.stack(_cells(hashes, segment, segments), axis=1)
        rounds = _peeled(places, (segments + _ARITY - 1) * segment)
        if rounds is not None:
            cells = _assigned(places, _fingerprints(hashes, width), rounds, (segments + _ARITY - 1) * segment)
            return FuseFilter(_packed(cells, width), width, segment, segments, seed, int(keys.size))
    raise AssertionError("keys are not distinct")


def _shape(keys: int) -> tuple[int, int]:
    """The size of a segment, and in how many a first cell may be: the constants of the paper for four cells."""
    segment = min(1 << max(math.floor(math.log(keys) / math.log(2.91) - 0.5), 2), _LARGEST_SEGMENT)
    factor = max(1.075, 0.77 + 0.305 * math.log(600_000) / math.log(keys))
    return segment, max(-(-round(keys * factor) // segment) - (_ARITY - 1), 1)


def _seeded(keys: Hashes, seed: int) -> Hashes:
    return mixed(keys + mixed(np.array([seed + 1], np.uint64)))


def _cells(hashes: Hashes, segment: int, segments: int) -> list[Cells]:
    """The cells of each key: one in each of four segments that follow each other."""
    first = ((hashes >> _HALF) * np.uint64(segments * segment)) >> _HALF
    within, mask = mixed(hashes ^ _LOW), np.uint64(segment - 1)
    found = [first.astype(np.int64)]
    for place in range(1, _ARITY):
        cell = (first + np.uint64(place * segment)) ^ ((within >> np.uint64(18 * (place - 1))) & mask)
        found.append(cell.astype(np.int64))
    return found


def _fingerprints(hashes: Hashes, width: int) -> Bytes:
    return (hashes & np.uint64((1 << width) - 1)).astype(np.uint8)


def _peeled(places: Cells, cells: int) -> list[tuple[Cells, Cells]] | None:
    """In each round which keys had a cell to themselves, and which cell; None: some keys never have one."""
    degree = np.bincount(places.ravel(), minlength=cells)
    keys = np.arange(len(places))
    sums = np.zeros(cells, np.int64)  # of the keys of a cell, XOR; with one key left: that key
    for each in places.T:
        np.bitwise_xor.at(sums, each, keys)
    rounds, left = [], len(places)
    alone = np.flatnonzero(degree == 1)
    while alone.size:
        mine, first = np.unique(sums[alone], return_index=True)
        rounds.append((mine, alone[first]))
        left -= mine.size
        touched = places[mine]
        for each in touched.T:
            np.bitwise_xor.at(sums, each, mine)
            np.subtract.at(degree, each, 1)
        near = touched.ravel()
        alone = np.unique(near[degree[near] == 1])
    return rounds if not left else None


def _assigned(places: Cells, fingerprints: Bytes, rounds: list[tuple[Cells, Cells]], cells: int) -> Bytes:
    """The fingerprints of cells: last taken off, first assigned."""
    found = np.zeros(cells, np.uint8)
    for keys, own in reversed(rounds):
        found[own] = 0
        found[own] = np.bitwise_xor.reduce(found[places[keys]], axis=1) ^ fingerprints[keys]
    return found


def _packed_size(cells: int, width: int) -> int:
    return -(-cells * width // 8) + 1  # a cell may be read with the byte behind it


def _packed(cells: Bytes, width: int) -> Bytes:
    bits = np.unpackbits(cells[:, None], axis=1, bitorder="little")[:, :width]
    return np.concatenate([np.packbits(bits.ravel(), bitorder="little"), np.zeros(1, np.uint8)])
