"""A lineage relation as one roBDD: the bits of the row on top, the bits of the id below.   [Zhang 2007, §4.2]

Cutting it under the row's bits gives the paper's shared, multi-rooted BDD: one root a row, equal and overlapping
lineage stored once. Questions are BDD operations and decompress nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.relation import LineageRelation, Numbers, sorted_pairs
from udafs import robdd_build, robdd_enumerate
from udafs.bdd_manager import DEFAULT_MEMORY, Backend, BddManager, Function, bit_variables
from udafs.errors import BadArgumentError, InternalError
from udafs.lineage_set import MOST_LISTED, LineageSet
from udafs.robdd import NodeTable, Refs

MAX_BITS = 63
ROW, BETWEEN, ID = "row", "between", "id"  # names of the variables


class BddRelation(LineageRelation):
    """A node table; a BDD manager is loaded at the first question that needs one, and kept until `release`."""

    def __init__(
        self,
        table: NodeTable,
        row_bits: int,
        id_bits: int,
        *,
        backend: Backend | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        """Of a node table with the `id_bits` variables of the id below the `row_bits` variables of the row.

        Args:
            table: of row_bits + id_bits variables.
            row_bits: at most 63.
            id_bits: at most 63.
            backend: of the BDD manager; the fastest available when not given.
            memory: bytes the manager may take.

        Raises:
            InternalError: more bits than 63 a side, or another number of them than the table has.

        """
        if table.nbits != row_bits + id_bits or max(row_bits, id_bits) > MAX_BITS:
            raise InternalError(f"{row_bits} + {id_bits} bits for a table of {table.nbits}")
        self.table, self.row_bits, self.id_bits = table, row_bits, id_bits
        self.backend: Backend | None = backend
        self.memory = memory
        self._loaded: tuple[BddManager, Function] | None = None

    @classmethod
    def from_pairs(cls, rows: npt.ArrayLike, ids: npt.ArrayLike, *, backend: Backend | None = None) -> Self:
        """The relation of some pairs, in any order, repeated or not; raises what `sorted_pairs` raises."""
        return cls._of_sorted(*sorted_pairs(rows, ids), backend)

    @classmethod
    def of(cls, relation: LineageRelation) -> BddRelation:
        """The same relation in this form."""
        if isinstance(relation, BddRelation):
            return relation
        return cls._of_sorted(*relation.pairs(), None)

    @classmethod
    def _of_sorted(cls, rows: Numbers, ids: Numbers, backend: Backend | None) -> Self:
        row_bits, id_bits = (int(side.max(initial=0)).bit_length() for side in (rows, ids))
        table = robdd_build.from_pairs(rows.view(np.uint64), ids.view(np.uint64), row_bits, id_bits)
        return cls(table, row_bits, id_bits, backend=backend)

    @classmethod
    def united(cls, parts: Sequence[BddRelation]) -> BddRelation:
        """The pairs of any of the parts, which are at least one; backend and memory are those of the first."""
        row_bits, id_bits = (max(bits) for bits in zip(*((part.row_bits, part.id_bits) for part in parts), strict=True))
        first = parts[0]
        row_variables, id_variables = bit_variables(ROW, row_bits), bit_variables(ID, id_bits)
        manager = BddManager(id_variables + row_variables, backend=first.backend, memory=first.memory)
        whole = manager.false
        for part in parts:
            used, idle = _split(id_variables, part.id_bits, row_variables, part.row_bits)
            whole |= manager.load(part.table, used) & manager.cube(dict.fromkeys(idle, False))
        return first._like(manager.extract(whole, id_variables + row_variables), row_bits, id_bits)

    def _like(self, table: NodeTable, row_bits: int, id_bits: int) -> BddRelation:
        """Another relation with the same backend and memory."""
        return BddRelation(table, row_bits, id_bits, backend=self.backend, memory=self.memory)

    def trimmed(self) -> BddRelation:
        """The same over as few bits as its numbers need: equal relations have equal tables then."""
        return self if self._is_trimmed() else self.from_pairs(*self.pairs(), backend=self.backend)

    def _is_trimmed(self) -> bool:
        rows, refs = self._cut
        if not rows.size:
            return self.table.nbits == 0
        # A highest bit that is 0 in every id is a node (next, 0) under every row.
        on_top = refs - 2 >= self.table.starts[max(self.id_bits - 1, 0)]
        idle = self.id_bits > 0 and bool(np.all(on_top)) and not np.any(self.table.hi[refs - 2])
        return int(rows[-1]).bit_length() == self.row_bits and not idle

    # ------------------------------------------------------------ without a manager

    @cached_property
    def cardinality(self) -> int:
        """The number of pairs, as `len`, which ends at 2^63 − 1."""
        return self.table.count()

    @cached_property
    def _cut(self) -> tuple[Numbers, Refs]:
        """Each row that has an id, and the root of its ids in the shared BDD."""
        root = np.array([self.table.root])
        _, rows, refs = robdd_enumerate.descend(self.table, root, self.table.nbits, self.id_bits)
        return rows.view(np.int64), refs

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,).

        Raises:
            BadArgumentError: more than 2^30 pairs.

        """
        # Counting costs a pass over the nodes, and up to 30 bits there is nothing to fear.
        if self.table.nbits > 30 and self.cardinality > MOST_LISTED:
            raise BadArgumentError(
                f"a relation of {self.cardinality} pairs is too large to list",
                instead="Restrict it to fewer rows or ids first, or ask `backward` and `forward`.",
            )
        rows, ids = robdd_enumerate.pairs(self.table, self.id_bits)
        return rows.view(np.int64), ids.view(np.int64)

    def rows(self) -> LineageSet:
        """The projection on the rows: those that have an id."""
        return LineageSet(self._cut[0])

    def last_row(self) -> int:
        """The largest row that has an id; −1 when there is none."""
        highest = self.table.highest()
        return -1 if highest is None else highest >> self.id_bits

    def counts(self) -> tuple[Numbers, Numbers]:
        """Every row that has an id, ascending, and how many ids it has: two int64 arrays of shape (rows,)."""
        rows, refs = self._cut
        return rows.copy(), self.table.counts(self.id_bits)[refs].astype(np.int64)

    def lineage(self, root: int) -> LineageSet:
        """The set of ids of one root of the shared BDD."""
        return LineageSet.from_table(self.table.part(root, self.id_bits))

    # ------------------------------------------------------------ with a manager

    @property
    def _row_variables(self) -> tuple[str, ...]:
        return bit_variables(ROW, self.row_bits)

    @property
    def _id_variables(self) -> tuple[str, ...]:
        return bit_variables(ID, self.id_bits)

    def _load(self) -> tuple[BddManager, Function]:
        if self._loaded is None:
            variables = self._id_variables + self._row_variables
            manager = BddManager(variables, backend=self.backend, memory=self.memory)
            self._loaded = manager, manager.load(self.table, variables)
        return self._loaded

    def ids(self) -> LineageSet:
        """The projection on the ids: those that have a row."""
        manager, function = self._load()
        return LineageSet.from_bdd(manager.exist(self._row_variables, function), manager, self._id_variables)

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> BddRelation:
        """The pairs whose row is one of `rows` and whose id is one of `ids`; None restricts nothing."""
        manager, function = self._load()
        for wanted, variables in ((rows, self._row_variables), (ids, self._id_variables)):
            if wanted is not None:
                function &= wanted.below(1 << len(variables)).to_bdd(manager, variables)
        table = manager.extract(function, self._id_variables + self._row_variables)
        return self._like(table, self.row_bits, self.id_bits)

    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows."""
        rows = rows.below(1 << self.row_bits)
        if rows.cardinality == 1:
            # The restriction to one row is a node that is there already.
            row = next(iter(rows))
            return self.lineage(self.table.walk(row << self.id_bits, self.id_bits))
        manager, function = self._load()
        wanted = rows.to_bdd(manager, self._row_variables)
        found = manager.and_exists(function, wanted, self._row_variables)
        return LineageSet.from_bdd(found, manager, self._id_variables)

    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""
        manager, function = self._load()
        wanted = ids.below(1 << self.id_bits).to_bdd(manager, self._id_variables)
        found = manager.and_exists(function, wanted, self._id_variables)
        return LineageSet.from_bdd(found, manager, self._row_variables)

    # ------------------------------------------------------------ with another

    def product(self, other: BddRelation) -> BddRelation:
        """The composition, as one relational product: see `algebra.compose`."""
        between = bit_variables(BETWEEN, max(self.id_bits, other.row_bits))
        row_variables, id_variables = self._row_variables, other._id_variables
        manager = BddManager(id_variables + between + row_variables, backend=self.backend, memory=self.memory)
        used, idle = _split(between, self.id_bits, row_variables, self.row_bits)
        first = manager.load(self.table, used) & manager.cube(dict.fromkeys(idle, False))
        used, idle = _split(id_variables, other.id_bits, between, other.row_bits)
        second = manager.load(other.table, used) & manager.cube(dict.fromkeys(idle, False))
        product = manager.and_exists(first, second, between)
        return self._like(manager.extract(product, id_variables + row_variables), self.row_bits, other.id_bits)

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew."""
        self._loaded = None
        self.__dict__.pop("_cut", None)

    def assert_consistent(self) -> None:
        """Check every invariant of the form; raises AssertionError."""
        self.table.assert_consistent()
        assert self.table.nbits == self.row_bits + self.id_bits, "as many variables as bits"
        assert max(self.row_bits, self.id_bits) <= MAX_BITS, "numbers below 2^63"
        if self._loaded is not None:
            manager, function = self._loaded
            assert manager.extract(function, self._id_variables + self._row_variables) == self.table, "what was loaded"


def _split(
    lower: tuple[str, ...], lower_bits: int, upper: tuple[str, ...], upper_bits: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that a table of so many bits has, and those beyond its bits, where its numbers have zeros."""
    return lower[:lower_bits] + upper[:upper_bits], lower[lower_bits:] + upper[upper_bits:]
