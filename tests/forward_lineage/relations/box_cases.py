"""Rules between arrays to try things on, and what they mean: as sets of pairs, and as integer relations of islpy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import islpy
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from forward_lineage.relations.box_rows import BoxRow, Interval, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of, merged

Shape = tuple[int, ...]
Rows = list[BoxRow]


# ---------------------------------------------------------------- cases


def shapes(most_axes: int, most: int) -> st.SearchStrategy[Shape]:
    return st.lists(st.integers(1, most), max_size=most_axes).map(tuple)


@st.composite
def intervals(draw: st.DrawFn, size: int, box: Sequence[tuple[int, int]]) -> Interval:
    """Constant, or moving with an output axis: evenly, by one bound, or by two at different speeds."""
    if not box or draw(st.integers(0, 3)) == 0:
        low = draw(st.integers(-1, size - 1))
        return low, low + draw(st.integers(0, max(size // 2, 2)))
    axis = draw(st.integers(0, len(box) - 1))
    scale, divisor = draw(st.sampled_from([1, 1, -1, 2, -2, 3])), draw(st.sampled_from([1, 1, 2, 3]))
    offset = draw(st.integers(-3, 6)) + (draw(st.integers(0, size)) if scale < 0 else 0)
    low = Line(axis, scale, offset, divisor)
    kind = draw(st.integers(0, 9))
    more = draw(st.integers(0, 4))
    high = Line(axis, draw(st.sampled_from([1, 2, 3, -1])), offset + more, draw(st.sampled_from([1, 2])))
    pair: Interval = (
        (low, Line(axis, scale, offset + more, divisor)) if kind < 5
        else (low, size + 2) if kind < 7
        else (-1, low) if kind < 8
        else (low, high)
    )  # fmt: skip
    real = [[at(bound, place, exact=True) for bound in pair] for place in box[axis]]
    assume(all(below <= above for below, above in real))
    return pair


@st.composite
def rules(draw: st.DrawFn, out_shape: Shape, in_shape: Shape, most: int = 3) -> Rows:
    found = []
    for _ in range(draw(st.integers(1, most))):
        box = []
        for size in out_shape:
            low = draw(st.just(0) | st.integers(0, size - 1))
            box.append((low, draw(st.just(size - 1) | st.integers(low, size - 1))))
        found.append(BoxRow(box, [draw(intervals(size, box)) for size in in_shape]))
    return found


@st.composite
def questions(draw: st.DrawFn, shape: Shape) -> LatticeBoxes:
    """Cells of an array by slices with steps, some of them overlapping; or all of them."""
    found = LatticeBoxes.nothing(shape)
    for _ in range(draw(st.integers(0, 3))):
        index = [
            slice(draw(st.integers(0, n - 1)), draw(st.integers(1, n)), draw(st.sampled_from([1, 1, 2, 3])))
            for n in shape
        ]
        found = found.together(boxes_of(shape, tuple(index)))
    return merged(found) if draw(st.booleans()) else draw(st.sampled_from([found, LatticeBoxes.everything(shape)]))


# ---------------------------------------------------------------- as sets


def at(bound: int | Line, place: int, *, exact: bool = False) -> float:
    if not isinstance(bound, Line):
        return bound
    value = bound.scale * place + bound.offset
    return value / bound.divisor if exact else value // bound.divisor


def pairs_of(out_shape: Shape, in_shape: Shape, rows: Rows) -> set[tuple[int, int]]:
    found = set()
    for row in rows:
        for cell in itertools.product(*(range(low, high + 1) for low, high in row.out)):
            places = []
            for pair, size in zip(row.into, in_shape, strict=True):
                low, high = (int(at(each, cell[each.axis] if isinstance(each, Line) else 0)) for each in pair)
                places.append(range(max(low, 0), min(high, size - 1) + 1))
            found |= {(number(out_shape, cell), number(in_shape, each)) for each in itertools.product(*places)}
    return found


def number(shape: Shape, places: Sequence[int]) -> int:
    return int(np.ravel_multi_index(places, shape)) if shape else 0


def cells_of(boxes: LatticeBoxes) -> set[int]:
    """The cells that boxes have, by what the attributes of `LatticeBoxes` say."""
    found = set()
    for start, count, step, width, link in zip(
        *(column.tolist() for column in (boxes.start, boxes.count, boxes.step, boxes.width, boxes.link)), strict=True
    ):
        groups = sorted(set(link))
        for numbers in itertools.product(*(range(count[link.index(group)]) for group in groups)):
            k = dict(zip(groups, numbers, strict=True))
            for t in itertools.product(*map(range, width)):
                places = [start[a] + k[link[a]] * step[a] + t[a] for a in range(boxes.axes)]
                found.add(number(boxes.shape, places))
    return found


def assert_normal(boxes: LatticeBoxes) -> None:
    """What the attributes of `LatticeBoxes` promise."""
    free = ~boxes.linked
    assert np.all(boxes.count > 0) and np.all(boxes.width > 0)
    assert np.all((boxes.count > 1) | (boxes.step == 1))
    assert np.all((boxes.count == 1) | ~free | (boxes.step > boxes.width))
    assert np.all(boxes.first >= 0) and np.all(boxes.last < np.array(boxes.shape, np.int64))


# ---------------------------------------------------------------- as relations of islpy


def names(letter: str, axes: int) -> str:
    return ", ".join(f"{letter}{axis}" for axis in range(axes))


def isl_bound(bound: int | Line) -> str:
    if not isinstance(bound, Line):
        return str(bound)
    return f"floor(({bound.scale}*b{bound.axis} + ({bound.offset}))/{bound.divisor})"


def isl_map(out_shape: Shape, in_shape: Shape, rows: Rows) -> islpy.Map:
    """Output cell → input cell."""
    space = f"[{names('b', len(out_shape))}] -> [{names('a', len(in_shape))}]"
    parts = []
    for row in rows:
        conditions = [f"{low} <= b{axis} <= {high}" for axis, (low, high) in enumerate(row.out)]
        for axis, ((low, high), size) in enumerate(zip(row.into, in_shape, strict=True)):
            conditions += [f"{isl_bound(low)} <= a{axis} <= {isl_bound(high)}", f"0 <= a{axis} < {size}"]
        parts.append(f"{space} : {' and '.join(conditions) or '1 = 1'}")
    return islpy.Map("{ " + "; ".join(parts or [f"{space} : 1 = 0"]) + " }")


def isl_set(boxes: LatticeBoxes) -> islpy.Set:
    space = f"[{names('x', boxes.axes)}]"
    parts = []
    for start, count, step, width, link in zip(
        *(column.tolist() for column in (boxes.start, boxes.count, boxes.step, boxes.width, boxes.link)), strict=True
    ):
        numbers = ", ".join(f"k{group}" for group in sorted(set(link)))
        conditions = [f"0 <= k{link[axis]} < {count[axis]}" for axis in range(boxes.axes)]
        conditions += [
            f"0 <= x{axis} - {start[axis]} - {step[axis]}*k{link[axis]} < {width[axis]}" for axis in range(boxes.axes)
        ]
        parts.append(f"{space} : exists {numbers} : {' and '.join(conditions)}" if boxes.axes else space)
    return islpy.Set("{ " + "; ".join(parts or [f"{space} : 1 = 0"]) + " }")


def relation_of(out_shape: Shape, in_shape: Shape, rows: Rows) -> BoxRelation:
    return BoxRelation.from_rows(out_shape, in_shape, rows)
