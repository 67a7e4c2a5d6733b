"""The base rows in each bar: the lineage relation of a view, ready to be asked in both directions.

Base rows are numbered 0 … n − 1, bars 0 … bars − 1. A row in no bar (a WHERE left it out) is in the bar numbered
`bars`, which nobody sees. So the bars of a view together always have all rows. A view without a brush is one with all
of them chosen, that last one too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.groups import BATCH, by_group
from forward_lineage.relations.run_arrays import ranges

Array = npt.NDArray[np.integer]
Starts = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]
"""For each bar, that of no bar included, whether it is chosen; shape (bars + 1,)."""


class Membership(ABC):
    """A relation between the bars of a view and n base rows."""

    bars: int
    rows: int

    #: How many rows each bar has, that of no bar included; int64, shape (bars + 1,).
    sizes: npt.NDArray[np.int64]

    @abstractmethod
    def rows_of(self, chosen: Chosen) -> Iterator[Array]:
        """Yield the rows of the chosen bars, each once, in batches."""

    @abstractmethod
    def holds(self, chosen: Chosen, rows: Array | slice) -> npt.NDArray[np.bool_]:
        """Tell for each of some rows whether it is in a chosen bar."""

    @abstractmethod
    def places(self, rows: Array) -> tuple[Array, Array | None]:
        """Return the bars that some rows are in.

        Returns:
            for each occurrence its bar, and the place of its row in `rows`; None in its place: one bar for each row.

        """

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return what the relation is made of, by name, to be kept."""


@dataclass(frozen=True, eq=False)
class Dense(Membership):
    """Every row is in one bar: what GROUP BY gives.   [Smoke, §3.2.3]

    Attributes:
        bars: how many there are.
        codes: the bar of each row, of the narrowest type that can hold `bars`, shape (rows,).
        order: the rows, bar after bar, ascending within one, uint32, shape (rows,).
        starts: where the rows of each bar begin in `order`, int64, shape (bars + 2,).

    """

    bars: int
    codes: Array
    order: Array
    starts: Starts

    @classmethod
    def of(cls, codes: Array, bars: int, order: Array | None = None) -> Dense:
        """Make the index from the bars to the rows.

        Args:
            codes: the bar of each row.
            bars: how many there are.
            order: where to write the rows to; new memory when not given.

        """
        order = np.empty(codes.size, np.uint32) if order is None else order
        starts = by_group(codes, bars + 1, order)
        return cls(bars, codes, order, starts)

    @property
    def rows(self) -> int:  # type: ignore[override]
        """The number of base rows."""
        return int(self.codes.size)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """How many base rows each bar has, that of no bar last."""
        return np.diff(self.starts)

    def rows_of(self, chosen: Chosen) -> Iterator[Array]:
        """Yield the rows of the chosen bars, each once, in batches. Neighbouring bars are read in one go."""
        edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
        begins, ends = self.starts[edges[::2]], self.starts[edges[1::2]]
        if begins.size > 1 and int(np.sum(ends - begins)) <= BATCH:
            yield self.order[ranges(begins, ends - begins)]
            return
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            for first in range(begin, end, BATCH):
                yield self.order[first : min(first + BATCH, end)]

    def holds(self, chosen: Chosen, rows: Array | slice) -> npt.NDArray[np.bool_]:
        """Tell for each of some rows whether it is in a chosen bar."""
        return chosen[self.codes[rows]]

    def places(self, rows: Array) -> tuple[Array, Array | None]:
        """Return the bars that some rows are in."""
        return self.codes[rows], None

    def arrays(self) -> dict[str, Array]:
        """Return what the relation is made of, by name, to be kept."""
        return {"codes": self.codes, "order": self.order, "starts": self.starts}


@dataclass(frozen=True, eq=False)
class Sparse(Membership):
    """A row may be in several bars: what a join, a window or a step of a pipeline gives.

    Attributes:
        bars: how many there are.
        rows: how many base rows there are.
        members: the rows of each bar, bar after bar, ascending within one, uint32, shape (pairs,).
        starts: where those of each bar begin, shape (bars + 2,).
        bar: the bars of each row, row after row, ascending within one, uint32, shape (pairs,).
        row_starts: where those of each row begin, shape (rows + 1,).

    """

    bars: int
    rows: int
    members: Array
    starts: Starts
    bar: Array
    row_starts: Starts

    @classmethod
    def of(cls, bar: Array, row: Array, bars: int, rows: int) -> Sparse:
        """Make both indexes of pairs (bar, row), each once, in any order; rows without a bar come to that of no bar."""
        alone = np.flatnonzero(np.bincount(row, minlength=rows) == 0)
        bar = np.concatenate([bar, np.full(alone.size, bars)])
        row = np.concatenate([row, alone])
        by_bar, by_row = np.lexsort((row, bar)), np.lexsort((bar, row))
        starts = np.append(0, np.cumsum(np.bincount(bar, minlength=bars + 1)))
        row_starts = np.append(0, np.cumsum(np.bincount(row, minlength=rows)))
        return cls(bars, rows, row[by_bar].astype(np.uint32), starts, bar[by_row].astype(np.uint32), row_starts)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """How many base rows each bar has, that of no bar last."""
        return np.diff(self.starts)

    def rows_of(self, chosen: Chosen) -> Iterator[Array]:
        """Yield the rows of the chosen bars, each once, in batches."""
        numbers = np.flatnonzero(chosen)
        found = self.members[ranges(self.starts[numbers], self.sizes[numbers])]
        if numbers.size > 1:
            found = np.unique(found)
        for first in range(0, found.size, BATCH):
            yield found[first : first + BATCH]

    def holds(self, chosen: Chosen, rows: Array | slice) -> npt.NDArray[np.bool_]:
        """Tell for each of some rows whether it is in a chosen bar."""
        which = np.arange(self.rows)[rows] if isinstance(rows, slice) else rows
        bars, of = self.places(which)
        found = np.zeros(which.size, np.bool_)
        found[of[chosen[bars]]] = True
        return found

    def places(self, rows: Array) -> tuple[Array, Array]:
        """Return the bars that some rows are in."""
        begins = self.row_starts[rows]
        counts = self.row_starts[rows.astype(np.int64) + 1] - begins
        return self.bar[ranges(begins, counts)], np.repeat(np.arange(rows.size), counts)

    def arrays(self) -> dict[str, Array]:
        """Return what the relation is made of, by name, to be kept."""
        return {"members": self.members, "starts": self.starts, "bar": self.bar, "row_starts": self.row_starts}
