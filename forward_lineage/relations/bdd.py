"""A lineage relation as one roBDD: the bits of the row on top, the bits of the id below.   [Zhang 2007, §4.2]

Cutting it under the row's bits gives the paper's shared, multi-rooted BDD: one root a row, equal and overlapping
lineage stored once. Questions are BDD operations and decompress nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.relation import LineageRelation, Numbers, sorted_pairs
from udafs import robdd_build, robdd_enumerate
from udafs.bdd_manager import DEFAULT_MEMORY, Backend, BddManager, Function, bit_variables
from udafs.lineage_set import LineageSet
from udafs.robdd import NodeTable, Refs

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

        """
        if table.nbits != row_bits + id_bits or max(row_bits, id_bits) > 63:
            raise ValueError(f"{row_bits} + {id_bits} bits for a table of {table.nbits}")
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

    # ------------------------------------------------------------ without a manager

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return self.table.count()

    @cached_property
    def _cut(self) -> tuple[Numbers, Refs]:
        """Each row that has an id, and the root of its ids in the shared BDD."""
        root = np.array([self.table.root])
        _, rows, refs = robdd_enumerate.descend(self.table, root, self.table.nbits, self.id_bits)
        return rows.view(np.int64), refs

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        rows, ids = robdd_enumerate.pairs(self.table, self.id_bits)
        return rows.view(np.int64), ids.view(np.int64)

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet(self._cut[0])

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

    def release(self) -> None:
        """See `LineageRelation`."""
        self._loaded = None
        self.__dict__.pop("_cut", None)

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        manager, function = self._load()
        return LineageSet.from_bdd(manager.exist(self._row_variables, function), manager, self._id_variables)

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
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
        """See `LineageRelation`."""
        manager, function = self._load()
        wanted = ids.below(1 << self.id_bits).to_bdd(manager, self._id_variables)
        found = manager.and_exists(function, wanted, self._id_variables)
        return LineageSet.from_bdd(found, manager, self._row_variables)

    def compose(self, other: LineageRelation) -> BddRelation:
        """See `LineageRelation`."""
        below = BddRelation.of(other)
        between = bit_variables(BETWEEN, max(self.id_bits, below.row_bits))
        manager = BddManager(
            below._id_variables + between + self._row_variables, backend=self.backend, memory=self.memory
        )
        first = manager.load(self.table, between[: self.id_bits] + self._row_variables)
        second = manager.load(below.table, below._id_variables + between[: below.row_bits])
        # Where one side has fewer bits than the other, its numbers have zeros there.
        first &= manager.cube(dict.fromkeys(between[self.id_bits :], False))
        second &= manager.cube(dict.fromkeys(between[below.row_bits :], False))
        product = manager.and_exists(first, second, between)
        table = manager.extract(product, below._id_variables + self._row_variables)
        return BddRelation(table, self.row_bits, below.id_bits, backend=self.backend, memory=self.memory)
