"""Tracing through pipelines: saved results that were made of saved results.   [Zhang 2007, §2.3, §3.1]

A version of a result is a node; its edges lead to the tables it was made of, in the versions it was made of. Versions
only ever point to versions saved before them, so the graph has no cycles, and a question ends at the first version of
the table that it asks for: of a result that was made of its own older self, the newer one. Sets of rows go through it
edge by edge, and where two paths meet their sets are united: that is the relational product of every path, and the
union over paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from forward_lineage.relations.algebra import compose, empty, union
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

Node = tuple[str, int]  # a result's name in lower case, and its version
#: Says which ids of an edge stand for the seeds; None where the edge does not lead to where the seeds are.
Seeds = Callable[[SavedResult, TracedTable], LineageSet | None]


@dataclass
class Reached:
    """What a question reached in one table.

    Attributes:
        edges: the edges that lead to it, each with the ids reached through it; at least one.

    """

    edges: list[tuple[SavedResult, TracedTable, LineageSet]] = field(default_factory=list)

    @property
    def ids(self) -> LineageSet:
        """All ids together."""
        return united(ids for _, _, ids in self.edges)


@dataclass(frozen=True)
class Touched:
    """What suspected rows do to one result.

    Attributes:
        result: the result.
        rows: the rows that were made of a suspected row.
        path: names from the table to the result, along the shortest path that passes something on.

    """

    result: SavedResult
    rows: LineageSet
    path: tuple[str, ...]


class Pipeline:
    """The graph above some results.

    Args:
        library: where versions and relations are.
        results: the results at the end.

    """

    def __init__(self, library: Library, results: Iterable[SavedResult]) -> None:
        self.library = library
        #: Every result that takes part, those that others were made of before these.
        self.nodes: dict[Node, SavedResult] = {}
        for result in results:
            self._add(result)

    def _add(self, result: SavedResult) -> None:
        stack = [(result, False)]
        while stack:  # depth first by hand: a pipeline may have more steps than Python has stack
            saved, done = stack.pop()
            if node_of(saved) in self.nodes:
                continue
            if done:
                self.nodes[node_of(saved)] = saved
                continue
            stack.append((saved, True))
            stack += [(self.parent(saved, table), False) for table in saved.tables if table.is_result]

    def parent(self, saved: SavedResult, table: TracedTable) -> SavedResult:
        """Return the result that an edge leads to, in the version that it was then.

        Raises:
            LineageError: it is not there any more.

        """
        found = self.nodes.get((table.name.lower(), table.version))
        if found is not None:
            return found
        try:
            return self.library.get(table.name, table.version)
        except LineageError as error:
            raise LineageError(
                f"{saved.name} was made of version {table.version} of {table.name}, which cannot be read: {error.what}",
                instead=f"Save {saved.name} again.",
            ) from None

    def tables(self) -> dict[str, str]:
        """Return every table and result that something here was made of: names by lower-case name."""
        return {table.name.lower(): table.name for saved in self.nodes.values() for table in saved.tables}

    def leading_to(self, table: str) -> set[Node]:
        """Return the nodes from which a path of rows or granules leads to a table."""
        found: set[Node] = set()
        for node, saved in self.nodes.items():
            for edge in saved.tables:
                is_there = edge.name.lower() == table.lower()
                if is_there or (edge.is_result and (edge.name.lower(), edge.version) in found):
                    found.add(node)
        return found

    # ------------------------------------------------------------ questions

    def backward(self, result: SavedResult, rows: LineageSet, table: str) -> Reached:
        """Trace rows of a result back to a table, however many steps away.

        Raises:
            LineageError: a segment is damaged; or a step on the way knows values only (LINEAGE ON).

        """
        leading = self.leading_to(table)
        asked = {node_of(result): rows}
        reached = Reached()
        for node in reversed(self.nodes):
            if node not in leading or node not in asked:
                continue
            saved = self.nodes[node]
            for edge in saved.tables:
                below = (edge.name.lower(), edge.version)
                leads_on = edge.is_result and below in leading and edge.name.lower() != table.lower()
                if leads_on and edge.granules:
                    raise ends_in_values(saved, edge, table)
                if edge.name.lower() == table.lower() or leads_on:
                    ids = self.library.relation(saved, edge).backward(asked[node]) if asked[node] else LineageSet()
                    if edge.name.lower() == table.lower():
                        reached.edges.append((saved, edge, ids))
                    if leads_on:
                        asked[below] = asked.get(below, LineageSet()) | ids
        return reached

    def forward(self, table: str, seeds: Seeds) -> dict[Node, Touched]:
        """Trace suspected rows of a table to every result here.

        Args:
            table: where the suspected rows are.
            seeds: the ids of them, for each edge that leads to the table.

        Returns:
            every node that has rows made of a suspected one.

        Raises:
            LineageError: a segment is damaged; or a step on the way knows values only (LINEAGE ON).

        """
        leading = self.leading_to(table)
        touched: dict[Node, Touched] = {}
        for node, saved in self.nodes.items():
            if node not in leading:
                continue
            rows, paths = [], []
            for edge in saved.tables:
                below = None if edge.name.lower() == table.lower() else touched.get((edge.name.lower(), edge.version))
                if below is not None and edge.granules:
                    raise ends_in_values(saved, edge, table)
                direct = seeds(saved, edge) if edge.name.lower() == table.lower() else None
                ids = united(each for each in (direct, below.rows if below else None) if each is not None)
                found = self.library.relation(saved, edge).forward(ids) if ids else LineageSet()
                if found:
                    rows.append(found)
                    paths.append((edge.name,) if direct or below is None else below.path)
            if rows:
                shortest = min(paths, key=len)
                touched[node] = Touched(saved, united(rows), (*shortest, saved.name))
        return touched

    def relation(self, result: SavedResult, table: str) -> LineageRelation:
        """Return the lineage of a result in a table, however many steps away, as one relation: a relational product.

        Raises:
            LineageError: as for `backward`.

        """
        leading = self.leading_to(table)
        made: dict[Node, LineageRelation] = {}
        for node, saved in self.nodes.items():
            if node not in leading:
                continue
            parts = []
            for edge in saved.tables:
                below = None if edge.name.lower() == table.lower() else made.get((edge.name.lower(), edge.version))
                if below is not None and edge.granules:
                    raise ends_in_values(saved, edge, table)
                if below is not None or edge.name.lower() == table.lower():
                    own = self.library.relation(saved, edge).relation()
                    parts += [own] if edge.name.lower() == table.lower() else []
                    parts += [compose(own, below)] if below is not None else []
            made[node] = union(parts)
        return made.get(node_of(result), empty())


def node_of(saved: SavedResult) -> Node:
    """Return the node of a version."""
    return saved.name.lower(), saved.version


def united(sets: Iterable[LineageSet]) -> LineageSet:
    """Return the union of some sets."""
    whole = LineageSet()
    for each in sets:
        whole = whole | each if whole else each
    return whole


def ends_in_values(saved: SavedResult, edge: TracedTable, table: str) -> LineageError:
    """Return the refusal to trace through a step that was saved with LINEAGE ON."""
    return LineageError(
        f"{saved.name} was saved with LINEAGE ON {', '.join(edge.granules)} and knows values of {edge.name}, not rows, "
        f"so it cannot be traced through {edge.name} to {table}",
        instead=f"Save {saved.name} without LINEAGE ON, or ask about {edge.name}.",
    )
