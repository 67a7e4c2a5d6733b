"""Input cells of plain output boxes, axis by axis: where no two input axes move together, a box has a product of them.

An axis has one interval, or a few lattices. The places 135 · t // 52, as of a picture made smaller, go on in steps of
13 for long if every fifth t is taken: five such lattices instead of 52. [Hardy & Wright, chapter X: convergents]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from forward_lineage.relations.box_bounds import AxisBounds, Flags, sharing
from forward_lineage.relations.box_rows import BoxTable, Lines
from forward_lineage.relations.lattice import LatticeBoxes, Shape
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import ranges

#: Places of so many periods are gone through one by one; more are a lattice for each place of a period.
_MOST_PERIODS = 8


class _Axis(NamedTuple):
    """What some boxes need of an input axis.

    Attributes:
        low: the lower bound of each box; `high` the upper one.
        high: see `low`.
        begin: first place on the output axis; `end` the last.
        end: see `begin`.
        closed: whether the places' intervals are one.
        period: after how many places both bounds have moved by a whole number; 0 where they are gone through.

    """

    low: Lines
    high: Lines
    begin: Numbers
    end: Numbers
    closed: Flags
    period: Numbers

    def take(self, boxes: Numbers | Flags) -> _Axis:
        """Those of some boxes."""
        low, high, begin, end, closed, period = self
        places = (begin[boxes], end[boxes], closed[boxes], period[boxes])
        return _Axis(low.take(boxes), high.take(boxes), *places)


class _Runs(NamedTuple):
    """Lattices on one axis, in the order of the boxes that have them."""

    owner: Numbers
    start: Numbers
    runs: Numbers
    step: Numbers
    width: Numbers


def images(relation: BoxTable, pieces: LatticeBoxes, row: Numbers) -> tuple[LatticeBoxes, Flags]:
    """The input cells of plain boxes of output cells, each inside its row.

    Returns:
        their boxes, and for which of `pieces` they are: the others must be asked otherwise.

    """
    axes, easy = [], np.logical_not(sharing(relation, row, pieces.link).any(axis=1))
    for number, size in enumerate(relation.in_shape):
        axis, fits = _axis_of(AxisBounds(relation, row, number), pieces, size)
        axes.append(axis)
        easy &= fits
    if not bool(easy.all()):
        axes = [axis.take(easy) for axis in axes]
    runs = [_runs_of(axis, size) for axis, size in zip(axes, relation.in_shape, strict=True)]
    return _product(relation.in_shape, int(easy.sum()), runs), easy


def _axis_of(bounds: AxisBounds, pieces: LatticeBoxes, size: int) -> tuple[_Axis, Flags]:
    """What is needed of an input axis, and for which boxes that will do."""
    begin, end = (bounds.of_output(corner, 0) for corner in (pieces.start, pieces.last))
    closed, period = ~bounds.moves | bounds.one_bound | bounds.touching(begin, end), np.zeros_like(begin)
    axis = _Axis(bounds.low, bounds.high, begin, end, closed, period)
    if bool(closed.all()):
        return axis, closed
    period = bounds.period(np.ones_like(begin))
    period[~bounds.steady | (end - begin < _MOST_PERIODS * period)] = 0
    low, high = _hull(axis)
    return axis._replace(period=period), closed | (period == 0) | ((low >= 0) & (high < size))


# ---------------------------------------------------------------- one axis


def _hull(axis: _Axis) -> tuple[Numbers, Numbers]:
    """The lowest and the highest place of each box, be they on the axis or beyond it."""
    low, high = ([lines.at(place) for place in (axis.begin, axis.end)] for lines in (axis.low, axis.high))
    return np.minimum(*low), np.maximum(*high)


def _runs_of(axis: _Axis, size: int) -> _Runs:
    """The places of each box on an axis of some size."""
    low, high = _hull(axis)
    low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    owner = np.flatnonzero(axis.closed & (low <= high))
    one = np.ones_like(owner)
    whole = _Runs(owner, low[owner], one, one, (high - low + 1)[owner])
    if bool(axis.closed.all()):
        return whole
    open_ = np.flatnonzero(~axis.closed)
    listed = _lattices(axis.take(open_), size)
    both = [np.concatenate(columns) for columns in zip(whole, listed._replace(owner=open_[listed.owner]), strict=True)]
    order = np.argsort(both[0], kind="stable")
    return _Runs(*(column[order] for column in both))


def _lattices(axis: _Axis, size: int) -> _Runs:
    """The intervals of each place; those of every so many-th place are a lattice while they go on in equal steps."""
    stride, moved = _strides(axis, axis.end - axis.begin + 1)
    box, chain, place, more = _chains(axis, stride)
    owner = box[chain]
    low = np.maximum(axis.low.take(owner).at(place), 0)
    high = np.minimum(axis.high.take(owner).at(place), size - 1)
    kept = np.flatnonzero(low <= high)
    chain, owner, low, high = (each[kept] for each in (chain, owner, low, high))
    step = moved[owner]
    begins = np.ones(kept.size, bool)
    begins[1:] = (chain[1:] != chain[:-1]) | (np.diff(low) != step[1:]) | (np.diff(high) != step[1:])
    at = np.flatnonzero(begins)
    count = np.diff(np.append(at, kept.size)) + more[chain[at]]
    return _settled(_Runs(owner[at], low[at], count, step[at], (high - low + 1)[at]))


def _chains(axis: _Axis, stride: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Every so many-th place of each box, from each of the first ones on.

    Returns:
        of each chain its box; of each place its chain, and the place; of each chain how many places are left out, for
        all of them go on in equal steps.

    """
    length = axis.end - axis.begin + 1
    chains = np.minimum(stride, length)
    box, first = np.repeat(np.arange(length.size), chains), ranges(np.zeros_like(chains), chains)
    places = (length[box] - first + stride[box] - 1) // stride[box]
    listed = np.where(axis.period[box] > 0, 1, places)
    chain = np.repeat(np.arange(box.size), listed)
    place = (axis.begin[box] + first)[chain] + stride[box[chain]] * ranges(np.zeros_like(listed), listed)
    return box, chain, place, places - listed


def _settled(runs: _Runs) -> _Runs:
    """The same with steps as `LatticeBoxes` has them: upwards, and no two runs touch."""
    owner, start, count, step, width = runs
    start, step = start + np.minimum((count - 1) * step, 0), np.abs(step)
    touching = step <= width
    width = np.where(touching, (count - 1) * step + width, width)
    count = np.where(touching, 1, count)
    return _Runs(owner, start, count, np.where(count == 1, 1, step), width)


def _strides(axis: _Axis, length: Numbers) -> tuple[Numbers, Numbers]:
    """For each box the stride that makes few lattices of so many places, and how far the bounds move meanwhile."""
    stride, moved = np.ones_like(length), np.zeros_like(length)
    slopes, of_box = np.unique(np.column_stack([axis.low.scale, axis.low.divisor]), axis=0, return_inverse=True)
    for number, (scale, divisor) in enumerate(slopes.tolist()):
        here = np.flatnonzero(of_box.reshape(-1) == number)
        tried = list(_convergents(scale, divisor))  # the last one is the period
        steps = [(2 * each * scale + divisor) // (2 * divisor) for each in tried]
        # A lattice for each of the first places, and another one whenever the error has grown to a whole cell.
        error = [abs(each * scale - step * divisor) / divisor for each, step in zip(tried, steps, strict=True)]
        price = np.minimum(tried, length[here, None]) + length[here, None] * np.array(error)
        best = np.where(axis.period[here] > 0, len(tried) - 1, np.argmin(price, axis=1))
        stride[here], moved[here] = np.array(tried)[best], np.array(steps)[best]
    return stride, moved


def _convergents(scale: int, divisor: int) -> Iterator[int]:
    """The denominators of the fractions nearest to one, each nearer than the one before."""
    before, here = 1, 0
    while divisor:
        whole, rest = divmod(scale, divisor)
        before, here = here, whole * here + before
        scale, divisor = divisor, rest
        yield here


# ---------------------------------------------------------------- all axes


def _product(shape: Shape, boxes: int, axes: Sequence[_Runs]) -> LatticeBoxes:
    """For each box every choice of a lattice on each axis."""
    chosen = _choices(boxes, [each.owner for each in axes])
    size = chosen[0].size if axes else boxes, len(shape)
    columns = [np.ones(size, np.int64) for _ in range(4)]
    for axis, (runs, places) in enumerate(zip(axes, chosen, strict=True)):
        for column, values in zip(columns, runs[1:], strict=True):
            column[:, axis] = values[places]
    start, count, step, width = columns
    if all(bool((each.runs == 1).all()) for each in axes):
        return LatticeBoxes.of_corners(shape, start, start + width - 1)
    return LatticeBoxes(shape, start, count, step, width, np.broadcast_to(np.arange(len(shape)), size))


def _choices(boxes: int, owners: Sequence[Numbers]) -> list[Numbers]:
    """For each axis which of its lattices: box by box, all combinations."""
    parts = [np.bincount(each, minlength=boxes) for each in owners]
    total = np.prod(parts, axis=0, dtype=np.int64) if parts else np.ones(boxes, np.int64)
    source, number = np.repeat(np.arange(boxes), total), ranges(np.zeros_like(total), total)
    chosen = []
    for each in reversed(parts):
        number, place = np.divmod(number, each[source])
        chosen.append((np.cumsum(each) - each)[source] + place)
    return chosen[::-1]
