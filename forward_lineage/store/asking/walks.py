"""The part of every question that is the same with Spark and without: from names and rows to ids, through pipelines.

Two executors ask: `questions` with Spark, `embedded` without. They say which rows are meant, and show what is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from forward_lineage.store.asking.ancestors import (
    Edge,
    SameIds,
    ancestor,
    check_one_kind_of_ids,
    known_as,
    steps_of,
)
from forward_lineage.store.asking.leaks import Leak, leaks_of
from forward_lineage.store.asking.pipeline import (
    BlockedError,
    Node,
    Pipeline,
    Reached,
    Seeds,
    Through,
    Touched,
    left_out,
    node_of,
)
from forward_lineage.store.asking.staleness import StaleInput, TablesAsTheyAre, stale_inputs, taken_on_trust
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved import Saved
from udafs.lineage_set import LineageSet
from udafs.user_warnings import warn_user


class TablesAsked(SameIds, TablesAsTheyAre, Protocol):
    """Knows the present tables of a home."""

    def check_known(self, name: str) -> None:
        """Check that there is such a table at all.

        Raises:
            NotRegisteredError: it is not registered.

        """


class Walks:
    """Walks through the pipelines of a home.

    Args:
        library: the saved things.
        tables: the registered tables at present.

    """

    def __init__(self, library: Library, tables: TablesAsked) -> None:
        self._library, self._tables = library, tables

    def back(self, pipeline: Pipeline, saved: Saved, rows: LineageSet, table: str, through: Through = "all") -> Reached:
        """Return what rows of a version were made of in a table, by its own name; the pipeline is that above it.

        Raises:
            LineageError: as for `ForwardLineage.backward`.

        """
        reached = pipeline.backward(saved, rows, table, through)
        reached = Reached([each for each in reached.edges if each[2]] or reached.edges[:1])
        self.check_one_kind_of_ids(saved, reached)
        return reached

    def check_one_kind_of_ids(self, saved: Saved, reached: Reached) -> None:
        """Check that ids that came on several paths mean the same rows; see `ancestors`."""
        edges = [(owner, edge) for owner, edge, _ in reached.edges]
        check_one_kind_of_ids(saved, edges, self._library, self._tables)

    def forth(self, table: str, seeds: Seeds, saved: Saved, through: Through = "all") -> LineageSet:
        """Return the rows of a version that were made of some rows of a table.

        Raises:
            LineageError: as for `ForwardLineage.forward`.

        """
        pipeline = Pipeline(self._library, [saved])
        blocked: dict[Node, BlockedError] = {}
        touched = pipeline.forward(ancestor(pipeline, saved, table), seeds, blocked).get(node_of(saved))
        if node_of(saved) in blocked:
            behind = [pipeline.nodes[node] for node in pipeline.nodes if node in blocked]
            latest = [each for each in behind if each is saved or each == self._library.find(each.name)]
            raise left_out([(each, blocked[node_of(saved)]) for each in latest])
        return (touched and touched.through(through)) or LineageSet()

    def impact(self, table: str, seeds: Seeds) -> list[Touched]:
        """Return everything with rows that were made of suspected ones, what was made of others behind these.

        Raises:
            BlockedError: of nothing it can be told; of some it is said in their place.

        """
        latest = self._library.all_saved()
        pipeline = Pipeline(self._library, latest)
        name = known_as(pipeline, table)
        if name is None:
            if self._library.find(table) is None:
                self._tables.check_known(table)
            return []
        blocked: dict[Node, BlockedError] = {}
        touched = pipeline.forward(name, seeds, blocked)
        leading = pipeline.leading_to(name)
        asked = [node for node in pipeline.nodes if node in leading and pipeline.nodes[node] in latest]
        refused = [(pipeline.nodes[node], blocked[node]) for node in asked if node in blocked]
        if refused:
            error = left_out(refused)
            if len(refused) == len(asked):
                raise error
            warn_user(f"impact leaves out what it cannot tell: {error}")
        unknown = {node: Touched(pipeline.nodes[node], None, pipeline.way_from(name, node)) for node in blocked}
        return [(unknown | touched)[node] for node in asked if node in unknown or node in touched]

    def leaks(self, saved: Saved) -> list[Leak]:
        """Return the leaks of predictions.

        Raises:
            LineageError: as for `ForwardLineage.leaks`.

        """
        return leaks_of(self, Pipeline(self._library, [saved]), saved)

    def stale(self) -> list[StaleInput]:
        """Return what saved things were made of and that has changed since."""
        return stale_inputs(self._library, self._tables)

    # ------------------------------------------------------------ what answers rely on

    def steps_to(self, saved: Iterable[Saved], table: str | None = None) -> list[Edge]:
        """Return the steps of saved things, and of those that they were made of, that read a table; None: all."""
        return steps_of(Pipeline(self._library, saved), table)

    def read_by_all(self) -> list[Edge]:
        """Return the steps of all saved things to what they depend on, tables that only decide included."""
        nodes = Pipeline(self._library, self._library.every()[0], deciding=True).nodes.values()
        return [(each, edge) for each in nodes for edge in each.inputs]

    def taken_on_trust(self, edges: Iterable[Edge]) -> frozenset[str]:
        """Return those tables that steps lead to and that are taken on trust, now or when a result was saved."""
        return taken_on_trust(edges, self._tables)
