"""The groups of rows that violate a constraint, and the rows of these: over numbers alone.   [Smoke, §6.5.2]"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.profiling.codes import Array, Codes, Groups, Known
from forward_lineage.relations.groups import BATCH, by_group

Bad = npt.NDArray[np.bool_]
"""For each group whether it violates a constraint."""


def disagreeing(groups: Groups, codes: Array, known: Known) -> Bad:
    """Return the groups whose rows have different numbers.

    A group remembers one number of its rows, and every row is compared with it: two passes, nothing is hashed or
    sorted.

    Args:
        groups: of rows.
        codes: a number of each row.
        known: which rows are compared.

    """
    one = np.zeros(groups.count, codes.dtype)
    bad = np.zeros(groups.count, np.bool_)
    for of, number in _batches(groups.of, codes, known):
        one[of] = number
    for of, number in _batches(groups.of, codes, known):
        bad[of[one[of] != number]] = True
    return bad


def groups_with(groups: Groups, rows: npt.NDArray[np.bool_]) -> Bad:
    """Return the groups that have some of the rows."""
    bad = np.zeros(groups.count, np.bool_)
    bad[groups.of[rows]] = True
    return bad


def _batches(of: Array, codes: Array, known: Known) -> Iterator[tuple[Array, Array]]:
    for first in range(0, of.size, BATCH):
        batch = slice(first, first + BATCH)
        if known is None:
            yield of[batch], codes[batch]
        else:
            yield of[batch][known[batch]], codes[batch][known[batch]]


@dataclass(frozen=True, eq=False)
class Violations:
    """The bipartite graph: groups that violate a constraint, those with most rows first, and their rows.

    Attributes:
        order: the rows of each violation, violation after violation, ascending within one.
        starts: where those of each begin in `order`, shape (violations + 1,).

    """

    order: Array
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, groups: Groups, bad: Bad, within: Known = None) -> Violations:
        """Return the rows of all groups that violate a constraint.

        Args:
            groups: of rows.
            bad: which of them do; each has a row.
            within: which rows are meant; None: all.

        """
        inside = bad[groups.of]
        rows = np.flatnonzero(inside if within is None else inside & within)
        number = (np.cumsum(bad) - 1)[groups.of[rows]]
        count = int(np.count_nonzero(bad))
        sizes = np.bincount(number, minlength=count)
        first = np.zeros(count, np.int64)
        first[number[::-1]] = rows[::-1]  # of equal places the last one written stays
        place = np.empty(count, np.int64)
        place[np.lexsort((first, -sizes))] = np.arange(count)
        order = np.empty(rows.size, np.int64)
        starts = by_group(place[number], count, order)
        return cls(rows[order], starts)

    @property
    def count(self) -> int:
        """How many violations there are."""
        return self.starts.size - 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many rows each has."""
        return np.diff(self.starts)

    def examples(self) -> Array:
        """Return the first row of each."""
        return self.order[self.starts[:-1]]

    def rows(self, violation: int) -> Array:
        """Return the rows of one."""
        return self.order[self.starts[violation] : self.starts[violation + 1]]

    def different(self, values: Codes, *, nulls_equal: bool) -> npt.NDArray[np.int64]:
        """Return how many different values of an attribute the rows of each have."""
        codes = values.codes[self.order].astype(np.int64)
        number = np.repeat(np.arange(self.count), self.sizes)
        if not nulls_equal:
            known = codes != len(values.values)
            codes, number = codes[known], number[known]
        pairs = np.unique(number * values.count + codes)
        return np.bincount(pairs // values.count, minlength=self.count)
