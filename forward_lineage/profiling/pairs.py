"""Find row pairs that violate a two-row denial constraint: by order, not pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from forward_lineage.profiling.joint import Numbers
from forward_lineage.relations.run_arrays import ranges
from udafs.errors import NotTracedError

Operator = Literal["<", "<=", ">", ">=", "<>"]
Truth = npt.NDArray[np.bool_]

#: So many pairs are compared one by one where nothing better is known: some minutes.
MOST_PAIRS = 1 << 32
_BATCH = 1 << 20
_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Comparison:
    """The comparison between a row and its partner.

    Attributes:
        operator: between the two ranks.
        mine: the rank of each row on this side.
        theirs: the rank of each row on the other side.

    """

    operator: Operator
    mine: Numbers
    theirs: Numbers

    def holds(self, mine: Numbers, theirs: Numbers) -> Truth:
        """Compare ranks one by one."""
        found: Truth = _COMPARED[self.operator](mine, theirs)
        return found


_COMPARED = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "<>": np.not_equal}


@dataclass(frozen=True, eq=False)
class Sides:
    """Two sides of rows, in groups: only rows of one group are compared.

    Attributes:
        mine: the group of each row on this side.
        theirs: the same of the other side.
        groups: groups are numbered below.

    """

    mine: Numbers
    theirs: Numbers
    groups: int


def with_partner(sides: Sides, comparisons: Sequence[Comparison], text: str) -> Truth:
    """Return for each row of this side whether a row of the other side stands to it as all comparisons say.

    One comparison needs the extremes of each group. Two need a sweep in the order of one of them, with the extremes of
    the other so far. More are tried pair by pair.

    Args:
        sides: the rows.
        comparisons: at least one.
        text: what messages call it.

    Raises:
        NotTracedError: there are too many pairs to be tried.

    """
    if len(comparisons) == 1:
        low, high = _extremes(sides, comparisons[0])
        return _reaches(comparisons[0].operator, comparisons[0].mine, low[sides.mine], high[sides.mine])
    if len(comparisons) == 2:
        one, other = sorted(comparisons, key=lambda each: each.operator == "<>")
        if one.operator != "<>":
            return _swept(sides, one.operator, one, other)
        return _swept(sides, "<", one, other) | _swept(sides, ">", one, other)
    return _tried(sides, comparisons, text)


def _extremes(sides: Sides, comparison: Comparison) -> tuple[Numbers, Numbers]:
    """The least and the greatest rank of each group on the other side."""
    low, high = np.full(sides.groups, _MOST), np.full(sides.groups, -1)
    np.minimum.at(low, sides.theirs, comparison.theirs)
    np.maximum.at(high, sides.theirs, comparison.theirs)
    return low, high


def _reaches(operator: Operator, mine: Numbers, low: Numbers, high: Numbers) -> Truth:
    """Whether something between extremes stands to each row as the operator says; nothing does if they are crossed."""
    if operator == "<>":
        found: Truth = (low <= high) & ((low != mine) | (high != mine))
    else:
        found = _COMPARED[operator](mine, high if operator in ("<", "<=") else low)
    return found


def _swept(sides: Sides, operator: Operator, one: Comparison, other: Comparison) -> Truth:
    """Rows of the other side in order of one rank: those that stand to a row as the operator says are neighbours."""
    width = int(max(one.mine.max(initial=0), one.theirs.max(initial=0))) + 1
    order = np.lexsort((one.theirs, sides.theirs))
    group = sides.theirs[order]
    at = np.searchsorted(
        group * width + one.theirs[order],
        sides.mine * width + one.mine,
        side="right" if operator in ("<", ">=") else "left",
    )
    ranks = other.theirs[order]
    begins = np.searchsorted(group, sides.mine, side="left")
    ends = np.searchsorted(group, sides.mine, side="right")
    if operator in ("<", "<="):  # they stand behind, up to the end of the group
        low, high = (each[::-1] for each in _so_far(group[::-1], ranks[::-1]))
        some, place = at < ends, at
    else:
        low, high = _so_far(group, ranks)
        some, place = at > begins, at - 1
    found = np.zeros(at.size, np.bool_)
    where = np.flatnonzero(some)
    seen = place[where]
    found[where] = _reaches(other.operator, other.mine[where], low[seen], high[seen])
    return found


def _so_far(group: Numbers, ranks: Numbers) -> tuple[Numbers, Numbers]:
    """The least and the greatest rank of a group up to each row; groups follow each other, ascending or descending."""
    number = np.cumsum(np.diff(group, prepend=group[:1]) != 0)
    width = int(ranks.max(initial=0)) + 1
    # With the number of the group in front, ranks of one group are beyond all of the groups before.
    high = np.maximum.accumulate(ranks + number * width) - number * width
    low = np.minimum.accumulate(ranks - number * width) + number * width
    return low, high


def _tried(sides: Sides, comparisons: Sequence[Comparison], text: str) -> Truth:
    order = np.argsort(sides.theirs, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(sides.theirs, minlength=sides.groups)))
    first, count = starts[sides.mine], np.diff(starts)[sides.mine]
    if int(count.sum()) > MOST_PAIRS:
        raise NotTracedError(
            f"{int(count.sum()):,} pairs of rows to compare, in `{text}`",
            instead="Add an equality that leaves fewer, or compare at most two attributes by other than equality.",
        )
    found = np.zeros(sides.mine.size, np.bool_)
    ends = np.cumsum(count)
    begin = 0
    while begin < found.size:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] - count[begin] + _BATCH, side="right")))
        found[begin:end] = _any_of(order, first[begin:end], count[begin:end], begin, comparisons)
        begin = end
    return found


def _any_of(order: Numbers, first: Numbers, count: Numbers, begin: int, comparisons: Sequence[Comparison]) -> Truth:
    """Whether some rows, from `begin` on, have a partner among those that stand at some places in an order."""
    theirs = order[ranges(first, count)]
    place = np.repeat(np.arange(count.size), count)
    alike = np.ones(theirs.size, np.bool_)
    for each in comparisons:
        alike &= each.holds(each.mine[begin + place], each.theirs[theirs])
    found = np.zeros(count.size, np.bool_)
    found[place[alike]] = True
    return found
