"""Backward and forward over boxes in place: a range join, then lines applied to whole runs.   [Zhao 2024, §V-B]

A line maps a lattice to a lattice, or to a few. It is split by residues where the line divides, and run by run where
its bounds move at different speeds. Input axes that move with one output axis stay linked.
"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations import plain_images
from forward_lineage.relations.box_bounds import AxisBounds, sharing
from forward_lineage.relations.box_rows import FAR, BoxTable, Lines, solved
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.run_arrays import ranges

# ---------------------------------------------------------------- the range join


def meeting(
    first: Numbers, last: Numbers, begin: Numbers, end: Numbers, shape: tuple[int, ...]
) -> tuple[Numbers, Numbers]:
    """Which boxes of two lists overlap, as places in either list.

    Args:
        first: lowest corners of the first list, shape (n, d); `last` the highest.
        last: see `first`.
        begin: those of the second list, shape (m, d); `end` the highest.
        end: see `begin`.
        shape: of the array, for cells in their order.

    """
    mine, theirs = _candidates(first, last, begin, end, shape)
    kept = np.ones(mine.size, bool)
    for axis in range(first.shape[1]):
        kept &= (first[mine, axis] <= end[theirs, axis]) & (begin[theirs, axis] <= last[mine, axis])
    return mine[kept], theirs[kept]


def _candidates(
    first: Numbers, last: Numbers, begin: Numbers, end: Numbers, shape: tuple[int, ...]
) -> tuple[Numbers, Numbers]:
    every = np.arange(first.shape[0])
    if begin.shape[0] == 1:
        return every, np.zeros_like(every)
    if first.shape[0] * begin.shape[0] <= 1 << 12 or not shape:
        mine, theirs = (each.ravel() for each in np.indices((first.shape[0], begin.shape[0])))
        return mine, theirs
    order, start, found = near(first, last, begin, end, shape)
    return np.repeat(every, found), order[ranges(start, found)]


def near(
    first: Numbers, last: Numbers, begin: Numbers, end: Numbers, shape: tuple[int, ...]
) -> tuple[Numbers, Numbers, Numbers]:
    """The boxes of a second list that may overlap those of a first one; arguments as of `meeting`.

    In C order a box lies between its corners, so boxes that overlap have overlapping stretches.

    Returns:
        an order of the second list, and for each box of the first one where in it those begin, and how many they are.

    """
    weights = np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
    low, high = np.maximum(begin, 0) @ weights, np.minimum(end, np.array(shape) - 1) @ weights
    order = np.argsort(low, kind="stable")
    start = np.searchsorted(np.maximum.accumulate(high[order]), first @ weights)
    stop = np.searchsorted(low[order], last @ weights, side="right")
    return order, start, np.maximum(stop - start, 0)


# ---------------------------------------------------------------- backward


def backward(relation: BoxTable, boxes: LatticeBoxes) -> LatticeBoxes:
    """The input cells of any of some output cells, box for box."""
    asked, row = meeting(boxes.first, boxes.last, relation.first, relation.last, relation.out_shape)
    pieces, source = boxes.take(asked).clipped(relation.first[row], relation.last[row])
    row = row[source]
    if not pieces.plain:
        return _backward(relation, pieces, row)
    found, easy = plain_images.images(relation, pieces, row)
    return found if bool(easy.all()) else found.together(_backward(relation, pieces.take(~easy), row[~easy]))


def _backward(relation: BoxTable, pieces: LatticeBoxes, row: Numbers) -> LatticeBoxes:
    for axis in np.flatnonzero(np.any(relation.axis >= 0, axis=0)).tolist():
        pieces, source = _made_even(relation, pieces, row, axis)
        row = row[source]
    return _image(relation, pieces, row)


def _made_even(relation: BoxTable, pieces: LatticeBoxes, row: Numbers, axis: int) -> tuple[LatticeBoxes, Numbers]:
    """Pieces that the bounds of an input axis turn into a lattice each."""
    rule = AxisBounds(relation, row, axis)
    source = np.arange(len(pieces))
    for out in np.unique(rule.along[rule.moves]).tolist():
        here = (rule.along == out)[source]
        shared = sharing(relation, row[source], pieces.link)[:, axis]
        each = AxisBounds(relation, row[source], axis)
        begin = pieces.start[:, out]
        closed = each.touching(begin, begin + pieces.width[:, out] - 1)
        pieces, more = pieces.thin(out, here & (shared | (~each.one_bound & ~closed)))
        source = source[more]
        here = (rule.along == out)[source]
        each, shared = AxisBounds(relation, row[source], axis), sharing(relation, row[source], pieces.link)[:, axis]
        runs, step = pieces.count[:, out], pieces.step[:, out]
        parts = np.where(each.steady, each.period(step), runs)
        parts = np.where(here & (runs > 1) & (shared | ~each.one_bound), parts, 1)
        pieces, more = pieces.unrolled(out, parts)
        source = source[more]
    return pieces, source


def _image(relation: BoxTable, pieces: LatticeBoxes, row: Numbers) -> LatticeBoxes:
    axes = len(relation.in_shape)
    columns = {name: np.ones((len(pieces), axes), np.int64) for name in ("start", "count", "step", "width")}
    shared = sharing(relation, row, pieces.link)
    group = np.broadcast_to(np.arange(axes), shared.shape).copy()
    for axis in range(axes):
        rule = AxisBounds(relation, row, axis)
        start, count, step, width = (
            rule.of_output(getattr(pieces, name), of_none)
            for name, of_none in (("start", 0), ("count", 1), ("step", 1), ("width", 1))
        )
        whole = rule.one_bound & ~shared[:, axis]  # all runs share the bound that does not move
        begin = np.where(whole, start + np.minimum((count - 1) * step, 0), start)
        end = np.where(whole, start + np.maximum((count - 1) * step, 0), start) + width - 1
        low = np.minimum(rule.low.at(begin), rule.low.at(end))
        high = np.maximum(rule.high.at(begin), rule.high.at(end))
        count = np.where(whole, 1, count)
        columns["start"][:, axis], columns["width"][:, axis], columns["count"][:, axis] = low, high - low + 1, count
        columns["step"][:, axis] = np.where(count == 1, 1, rule.low.scale * step // rule.low.divisor)
        linked = shared[:, axis] & (count > 1)
        # An axis of the link as a number that no other link has: the first input axis that moves with it.
        label = rule.of_output(pieces.link, 0)
        group[:, axis] = np.where(linked, axes + label, axis)
    made = LatticeBoxes(relation.in_shape, **columns, link=group).normal()
    top = np.array(relation.in_shape, np.int64) - 1
    return made.clipped(np.zeros_like(top), top)[0]


# ---------------------------------------------------------------- forward


def forward(relation: BoxTable, boxes: LatticeBoxes) -> LatticeBoxes:
    """The output cells made of any of some input cells, box for box."""
    low, high = relation.bounds
    asked, row = meeting(boxes.first, boxes.last, low, high, relation.in_shape)
    pieces, source = boxes.take(asked).clipped(low[row], high[row])
    row = row[source]
    if pieces.plain:
        return _preimage_of_plain(relation, pieces, row)
    for axis in range(len(relation.in_shape)):
        pieces, source = _solvable(relation, pieces, row, axis)
        row = row[source]
    return _preimage(relation, pieces, row)


def _solvable(relation: BoxTable, pieces: LatticeBoxes, row: Numbers, axis: int) -> tuple[LatticeBoxes, Numbers]:
    """Pieces whose runs on an input axis are made into runs of an output axis by a lattice, or are a single run."""
    rule = AxisBounds(relation, row, axis)
    runs, step = pieces.count[:, axis], pieces.step[:, axis]
    linked = pieces.linked[:, axis]
    even = rule.steady.copy()
    for other in range(len(relation.in_shape)):
        # Another axis that moves with the same output axis: a single run, or one that goes along with this one.
        each = AxisBounds(relation, row, other)
        moved = each.low.divisor * pieces.step[:, other] * rule.low.scale
        along = (pieces.link[:, other] == pieces.link[:, axis]) & each.steady
        along &= moved == rule.low.divisor * step * each.low.scale
        even &= (each.along != rule.along) | along | (pieces.count[:, other] == 1) | (other == axis)
    period = np.lcm(_turned_period(rule.low, step), _turned_period(rule.high, step))
    parts = np.where(even, period, runs)
    parts = np.where(rule.one_bound & ~linked, 1, parts)
    return pieces.unrolled(axis, np.where(rule.moves & (runs > 1), parts, 1))


def _turned_period(lines: Lines, step: Numbers) -> Numbers:
    scale = np.maximum(np.abs(lines.scale), 1)
    found: Numbers = scale // np.gcd(np.abs(lines.divisor * step), scale)
    return found


def _preimage_of_plain(relation: BoxTable, pieces: LatticeBoxes, row: Numbers) -> LatticeBoxes:
    """As `_preimage`, of single runs."""
    first, last = relation.first[row], relation.last[row]
    for axis in np.flatnonzero(np.any(relation.axis >= 0, axis=0)).tolist():
        rule = AxisBounds(relation, row, axis)
        low, high = solved(rule.low, rule.high, pieces.first[:, axis], pieces.last[:, axis])
        for out in np.unique(rule.along[rule.moves]).tolist():
            here = rule.along == out
            first[here, out] = np.maximum(first[here, out], low[here])
            last[here, out] = np.minimum(last[here, out], high[here])
    kept = np.all(first <= last, axis=1)
    return LatticeBoxes.of_corners(relation.out_shape, first[kept], last[kept])


def _preimage(relation: BoxTable, pieces: LatticeBoxes, row: Numbers) -> LatticeBoxes:
    first, last = relation.first[row].copy(), relation.last[row].copy()
    out_axes = first.shape[1]
    count, step = np.ones_like(first), np.ones_like(first)
    link = np.broadcast_to(np.arange(out_axes), first.shape).copy()
    start, end = np.full_like(first, -FAR), np.full_like(first, FAR)  # of the first run of a lattice
    for axis in range(len(relation.in_shape)):
        rule = AxisBounds(relation, row, axis)
        many = rule.moves & (pieces.count[:, axis] > 1) & ~rule.one_bound
        lowest = np.where(many, pieces.start[:, axis], pieces.first[:, axis])
        highest = np.where(many, lowest + pieces.width[:, axis] - 1, pieces.last[:, axis])
        low, high = solved(rule.low, rule.high, lowest, highest)
        for out in np.unique(rule.along[rule.moves]).tolist():
            single, lattice = (rule.along == out) & ~many, (rule.along == out) & many
            first[single, out] = np.maximum(first[single, out], low[single])
            last[single, out] = np.minimum(last[single, out], high[single])
            start[lattice, out] = np.maximum(start[lattice, out], low[lattice])
            end[lattice, out] = np.minimum(end[lattice, out], high[lattice])
            count[lattice, out] = pieces.count[lattice, axis]
            moved = rule.low.divisor[lattice] * pieces.step[lattice, axis]
            step[lattice, out] = moved // rule.low.scale[lattice]
            link[lattice, out] = np.where(pieces.linked[lattice, axis], out_axes + pieces.link[lattice, axis], out)
    start, end = np.where(count > 1, start, first), np.where(count > 1, end, last)
    kept = np.all((end >= start) & (last >= first), axis=1)
    made = LatticeBoxes(relation.out_shape, start, count, step, end - start + 1, link).take(kept)
    return made.normal().clipped(first[kept], last[kept])[0]


def no_lattice(boxes: LatticeBoxes) -> LatticeBoxes:
    """The same with a box for each run."""
    for axis in range(boxes.axes):
        boxes = boxes.unrolled(axis, boxes.count[:, axis])[0].normal()
    return boxes
