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
        """See `LineageRelation`; all pairs are made."""
        return self.relation().cardinality

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        return self.relation().pairs()

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        return united(first.rows() if behind is None else first.forward(behind.rows()) for first, behind in self.paths)

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        return united(first.ids() if behind is None else behind.backward(first.ids()) for first, behind in self.paths)

    def counts(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`; all pairs are made."""
        return self.relation().counts()

    def relation(self) -> LineageRelation:
        """The whole relation in memory, to combine it with others or to ask it often."""
        return self.restrict()

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> LineageRelation:
        """See `LineageRelation`; the pairs that are left are made."""
        return union(
            first.restrict(rows=rows, ids=ids)
            if behind is None
            else compose(first.restrict(rows=rows), behind.restrict(ids=ids))
            for first, behind in self.paths
        )

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        return united(_next(behind, first.backward(rows)) for first, behind in self.paths)

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        return united(first.forward(ids if behind is None else behind.forward(ids)) for first, behind in self.paths)

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """See `LineageRelation`."""
        for each in self._relations():
            each.release()

    def assert_consistent(self) -> None:
        """See `LineageRelation`."""
        for each in self._relations():
            each.assert_consistent()

    def _relations(self) -> Iterable[LineageRelation]:
        return (each for path in self.paths for each in path if each is not None)


def _next(behind: LineageRelation | None, ids: LineageSet) -> LineageSet:
    return ids if behind is None or not ids else behind.backward(ids)
