"""The pairs of boxes, listed: for what cannot be done in place, and as the plainest reading of what a row says."""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.box_rows import BoxTable
from forward_lineage.relations.relation import Numbers, sorted_pairs
from forward_lineage.relations.run_arrays import ranges
from udafs.errors import BadArgumentError

#: So many pairs are listed at most: their numbers alone take 4 GB.
MOST_LISTED = 1 << 28


def out_cells(relation: BoxTable) -> tuple[Numbers, Numbers]:
    """The output cells of each row, one after the other: the row, and the place on each axis, shape (cells, axes).

    Raises:
        BadArgumentError: there are more than 2^28.

    """
    sizes = relation.last - relation.first + 1
    volume = np.prod(sizes.astype(float), axis=1)
    _check(float(volume.sum()), "output cells")
    volumes = np.prod(sizes, axis=1)
    row = np.repeat(np.arange(volumes.size), volumes)
    rest = ranges(np.zeros_like(volumes), volumes)
    places = np.empty((row.size, sizes.shape[1]), np.int64)
    for axis in reversed(range(sizes.shape[1])):
        rest, places[:, axis] = np.divmod(rest, sizes[row, axis])
    return row, places + relation.first[row]


def intervals(relation: BoxTable, row: Numbers, places: Numbers, axis: int) -> tuple[Numbers, Numbers]:
    """First place on an input axis of what each output cell is made of, and how many there are."""
    along = relation.axis[row, axis]
    place = places[np.arange(row.size), np.maximum(along, 0)] if places.shape[1] else np.zeros_like(row)
    low = np.maximum(relation.low.take(row, axis).at(place), 0)
    high = np.minimum(relation.high.take(row, axis).at(place), relation.in_shape[axis] - 1)
    return low, np.maximum(high - low + 1, 0)


def listed(relation: BoxTable) -> tuple[Numbers, Numbers]:
    """All pairs, as `LineageRelation.pairs`."""
    row, places = out_cells(relation)
    lanes = [intervals(relation, row, places, axis) for axis in range(len(relation.in_shape))]
    total = np.ones(row.size)
    for _, length in lanes:
        total *= length
    _check(float(total.sum()), "pairs")
    cell, found = np.arange(row.size), np.zeros(row.size, np.int64)
    for axis, (first, length) in enumerate(lanes):
        here = length[cell]
        found = found * relation.in_shape[axis] if axis else found  # a first axis may be too long for 64 bits
        found = np.repeat(found, here) + ranges(first[cell], here)
        cell = np.repeat(cell, here)
    return sorted_pairs(numbers_in(relation.out_shape, places)[cell], found)


def numbers_in(shape: tuple[int, ...], places: Numbers) -> Numbers:
    """The numbers of cells in C order from their places on each axis."""
    number = places[:, 0].copy() if shape else np.zeros(places.shape[0], np.int64)
    for axis in range(1, len(shape)):
        number = number * shape[axis] + places[:, axis]
    return number


def _check(count: float, what: str) -> None:
    if count > MOST_LISTED:
        raise BadArgumentError(
            f"a relation of about {count:.3g} {what} is too large to list",
            instead="Ask it for boxes of cells, or restrict it first.",
        )
