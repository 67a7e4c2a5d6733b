"""Reduced ordered BDDs as node tables: three numpy arrays, no objects.   [Zhang 2007, §4.2]

A table holds one Boolean function of `nbits` variables, that is a set of codes 0 … 2^nbits − 1. Variable k is bit k of
the code; level nbits − 1, the most significant bit, stands on top. References: 0 and 1 are the sinks, 2 + i is node i.

Canonical: equal functions of equally many variables have equal arrays. For that no node has equal children (elimination
rule), and no two nodes are equal (merging rule). Nodes are numbered level by level from the least significant bit
upwards, within a level by (lo, hi). Every node is reachable from the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Refs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class NodeTable:
    """One roBDD.

    Attributes:
        starts: shape (nbits + 1,); the nodes of level k are starts[k] … starts[k + 1] − 1.
        lo: shape (nodes,); the reference that is followed where the node's bit is 0.
        hi: the same where the bit is 1.
        root: the reference of the whole function.

    """

    starts: Refs
    lo: Refs
    hi: Refs
    root: int

    @property
    def nbits(self) -> int:
        """Number of variables."""
        return len(self.starts) - 1

    @property
    def nodes(self) -> int:
        """Number of nodes, sinks not counted."""
        return len(self.lo)

    @classmethod
    def constant(cls, value: bool, nbits: int) -> Self:
        """No code, or every code of `nbits` bits."""
        none = np.empty(0, np.int64)
        return cls(np.zeros(nbits + 1, np.int64), none, none, int(value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeTable):
            return NotImplemented
        return (
            self.root == other.root
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.lo, other.lo)
            and np.array_equal(self.hi, other.hi)
        )

    __hash__ = None  # type: ignore[assignment]

    def level(self, reference: int) -> int:
        """The level a reference stands on; −1 for the sinks."""
        return int(np.searchsorted(self.starts, reference - 2, side="right")) - 1 if reference >= 2 else -1

    def levels(self) -> Refs:
        """The level of each node, shape (nodes,)."""
        return np.repeat(np.arange(self.nbits), np.diff(self.starts))

    def children(self) -> tuple[Refs, Refs]:
        """`lo` and `hi` indexed by reference: the two sinks, their own children, stand in front."""
        sinks = np.array([0, 1])
        return np.concatenate([sinks, self.lo]), np.concatenate([sinks, self.hi])

    def __contains__(self, code: int) -> bool:
        if code < 0 or code >> self.nbits:
            return False
        return self.walk(code, 0) == 1

    def walk(self, code: int, bottom: int) -> int:
        """The reference that the bits of `code` from the top down to bit `bottom` lead to; it stands below `bottom`."""
        reference = self.root
        while reference >= 2 + self.starts[bottom]:
            node = reference - 2
            reference = int(self.hi[node] if code >> self.level(reference) & 1 else self.lo[node])
        return reference

    def part(self, root: int, nbits: int) -> NodeTable:
        """The table of one of the functions in this one, over the lowest `nbits` variables."""
        used = np.zeros(2 + int(self.starts[nbits]), bool)
        used[root] = True
        for level in range(nbits - 1, -1, -1):
            nodes = slice(int(self.starts[level]), int(self.starts[level + 1]))
            here = used[2:][nodes]
            used[self.lo[nodes][here]] = used[self.hi[nodes][here]] = True
        used[:2] = True
        reference = np.cumsum(used) - 1  # numbers stay in order, so the part is canonical as the whole is
        kept = used[2:]
        starts = np.append(0, np.cumsum(kept))[self.starts[: nbits + 1]]
        lo, hi = (reference[side[: kept.size][kept]] for side in (self.lo, self.hi))
        return NodeTable(starts, lo, hi, int(reference[root]))

    def count(self) -> int:
        """The number of codes, exact."""
        return int(self.counts(self.nbits)[self.root])

    def counts(self, nbits: int) -> npt.NDArray[Any]:
        """The number of codes of `nbits` bits under each reference below level `nbits`, exact."""
        # Of codes of all bits under every reference: it does not matter then which variables a reference skips.
        counts = np.zeros(2 + int(self.starts[nbits]), np.uint64 if nbits <= 63 else object)
        counts[1] = 1 << nbits
        for level in range(nbits):
            part = slice(int(self.starts[level]), int(self.starts[level + 1]))
            both = counts.take(self.lo[part]) + counts.take(self.hi[part])
            # Exact: what stands below this level has a multiple of 2^(nbits − level) codes.
            counts[2 + part.start : 2 + part.stop] = both >> 1
        return counts

    def lowest(self) -> int | None:
        """The smallest code, or None."""
        return self._extreme(self.lo, self.hi, 0)

    def highest(self) -> int | None:
        """The largest code, or None."""
        return self._extreme(self.hi, self.lo, 1)

    def _extreme(self, wanted: Refs, otherwise: Refs, bit: int) -> int | None:
        if self.root == 0:
            return None
        code = ((1 << self.nbits) - 1) * bit
        reference = self.root
        while reference >= 2:
            level = self.level(reference)
            if wanted[reference - 2]:
                reference = int(wanted[reference - 2])
            else:
                reference = int(otherwise[reference - 2])
                code ^= 1 << level
        return code

    def with_bits(self, nbits: int) -> NodeTable:
        """The same codes over more variables, or over fewer if the leading ones are 0 in every code.

        Raises:
            ValueError: a code needs more than `nbits` bits.

        """
        highest = self.highest()
        if highest is not None and highest.bit_length() > nbits:
            raise ValueError(f"a code of {highest.bit_length()} bits does not fit into {nbits}")
        return self._narrowed(nbits) if nbits <= self.nbits else self._widened(nbits)

    # Every leading variable, whose bit is 0 in all codes, has one node (next, 0) on top of the others.

    def _narrowed(self, nbits: int) -> NodeTable:
        root = self.root
        while root >= 2 and self.level(root) >= nbits:
            root = int(self.lo[root - 2])
        kept = int(self.starts[nbits])
        return NodeTable(self.starts[: nbits + 1], self.lo[:kept], self.hi[:kept], root)

    def _widened(self, nbits: int) -> NodeTable:
        extra = nbits - self.nbits if self.root else 0
        chain = self.root, *range(2 + self.nodes, 2 + self.nodes + extra)
        starts = np.concatenate([self.starts, self.nodes + np.arange(1, nbits - self.nbits + 1)])
        if not extra:
            starts[self.nbits + 1 :] = self.nodes
        return NodeTable(
            starts,
            np.concatenate([self.lo, np.array(chain[:-1], np.int64)]),
            np.concatenate([self.hi, np.zeros(extra, np.int64)]),
            chain[-1],
        )

    def assert_consistent(self) -> None:
        """Check every invariant of the module's docstring; raises AssertionError."""
        starts, lo, hi = self.starts, self.lo, self.hi
        assert starts[0] == 0 and starts[-1] == self.nodes and np.all(np.diff(starts) >= 0), "levels"
        assert len(lo) == len(hi), "as many lo as hi"
        assert self.root == (1 + self.nodes if self.nodes else min(max(self.root, 0), 1)), "the root is the last node"
        base = 2 + starts[self.levels()]
        assert np.all((lo >= 0) & (hi >= 0) & (lo < base) & (hi < base)), "children stand below"
        assert np.all(lo != hi), "elimination rule"
        same_level = np.diff(self.levels()) == 0
        ascending = (np.diff(lo) > 0) | ((np.diff(lo) == 0) & (np.diff(hi) > 0))
        assert np.all(ascending | ~same_level), "merging rule and order"
        used = np.zeros(2 + self.nodes, bool)
        used[lo] = used[hi] = used[self.root] = True
        assert np.all(used[2:]), "every node is reachable"
