"""Hashes of values and of tuples of values, the same on every machine; a place of a tuple may be free (a wildcard)."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Truths = npt.NDArray[np.bool_]

_STEP = 0x9E3779B97F4A7C15
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Tuples:
    """Tuples of values of some columns, as hashes.

    Attributes:
        hashes: of each value, shape (tuples, columns); whatever where a place is free.
        given: whether a place has a value, the same shape; False: any value will do.

    """

    hashes: Hashes
    given: Truths

    def keys(self) -> Hashes:
        """Return a number for each tuple; two tuples have the same with probability 2⁻⁶⁴."""
        found = np.zeros(len(self), np.uint64)
        for column in range(self.hashes.shape[1]):
            found += np.where(self.given[:, column], salted(self.hashes[:, column], column), np.uint64(0))
        return mixed(found)

    def __getitem__(self, places: slice | npt.NDArray[np.integer] | Truths) -> Tuples:
        """Return some of them."""
        return Tuples(self.hashes[places], self.given[places])

    def __len__(self) -> int:
        return len(self.hashes)


def salted(hashes: Hashes, column: int) -> Hashes:
    """Return what values add to the key of a tuple, in a column, from 0: in another one they add something else."""
    return mixed(hashes + np.uint64((column + 1) * _STEP % (1 << 64)))


def mixed(numbers: Hashes) -> Hashes:
    """Return numbers whose bits are mixed: the end of MurmurHash3."""
    found = numbers ^ (numbers >> _SHIFT)
    found = found * _FIRST
    found ^= found >> _SHIFT
    found = found * _SECOND
    return np.asarray(found ^ (found >> _SHIFT), np.uint64)


def hashes_of(values: Sequence[object]) -> Hashes:
    """Return the hashes of values of one column. Values that SQL's `=` takes for the same have the same hash.

    Examples:
        >>> found = hashes_of([0.0, -0.0, "ORD", 2])
        >>> bool(found[0] == found[1]), len(set(found.tolist()))
        (True, 3)

    """
    return np.array([hash_of(value) for value in values], np.uint64)


def hash_of(value: object) -> int:
    """Return the hash of a value: the first eight bytes of BLAKE2b, as a number."""
    return int.from_bytes(hashlib.blake2b(_bytes(value), digest_size=8).digest(), "little")


def _bytes(value: object) -> bytes:
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    if isinstance(value, float):
        number = math.nan if math.isnan(value) else value + 0.0  # one NaN, and one zero
        return b"f" + struct.pack("<d", number)
    if isinstance(value, Decimal):
        return _decimal(value).encode()
    if isinstance(value, date):
        return f"d{(value - _EPOCH).days}".encode()
    return f"i{value}".encode() if isinstance(value, int) else b"s" + str(value).encode("utf-8", "surrogatepass")


def _decimal(value: Decimal) -> str:
    """Digits without zeros behind, and the exponent. `Decimal.normalize` would round as somebody's context says."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)).lstrip("0")
    short = number.rstrip("0")
    return f"n{sign}{short}e{exponent + len(number) - len(short)}" if short else "n00e0"
