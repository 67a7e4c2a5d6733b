"""How many pairs boxes have, from sums over the axes; nothing is expanded.

The pairs of a row are a product over the output axes: of each, the sum over its places of the lengths that move with
it. Where lengths are lines, the sum is a polynomial between the places where a line leaves the array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.box_pairs import intervals, numbers_in, out_cells
from forward_lineage.relations.box_questions import meeting, near
from forward_lineage.relations.box_rows import BoxTable
from forward_lineage.relations.relation import Numbers
from udafs.errors import BadArgumentError

#: Where bounds are divided, lengths are added up place by place, so many at once.
_BATCH = 1 << 20
#: Where bounds of a longer axis repeat after more places than this, they are added up, too, but for the longest axes.
_MOST_RESIDUES = 1 << 10
_MOST_ADDED = 1 << 28
#: Of intervals that move with an output axis: both their bounds, each by scale, offset, divisor; the size of the axis.
Measured = Sequence[tuple[tuple[int, int, int, int, int, int], int]]
#: So many pairs of rows are compared at most to find out whether any share a pair.
_MOST_COMPARED = 1 << 24


# ---------------------------------------------------------------- rows that share a pair


def may_overlap(relation: BoxTable) -> bool:
    """Whether two rows might have a pair in common; no where their cells lie apart on some axis."""
    if relation.first.shape[0] < 2:
        return False
    low, high = relation.bounds
    sides = [(relation.first, relation.last, relation.out_shape), (low, high, relation.in_shape)]
    found = [(_pairs_near(*side), side) for side in sides if side[2]]
    if not found:
        return True
    pairs, (first, last, shape) = min(found, key=lambda each: each[0])
    if pairs > _MOST_COMPARED:
        return True
    mine, theirs = meeting(first, last, first, last, shape)
    different = mine < theirs
    mine, theirs = mine[different], theirs[different]
    apart = np.any(
        (relation.first[mine] > relation.last[theirs]) | (relation.first[theirs] > relation.last[mine]), axis=1
    )
    mine, theirs = mine[~apart], theirs[~apart]
    apart = np.any((low[mine] > high[theirs]) | (low[theirs] > high[mine]), axis=1)
    mine, theirs = mine[~apart], theirs[~apart]
    apart = np.zeros(mine.size, bool)
    for axis in range(len(relation.in_shape)):
        apart |= _above(relation, mine, theirs, axis) | _above(relation, theirs, mine, axis)
    return not bool(np.all(apart))


def _pairs_near(first: Numbers, last: Numbers, shape: tuple[int, ...]) -> int:
    return int(near(first, last, first, last, shape)[2].sum())


def _above(relation: BoxTable, upper: Numbers, lower: Numbers, axis: int) -> npt.NDArray[np.bool_]:
    """Whether, of the cells that two rows share, the first has its interval above that of the second."""
    one, other = relation.axis[upper, axis], relation.axis[lower, axis]
    found = (one == other) | (one < 0) | (other < 0)
    along = np.maximum(np.maximum(one, other), 0)
    pair = np.arange(upper.size)
    low, high = relation.low.take(upper, axis), relation.high.take(lower, axis)
    if not relation.first.shape[1]:
        return np.zeros(upper.size, bool)
    begin = np.maximum(relation.first[upper], relation.first[lower])[pair, along]
    end = np.minimum(relation.last[upper], relation.last[lower])[pair, along]
    for place in (begin, end):
        left = (low.scale * place + low.offset) * high.divisor
        found &= left >= (high.scale * place + high.offset) * low.divisor + low.divisor * high.divisor
    above: npt.NDArray[np.bool_] = found
    return above


# ---------------------------------------------------------------- sums


def pairs_of(relation: BoxTable) -> int:
    """How many pairs the rows have together, each counted by itself."""
    rows, out_axes = relation.first.shape
    factors = np.ones((rows, out_axes + 1), np.int64)
    factors[:, :out_axes] = relation.last - relation.first + 1
    low, high = relation.bounds
    still = relation.axis < 0
    factors[:, out_axes] = np.prod(np.where(still, np.maximum(high - low + 1, 0), 1), axis=1)
    hard = np.zeros((rows, out_axes), bool)
    for axis in range(relation.axis.shape[1]):
        along, even = relation.axis[:, axis], _even(relation, axis)
        length = relation.high.take(slice(None), axis).offset - relation.low.take(slice(None), axis).offset
        length = length // relation.low.take(slice(None), axis).divisor + 1
        for out in np.unique(along[along >= 0]).tolist():
            here = along == out
            factors[here, out] *= np.where(even, length, 1)[here]
            hard[here & ~even, out] = True
    sums = {(row, out): _sum(relation, row, out) for row, out in np.argwhere(hard).tolist()}
    if not sums and float(np.prod(factors.astype(float), axis=1).sum()) < 2.0**62:
        return int(np.prod(factors, axis=1).sum())
    total = 0
    for row, numbers in enumerate(factors.tolist()):
        total += math.prod(sums.get((row, out), each) for out, each in enumerate(numbers))
    return total


def _even(relation: BoxTable, axis: int) -> npt.NDArray[np.bool_]:
    """Whether an interval has the same length for all cells of its row, and none of it lies beyond the array."""
    low, high = relation.low.take(slice(None), axis), relation.high.take(slice(None), axis)
    along = np.maximum(relation.axis[:, axis], 0)
    same: npt.NDArray[np.bool_] = (low.scale == high.scale) & (low.divisor == high.divisor)
    same &= (high.offset - low.offset) % low.divisor == 0
    if not relation.first.shape[1]:
        return same
    every = np.arange(along.size)
    for place in (relation.first[every, along], relation.last[every, along]):
        same &= (low.at(place) >= 0) & (high.at(place) < relation.in_shape[axis])
    return same


def _sum(relation: BoxTable, row: int, out: int) -> int:
    """The sum over the places of an output axis of the product of all lengths that move with it."""
    first, last = int(relation.first[row, out]), int(relation.last[row, out])
    axes = np.flatnonzero(relation.axis[row] == out)
    lines = [(_line(relation, row, axis), relation.in_shape[axis]) for axis in axes.tolist()]
    period = math.lcm(*(divisor for line, _ in lines for divisor in (line[2], line[5])))
    if period == 1:
        return _line_sum(lines, first, last)
    if last - first < _BATCH:
        return _added(lines, first, last + 1)
    if period > _MOST_RESIDUES:
        return _long_sum(lines, first, last)
    # Of places that are one residue apart, all bounds are lines without a divisor.
    return sum(
        _line_sum(_of_residue(lines, begin, period), 0, (last - begin) // period)
        for begin in range(first, first + period)
    )


def _line(relation: BoxTable, row: int, axis: int) -> tuple[int, int, int, int, int, int]:
    numbers = [int(each[row, axis]) for each in (*relation.low, *relation.high)]
    return numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]


def _of_residue(lines: Measured, begin: int, period: int) -> Measured:
    def freed(scale: int, offset: int, divisor: int) -> tuple[int, int, int]:
        return scale * period // divisor, (scale * begin + offset) // divisor, 1

    return [((*freed(*line[:3]), *freed(*line[3:])), size) for line, size in lines]


def _long_sum(lines: Measured, first: int, last: int) -> int:
    if last - first > _MOST_ADDED:
        raise BadArgumentError(
            f"an axis of {last - first + 1} places whose lengths repeat too seldom to be added up",
            instead="Count the cells of a part of it.",
        )
    return sum(_added(lines, begin, min(begin + _BATCH, last + 1)) for begin in range(first, last + 1, _BATCH))


def _line_sum(lines: Measured, first: int, last: int) -> int:
    """As `_sum`, of bounds that are not divided."""
    cuts = {first, last + 1}
    for (scale, offset, _, other, second, _), size in lines:
        for slope, at, level in ((scale, offset, 0), (scale, offset, size), (other, second, 0), (other, second, size)):
            if slope:  # the places around which the line passes the level
                turn = (level - at) // slope
                cuts |= {place for place in range(turn - 1, turn + 3) if first < place <= last}
    ends = sorted(cuts)
    return sum(_polynomial_sum(lines, begin, end) for begin, end in pairwise(ends))


def _lengths(lines: Measured, place: Numbers) -> Numbers:
    found = np.ones(place.shape, np.int64)
    for (scale, offset, divisor, other, second, by), size in lines:
        low = np.maximum((scale * place + offset) // divisor, 0)
        high = np.minimum((other * place + second) // by, size - 1)
        found = found * np.maximum(high - low + 1, 0)
    return found


def _added(lines: Measured, begin: int, end: int) -> int:
    return int(_lengths(lines, np.arange(begin, end)).sum())


def _polynomial_sum(lines: Measured, begin: int, end: int) -> int:
    """The sum over begin … end − 1, between which no length changes its line.

    A product of k lines is a polynomial of degree k, and so its sums are one of degree k + 1: known from k + 2 places.
    """
    known = len(lines) + 2
    if end - begin <= known:
        return _added(lines, begin, end)
    sums = np.cumsum(_lengths(lines, np.arange(begin, begin + known)).astype(object)).tolist()
    wanted, total = end - begin - 1, Fraction(0)
    for place, value in enumerate(sums):
        term = Fraction(value)
        for other in range(known):
            if other != place:
                term *= Fraction(wanted - other, place - other)
        total += term
    return int(total)


# ---------------------------------------------------------------- each cell


def of_each_cell(relation: BoxTable) -> tuple[Numbers, Numbers]:
    """Every output cell that is made of something, and of how many cells; rows do not overlap."""
    row, places = out_cells(relation)
    count = np.ones(row.size, np.int64)
    for axis in range(len(relation.in_shape)):
        count *= intervals(relation, row, places, axis)[1]
    cells, at = np.unique(numbers_in(relation.out_shape, places), return_inverse=True)
    total = np.bincount(at[count > 0], count[count > 0], cells.size).astype(np.int64)
    return cells[total > 0], total[total > 0]
