"""Aggregates made beforehand: small cubes over a few views each.   [Smoke, §4.2, group-by push-down; §6.5.1]

A cube over some views has a cell for each combination of their bars, that of no bar included. It answers a brush in
some of them for another of them, whatever bars are chosen, by adding up cells. All views in one cube would have too
many cells (523 million for the paper's four, which have 124 million rows). Pairs have few, and one brush needs pairs.
Views are put together into a cube as long as its cells stay few. That takes fewer passes over the rows, and answers
some brushes in two views at once, too.

If already two views have too many cells, the cube has those bars of the brushed one that have most rows (`bars_of`).
The others are answered from their rows, which are few.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from forward_lineage.relations.groups import BATCH
from forward_lineage.views.measures import Counted, Measure, MeasurePart, Numbers, nothing, weights
from forward_lineage.views.membership import Array, Chosen, Dense

#: Cells that are looked at in one go: what is copied of them stays in the processor's cache.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Limits:
    """How much is made beforehand.

    Attributes:
        cells: that a cube may have.
        share: cells, of all parts, that further cubes over three views may have altogether for each base row. They
            answer brushes in two views at once.
        heavy: rows that a bar must have to be in a cube that does not have all bars.

    """

    cells: int = 1 << 22
    share: float = 1.0
    heavy: int = 1 << 17


@dataclass(frozen=True, eq=False)
class Cube:
    """Sums for every combination of bars of some views.

    Attributes:
        views: their numbers; each is an axis.
        counted: for each part the cells, one axis a view.
        bars_of: of a view whose bars are not all in it, the number of each bar on its axis. Bars that are left out have
            the last one. Its shape is (bars + 1,).

    """

    views: tuple[int, ...]
    counted: Counted
    bars_of: Mapping[int, Array]

    @property
    def shape(self) -> tuple[int, ...]:
        """How long each axis is."""
        return tuple(next(iter(self.counted.values())).shape)

    def answers(self, brushed: Iterable[int], target: int, parts: Iterable[MeasurePart]) -> bool:
        """Tell whether it has what some brushes leave of the parts of another view."""
        views = {*brushed}
        whole = target not in views and target not in self.bars_of
        return whole and {*views, target} <= set(self.views) and self.counted.keys() >= {*parts}

    def cost(self, chosen: Mapping[int, Chosen], target: int) -> int:
        """Return how many cells are added up for a brush."""
        lengths = (
            np.count_nonzero(chosen[v]) if v in chosen else n for v, n in zip(self.views, self.shape, strict=True)
        )
        return prod(int(length) for length in lengths)

    def sums(self, chosen: Mapping[int, Chosen], target: int, parts: Iterable[MeasurePart]) -> Counted:
        """Add up the cells of the chosen bars, which are all in it.

        Returns:
            for each part one number a bar of the target.

        """
        chosen = {view: self._on_axis(view, bars) for view, bars in chosen.items()}
        return {part: self._sum(self.counted[part], chosen, target) for part in parts}

    def pairs(self) -> list[Cube]:
        """Return the cubes over two of its views each, which are smaller, so that one brush has less to add up."""
        found = []
        for two in itertools.combinations(range(len(self.views)), 2) if len(self.views) > 2 else ():
            others = tuple(axis for axis in range(len(self.views)) if axis not in two)
            counted = {part: cells.sum(axis=others, dtype=_wide(cells)) for part, cells in self.counted.items()}
            found.append(Cube(tuple(self.views[axis] for axis in two), _narrowed(counted), {}))
        return found

    def _on_axis(self, view: int, chosen: Chosen) -> Chosen:
        if view not in self.bars_of:
            return chosen
        found = np.zeros(self.shape[self.views.index(view)], np.bool_)
        found[self.bars_of[view][chosen]] = True
        return found

    def _sum(self, cells: Numbers, chosen: Mapping[int, Chosen], target: int) -> Numbers:
        """Add up the chosen cells, in blocks of the first axis unless they are few.

        A copy of all would be new memory, which the system has to hand out and clear. Of the 35 MB that two brushes
        leave at worst, that took up to ten times as long as adding them up.
        """
        least = min((int(np.count_nonzero(bars)) / bars.size for bars in chosen.values()), default=0.0)
        if least * cells.size <= _BLOCK:
            return self._block(cells, chosen, target).astype(_kept(cells))
        first, *_ = self.views
        numbers = np.flatnonzero(chosen[first]) if first in chosen else np.arange(cells.shape[0])
        others = {view: bars for view, bars in chosen.items() if view != first}
        found = np.zeros(cells.shape[self.views.index(target)], _kept(cells))
        step = max(1, _BLOCK * cells.shape[0] // cells.size)
        for begin in range(0, len(numbers), step):
            block = _taken(cells, 0, numbers[begin : begin + step])
            if target == first:
                found[begin : begin + step] = self._block(block, others, target)
            else:
                found += self._block(block, others, target)
        return found

    def _block(self, cells: Numbers, chosen: Mapping[int, Chosen], target: int) -> Numbers:
        brushed = [(np.count_nonzero(chosen[view]) / len(chosen[view]), view) for view in chosen]
        for _, view in sorted(brushed):  # what leaves least comes first: the others then have less to look at
            cells = _taken(cells, self.views.index(view), np.flatnonzero(chosen[view]))
        # One axis after the other, over cells that lie side by side: ten times faster than all axes at once.
        for _ in range(self.views.index(target)):
            cells = cells.reshape(cells.shape[0], -1).sum(axis=0, dtype=_wide(cells)).reshape(cells.shape[1:])
        found: Numbers = cells.reshape(cells.shape[0], -1).sum(axis=1, dtype=_wide(cells))
        return found


def planned(memberships: Sequence[Dense], limits: Limits) -> list[tuple[int, ...]]:
    """Return which views to put together, so that each two of them are in one cube, if it can have all their bars."""
    size = [view.bars + 1 for view in memberships]
    views = sorted(range(len(size)), key=lambda view: size[view])
    pairs = [pair for pair in itertools.combinations(views, 2) if prod(size[v] for v in pair) <= limits.cells]
    found: list[tuple[int, ...]] = []
    for pair in sorted(pairs, key=lambda pair: -prod(size[v] for v in pair)):
        if any(set(pair) <= set(cube) for cube in found):
            continue
        cube: tuple[int, ...] = pair
        for view in views:
            if view not in cube and prod(size[v] for v in (*cube, view)) <= limits.cells:
                cube = (*cube, view)
        found.append(tuple(sorted(cube)))
    return found


def further(
    memberships: Sequence[Dense],
    parts: Sequence[Sequence[MeasurePart]],
    known: Sequence[tuple[int, ...]],
    limits: Limits,
) -> list[tuple[int, ...]]:
    """Return three views to put together besides, small cubes first, as long as they are worth their cells.

    Args:
        memberships: of all views.
        parts: what is added up for each; every part takes cells of its own.
        known: the cubes that there are.
        limits: how many cells there may be.

    """
    left = limits.share * memberships[0].rows if memberships else 0
    size = [view.bars + 1 for view in memberships]
    found: list[tuple[int, ...]] = []
    threes = itertools.combinations(range(len(size)), 3)
    for views in sorted(threes, key=lambda views: prod(size[v] for v in views)):
        cells = prod(size[v] for v in views) * len({part for v in views for part in parts[v]})
        if cells <= left and not any(set(views) <= set(cube) for cube in known):
            found.append(views)
            left -= cells
    return found


def partly(memberships: Sequence[Dense], limits: Limits) -> list[tuple[int, int, Array]]:
    """Return pairs (brushed, target) that have too many cells, with the places of the bars that have most rows."""
    found: list[tuple[int, int, Array]] = []
    for view, target in itertools.permutations(range(len(memberships)), 2):
        mine, other = memberships[view], memberships[target]
        if (mine.bars + 1) * (other.bars + 1) <= limits.cells:
            continue
        heavy = np.flatnonzero(mine.sizes > limits.heavy)
        most = max(0, limits.cells // (other.bars + 1) - 1)
        heavy = np.sort(heavy[np.argsort(-mine.sizes[heavy], kind="stable")][:most])
        if heavy.size:
            places = np.full(mine.bars + 1, heavy.size, np.intp)
            places[heavy] = np.arange(heavy.size)
            found.append((view, target, places))
    return found


def made(
    memberships: Sequence[Dense],
    views: tuple[int, ...],
    parts: Iterable[MeasurePart],
    measures: tuple[Measure, ...],
    bars_of: Mapping[int, Array] | None = None,
) -> Cube:
    """Make a cube, in one pass over the rows.

    Args:
        memberships: of all views.
        views: those it is over.
        parts: what is added up.
        measures: the columns of values.
        bars_of: see `Cube`.

    """
    bars_of = bars_of or {}
    shape = [int(bars_of[v].max()) + 1 if v in bars_of else memberships[v].bars + 1 for v in views]
    counted = {part: _zeros(part, measures, prod(shape)) for part in parts}
    rows = memberships[views[0]].rows
    for first in range(0, rows, BATCH):
        batch = slice(first, first + BATCH)
        at = np.zeros(min(BATCH, rows - first), np.intp)
        for view, length in zip(views, shape, strict=True):
            at *= length
            at += bars_of[view][memberships[view].codes[batch]] if view in bars_of else memberships[view].codes[batch]
        for part, cells in counted.items():
            np.add.at(cells, at, np.asarray(weights(part, measures, batch), cells.dtype))
    return Cube(views, _narrowed({part: cells.reshape(shape) for part, cells in counted.items()}), bars_of)


def _zeros(part: MeasurePart, measures: tuple[Measure, ...], size: int) -> Numbers:
    """Of counts, which are never above the number of rows, half as many bytes do."""
    return nothing(part, measures, size) if part.kind == "sum" else np.zeros(size, np.uint32)


def _narrowed(counted: Counted) -> Counted:
    """Counts of cells in as few bytes as the largest one needs."""
    return {
        part: cells if part.kind == "sum" else cells.astype(np.min_scalar_type(int(cells.max(initial=0))))
        for part, cells in counted.items()
    }


def _wide(cells: Numbers) -> np.dtype[Any]:
    """The type that cells are added up in; no count is above the number of rows, which fits into 32 bits."""
    return np.dtype(np.uint32) if cells.dtype.kind == "u" else cells.dtype


def _kept(cells: Numbers) -> np.dtype[Any]:
    """The type of an answer."""
    return np.dtype(np.int64) if cells.dtype.kind == "u" else cells.dtype


def _taken(cells: Numbers, axis: int, numbers: Array) -> Numbers:
    """The cells of some bars; of neighbouring ones nothing is copied."""
    if numbers.size and int(numbers[-1] - numbers[0]) + 1 == numbers.size:
        return cells[(slice(None),) * axis + (slice(int(numbers[0]), int(numbers[-1]) + 1),)]
    return np.take(cells, numbers, axis)
