"""Bulk construction of roBDDs: level by level from the least significant bit.   [Zhang 2007, §4.2]

The codes are sorted; two codes that differ in their last bit only are the children of one node. So at every level:
pair the siblings, drop pairs of equal children (elimination rule), number the distinct ones (merging rule), cut off the
bit. A million codes take a fraction of a second; a million `ite` calls would take minutes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udafs.robdd import Codes, NodeTable, Refs

Flags = npt.NDArray[np.bool_]

TABLE_BITS = 4  # the lowest levels at once: the truth table of 4 variables is a number below 2^16


class TooManyNodesError(Exception):
    """The roBDD has more nodes than the caller can use."""


class _Levels:
    """The nodes made so far."""

    def __init__(self, at_most: int | None) -> None:
        self.starts = [0]
        self.lo: list[Refs] = []
        self.hi: list[Refs] = []
        self.at_most = at_most

    @property
    def base(self) -> int:
        """The reference that the next node will have."""
        return 2 + self.starts[-1]

    def add(self, lo: Refs, hi: Refs) -> Refs:
        """One level of functions (lo, hi), some of which need no node; returns their references."""
        refs = lo.copy()
        differ = np.flatnonzero(lo != hi)
        new_lo, new_hi, number = _unique_pairs(lo[differ], hi[differ], self.base)
        refs[differ] = number + self.base
        self.lo.append(new_lo)
        self.hi.append(new_hi)
        self.starts.append(self.starts[-1] + len(new_lo))
        if self.at_most is not None and self.starts[-1] > self.at_most:
            raise TooManyNodesError
        return refs

    def table(self, root: int) -> NodeTable:
        return NodeTable(np.array(self.starts), np.concatenate(self.lo), np.concatenate(self.hi), root)


def _unique_pairs(lo: Refs, hi: Refs, base: int) -> tuple[Refs, Refs, Refs]:
    """The distinct pairs in ascending order, and the number of each given pair among them."""
    if not lo.size:
        return lo, hi, lo
    key = lo * base + hi
    few = base * base <= 4 * key.size + 1024
    distinct, number = _unique_by_table(key, base * base) if few else _unique_by_sorting(key, 2 * base.bit_length())
    return distinct // base, distinct % base, number


def _unique_by_table(key: Refs, end: int) -> tuple[Refs, Refs]:
    """The distinct keys, all below `end`, and the number of each key among them."""
    number = np.zeros(end, np.int64)
    number[key] = 1
    distinct = np.flatnonzero(number)
    number[distinct] = np.arange(distinct.size)
    return distinct, number[key]


def _unique_by_sorting(key: Refs, key_bits: int) -> tuple[Refs, Refs]:
    """The same for keys of any size."""
    position_bits = key.size.bit_length()
    if key_bits + position_bits <= 63:
        # The position rides in the low bits: sorting plain integers is several times faster than argsort.
        packed = np.sort(key << position_bits | np.arange(key.size))
        order = packed & (1 << position_bits) - 1
        key = packed >> position_bits
    else:
        order = np.argsort(key)
        key = key[order]
    new = np.empty(key.size, bool)
    new[0] = True
    np.not_equal(key[1:], key[:-1], out=new[1:])
    number = np.empty_like(order)
    number[order] = np.cumsum(new) - 1
    return key[new], number


def _pair_siblings(prefix: Codes, ref: Refs, group: Refs | None) -> tuple[Codes, Refs, Refs, Refs | None]:
    """Cut the last bit off: the shorter prefixes, their children lo and hi, and their groups."""
    bit = (prefix & np.uint64(1)).astype(bool)
    prefix = prefix >> np.uint64(1)
    twin = prefix[1:] == prefix[:-1]
    if group is not None:
        twin &= group[1:] == group[:-1]
    second = np.flatnonzero(twin) + 1
    lo = np.where(bit, 0, ref)
    hi = ref - lo
    if second.size:
        hi[second - 1] = ref[second]
        first = np.ones(prefix.size, bool)
        first[second] = False
        prefix, lo, hi = prefix[first], lo[first], hi[first]
        group = group[first] if group is not None else None
    return prefix, lo, hi, group


def _lowest_levels(levels: _Levels, codes: Codes, bits: int, group: Refs | None) -> tuple[Codes, Refs, Refs | None]:
    """The lowest `bits` ≤ TABLE_BITS levels at once, by truth tables."""
    prefix = codes >> np.uint64(bits)
    new = np.empty(prefix.size, bool)
    new[:1] = True
    np.not_equal(prefix[1:], prefix[:-1], out=new[1:])
    if group is not None:
        new[1:] |= group[1:] != group[:-1]
    first = np.flatnonzero(new)
    minterm = np.left_shift(1, (codes & np.uint64((1 << bits) - 1)).astype(np.int64))
    tables = np.bitwise_or.reduceat(minterm, first)
    refs = np.zeros(1 << (1 << bits), np.int64)
    refs[tables] = 1
    distinct = np.flatnonzero(refs)
    refs[distinct] = _truth_tables(levels, distinct, bits)
    return prefix[first], refs[tables], group[first] if group is not None else None


def _truth_tables(levels: _Levels, distinct: Refs, bits: int) -> Refs:
    """References of the functions whose truth tables are the `distinct` numbers below 2^(2^bits)."""
    if bits == 0:
        return distinct
    half = 1 << bits - 1
    lo, hi = distinct & (1 << half) - 1, distinct >> half
    halves = np.flatnonzero(np.bincount(np.concatenate([lo, hi])))
    refs = _truth_tables(levels, halves, bits - 1)
    return levels.add(refs[np.searchsorted(halves, lo)], refs[np.searchsorted(halves, hi)])


def _reduce(levels: _Levels, codes: Codes, bits: int, ref: Refs | None, group: Refs | None) -> tuple[Refs, Refs | None]:
    """`bits` levels above those already made; returns the references and groups that are left, one a group."""
    prefix = codes
    done = 0
    if ref is None:
        done = min(bits, TABLE_BITS)
        prefix, ref, group = _lowest_levels(levels, codes, done, group)
    for _ in range(done, bits):
        prefix, lo, hi, group = _pair_siblings(prefix, ref, group)
        ref = levels.add(lo, hi)
    return ref, group


def from_codes(codes: Codes, nbits: int, at_most: int | None = None) -> NodeTable:
    """The roBDD of a set of codes.

    Args:
        codes: uint64, strictly ascending, each below 2^nbits.
        nbits: number of variables, 0 … 64.
        at_most: give up beyond this number of nodes.

    Raises:
        TooManyNodesError: more nodes than `at_most`.

    """
    if nbits == 0 or not codes.size:
        return NodeTable.constant(bool(codes.size), nbits)
    levels = _Levels(at_most)
    ref, _ = _reduce(levels, codes, nbits, None, None)
    return levels.table(int(ref[0]))


def from_pairs(upper: Codes, lower: Codes, upper_bits: int, lower_bits: int, at_most: int | None = None) -> NodeTable:
    """The roBDD of a relation: the bits of `upper` above those of `lower`, up to 64 bits each.

    Args:
        upper: uint64, ascending, each below 2^upper_bits.
        lower: uint64, strictly ascending where `upper` is equal, each below 2^lower_bits.
        upper_bits: number of variables of `upper`.
        lower_bits: number of variables of `lower`.
        at_most: give up beyond this number of nodes.

    Raises:
        TooManyNodesError: more nodes than `at_most`.

    """
    nbits = upper_bits + lower_bits
    if not upper.size:
        return NodeTable.constant(False, nbits)
    if nbits <= 64 and lower_bits < 64:
        return from_codes(upper << np.uint64(lower_bits) | lower, nbits, at_most)
    new = np.ones(upper.size, bool)
    np.not_equal(upper[1:], upper[:-1], out=new[1:])
    levels = _Levels(at_most)
    ref, _ = _reduce(levels, lower, lower_bits, None, np.cumsum(new))
    ref, _ = _reduce(levels, upper[new], upper_bits, ref, None)
    return levels.table(int(ref[0]))


def from_intervals(first: Codes, last: Codes, nbits: int) -> NodeTable:
    """The roBDD of a union of intervals, without listing their codes.

    Args:
        first: uint64, the first code of each interval, ascending.
        last: uint64, the last code of each interval; the intervals do not touch.
        nbits: number of variables, 0 … 64.

    """
    if nbits == 0 or not first.size:
        return NodeTable.constant(bool(first.size), nbits)
    levels = _Levels(None)
    prefix, ref = np.empty(0, np.uint64), np.empty(0, np.int64)
    for _ in range(nbits):
        first, last, *entering = _without_odd_ends(first, last)
        prefix = np.concatenate([prefix, *entering])
        ref = np.concatenate([ref, np.ones(prefix.size - ref.size, np.int64)])
        order = np.argsort(prefix)
        if prefix.size:
            prefix, lo, hi, _ = _pair_siblings(prefix[order], ref[order], None)
        else:
            lo = hi = ref
        ref = levels.add(lo, hi)
        first, last = first >> np.uint64(1), last >> np.uint64(1)
    if first.size:
        return NodeTable.constant(True, nbits)
    return levels.table(int(ref[0]))


def _without_odd_ends(first: Codes, last: Codes) -> tuple[Codes, Codes, Codes, Codes]:
    """Intervals of whole pairs of siblings, and the codes that fill none, as they stand in front of and behind them."""
    one = np.uint64(1)
    alone = (first & one).astype(bool)
    in_front = first[alone]
    left = ~alone | (first < last)
    first, last = (first + alone)[left], last[left]
    alone = ~(last & one).astype(bool)
    behind = last[alone]
    left = ~alone | (first < last)
    return first[left], (last - alone)[left], in_front, behind
