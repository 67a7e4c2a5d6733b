"""`LineageSet`: a set of row ids, the value of a lineage column.   [Zhang 2007, §4.2]

Carrier: finite sets of integers 0 … 2^63 − 1. Laws: `|` is associative, commutative and idempotent; the empty
set is its identity; equal sets have equal bytes. Bytes are those of `udafs/FORMAT.md`, the same that the kernel writes.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, Self, cast

import numpy as np
import numpy.typing as npt

from udafs import delta, roaring_reader, roaring_writer, robdd_build, robdd_bytes, robdd_enumerate, sorted_ids, varint
from udafs.bdd_manager import BddManager, Function, bit_variables
from udafs.delta import MAX_ID, Ids
from udafs.errors import BadArgumentError
from udafs.robdd import NodeTable

Encoding = Literal["auto", "set", "bdd", "roaring"]

TAGS: dict[str, int] = {"set": 0, "bdd": 1, "roaring": 2}  # append-only, see FORMAT.md
ID_BITS = 63

#: Sets up to this size are handled as arrays of ids (512 MB), larger ones as BDDs only.
LISTABLE = 1 << 26
#: `ids()` refuses beyond this (8 GB).
MOST_LISTED = 1 << 30


class LineageSet:
    """An immutable set of row ids.

    A set is kept as sorted ids, as a roBDD, or both; one is made from the other when it is asked for. Sets of
    billions of ids that have a small BDD therefore never become arrays.
    """

    __slots__ = ("_counted", "_ids", "_table")

    _ids: Ids | None
    _table: NodeTable | None
    _counted: int | None

    def __init__(self, ids: Iterable[int] | npt.NDArray[np.integer] = ()) -> None:
        """Return the sketch of some rows of a table, by their ids: without running the query that they came from."""
        self._ids = sorted_ids.from_any(ids)
        self._ids.setflags(write=False)
        self._table = None
        self._counted = self._ids.size

    # ------------------------------------------------------------ construction

    @classmethod
    def from_ids(cls, ids: Iterable[int] | npt.NDArray[np.integer]) -> Self:
        """The set of some ids, in any order, repeated or not.

        Raises:
            BadArgumentError: an id is negative, above 2^63 − 1, or not an integer.

        """
        return cls(ids)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The set that a lineage value stands for, whatever its encoding.

        Raises:
            CorruptLineageError: not a lineage value; the message has a keyword of FORMAT.md.

        """
        value = np.frombuffer(data, np.uint8)
        if not value.size:
            raise varint.corrupt("empty", "no byte at all")
        tag, body = int(value[0]), value[1:]
        if tag == TAGS["set"]:
            return cls._of(delta.decode(body))
        if tag == TAGS["bdd"]:
            return cls.from_table(robdd_bytes.decode(body))
        if tag == TAGS["roaring"]:
            return cls._of_contents(roaring_reader.decode(body), value.size)
        raise varint.corrupt("tag", f"{tag:#04x} is none of {', '.join(f'{n:#04x} ({t})' for t, n in TAGS.items())}")

    @classmethod
    def from_intervals(cls, first: Ids, last: Ids, listed: bool = True) -> Self:
        """The set of some intervals of ids, without listing them if they are very many.

        Args:
            first: the first id of each interval, int64, ascending.
            last: the last id of each; intervals neither overlap nor touch.
            listed: False to keep the set as a roBDD in any case.

        """
        # In floating point, for one interval may be all there is, 2^63 ids.
        if listed and float((last - first).sum(dtype=np.float64)) + first.size <= LISTABLE:
            length = last - first + 1
            ends = np.cumsum(length)
            total = int(ends[-1]) if ends.size else 0
            return cls._of(np.arange(total) + np.repeat(first - ends + length, length))
        return cls.from_table(robdd_build.from_intervals(first.view(np.uint64), last.view(np.uint64), ID_BITS))

    @classmethod
    def from_bdd(cls, function: Function, manager: BddManager, variables: Sequence[str] | None = None) -> Self:
        """The set of a function of `manager`, whose bit k is `variables[k]` (by default the manager's variables)."""
        variables = manager.variables if variables is None else variables
        return cls.from_table(manager.extract(function, variables))

    @classmethod
    def _of(cls, ids: Ids) -> Self:
        """Of strictly ascending ids, which become the set's own."""
        made = cls.__new__(cls)
        ids.setflags(write=False)
        made._ids, made._table, made._counted = ids, None, ids.size
        return made

    @classmethod
    def from_table(cls, table: NodeTable) -> Self:
        """The set of the codes of a roBDD of at most 63 variables."""
        made = cls.__new__(cls)
        highest = table.highest()
        made._table = table.with_bits(highest.bit_length() if highest else 0)
        made._ids, made._counted = None, None
        return made

    @classmethod
    def _of_contents(cls, contents: roaring_reader.Contents, size: int) -> Self:
        # Sixteen bytes of runs can name 65,536 ids: beyond what the bytes themselves vouch for, do not list them.
        if contents.cardinality <= 64 * size:
            return cls._of(contents.listed())
        return cls.from_intervals(*contents.intervals(), listed=False)

    # ------------------------------------------------------------ the two forms

    @property
    def cardinality(self) -> int:
        """The number of ids, as `len`, which ends at 2^63 − 1."""
        if self._counted is None:
            self._counted = self.table().count()
        return self._counted

    def ids(self) -> Ids:
        """The ids, ascending: int64, shape (len,), read-only.

        Raises:
            BadArgumentError: more than 2^30 ids.

        """
        if self._ids is None:
            # Counting costs a pass over the nodes, and up to 30 bits there is nothing to fear.
            if self.table().nbits > 30 and self.cardinality > MOST_LISTED:
                raise BadArgumentError(
                    f"a set of {self.cardinality} row ids is too large to list",
                    instead="Use `len`, `in`, the set operators, or iterate over it.",
                )
            self._ids = robdd_enumerate.codes(self.table()).view(np.int64)
            self._ids.setflags(write=False)
            self._counted = self._ids.size
        return self._ids

    def table(self) -> NodeTable:
        """The canonical roBDD: as many variables as the largest id has bits."""
        if self._table is None:
            ids = self.ids()
            self._table = robdd_build.from_codes(ids.view(np.uint64), sorted_ids.bit_length(ids))
        return self._table

    def to_bdd(self, manager: BddManager, variables: Sequence[str] | None = None) -> Function:
        """The set as a function of `manager`; bit k of the id is `variables[k]` (by default the manager's variables).

        Raises:
            BadArgumentError: an id has more bits than there are variables.
            SetupError: the manager's memory is used up.

        """
        variables = manager.variables if variables is None else variables
        table = self.table()
        if table.nbits > len(variables):
            raise BadArgumentError(
                f"a code of {table.nbits} bits does not fit into {len(variables)}",
                instead="Use a manager with more variables.",
            )
        return manager.load(table.with_bits(len(variables)), variables)

    # ------------------------------------------------------------ bytes

    def to_bytes(self, encoding: Encoding = "auto") -> bytes:
        """The canonical bytes under a setting: `auto` the shortest, `bdd` and `set` (and `roaring`) the one named."""
        if encoding == "auto":
            encoding = self._shortest()
        if encoding not in TAGS:
            raise BadArgumentError(f"unknown encoding {encoding!r}", instead="Use one of: auto, bdd, set.")
        tag = bytes([TAGS[encoding]])
        if encoding == "set":
            return tag + delta.encode(self.ids())
        if encoding == "bdd":
            return tag + robdd_bytes.encode(self.table())
        return tag + roaring_writer.encode(self.ids())

    def _shortest(self) -> Encoding:
        if self._table is not None:
            size = robdd_bytes.size(self._table)
            # A delta takes a byte, and 2^16 ids take a Roaring container of 10 bytes, at least: no need to list them.
            if size < self.cardinality and size < 8 + 10 * (self.cardinality >> 16):
                return "bdd"
        ids = self.ids()
        sizes: dict[Encoding, int] = {"set": delta.size(ids), "roaring": roaring_writer.size(ids)}
        nbits = sorted_ids.bit_length(ids)
        spare = min(sizes.values()) - robdd_bytes.least_size(nbits, 0)
        if self._table is None and spare >= 0:
            with contextlib.suppress(robdd_build.TooManyNodesError):
                self._table = robdd_build.from_codes(ids.view(np.uint64), nbits, at_most=spare // 2 + 1)
        if self._table is not None:
            sizes["bdd"] = robdd_bytes.size(self._table)
        return min(sizes, key=lambda encoding: (sizes[encoding], TAGS[encoding]))

    # ------------------------------------------------------------ set algebra

    def _combine(
        self,
        other: object,
        arrays: Callable[[Ids, Ids], Ids],
        functions: Callable[[Function, Function], Function],
    ) -> LineageSet:
        if not isinstance(other, LineageSet):
            return cast(LineageSet, NotImplemented)
        if self.cardinality <= LISTABLE and other.cardinality <= LISTABLE:
            return LineageSet._of(arrays(self.ids(), other.ids()))
        return self._combine_functions(other, functions)

    def _combine_functions(self, other: LineageSet, functions: Callable[[Function, Function], Function]) -> LineageSet:
        manager = BddManager(bit_variables("id", max(self.table().nbits, other.table().nbits)))
        left, right = self.to_bdd(manager), other.to_bdd(manager)
        with manager.memory_watched(left, right):
            both = functions(left, right)
        return LineageSet.from_bdd(both, manager)

    def __or__(self, other: object) -> LineageSet:
        return self._combine(other, sorted_ids.union, lambda a, b: a | b)

    def __and__(self, other: object) -> LineageSet:
        return self._combine(other, sorted_ids.intersection, lambda a, b: a & b)

    def __sub__(self, other: object) -> LineageSet:
        return self._combine(other, sorted_ids.difference, lambda a, b: a & ~b)

    def __xor__(self, other: object) -> LineageSet:
        return self._combine(other, sorted_ids.symmetric_difference, lambda a, b: (a | b) & ~(a & b))

    def isdisjoint(self, other: LineageSet) -> bool:
        """Whether no id is in both."""
        return not self & other

    def __le__(self, other: object) -> bool:
        if not isinstance(other, LineageSet):
            return NotImplemented
        return self.cardinality <= other.cardinality and not (self - other).cardinality

    def __ge__(self, other: object) -> bool:
        return other.__le__(self) if isinstance(other, LineageSet) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return (
            self.cardinality < other.cardinality and self <= other if isinstance(other, LineageSet) else NotImplemented
        )

    def __gt__(self, other: object) -> bool:
        return other.__lt__(self) if isinstance(other, LineageSet) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LineageSet):
            return NotImplemented
        if self.cardinality != other.cardinality:
            return False
        if self._ids is not None and other._ids is not None:
            return np.array_equal(self._ids, other._ids)
        return self.table() == other.table()

    def __hash__(self) -> int:
        # The same whichever form the set is kept in: the size and the ends, which both forms give at once.
        return hash((self.cardinality, self._end(0), self._end(-1)))

    def below(self, limit: int) -> LineageSet:
        """The ids smaller than `limit`, which is at least 0."""
        if limit <= 0:
            return LineageSet()
        if self.cardinality <= LISTABLE:
            ids = self.ids()
            return LineageSet._of(ids[: np.searchsorted(ids, min(limit, MAX_ID)) if limit <= MAX_ID else ids.size])
        first, last = np.zeros(1, np.int64), np.array([min(limit - 1, MAX_ID)])
        return self & LineageSet.from_intervals(first, last)

    # ------------------------------------------------------------ collection

    def first(self, most: int) -> list[int]:
        """The smallest ids, ascending, at most so many; the others are not listed."""
        if self._ids is not None:
            return [int(each) for each in self._ids[:most]]
        return list(itertools.islice(robdd_enumerate.one_by_one(self.table()), most))

    def _end(self, which: Literal[0, -1]) -> int | None:
        if self._ids is not None:
            return int(self._ids[which]) if self.cardinality else None
        return self.table().lowest() if which == 0 else self.table().highest()

    def __len__(self) -> int:
        return self.cardinality

    def __bool__(self) -> bool:
        return self.cardinality > 0

    def __contains__(self, row_id: object) -> bool:
        if not isinstance(row_id, int | np.integer) or not 0 <= row_id <= MAX_ID:
            return False
        if self._ids is None:
            return int(row_id) in self.table()
        at = int(np.searchsorted(self._ids, row_id))
        return at < self.cardinality and int(self._ids[at]) == row_id

    def __iter__(self) -> Iterator[int]:
        if self.cardinality <= LISTABLE:
            yield from self.ids().tolist()
        else:
            yield from robdd_enumerate.one_by_one(self.table())

    def __repr__(self) -> str:
        first = [str(row_id) for row_id in self.first(6)]
        more = [f"… {self.cardinality} ids"] if self.cardinality > len(first) else []
        return f"LineageSet({{{', '.join(first + more)}}})"

    def __reduce__(self) -> tuple[Callable[[bytes], LineageSet], tuple[bytes]]:
        return LineageSet.from_bytes, (self.to_bytes(),)
