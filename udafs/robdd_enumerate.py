"""The codes of a roBDD in ascending order, a level at a time for all paths at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from udafs.robdd import Codes, NodeTable, Refs

WORD_BITS = 6  # the lowest levels are read from truth tables of 64 bits, one word a function
_DENSE = 6  # set bits a word from which unpacking all 64 is faster than finding them one by one
_BLOCKS = 1 << 17  # words unpacked at a time: their bits take 8 MB
# Bit i of _WHERE_SET[k] says whether bit k of i is set: the truth table of variable k.
_WHERE_SET = np.array([sum(1 << i for i in range(64) if i >> k & 1) for k in range(WORD_BITS)], np.uint64)


def descend(table: NodeTable, refs: Refs, top: int, bottom: int) -> tuple[Refs, Codes, Refs]:
    """All paths that do not end in sink 0, through the levels top − 1 … bottom.

    Args:
        table: where the references live.
        refs: functions whose levels are below `top`, shape (m,).
        top: number of the first level that is not walked any more, counted from above.
        bottom: the lowest level that is walked.

    Returns:
        For each path, in ascending order: the index in `refs` it began at; the top − bottom bits on its way;
        the reference it arrived at, below `bottom`.

    """
    lo, hi = table.children()
    owner = np.flatnonzero(refs)
    refs = refs[owner]
    prefix = np.zeros(refs.size, np.uint64)
    for level in range(top - 1, bottom - 1, -1):
        stands_here = refs >= 2 + table.starts[level]
        both = np.empty((refs.size, 2), np.int64)
        both[:, 0] = np.where(stands_here, lo[refs], refs)
        both[:, 1] = np.where(stands_here, hi[refs], refs)
        alive = np.flatnonzero(both)
        parent = alive >> 1
        refs = both.ravel()[alive]
        prefix = prefix[parent] << np.uint64(1) | (alive & 1).astype(np.uint64)
        owner = owner[parent]
    return owner, prefix, refs


def _words(table: NodeTable) -> npt.NDArray[np.uint64]:
    """The truth table over the lowest 6 variables of each reference below level 6."""
    levels = min(WORD_BITS, table.nbits)
    words = np.zeros(2 + int(table.starts[levels]), np.uint64)
    words[1] = ~np.uint64(0)
    for level in range(levels):
        part = slice(int(table.starts[level]), int(table.starts[level + 1]))
        mask = _WHERE_SET[level]
        words[2 + part.start : 2 + part.stop] = words[table.lo[part]] & ~mask | words[table.hi[part]] & mask
    return words


def _set_bits(words: npt.NDArray[np.uint64]) -> tuple[Refs, npt.NDArray[np.uint64]]:
    """Index of the word and number of the bit, for all bits that are set, ascending."""
    count = np.bitwise_count(words).astype(np.int64)
    ends = np.cumsum(count)
    if not words.size or ends[-1] > _DENSE * words.size:
        place = np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(bool))
        return place >> WORD_BITS, (place & (1 << WORD_BITS) - 1).astype(np.uint64)
    bit = np.empty(ends[-1], np.uint64)
    at = ends - count  # where the next bit of each word goes
    while words.size:
        lowest = words & (~words + np.uint64(1))
        # The exponent of a power of two as a double is its logarithm.
        bit[at] = (lowest.astype(np.float64).view(np.uint64) >> np.uint64(52)) - np.uint64(1023)
        left = np.flatnonzero(words != lowest)
        words, at = (words ^ lowest)[left], at[left] + 1
    return np.repeat(np.arange(count.size), count), bit


def blocks(table: NodeTable, refs: Refs, top: int) -> Iterator[tuple[Refs, Codes]]:
    """Pairs (index in `refs`, code over the lowest `top` bits) in ascending order, a bounded number at a time."""
    bottom = min(WORD_BITS, top)
    owner, prefix, refs = descend(table, refs, top, bottom)
    words = _words(table)[refs]
    if bottom < WORD_BITS:
        words &= np.uint64((1 << (1 << bottom)) - 1)
    for start in range(0, words.size, _BLOCKS):
        part = slice(start, start + _BLOCKS)
        word, low = _set_bits(words[part])
        yield owner[part][word], prefix[part][word] << np.uint64(bottom) | low


def codes(table: NodeTable) -> Codes:
    """All codes of a table of at most 64 variables, ascending. The caller has looked at `table.count()`."""
    found = [code for _, code in blocks(table, np.array([table.root]), table.nbits)]
    return np.concatenate(found) if found else np.empty(0, np.uint64)


def pairs(table: NodeTable, lower_bits: int) -> tuple[Codes, Codes]:
    """All codes as (bits above `lower_bits`, the `lower_bits` below), ascending; each side at most 64 bits."""
    _, upper, refs = descend(table, np.array([table.root]), table.nbits, lower_bits)
    found = [(upper[owner], lower) for owner, lower in blocks(table, refs, lower_bits)]
    if not found:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def one_by_one(table: NodeTable) -> Iterator[int]:
    """All codes in ascending order without ever holding more than a path."""
    stack = [(table.root, table.nbits, 0)]
    while stack:
        reference, bits, prefix = stack.pop()
        if reference == 0:
            continue
        if bits == 0:
            yield prefix
            continue
        lo = hi = reference
        if table.level(reference) == bits - 1:
            lo, hi = int(table.lo[reference - 2]), int(table.hi[reference - 2])
        stack.append((hi, bits - 1, prefix << 1 | 1))
        stack.append((lo, bits - 1, prefix << 1))
