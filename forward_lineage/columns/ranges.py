"""Range partitions of a table, and sketches over them: sets of their fragments.   [Niu 2022, §3.1, definitions 2, 3]

bounds b1 < … < bn  →  fragments 0, 1, …, n + 1;  fragment(v) = 0 where v is NULL, else 1 + how many bounds are ≤ v
Carrier:  sets of fragments of one partition; a table's rows lie in exactly one fragment each.
Order:    Spark's: strings by their UTF-8 bytes, NaN behind all numbers, -0.0 and 0.0 one value.
Ensures:  neighbouring fragments of a sketch are one interval; NULL stands for itself.

The kernel reads the same bounds (`packed`), see `udafs/scala/ranges/Bounds.scala`.
"""

from __future__ import annotations

import itertools
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.relations.run_arrays import runs_in
from rewrites.granules import MOST_RANGES
from udafs.errors import BadArgumentError

_LONGEST = 18  # digits of a decimal that fit 64 bits
_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)

Fragments = npt.NDArray[np.int32]
Interval = tuple[Any, Any]
"""From a value, inclusive, to another, exclusive; None: without end."""


@dataclass(frozen=True)
class Partition:
    """A table cut into ranges of one of its columns.

    Attributes:
        table: the table.
        column: of it.
        bounds: where ranges begin: ascending, distinct, not NULL, of the column's type.

    Raises:
        BadArgumentError: bounds that are none, more than `MOST_RANGES` ranges, or a type that has no ranges.

    """

    table: str
    column: str
    bounds: pa.Array = field(hash=False)

    def __post_init__(self) -> None:
        type_ordered(self.bounds.type, self.column)
        if len(self.bounds) >= MOST_RANGES:
            raise BadArgumentError(
                f"{len(self.bounds) + 1} ranges of {self.column}", instead=f"At most {MOST_RANGES} will do."
            )
        keys = list(_keys(pc.drop_null(self.bounds)))
        if self.bounds.null_count or any(a >= b for a, b in itertools.pairwise(keys)):
            raise BadArgumentError(
                f"the bounds of {self.column} do not ascend", instead="Give distinct values in order, without NULL."
            )

    @property
    def fragments(self) -> int:
        """How many fragments there are, that of NULL included."""
        return len(self.bounds) + 2

    def fragments_of(self, values: pa.Array | pa.ChunkedArray) -> Fragments:
        """Return the fragment of each of some values.

        Raises:
            BadArgumentError: they are of another type.

        """
        if isinstance(values, pa.ChunkedArray):
            parts = [self.fragments_of(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.empty(0, np.int32)
        if values.type != self.bounds.type:
            raise BadArgumentError(
                f"values of type {values.type} for ranges of {self.column}, which has {self.bounds.type}",
                instead="Read the column as it is.",
            )
        missing = np.asarray(pc.is_null(values))
        found = np.zeros(len(values), np.int32)
        found[~missing] = 1 + _places(_keys(self.bounds), _keys(pc.drop_null(values)))
        return found

    def sketch(self, fragments: Iterable[int]) -> Sketch:
        """Return the sketch of some fragments, in whatever order."""
        return Sketch(self, tuple(sorted({int(each) for each in fragments})))

    @cached_property
    def packed(self) -> bytes:
        """The bounds as the kernel's functions take them."""
        return pack(self.bounds)

    def interval(self, fragment: int) -> Interval:
        """Return the values of a fragment that is not that of NULL."""
        return (
            self.bounds[fragment - 2].as_py() if fragment > 1 else None,
            self.bounds[fragment - 1].as_py() if fragment <= len(self.bounds) else None,
        )


@dataclass(frozen=True)
class Sketch:
    """Fragments of a partition that together hold all rows of a table that a query needed.

    Attributes:
        partition: of the table.
        fragments: their numbers, ascending.

    """

    partition: Partition
    fragments: tuple[int, ...]

    def __post_init__(self) -> None:
        ascends = all(a < b for a, b in itertools.pairwise(self.fragments))
        known = not self.fragments or (self.fragments[0] >= 0 and self.fragments[-1] < self.partition.fragments)
        if not (ascends and known):
            raise BadArgumentError("fragments that the partition does not have", instead="See Partition.fragments.")

    @property
    def nulls(self) -> bool:
        """Whether rows without a value belong to it."""
        return bool(self.fragments) and self.fragments[0] == 0

    @property
    def is_everything(self) -> bool:
        """Whether no row of the table is left out."""
        return len(self.fragments) == self.partition.fragments

    def intervals(self) -> list[Interval]:
        """Return its values, neighbouring fragments merged, ascending."""
        valued = self.fragments[1:] if self.nulls else self.fragments
        interval = self.partition.interval
        return [(interval(first)[0], interval(last)[1]) for first, last in runs_of(valued)]

    def holds(self, values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Say of each of some values whether its row belongs to the sketch."""
        member = np.zeros(self.partition.fragments, np.bool_)
        member[list(self.fragments)] = True
        return member[self.partition.fragments_of(values)]

    def packed_fragments(self) -> bytes:
        """Return the fragments as the kernel's functions take them: two bytes each, high one first."""
        return np.asarray(self.fragments, ">u2").tobytes()


def runs_of(fragments: Sequence[int]) -> list[tuple[int, int]]:
    """Return fragments, ascending, as runs of neighbours (first, last)."""
    numbers = np.asarray(fragments, np.int64)
    first, last = runs_in(numbers)
    return list(zip(numbers[first].tolist(), numbers[last].tolist(), strict=True))


def equi_depth(values: pa.Array | pa.ChunkedArray, fragments: int) -> pa.Array:
    """Return bounds of ranges that hold about as many of some values each.   [Niu 2022, §4.4]

    If there are fewer distinct values than fragments, each value is a range of its own. A value that fills several
    ranges by itself is one range, so there may be fewer than you asked for.

    Args:
        values: a sample of a column, or all of it.
        fragments: how many ranges, that of NULL not counted; 1 to `MOST_RANGES`.

    Raises:
        BadArgumentError: another number; a type that has no ranges.

    """
    if not 1 <= fragments <= MOST_RANGES:
        raise BadArgumentError(f"{fragments} ranges", instead=f"Ask for 1 to {MOST_RANGES}.")
    type_ordered(values.type, "the column")
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    array = pc.drop_null(array)
    if not len(array):
        return pa.array([], values.type)
    array = _ascending(array)
    new = np.flatnonzero(_differs(_keys(array)))  # where another value begins
    if len(new) + 1 > fragments:
        wanted = np.unique(np.arange(1, fragments) * len(array) // fragments)
        starts = np.concatenate(([0], new + 1))  # a range begins where its first value does
        begins = starts[np.searchsorted(starts, wanted, side="right") - 1]
        places = np.unique(begins[begins > 0])
    else:
        places = new + 1
    return array.take(pa.array(places))


def _ascending(array: pa.Array) -> pa.Array:
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return pc.cast(pc.cast(array, pa.binary()).take(pc.sort_indices(pc.cast(array, pa.binary()))), array.type)
    keys = _keys(array)
    if isinstance(keys, np.ndarray):
        return array.take(pa.array(np.argsort(keys, kind="stable")))
    return array.take(pc.sort_indices(array))


def _differs(keys: npt.NDArray[np.int64] | Sequence[Any]) -> npt.NDArray[np.bool_]:
    if isinstance(keys, np.ndarray):
        return np.asarray(keys[1:] != keys[:-1])
    return np.fromiter((a != b for a, b in itertools.pairwise(keys)), np.bool_, max(len(keys) - 1, 0))


# Values as something that Python and numpy order as Spark orders them


def type_ordered(kind: pa.DataType, column: str) -> Callable[[pa.Array], Any]:
    """Return what turns values of a type into keys that are in Spark's order.

    Raises:
        BadArgumentError: a type that has no ranges; `column` is what the message calls it.

    """
    for is_of_kind, keys in _ORDERS:
        if is_of_kind(kind):
            return keys
    raise BadArgumentError(
        f"no ranges of {column}, which is of type {kind}",
        instead="Take a column of integers, DATE, TIMESTAMP, DECIMAL, STRING, FLOAT or DOUBLE.",
    )


def _keys(array: pa.Array) -> npt.NDArray[np.int64] | Sequence[Any]:
    keys: npt.NDArray[np.int64] | Sequence[Any] = type_ordered(array.type, "the column")(array)
    return keys


def _whole(array: pa.Array) -> npt.NDArray[np.int64]:
    width = pa.int64() if array.type.bit_width == 64 else pa.int32()
    plain = array if pa.types.is_integer(array.type) else array.view(width)
    return np.asarray(plain.cast(pa.int64()))


def _floating(array: pa.Array) -> npt.NDArray[np.int64]:
    numbers = np.asarray(array.cast(pa.float64())) + 0.0  # -0.0 becomes 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    bits = numbers.view(np.int64)
    return np.where(bits < 0, bits ^ _SIGN, bits)


def _decimals(array: pa.Array) -> npt.NDArray[np.int64] | Sequence[int]:
    scale = array.type.scale
    digits = [int(each.as_py().scaleb(scale)) for each in array]
    return np.asarray(digits, np.int64) if array.type.precision <= _LONGEST else digits


def _bytes(array: pa.Array) -> Sequence[bytes]:
    found: list[bytes] = array.cast(pa.binary()).to_pylist()
    return found


_ORDERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], Any]], ...] = (
    (pa.types.is_signed_integer, _whole),
    (pa.types.is_date32, _whole),
    (lambda kind: pa.types.is_timestamp(kind) and kind.unit == "us", _whole),
    (lambda kind: pa.types.is_float32(kind) or pa.types.is_float64(kind), _floating),
    (pa.types.is_decimal, _decimals),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), _bytes),
)


def _places(bounds: npt.NDArray[np.int64] | Sequence[Any], values: npt.NDArray[np.int64] | Sequence[Any]) -> Any:
    if isinstance(bounds, np.ndarray) and isinstance(values, np.ndarray):
        return np.searchsorted(bounds, values, side="right")
    return np.fromiter((bisect_right(bounds, each) for each in values), np.int64, len(values))


def pack(bounds: pa.Array) -> bytes:
    """Return bounds as bytes: `l`, `d` or `s`, then the bounds, deflated.

    `l`: 64 bits each, high ones first, differences to the one before; `d`: a two's complement number behind its length
    in four bytes; `s`: UTF-8 behind its length in four bytes.
    """
    keys = _keys(bounds)
    if isinstance(keys, np.ndarray):
        steps = np.diff(keys, prepend=np.int64(0)) if len(keys) else keys
        return b"l" + zlib.compress(steps.astype(">i8").tobytes(), 6)
    if len(keys) and isinstance(keys[0], bytes):
        return b"s" + zlib.compress(b"".join(_measured(each) for each in keys))
    if pa.types.is_decimal(bounds.type):
        return b"d" + zlib.compress(b"".join(_measured(_twos_complement(each)) for each in keys))
    return b"s" + zlib.compress(b"")


def _measured(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


def _twos_complement(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
