"""Reads blocks that have a row of a candidate that needs some: AnyActive, with lookahead.   [Macke 2021, §5.4.2]

Whether a block is read depends on which candidates its rows are of, and never on the bars these are in. So, whatever
was chosen by rows read before, the bars of the rows read next are a chance sample of those left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.drawing import DrawnOrder, ScrambleOrder
from forward_lineage.approximate.matching.distance_tests import Counts
from forward_lineage.approximate.scramble import BLOCK, Places

Truths = npt.NDArray[np.bool_]
Holds = Callable[[Places | slice], Truths | None]
#: So many blocks are looked at at once: at first, and at most.
_LOOKAHEAD = (16, 1_024)
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Candidates:
    """The rows of all candidates.

    Attributes:
        candidate: of each position of the scramble; -1: of none.
        bar: of each position.
        count: how many candidates there are.
        bars: how many bars there are.
        holds: tells for positions whether a condition holds that no index knows; None: it holds for all.
        left_out: whether there are rows of none.

    """

    candidate: Places
    bar: Places
    count: int
    bars: int
    holds: Holds
    left_out: bool = True

    def all_of(self, candidate: int) -> Places:
        """Return the positions of all rows of a candidate for which the condition holds, ascending."""
        mine = np.flatnonzero(self.candidate == candidate)
        holds = self.holds(mine)
        return mine if holds is None else mine[holds]

    def counts(self) -> Counts:
        """Return the histograms of all rows, counted in order, shape (candidates, bars)."""
        found = np.zeros(self.count * self.bars, np.int64)
        for first in range(0, self.candidate.size, _AT_ONCE):
            last = min(first + _AT_ONCE, self.candidate.size)
            candidate, bar = self.candidate[first:last], self.bar[first:last]
            kept = self.holds(slice(first, last))
            if self.left_out:
                kept = candidate >= 0 if kept is None else kept & (candidate >= 0)
            if kept is not None:
                candidate, bar = candidate[kept], bar[kept]
            found += np.bincount(candidate * np.intp(self.bars) + bar, minlength=found.size)
        return found.reshape(self.count, self.bars)


@dataclass(eq=False)
class BlockReader:
    """Reads blocks of rows in a chance order, each once.

    Attributes:
        rows: of all candidates.
        order: in which rows come.
        block: how many rows a block has.
        stopped: tells whether to stop reading.
        whole: whether all rows were read.

    """

    rows: Candidates
    order: ScrambleOrder | DrawnOrder
    stopped: Callable[[], bool]
    block: int = BLOCK
    whole: bool = field(default=False, init=False)
    positions: Places = field(init=False)
    read: Truths = field(init=False)
    kept: Truths = field(init=False)
    size: Counts = field(init=False)
    touched: Counts = field(init=False)

    def __post_init__(self) -> None:
        total = self.rows.candidate.size
        self.positions = np.empty(total, np.uint32 if total < 1 << 32 else np.int64)
        self.read, self.kept = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
        self.size = np.zeros(self.rows.count, np.int64)
        for first in range(0, total, _AT_ONCE):
            mine = self.rows.candidate[first : first + _AT_ONCE]
            self.size += np.bincount(mine[mine >= 0] if self.rows.left_out else mine, minlength=self.rows.count)
        self.touched = np.zeros(self.rows.count, np.int64)
        self._drawn, self._at, self._ahead = 0, 0, _LOOKAHEAD[0]

    @property
    def rows_read(self) -> int:
        """How many rows were read."""
        return self.read.size if self.whole else int(np.count_nonzero(self.read))

    def first(self, count: int) -> Counts:
        """Read the first rows, of whatever candidate; returns them by candidate and bar."""
        self._draw(count)
        found = self._take(np.arange(min(count, self._drawn)))
        self._at = min(count, self._drawn) // self.block * self.block
        return found

    def fill(self, wanted: Counts) -> Counts:
        """Read blocks until each candidate has so many rows more for which the condition holds, or has no more.

        Args:
            wanted: by candidate; 0: it is not active.

        Returns:
            the rows that were read, by candidate and bar, shape (candidates, bars).

        """
        found = np.zeros((self.rows.count, self.rows.bars), np.int64)
        idle = 0  # slots passed since the last block that was read
        while not self.stopped():
            active = (found.sum(axis=1) < wanted) & (self.touched < self.size)
            if not active.any() or idle > self.positions.size + self.block:
                break
            slots = self._next()
            taken = self._take(slots[self._chosen(slots, active)])
            idle = 0 if taken.any() else idle + slots.size
            found += taken
        return found

    def all(self) -> Counts:
        """Read all rows, in the order of the scramble, which takes less than in any other; returns them all."""
        self.whole, self.touched = True, self.size.copy()
        return self.rows.counts()

    def first_of(self, candidate: int, count: int) -> Places:
        """Read the first rows of a candidate for which the condition holds; returns their positions.

        All are returned once all rows were read. Else, which these are does not depend on what was read before. Once it
        is stopped, they are those that were read.
        """
        if self.whole:
            return self.rows.all_of(candidate)
        done, kept, slots = 0, 0, []
        while kept < count and (done < self._drawn or self._drawn < self.positions.size):
            stopped = self.stopped()
            if done >= self._drawn:
                if stopped:
                    break
                self._draw(_LOOKAHEAD[1] * BLOCK)
            end = min(self._drawn, done + _LOOKAHEAD[1] * BLOCK)
            mine = done + np.flatnonzero(self.rows.candidate[self.positions[done:end]] == candidate)
            if not stopped:
                self._take(mine[~self.read[mine]])
            slots.append(mine[self.kept[mine]][: count - kept])
            kept += slots[-1].size
            done = end
        return np.asarray(self.positions[np.concatenate([np.empty(0, np.int64), *slots])])

    def _next(self) -> Places:
        """The slots that are looked at next; after the last ones come the first ones, for blocks that were skipped."""
        if self._at >= self.positions.size:
            self._at = 0
        count = self._ahead * BLOCK
        self._ahead = min(2 * self._ahead, _LOOKAHEAD[1])
        self._draw(self._at + count - self._drawn)
        begin, self._at = self._at, min(self._at + count, self.positions.size)
        return np.arange(begin, self._at)

    def _draw(self, count: int) -> None:
        drawn = self.order.take(count)
        self.positions[self._drawn : self._drawn + drawn.size] = drawn
        self._drawn += drawn.size

    def _chosen(self, slots: Places, active: Truths) -> Truths:
        """Which slots are in a block with an unread row of an active candidate."""
        candidate = self.rows.candidate[self.positions[slots]]
        wanted = (candidate >= 0) & active[candidate] & ~self.read[slots]
        blocks = np.add.reduceat(wanted, np.arange(0, slots.size, self.block)) > 0
        return np.repeat(blocks, self.block)[: slots.size] & ~self.read[slots]

    def _take(self, slots: Places) -> Counts:
        """Read slots that were not read, and count them."""
        slots = slots[~self.read[slots]]
        self.read[slots] = True
        positions = self.positions[slots]
        candidate = self.rows.candidate[positions]
        there = candidate >= 0
        self.touched += np.bincount(candidate[there], minlength=self.rows.count)
        holds = self.rows.holds(positions[there])
        if holds is not None:
            there[there] = holds
        self.kept[slots] = there
        cell = candidate[there].astype(np.int64) * self.rows.bars + self.rows.bar[positions[there]]
        shape = (self.rows.count, self.rows.bars)
        return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
