"""Base rows behind saved results, read in the version of then where a table keeps it, else in the present one.

Delta, Iceberg and kept copies have old rows. Rows in Parquet files without a key never change: a changed file has new
ids. A row with a key may have changed, so a note says which version you see.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.store.asking.pipeline import Reached
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.library.made_of import TracedTable
from udafs.errors import ChangedError
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class BaseRows:
    """Rows of a base table.

    Attributes:
        rows: the wanted rows, perhaps among others.
        note: says which version you see, if the table has moved on and rows may differ; else None.

    """

    rows: IdentifiedRows
    note: str | None = None


def rows_read(tables: TablesNow, result: str, edge: TracedTable, ids: LineageSet) -> BaseRows:
    """Return base rows behind a saved result.

    Args:
        tables: the registered tables.
        result: the name of the result, for messages.
        edge: the table, as the result was made of it.
        ids: the ids.

    Raises:
        ChangedError: some rows are gone, or their ids have another meaning now, and no file has them.
        NotRegisteredError: the table is not registered any more.

    """
    then = edge.registration()
    is_behind = tables.registered_version(edge.name) != edge.version
    if is_behind and then is not None and then.keeps_old_rows and (kept := _of_then(tables, result, edge, then)):
        return kept
    try:
        now = tables.registration(result, edge, ids)
    except ChangedError:
        # A change that nobody has registered is refused, but for a table whose log says which files were there before.
        old_files = then is not None and (then.provider.by_position if is_behind else then.provider.by_format)
        if then is not None and old_files and (kept := _of_then(tables, result, edge, then)):
            return kept
        raise
    return BaseRows(tables.rows_of(now), may_differ(result, edge, now))


def may_differ(result: str, edge: TracedTable, now: Manifest) -> str | None:
    """Return a note if present rows may have changed since a result was saved."""
    if now.provider.by_position or now.version == edge.version:
        return None
    return (
        f"{result} was saved with version {edge.version} of {edge.name}, now it is version {now.version}: "
        "you see its rows as they are now"
    )


def _of_then(tables: TablesNow, result: str, edge: TracedTable, then: Manifest) -> BaseRows | None:
    rows = tables.in_old_files(edge, then)
    if rows is None:
        return None
    return BaseRows(
        rows, f"{edge.name} has changed since {result} was saved: you see its rows of version {edge.version}"
    )


def picked(tables: TablesNow, result: str, reached: Reached, ids: LineageSet) -> tuple[DataFrame, list[str]]:
    """Return base rows behind a saved result, ordered by id, and notes; the first column is the id.

    A row reached in several versions of its table is read in the newest one.

    Args:
        tables: the registered tables.
        result: the name of the result, for messages.
        reached: the steps to the table, each with its ids.
        ids: the wanted ids.

    Raises:
        LineageError: as for `rows_read`.

    """
    parts: list[tuple[BaseRows, LineageSet]] = []
    left = ids
    versions = _newest_first(reached)
    for edge, of_version in versions:
        is_oldest = edge is versions[-1][0]
        wanted = left if is_oldest else of_version & left
        if wanted or (is_oldest and not parts):
            parts.append((rows_read(tables, result, edge, wanted), wanted))
        left -= wanted
    rows = IdentifiedRows.together([(part.rows, wanted) for part, wanted in parts])
    return rows.pick(ids), [part.note for part, _ in parts if part.note]


def _newest_first(reached: Reached) -> list[tuple[TracedTable, LineageSet]]:
    found: dict[int, tuple[TracedTable, LineageSet]] = {}
    for _, edge, ids in reached.edges:
        _, before = found.get(edge.version, (edge, LineageSet()))
        found[edge.version] = edge, before | ids
    return [found[version] for version in sorted(found, reverse=True)]
