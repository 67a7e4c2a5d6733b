"""The tables of a saved result as they were when it was saved: what its query means when it is asked again.

A saved result that it read stands for its own query, so that lineage leads down to base tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import quoted
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.rerun import rerun_of
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.tracing.names import NamesOfStatement, SessionNames
from rewrites.tables import BaseTable, Source, View
from udafs.errors import ChangedError, NotTracedError

_ID = "__dl_then"


@dataclass(frozen=True)
class NamesThen:
    """What names in the query of a version meant when it was saved: `rewrites.tables.Tables`.

    Attributes:
        now: what they mean in the session.
        then: tables and results in the versions that were read, by name in lower case.
        result: the result, for messages.
        as_now: gets the names of tables that the result has no lineage in, which are read as they are now. None: these
            are refused.

    """

    now: NamesOfStatement
    then: Mapping[str, BaseTable | View] = field(repr=False)
    result: str
    as_now: set[str] | None = None

    def find(self, parts: Sequence[str]) -> Source | None:
        """Return what a name meant.

        Raises:
            NotTracedError: it is a table that the result has no lineage in.

        """
        known = self.then.get(".".join(parts).lower())
        if known is not None:
            return known
        found = self.now.find(parts)
        if isinstance(found, View) or found is None:
            return found
        known = self.then.get(found.name.lower())
        if known is None and self.as_now is not None:
            self.as_now.add(found.name)
            return found
        if known is None:
            raise NotTracedError(
                f"{self.result} has no lineage in {found.name}",
                instead=f'Save {self.result} with that, too: semantics="control", if {found.name} only decides.',
            )
        return known

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """See `rewrites.tables.Tables`."""
        return self.now.qualifier(parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        """See `rewrites.tables.Tables`."""
        return self.now.is_variable(parts)

    def names(self) -> list[str]:
        """See `rewrites.tables.Tables`."""
        return [each.name for each in self.then.values()]


class PastTables:
    """Finds tables in the versions that saved results were made of.

    Args:
        tables: the session's registered tables.
        names: what names mean in the session.
        library: the saved results.

    """

    def __init__(self, tables: RegisteredTables, names: SessionNames, library: Library) -> None:
        self._tables, self._names, self._library = tables, names, library
        self._now = TablesNow(tables)

    def base_edges(self, saved: SavedResult) -> dict[str, TracedTable]:
        """Return the base tables that a result was made of, directly or through others, by name in lower case.

        Raises:
            ChangedError: one was read in two versions, by two steps of the pipeline.

        """
        found: dict[str, TracedTable] = {}
        for edge in self._base_edges(saved):
            _check_same(saved, found.setdefault(edge.name.lower(), edge), edge)
        return found

    def names_then(self, saved: SavedResult, as_now: set[str] | None = None) -> NamesThen:
        """Return what the names in a result's query meant.

        Args:
            saved: the result.
            as_now: see `NamesThen`.

        Raises:
            LineageError: rows of a table, as they were, are gone; the query of a result does not give its rows.

        """
        then: dict[str, BaseTable | View] = {}
        edges = self.base_edges(saved)
        for name, edge in edges.items():
            then[name] = self.table_then(edge)
        for each in self._results(saved):
            if each is not saved:
                then[each.name.lower()] = _as_view(each)
        if as_now is not None:
            for edge in [edge for each in self._results(saved) for edge in each.decided_by]:
                _check_same(saved, edges.get(edge.name.lower(), edge), edge)
                with suppress(ChangedError):  # what is gone is read as it is now
                    then = self._deciding(edge) | then
        return NamesThen(self._names.here(), then, saved.name, as_now)

    def _deciding(self, edge: TracedTable) -> dict[str, BaseTable | View]:
        """What only decided, such as a table behind NOT EXISTS, as it was."""
        if not edge.is_result:
            return {edge.name.lower(): self.table_then(edge)}
        saved = self._library.get(edge.name, edge.version)
        self.check_text(saved)
        return {**self.names_then(saved, set()).then, edge.name.lower(): _as_view(saved)}

    def table_then(self, edge: TracedTable) -> BaseTable:
        """Return the rows of a base table as a result read them.

        Raises:
            ChangedError: they are gone.

        """
        current = self._tables.get(edge.name)
        if current is not None and current.version == edge.version and self._now.version(edge.name) == edge.version:
            return replace(self._tables.base_table(current), name=edge.name)
        found = self._in_files(edge)
        if found is None:
            raise ChangedError(
                f"rows of {edge.name} as they were in version {edge.version} are gone",
                instead="Register a copy by its key, or a Delta or Iceberg table: these keep the rows of before.",
            )
        return found

    def _in_files(self, edge: TracedTable) -> BaseTable | None:
        """A table in files of then. Where others came since, ids tell: none by position is given twice."""
        then, now = edge.registration(), self._tables.get(edge.name)
        if then is None or not (then.provider.by_position or then.keeps_old_rows):
            return None
        if self._now.files_are_there(edge, then):
            return self._tables.registrations.base_table(then)
        if now is None or self._now.version(edge.name) is None or then.columns != now.columns:
            return None
        spans, there = ({(file.offset, file.rows) for file in each.files} for each in (then, now))
        by_position = then.provider.by_position and now.provider.by_position
        return _among(self._tables.base_table(now), spans) if by_position and spans <= there else None

    def check_text(self, saved: SavedResult) -> None:
        """Check that the queries of a result, and of those that it was made of, give their rows.

        Raises:
            NotTracedError: one does not; says why.

        """
        for each in self._results(saved):
            refused = rerun_of(each).refused
            if refused is not None:
                raise NotTracedError(
                    f"the query of {each.name} cannot be asked again: {refused}", instead="Save it from SQL text."
                )

    def _results(self, saved: SavedResult) -> Iterator[SavedResult]:
        """The result and all that it was made of."""
        seen: dict[str, int] = {}
        ahead = [saved]
        while ahead:
            each = ahead.pop()
            if seen.setdefault(each.name.lower(), each.version) != each.version:
                raise ChangedError(
                    f"{saved.name} was made of two versions of {each.name}", instead="Call lineage.update() first."
                )
            yield each
            ahead += [self._library.get(edge.name, edge.version) for edge in each.tables if edge.is_result]

    def _base_edges(self, saved: SavedResult) -> Iterator[TracedTable]:
        for each in self._results(saved):
            yield from (edge for edge in each.tables if not edge.is_result)


def _as_view(saved: SavedResult) -> View:
    """The query of a result, which stands for its rows."""
    return View(saved.name, tuple(name for name, _ in saved.columns), saved.sql)


def _check_same(saved: SavedResult, one: TracedTable, other: TracedTable) -> None:
    if one.version != other.version:
        raise ChangedError(
            f"{saved.name} was made of versions {one.version} and {other.version} of {one.name}",
            instead="Call lineage.update() first, so that all results are in step.",
        )


def _among(table: BaseTable, spans: Iterable[tuple[int, int]]) -> BaseTable:
    """The rows of a table whose ids lie in spans (first id, number of ids)."""
    listed = ", ".join(map(quoted, table.columns))
    inside = " OR ".join(f"{_ID} BETWEEN {first} AND {first + rows - 1}" for first, rows in sorted(spans)) or "false"
    with_ids = f"SELECT {listed}, {table.row_id} AS {_ID} FROM {table.identified or table.relation}"
    identified = f"(SELECT * FROM ({with_ids}) WHERE {inside})"
    return replace(table, relation=f"(SELECT {listed} FROM {identified})", identified=identified, row_id=_ID)
