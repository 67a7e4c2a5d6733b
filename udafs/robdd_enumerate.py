"""The codes of a roBDD in ascending order, a level at a time for all paths at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from udafs.robdd import Codes, NodeTable, Refs

WORD_BITS = 6  # the lowest levels are read from truth tables of 64 bits, one word a function
_DENSE = 6  # set bits a word from which unpacking all 64 is faster than finding them one by one
_BLOCKS = 1 << 15  # words unpacked at a time: their bits take 2 MB
_LARGE = 1 << 15  # nodes from which it pays to look which of them have one code
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
        # `take` is a good deal faster than indexing with an array.
        both[:, 0] = np.where(stands_here, lo.take(refs), refs)
        both[:, 1] = np.where(stands_here, hi.take(refs), refs)
        alive = np.flatnonzero(both != 0)
        parent = alive >> 1
        refs = both.ravel().take(alive)
        prefix = prefix.take(parent) << np.uint64(1) | (alive & 1).view(np.uint64)
        owner = owner.take(parent)
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


def _set_bits(words: npt.NDArray[np.uint64]) -> tuple[Refs, npt.NDArray[np.uint8]]:
    """Index of the word and number of the bit, for all bits that are set, ascending."""
    count = np.bitwise_count(words).astype(np.int64)
    ends = np.cumsum(count)
    if not words.size or ends[-1] > _DENSE * words.size:
        place = np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(bool))
        return place >> WORD_BITS, (place & (1 << WORD_BITS) - 1).astype(np.uint8)
    bit = np.empty(ends[-1], np.uint8)
    at = ends - count  # where the next bit of each word goes
    while words.size:
        # One less turns the lowest set bit and the zeros below it around: as many ones as its number.
        less = words - np.uint64(1)
        bit[at] = np.bitwise_count(less & ~words)
        words = words & less
        left = np.flatnonzero(words)
        words, at = words.take(left), at.take(left) + 1
    return np.repeat(np.arange(count.size), count), bit


def blocks(table: NodeTable, refs: Refs, top: int) -> Iterator[tuple[Refs, Codes]]:
    """Pairs (index in `refs`, code over the lowest `top` bits) in ascending order, a bounded number at a time."""
    bottom = min(WORD_BITS, top)
    owner, prefix, refs = descend(table, refs, top, bottom)
    words = _words(table)[refs]
    if bottom < WORD_BITS:
        words &= np.uint64((1 << (1 << bottom)) - 1)
    upper = prefix << np.uint64(bottom)
    for part, word, low in _unpacked(words):
        yield owner[part].take(word), upper[part].take(word) | low


def _unpacked(words: npt.NDArray[np.uint64]) -> Iterator[tuple[slice, Refs, npt.NDArray[np.uint8]]]:
    """Parts of the words, each with what `_set_bits` gives of it."""
    for start in range(0, words.size, _BLOCKS):
        part = slice(start, start + _BLOCKS)
        yield part, *_set_bits(words[part])


def codes(table: NodeTable) -> Codes:
    """All codes of a table of at most 64 variables, ascending. The caller has looked at `table.count()`."""
    if table.nbits < 64 and table.nodes >= _LARGE:
        return _codes_of_large(table)
    return _gathered(code for _, code in blocks(table, np.array([table.root]), table.nbits))


def _codes_of_large(table: NodeTable) -> Codes:
    """`codes` of at most 63 variables; a path that has one code left is finished at once, whatever stands below it."""
    children = _children_or_code(table)
    refs, prefix = np.array([table.root]), np.zeros(1, np.int64)
    found: list[Codes] = []
    for level in range(table.nbits - 1, WORD_BITS - 1, -1):
        # `take` and indices: many times as fast as indexing with a mask.
        both = children.take(refs, axis=0)
        skipping = np.flatnonzero(refs < 2 + table.starts[level])
        if skipping.size:
            both[skipping] = refs[skipping, None]
        both = both.ravel()
        single = np.flatnonzero(both < 0)
        if single.size:
            found.append((_longer(prefix, single) << level | ~both.take(single)).view(np.uint64))
        alive = np.flatnonzero(both > 0)
        refs, prefix = both.take(alive), _longer(prefix, alive)
    upper = (prefix << WORD_BITS).view(np.uint64)
    found.extend(upper[part].take(word) | low for part, word, low in _unpacked(_words(table)[refs]))
    all_codes = _gathered(found)
    all_codes.sort(kind="stable")  # which merges what is ascending already: the codes found at each level
    return all_codes


def _longer(prefix: Refs, place: Refs) -> Refs:
    """The prefixes of children, the one on `lo` of path i being at place 2·i and the one on `hi` behind it."""
    return prefix.take(place >> 1) << 1 | place & 1


def _gathered(found: Iterable[Codes]) -> Codes:
    return np.concatenate([np.empty(0, np.uint64), *found])


def _children_or_code(table: NodeTable) -> Refs:
    """(lo, hi) of each reference, shape (2 + nodes, 2); (~code, 0) where only one code over its bits is left."""
    children = np.empty((2 + table.nodes, 2), np.int64)
    children[0], children[1] = 0, 1
    children[2:, 0], children[2:, 1] = table.lo, table.hi
    code = np.full(2 + table.nodes, -1)
    code[1] = 0
    below = 1  # references from here on stand on the level below
    for level in range(table.nbits):
        part = slice(int(table.starts[level]), int(table.starts[level + 1]))
        if part.start < part.stop:
            lo, hi = table.lo[part], table.hi[part]
            only_child = np.flatnonzero(np.minimum(lo, hi) == 0)
            lo, hi = lo.take(only_child), hi.take(only_child)
            child = lo + hi
            # -1, no single code, stays -1 whatever bit is set in it.
            here = code.take(child) | (hi > 0).astype(np.int64) << level
            here[child < below] = -1
            code[2 + part.start + only_child] = here
            if level >= WORD_BITS:
                single = np.flatnonzero(here >= 0)
                rows = 2 + part.start + only_child.take(single)
                children[rows, 0], children[rows, 1] = ~here.take(single), 0
        below = 2 + part.start
    return children


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
