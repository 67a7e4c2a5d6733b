"""The inputs of a saved result, then and now: which rows of each table and result that it reads differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from sqlglot import exp

from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.updating.columns_read import reads_any
from forward_lineage.store.updating.row_differences import row_differences
from udafs.errors import ChangedError, LineageError, NotSavedError, NotTracedError
from udafs.lineage_set import LineageSet

_MOST_KNOWN = 16
_FEW = 10_000
"""Rows that changed, which are kept in memory while an update lasts."""


@dataclass(frozen=True)
class Input:
    """A table or result that a saved result was made of, and that has another version now.

    Attributes:
        edge: what the result says of it.
        now: the version that a query reads now.
        changes: which rows are others; None: that is not known.
        unknown: why not.
        only_decides: whether no row of the result is traced to it, as to a table behind NOT EXISTS.

    """

    edge: TracedTable
    now: int
    changes: RowChanges | None
    unknown: str = ""
    only_decides: bool = False

    def as_read(self, tree: exp.Expr) -> Input:
        """Return it as a query reads it: rows that differ only in columns which that does not read are as they were."""
        found = self.changes
        if found is None or found.columns is None or not found.differs or reads_any(tree, found.columns):
            return self
        return replace(self, changes=replace(found, differs=LineageSet()))


def _together(one: IdentifiedRows | None, other: IdentifiedRows) -> DataFrame:
    frames = [rows.frame.drop(rows.frame.columns[0]) for rows in (one, other) if rows is not None]
    return reduce(DataFrame.unionAll, frames)


def _types(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema]


def _changed_meanwhile(name: str) -> ChangedError:
    """Make the error for an input that got another version while rows were compared."""
    return ChangedError(f"{name} changed while what is made of it was compared", instead="Update it again.")


def _forget(known: dict[Any, Any]) -> None:
    """Make room for one more."""
    while len(known) >= _MOST_KNOWN:
        del known[next(iter(known))]


class Inputs:
    """The inputs of saved results.

    Args:
        tables: the session's registered tables.
        library: the saved results.

    """

    def __init__(self, tables: RegisteredTables, library: Library) -> None:
        self._tables, self._library = tables, library
        self._now = TablesNow(tables)
        self._at_hand: dict[tuple[str, int, int, bool, int], pa.Table | None] = {}  # None: Arrow has other types
        self._known: dict[tuple[str, str, str], RowChanges] = {}  # versions never change, so neither does this

    def are_current(self, saved: SavedResult) -> bool:
        """Tell whether a result was made of the versions that there are now; no rows are looked at."""
        return all(self._version_now(edge) == edge.version for edge in saved.inputs)

    def changed(self, saved: SavedResult) -> list[Input]:
        """Return those that have another version now, and which of their rows are others.

        Raises:
            ChangedError: one is gone, or has changed and nobody registered that.

        """
        others = ((edge, self._version_now(edge)) for edge in saved.inputs)
        found = [self._input(edge, self._there(saved, edge, now)) for edge, now in others if now != edge.version]
        return [replace(each, only_decides=each.edge in saved.decided_by) for each in found]

    def rows_that_came(self, found: Input) -> IdentifiedRows:
        """Return the rows that came or differ."""
        assert found.changes is not None, "it was asked for before"
        return self._rows(found).among(found.changes.after)

    def rows_that_went(self, found: Input) -> IdentifiedRows:
        """Return the rows that went or differ, as they were; `keep_old_rows` told that they are there."""
        rows = self._old(found)
        assert rows is not None, "it was asked for before"
        return rows

    def rows_that_stayed(self, found: Input) -> DataFrame:
        """Return the rows that did not come or differ."""
        assert found.changes is not None, "it was asked for before"
        return _together(None, self._rows(found).without(found.changes.after))

    def rows_now(self, edge: TracedTable, found: Input | None) -> IdentifiedRows:
        """Return the rows of something that a result was made of, as they are now.

        Args:
            edge: what the result says of it.
            found: the same, if it has other rows now.

        """
        return self._rows(Input(edge, edge.version, None) if found is None else found)

    def keep_old_rows(self, inputs: Sequence[Input]) -> bool:
        """Tell whether the rows that went or differ can still be read as they were, of all of some inputs."""
        return all(not each.changes or not each.changes.before or self._then(each) is not None for each in inputs)

    def rows_of_both(self, found: Input) -> DataFrame:
        """Return the rows that went, came or differ: old and new images."""
        assert found.changes is not None, "it was asked for before"
        return _together(self._old(found), self._rows(found).among(found.changes.after))

    def at_hand(self, found: Input, rows: Callable[[], DataFrame], *, both: bool) -> DataFrame:
        """Return rows that changed: few of them are read once for all results, and Spark knows that they are few.

        Args:
            found: the input.
            rows: gives them.
            both: whether they are `rows_of_both`.

        """
        changes = found.changes
        if changes is None or not self.are_few(found):
            return rows()
        key = found.edge.name.lower(), found.edge.version, found.now, both, len(changes.differs)
        frame: DataFrame | None = None
        if key not in self._at_hand:
            frame = rows()
            _forget(self._at_hand)
            try:
                self._at_hand[key] = arrow_table(frame)
            except PySparkException:  # Arrow has no such type
                self._at_hand[key] = None
        kept = self._at_hand[key]
        if kept is None:
            return rows()
        there = arrow_frame(self._tables.spark, kept)
        if frame is not None and _types(there) != _types(frame):
            self._at_hand[key] = None
            return frame
        return there

    @staticmethod
    def are_few(found: Input) -> bool:
        """Tell whether few rows of an input changed."""
        return found.changes is not None and len(found.changes.before) + len(found.changes.after) <= _FEW

    def all_rows(self, found: Input, *, now: bool) -> DataFrame:
        """Return the rows that are as they were, with those that went or differ as they were.

        Args:
            found: the input.
            now: whether to add those that came or differ, in their new images.

        """
        assert found.changes is not None, "it was asked for before"
        rows = self._rows(found)
        return _together(self._old(found), rows if now else rows.without(found.changes.after))

    def in_step(self, saved: SavedResult, inputs: Sequence[Input]) -> SavedResult:
        """Return a result as made of the versions that there are now, its lineage in them unchanged.

        Args:
            saved: the result.
            inputs: what `changed` returned, and what was proven of.

        Raises:
            ChangedError: another version came meanwhile; nothing was proven of that.

        """
        proven = {each.edge.name: each.now for each in inputs}

        def now(edges: Iterable[TracedTable]) -> tuple[TracedTable, ...]:
            return tuple(self._as_now(edge, proven.get(edge.name, edge.version)) for edge in edges)

        return replace(saved, tables=now(saved.tables), decided_by=now(saved.decided_by))

    # ------------------------------------------------------------ steps

    def _old(self, found: Input) -> IdentifiedRows | None:
        assert found.changes is not None, "it was asked for before"
        then = self._then(found) if found.changes.before else None
        return None if then is None else then.among(found.changes.before)

    def _then(self, found: Input) -> IdentifiedRows | None:
        """The rows of the version that a result was made of; None: they are gone."""
        edge = found.edge
        if edge.is_result:
            return IdentifiedRows.of_result(self._tables.spark, self._library.get(edge.name, edge.version))
        then = edge.registration()
        return None if then is None else self._now.in_old_files(edge, then)

    def _version_now(self, edge: TracedTable) -> int | None:
        if not edge.is_result:
            return self._now.version(edge.name)
        latest = self._library.find(edge.name)
        return None if latest is None else latest.version

    def _there(self, saved: SavedResult, edge: TracedTable, now: int | None) -> int:
        if now is not None:
            return now
        if edge.is_result:
            raise ChangedError(
                f"{edge.name}, which {saved.name} was made of, is not saved any more",
                instead=f"Save {edge.name} again.",
            )
        check_unchanged(self._tables.spark, self._tables.registered(edge.name))  # says how it changed, and the remedy
        raise ChangedError(f"{edge.name} has changed", instead=f'Call lineage.refresh("{edge.name}").')

    def _input(self, edge: TracedTable, now: int) -> Input:
        if edge.trusted or (not edge.is_result and self._now.takes_on_trust(edge.name)):
            return Input(edge, now, None, f"{edge.name} is taken on trust")
        try:
            return Input(edge, now, self.changes(edge, now))
        except LineageError as error:
            return Input(edge, now, None, error.what)

    def changes(self, edge: TracedTable, now_version: int) -> RowChanges:
        """Return the rows of a table or result that went, came or differ since a result was made of it.

        Args:
            edge: what the result says of it.
            now_version: the version that a query reads now.

        Raises:
            LineageError: that is not known.

        """
        if edge.is_result:
            then_and_now = (self._library.get(edge.name, each) for each in (edge.version, now_version))
            return row_differences(*then_and_now)
        # Several results read a table, and most of them were made of the same version.
        then, now = edge.registration(), self._tables.registered(edge.name)
        kept = self._tables.registrations.version(edge.name, edge.version)
        if then is None or kept.digest() != then.digest():
            raise ChangedError(f"version {edge.version} of {edge.name} is that of another home", instead="")
        if then.columns != now.columns:
            raise NotTracedError(f"{edge.name} has other columns now", instead="")
        key = edge.name.lower(), kept.digest(), now.digest()
        if key not in self._known:
            _forget(self._known)
            self._known[key] = self._tables.changes(kept, now)
        return self._known[key]

    def _rows(self, found: Input) -> IdentifiedRows:
        if found.edge.is_result:
            return IdentifiedRows.of_result(self._tables.spark, self._newest(found))
        return self._now.rows(found.edge.name)

    def _newest(self, found: Input) -> SavedResult:
        try:
            return self._library.get(found.edge.name, found.now)
        except NotSavedError:
            raise _changed_meanwhile(found.edge.name) from None

    def _as_now(self, edge: TracedTable, version: int) -> TracedTable:
        manifest = self._tables.registered(edge.name)
        check_unchanged(self._tables.spark, manifest)
        read = manifest.version
        if self._version_now(edge) != version:
            raise _changed_meanwhile(edge.name)
        if edge.is_result:  # queries of this session read it by its folder
            read = version if self._is_read(manifest, edge.name, version) else -1
        if read != version:
            raise _changed_meanwhile(edge.name)
        if edge.is_result:
            return replace(edge, version=version)
        data = {**manifest.to_data(), "trusted": edge.trusted or manifest.trusted}
        return replace(edge, version=version, provider=manifest.provider, manifest=data)

    def _is_read(self, manifest: Manifest, name: str, version: int) -> bool:
        return Path(manifest.source["path"]).parent.name == self._library.get(name, version).data
