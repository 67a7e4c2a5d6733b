"""A relation along several paths: saved rows are made of base rows, and of rows of stages that are made of base rows.

Lineage behind a stage is kept once, however many rows of the result refer to it. So nothing is composed before its
pairs are asked for: questions go step by step, (R ; S)(A) = S(R(A)).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forward_lineage.relations.algebra import compose, union
from forward_lineage.relations.relation import LineageRelation, Numbers, united
from udafs.lineage_set import LineageSet

Step = tuple[LineageRelation, LineageRelation | None]
"""The first step of a path, and what lies behind its ids; None: nothing does, they are the ids asked for."""


class PathsRelation(LineageRelation):
    """The union, over all paths, of the composition of their steps."""

    def __init__(self, paths: Sequence[Step]) -> None:
        """Of paths, which are not copied; those of a saved result share what lies behind a stage."""
        self.paths = tuple(paths)

    # ------------------------------------------------------------ the whole

    @property
    def cardinality(self) -> int:
        """The number of pairs, as `len`, which ends at 2^63 − 1. All pairs are made."""
        return self.relation().cardinality

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,)."""
        return self.relation().pairs()

    def rows(self) -> LineageSet:
        """The projection on the rows: those that have an id."""
        return united(first.rows() if behind is None else first.forward(behind.rows()) for first, behind in self.paths)

    def ids(self) -> LineageSet:
        """The projection on the ids: those that have a row."""
        return united(first.ids() if behind is None else behind.backward(first.ids()) for first, behind in self.paths)

    def counts(self) -> tuple[Numbers, Numbers]:
        """Every row that has an id, ascending, and how many ids it has: two int64 arrays of shape (rows,).

        All pairs are made.
        """
        return self.relation().counts()

    def relation(self) -> LineageRelation:
        """The whole relation in memory, to combine it with others or to ask it often."""
        return self.restrict()

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> LineageRelation:
        """The pairs whose row is one of `rows` and whose id is one of `ids`; None restricts nothing.

        The pairs that are left are made.
        """
        return union(
            first.restrict(rows=rows, ids=ids)
            if behind is None
            else compose(first.restrict(rows=rows), behind.restrict(ids=ids))
            for first, behind in self.paths
        )

    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows."""
        return united(_next(behind, first.backward(rows)) for first, behind in self.paths)

    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""
        return united(first.forward(ids if behind is None else behind.forward(ids)) for first, behind in self.paths)

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew."""
        for each in self._relations():
            each.release()

    def assert_consistent(self) -> None:
        """Check every invariant of the form; raises AssertionError."""
        for each in self._relations():
            each.assert_consistent()

    def _relations(self) -> Iterable[LineageRelation]:
        return (each for path in self.paths for each in path if each is not None)


def _next(behind: LineageRelation | None, ids: LineageSet) -> LineageSet:
    return ids if behind is None or not ids else behind.backward(ids)
