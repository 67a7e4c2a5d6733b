"""Sums of products.   data: the slices that the subscripts name; control adds nothing. A factor of zero counts.

Every operation here is said as ``einsum`` would say it: an axis with a label of the output follows it, the others are
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from forward_lineage.arrays.calls import Call, Input, normal_axes
from forward_lineage.arrays.graph import Shape
from forward_lineage.arrays.registry import rule, ufunc_rule
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    aligned,
    everything,
    of_rows,
    product_rows,
    reshaped,
)
from udafs.errors import NotTracedError

Labels = Sequence[str]


def labelled(operand: Labels, result: Labels) -> Rule:
    """An operand's axes and the output's, each with its label.

    A label that the output lacks is summed over. One that comes twice in the operand is a diagonal.
    """

    def made(out: Shape, into: Shape) -> Steps:
        along: dict[int, list[Stretch]] = {}
        fixed: dict[int, tuple[int, int]] = {}
        summed: dict[str, list[int]] = {}
        for k, label in enumerate(operand):
            if label not in result:
                summed.setdefault(label, []).append(k)
                continue
            j = result.index(label)
            if into[k] == 1 and out[j] != 1:
                fixed[k] = (0, 0)
                continue
            follows = dict(along[j][0].follows) if j in along else {}
            along[j] = [Stretch(0, out[j] - 1, follows | {k: (At(), At())})]
        return of_rows(out, into, _summed(out, into, along, fixed, list(summed.values())))

    return made


def _summed(out: Shape, into: Shape, along: Any, fixed: dict[int, tuple[int, int]], groups: list[list[int]]) -> Any:
    """Rows for axes that are summed over: one axis as a whole; several of one label together, index by index."""
    if not groups:
        return product_rows(out, into, along, fixed)
    axes, rest = groups[0], groups[1:]
    if len(axes) == 1:
        return _summed(out, into, along, fixed | {axes[0]: (0, into[axes[0]] - 1)}, rest)
    return [
        row
        for i in range(into[axes[0]])
        for row in _summed(out, into, along, fixed | dict.fromkeys(axes, (i, i)), rest)
    ]


@rule(np.einsum)
def einsum(call: Call) -> None:
    """As the subscripts say."""
    operands = call.given["operands"]
    text, arrays = (operands[0], operands[1:]) if isinstance(operands[0], str) else _as_text(operands)
    sources = [call.as_input(each) for each in arrays]
    labels, result = _subscripts(text.replace(" ", ""), [each.ndim for each in sources])
    for source, mine in zip(sources, labels, strict=True):
        call.out.data(source, labelled(mine, result))


def _as_text(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """``einsum(x, [0, 1], y, [1, 2], [0, 2])`` as text: letters in the order of the numbers."""

    def written(axes: Sequence[Any]) -> str:
        return "".join("..." if each is Ellipsis else letters[int(each)] for each in axes)

    letters = "".join(sorted(ascii_letters))
    last = len(operands) - len(operands) % 2
    text = ",".join(map(written, operands[1:last:2]))
    return text + (f"->{written(operands[-1])}" if last < len(operands) else ""), operands[:last:2]


def _subscripts(text: str, ndims: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand and of the result; ``...`` stands for the axes that have no letter."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    dots = max((n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p), default=0)
    labels = [_with_dots(p, n - len(p.replace("...", ""))) for p, n in zip(parts, ndims, strict=True)]
    if arrow:
        return labels, _with_dots(right, dots)
    named = [label for label in left if label in ascii_letters]
    return labels, [*_dots(dots), *sorted(label for label in set(named) if named.count(label) == 1)]


def _with_dots(part: str, count: int) -> list[str]:
    before, dots, behind = part.partition("...")
    return [*before, *(_dots(count) if dots else ()), *behind]


def _dots(count: int) -> list[str]:
    return [f".{place}" for place in range(count, 0, -1)]


@ufunc_rule("gufunc")
def gufunc(call: Call) -> None:
    """``matmul``, ``vecdot``, ``matvec``, ``vecmat``: by the ufunc's own signature."""
    ufunc = call["ufunc"]
    if call.given.get("axes") is not None or call.given.get("axis") is not None:
        raise NotTracedError(f"{call.name} with axes=…", instead="Move the axes to the end first: np.moveaxis.")
    sources = [call.input(place) for place in range(ufunc.nin)]
    by_signature(call, ufunc.signature, sources)


@rule(*(np.linalg.matmul, np.linalg.vecdot))
def linalg_product(call: Call) -> None:
    """The same as functions."""
    signature = "(n,k),(k,m)->(n,m)" if call.name.endswith("matmul") else "(n),(n)->()"
    if call.plain.get("axis", -1) != -1:
        raise NotTracedError(f"{call.name} with axis=…", instead="Move the axis to the end first: np.moveaxis.")
    by_signature(call, signature.replace("(n,k),(k,m)->(n,m)", "(n?,k),(k,m?)->(n?,m?)"), _two(call, "x1", "x2"))


def _two(call: Call, first: str, second: str) -> list[Input]:
    return [call.input(first), call.input(second)]


def by_signature(call: Call, signature: str, sources: Sequence[Input]) -> None:
    """Say of the output what a ufunc's signature says: core axes by their names, those in front broadcast."""
    left, _, right = signature.replace(" ", "").partition("->")
    cores = [part.split(",") if part else [] for part in left.strip("()").split("),(")]
    result = [label for label in right.strip("()").split(",") if label]
    gone = set()
    for source, core in zip(sources, cores, strict=True):
        if source.ndim < len(core):  # a name with a question mark may be missing
            gone |= {label for label in core if label.endswith("?")}
    result = [label for label in result if label not in gone]
    front = _dots(call.out.ndim - len(result))
    for source, core in zip(sources, cores, strict=True):
        kept = [label for label in core if not (label.endswith("?") and source.ndim < len(core))]
        mine = front[len(front) - (source.ndim - len(kept)) :]
        call.out.data(source, labelled([*mine, *kept], [*front, *result]))


@rule(np.dot)
def dot(call: Call) -> None:
    """The last axis of the first with the last but one of the second; a number with all cells."""
    _along_last(call, lambda second: -2 if second.ndim > 1 else -1)


@rule(np.inner)
def inner(call: Call) -> None:
    """The last axes of both."""
    _along_last(call, lambda second: -1)


def _along_last(call: Call, axis_of: Callable[[Input], int]) -> None:
    """Sum along the last axis of the first and one axis of the second; a number meets all cells."""
    first, second = _two(call, "a", "b")
    if not first.ndim or not second.ndim:
        call.out.data(first, aligned)
        call.out.data(second, aligned)
        return
    mine, other = list(ascii_letters[: first.ndim]), list(ascii_letters[26 : 26 + second.ndim])
    other[axis_of(second)] = mine[-1]
    _contracted(call, [(first, mine), (second, other)], {mine[-1]})


def _contracted(call: Call, parts: Sequence[tuple[Input, list[str]]], gone: set[str]) -> None:
    result = [label for _, labels in parts for label in labels if label not in gone]
    for source, labels in parts:
        call.out.data(source, labelled(labels, result))


@rule(np.vdot)
def vdot(call: Call) -> None:
    """All cells of both."""
    for source in _two(call, "a", "b"):
        call.out.data(source, everything)


@rule(np.outer, np.linalg.outer)
def outer(call: Call) -> None:
    """The cell of the row and that of the column."""
    names = ("a", "b") if "a" in call.given else ("x1", "x2")
    for source, axis in zip(_two(call, *names), "ij", strict=True):
        lane = (source.values.size,)
        made = labelled(axis, "ij")
        call.out.data(source, _through(made, lane))


def _through(first: Rule, seen: Shape) -> Rule:
    return lambda out, into: first(out, seen) + reshaped(seen, into)


@ufunc_rule("outer")
def ufunc_outer(call: Call) -> None:
    """``np.add.outer(x, y)``: the axes of the first, then those of the second."""
    first, second = (call.input(place) for place in (0, 1))
    mine, other = list(ascii_letters[: first.ndim]), list(ascii_letters[26 : 26 + second.ndim])
    _contracted(call, [(first, mine), (second, other)], set())


@rule(np.tensordot, np.linalg.tensordot)
def tensordot(call: Call) -> None:
    """The axes that are named, in pairs."""
    first, second = _two(call, *(("a", "b") if "a" in call.given else ("x1", "x2")))
    axes = call["axes"]
    if isinstance(axes, (int, np.integer)):
        pairs = [tuple(range(first.ndim - axes, first.ndim)), tuple(range(axes))]
    else:
        pairs = [normal_axes(each, source.ndim) for each, source in zip(axes, (first, second), strict=True)]
    mine, other = list(ascii_letters[: first.ndim]), list(ascii_letters[26 : 26 + second.ndim])
    for left, right in zip(*pairs, strict=True):
        other[right] = mine[left]
    _contracted(call, [(first, mine), (second, other)], {mine[left] for left in pairs[0]})


@rule(np.linalg.multi_dot)
def multi_dot(call: Call) -> None:
    """The row of the first, the column of the last, and all of those between."""
    sources = call.inputs("arrays")
    last = len(sources) - 1
    result = ["i"] * (sources[0].ndim > 1) + ["z"] * (sources[-1].ndim > 1)
    for place, source in enumerate(sources):
        labels = [f"{place}a", f"{place}b"][: source.ndim]
        if place == 0 and source.ndim > 1:
            labels[0] = "i"
        if place == last and source.ndim > 1:
            labels[1] = "z"
        call.out.data(source, labelled(labels, result))


@rule(np.kron)
def kron(call: Call) -> None:
    """The cell of the first whose block this is, and the cell of the second that is there in the block."""
    first, second = _two(call, "a", "b")
    ndim = call.out.ndim
    shapes = [(1,) * (ndim - each.ndim) + each.shape for each in (first, second)]
    both = tuple(size for pair in zip(*shapes, strict=True) for size in pair)
    for source, shape, odd in ((first, shapes[0], 0), (second, shapes[1], 1)):
        call.out.data(source, _in_block(both, shape, odd))


def _in_block(both: Shape, seen: Shape, odd: int) -> Rule:
    labels = [str(place) for place in range(len(both))]
    made = labelled(labels[odd::2], labels)
    return lambda out, into: reshaped(out, both) + made(both, seen) + reshaped(seen, into)


@rule(np.cross, np.linalg.cross)
def cross(call: Call) -> None:
    """Of vectors of three the two other components; of vectors of two all four cells, of mixed ones what is there."""
    names = ("a", "b") if "a" in call.given else ("x1", "x2")
    first, second = _two(call, *names)
    axis = call.plain.get("axis")
    places = [call.plain.get(f"axis{name}", -1) if axis is None else axis for name in ("a", "b")]
    sizes = [each.shape[place] for each, place in zip((first, second), places, strict=True)]
    flat = sizes == [2, 2]
    goal = None if flat else (call.plain.get("axisc", -1) if axis is None else axis) % call.out.ndim
    for source, place, other in ((first, places[0], sizes[1]), (second, places[1], sizes[0])):
        call.out.data(source, _crossed(place % source.ndim, goal, other))


def _crossed(axis: int, goal: int | None, other: int) -> Rule:
    """Component c is made of the components ≠ c that meet one which the other vector has."""

    def made(out: Shape, into: Shape) -> Steps:
        rest_out = [j for j in range(len(out)) if j != goal]
        rest = [k for k in range(len(into)) if k != axis]
        shift = len(rest_out) - len(rest)
        along, fixed = {}, {}
        for place, k in enumerate(rest):
            j = rest_out[place + shift]
            if into[k] == 1 and out[j] != 1:
                fixed[k] = (0, 0)
            else:
                along[j] = [Stretch(0, out[j] - 1, {k: (At(), At())})]
        rows = []
        for component in range(3) if goal is not None else (2,):
            for by in (1, 2):
                mine, theirs = (component + by) % 3, (component + 3 - by) % 3
                if mine < into[axis] and theirs < other:
                    on = {} if goal is None else {goal: [Stretch(component, component)]}
                    rows += product_rows(out, into, along | on, fixed | {axis: (mine, mine)})
        return of_rows(out, into, rows)

    return made
