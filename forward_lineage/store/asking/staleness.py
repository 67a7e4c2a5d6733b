"""Whether what saved results were made of is what it was, and what of it is taken on trust; with Spark or without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from forward_lineage.store.asking.ancestors import Edge
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library

StaleInput = tuple[str, str, int, int | None]
"""A result, a table or result that it depends on, the version then and now; None: changed, or not there."""


class TablesAsTheyAre(Protocol):
    """Knows what is registered now."""

    def version(self, name: str) -> int | None:
        """Return the version of a table that a query would read; None when it changed and nobody registered that."""

    def takes_on_trust(self, name: str) -> bool:
        """Tell whether a table is registered with ``trusted=True`` now."""


def stale_inputs(library: Library, tables: TablesAsTheyAre) -> list[StaleInput]:
    """Return what saved results, or those that they depend on, depend on and that has changed since.

    That includes tables that only decide which rows there are, such as those behind NOT EXISTS.
    """
    found: list[StaleInput] = []
    for saved in library.every()[0]:
        nodes = Pipeline(library, [saved], deciding=True).nodes.values()
        for name, version, is_result in sorted(
            {(e.name, e.version, e.is_result) for each in nodes for e in each.inputs}
        ):
            latest = library.find(name) if is_result else None
            now = (latest.version if latest else None) if is_result else tables.version(name)
            if now != version:
                found.append((saved.name, name, version, now))
    return found


def taken_on_trust(edges: Iterable[Edge], tables: TablesAsTheyAre) -> frozenset[str]:
    """Return those tables that steps lead to and that are taken on trust, now or when a result was saved."""
    read = (edge for _, edge in edges if not edge.is_result)
    return frozenset(edge.name for edge in read if edge.trusted or tables.takes_on_trust(edge.name))
