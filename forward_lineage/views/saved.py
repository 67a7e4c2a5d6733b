"""Saved results as views: every row is a bar, with the base rows it was made of in it.   [Smoke, §2.1, linked brushing]

Brushing rows of one result then gives, for every row of the others, the number of common base rows: the counts of
FORWARD(BACKWARD(v1, x), v2). Steps on the way and joins do not matter: the relation is that of the whole pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.relations.groups import narrowest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.versions import arrow_table
from forward_lineage.store.asking.ancestors import Edge, ancestor, check_one_kind_of_ids
from forward_lineage.store.asking.pipeline import Pipeline, ends_in_values
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.views.build_arrays import MOST_BARS
from forward_lineage.views.membership import Dense, Membership, Sparse
from forward_lineage.views.view import View
from udafs.errors import BadArgumentError, ChangedError, NotTracedError
from udafs.lineage_set import LineageSet

MOST_PAIRS = 1 << 28
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Linked:
    """Saved results that were made of one table.

    Attributes:
        table: its name when the results were saved.
        edges: the steps that lead to it, over all results.
        results: the results, by the names of their views.

    """

    table: str
    edges: tuple[Edge, ...]
    results: dict[str, SavedResult]

    @property
    def version(self) -> int:
        """The newest version of the table that a result was made of."""
        return max(edge.version for _, edge in self.edges)

    @property
    def trusted(self) -> bool:
        """Whether the table was taken on trust."""
        return any(edge.trusted for _, edge in self.edges)

    @property
    def versions(self) -> list[tuple[str, int, str]]:
        """The dependencies of the views, in words: each result never changes."""
        return [(saved.name, saved.version, saved.data) for saved in self.results.values()]


def linked_by(results: dict[str, SavedResult], table: str | None, library: Library, tables: RegisteredTables) -> Linked:
    """Find the table that links some results.

    Args:
        results: by the names of their views; at least one.
        table: the table, where it is known; None: the only base table of all of them.
        library: the saved results.
        tables: the registered tables.

    Raises:
        BadArgumentError: they were made of several tables, or of different ones.
        NotSavedError: one was not made of the table.
        ChangedError: they know it in versions whose ids mean different rows.
        NotTracedError: one was saved with LINEAGE ON.

    """
    now = TablesNow(tables)
    found: dict[str, list[Edge]] = {}
    for saved in results.values():
        pipeline = Pipeline(library, [saved])
        name = ancestor(pipeline, saved, table)
        reached = pipeline.backward(saved, LineageSet(), name)
        for owner, edge, _ in reached.edges:
            if edge.granules:
                raise ends_in_values(owner, edge, name)
        found.setdefault(name, []).extend((owner, edge) for owner, edge, _ in reached.edges)
    if len(found) > 1:
        raise BadArgumentError(
            f"the views are over {' and '.join(sorted(found))}", instead="Say which table links them: table=…."
        )
    ((name, edges),) = found.items()
    check_one_kind_of_ids(next(iter(results.values())), edges, library, now)
    return Linked(name, tuple(edges), results)


def views_of(linked: Linked, tables: RegisteredTables) -> list[View]:
    """Return the results as people see them."""
    found = []
    for name, saved in linked.results.items():
        if saved.rows > MOST_BARS:
            raise NotTracedError(
                f"{saved.name} has {saved.rows:,} rows, a view may have {MOST_BARS:,}", instead="Group more coarsely."
            )
        rows = arrow_table(IdentifiedRows.of_result(tables.spark, saved).without_ids())
        found.append(View(name, rows.combine_chunks(), (None,) * rows.num_columns))
    return found


def pairs_of(linked: Linked, library: Library) -> list[tuple[Ids, Ids]]:
    """Return rows and ids of each result.

    Raises:
        NotTracedError: they are very many.

    """
    found = []
    for saved in linked.results.values():
        relation = Pipeline(library, [saved]).relation(saved, linked.table)
        if relation.cardinality > MOST_PAIRS:
            raise NotTracedError(
                f"{saved.name} was made of base rows in {relation.cardinality:,} pairs, {MOST_PAIRS:,} are the most",
                instead="Give its query in place of it, if that is a GROUP BY over one table.",
            )
        found.append(relation.pairs())
    return found


def memberships_of(linked: Linked, pairs: Sequence[tuple[Ids, Ids]], ids: Ids | None, rows: int) -> list[Membership]:
    """Return which base rows are in which row of each result.

    Args:
        linked: the results.
        pairs: rows and ids of each.
        ids: of all base rows, ascending; None: they are 0, 1, 2, ….
        rows: how many base rows there are.

    Raises:
        ChangedError: a result was made of base rows that are not there.

    """
    found: list[Membership] = []
    for saved, (bar, its_ids) in zip(linked.results.values(), pairs, strict=True):
        row = its_ids if ids is None else np.searchsorted(ids, its_ids)
        known = row < rows if ids is None else np.append(ids, -1)[row] == its_ids
        if not known.all():
            raise ChangedError(
                f"{saved.name} was made of rows of {linked.table} that are not there any more",
                instead=f"Save {saved.name} again.",
            )
        found.append(membership_of(saved.places_of(bar), row, saved.rows, rows))
    return found


def membership_of(bar: Ids, row: Ids, bars: int, rows: int) -> Membership:
    """Return the membership of some pairs (bar, row), each once: dense if no row is in two bars."""
    if not row.size or np.bincount(row, minlength=rows).max() <= 1:
        codes = np.full(rows, bars, narrowest(bars))
        codes[row] = bar
        return Dense.of(codes, bars)
    return Sparse.of(bar, row, bars, rows)


def all_ids(pairs: Sequence[tuple[Ids, Ids]]) -> Ids:
    """Return the ids that some result was made of, ascending."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *(ids for _, ids in pairs)]))
