"""Sizes as symbols: boxes of calls over some shapes, said for other shapes.   [DSLog, §VI-B]

Every number of a table of boxes is the same in all calls, or moves with a size that varied: one more or less, or a
multiple. What the surviving terms say of the new shapes has to be one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from forward_lineage.arrays.graph import Shape
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import Numbers
from udafs.errors import BadArgumentError

#: A size has to have had so many values before it is a symbol.
LEAST_SIZES = 3
#: Operations over arrays with more axes than this, counted over all inputs, are not generalised.
_MOST_AXES = 8
_MULTIPLES = 4


@dataclass(frozen=True, eq=False)
class Observation:
    """A call: shapes of the inputs, of the output, and its boxes."""

    shapes: tuple[Shape, ...]
    out: Shape
    relations: Sequence[BoxRelation]

    @property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of all inputs, one after the other."""
        return tuple(size for shape in self.shapes for size in shape)


def predicted(seen: Sequence[Observation], shapes: Sequence[Shape], out: Shape) -> list[BoxRelation] | None:
    """Return the boxes of a call over other shapes; None: nothing is said of it, or more than one thing.

    Args:
        seen: calls of the same operation.
        shapes: of the inputs.
        out: of the output, which has to come out, too.

    """
    ndims = [len(each) for each in shapes]
    alike = [each for each in seen if [len(s) for s in each.shapes] == ndims and len(each.out) == len(out)]
    sizes = np.array([size for shape in shapes for size in shape], np.int64)
    if not alike or sizes.size > _MOST_AXES:
        return None
    known = np.array([each.sizes for each in alike], np.int64).reshape(len(alike), sizes.size)
    for varying in _subsets(sizes.size):
        rest = [k for k in range(sizes.size) if k not in varying]
        chosen = np.flatnonzero(np.all(known[:, rest] == sizes[rest], axis=1))
        calls, values = [alike[k] for k in chosen], known[chosen][:, list(varying)]
        made = _agreed(calls, values, sizes[list(varying)], shapes, out)
        if made is not None:
            return made
    return None


def _agreed(
    calls: Sequence[Observation], known: Numbers, asked: Numbers, shapes: Sequence[Shape], out: Shape
) -> list[BoxRelation] | None:
    """The boxes that calls with boxes of one form give, if that is right for all other calls, too.

    Boxes of two or three cells may have another form, for the encoder sees no steps in so few.
    """
    forms: dict[object, list[int]] = {}
    for place, call in enumerate(calls):
        forms.setdefault(tuple(each.table().shape for each in call.relations), []).append(place)
    largest = max(forms.values(), key=len, default=[])
    part, values = [calls[place] for place in largest], known[largest]
    if any(np.unique(values[:, k]).size < LEAST_SIZES for k in range(asked.size)):
        return None
    for place in set(range(len(calls))) - set(largest):
        call = calls[place]
        said = _said(part, values, known[place], call.shapes, call.out)
        if said is None or any(mine != theirs for mine, theirs in zip(said, call.relations, strict=True)):
            return None
    return _said(part, values, asked, shapes, out)


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """All sets of sizes, larger ones first: they say most, and more calls have to agree."""
    for length in range(count, 0, -1):
        yield from combinations(range(count), length)


def _said(
    calls: Sequence[Observation], known: Numbers, asked: Numbers, shapes: Sequence[Shape], out: Shape
) -> list[BoxRelation] | None:
    shape = _solved(np.array([each.out for each in calls], np.int64).reshape(len(calls), len(out)), known, asked)
    if shape is None or shape.tolist() != list(out):
        return None
    made = []
    for number, into in enumerate([*shapes] * 2):
        tables = [each.relations[number].table() for each in calls]
        if len({each.shape for each in tables}) != 1:
            return None
        table = _solved(np.stack([each.reshape(-1) for each in tables]), known, asked)
        if table is None:
            return None
        relation = _checked(BoxRelation.nothing(out, into).of_table(table.reshape(tables[0].shape)))
        if relation is None:
            return None
        made.append(relation)
    return made


def _checked(said: BoxRelation) -> BoxRelation | None:
    """The same boxes, those that are empty left out; None: they are no boxes of these arrays."""
    try:
        return said.checked()
    except BadArgumentError:
        return None


def _solved(values: Numbers, known: Numbers, asked: Numbers) -> Numbers | None:
    """Numbers for the sizes asked for.

    Args:
        values: the numbers of each call, shape (calls, numbers).
        known: the sizes of each call that vary, shape (calls, sizes).
        asked: these sizes of the call that is asked for.

    """
    found = np.zeros(values.shape[1], np.int64)
    certain = np.zeros(values.shape[1], bool)
    for said, holds in _terms(values, known, asked):
        if np.any(certain & holds & (found != said)):
            return None
        found = np.where(holds, said, found)
        certain |= holds
    return found if np.all(certain) else None


def _terms(values: Numbers, known: Numbers, asked: Numbers) -> Iterator[tuple[Numbers, np.ndarray]]:
    """Each term: what it says of the sizes asked for, and for which numbers it holds in all calls."""
    yield values[0], np.all(values == values[0], axis=0)
    bases = [(known[:, k], asked[k]) for k in range(asked.size)]
    bases += [(known[:, j] * known[:, k], asked[j] * asked[k]) for j, k in combinations(range(asked.size), 2)]
    bases += [(known[:, j] + known[:, k], asked[j] + asked[k]) for j, k in combinations(range(asked.size), 2)]
    bases += [(known[:, j] - known[:, k], asked[j] - asked[k]) for j, k in combinations(range(asked.size), 2)]
    for base, of_asked in bases:
        if np.all(base == base[0]):
            continue
        for times in (*range(1, _MULTIPLES + 1), *range(-1, -_MULTIPLES - 1, -1)):
            rest = values - times * base[:, None]
            yield rest[0] + times * of_asked, np.all(rest == rest[0], axis=0)
