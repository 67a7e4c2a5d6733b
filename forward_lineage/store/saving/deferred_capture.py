"""Lineage of a saved result that is captured afterwards, from the same versions of its tables.   [Smoke, §3.2, DEFER]

The query runs once more, with lineage. Its result counts only if its tables and views have not changed, and its rows
are those that were saved. Otherwise the captured lineage would be that of other rows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from forward_lineage.frontend.consuming import LineageCall
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.library.capture_state import Captured, Recipe
from forward_lineage.store.library.deferred_lineage import LaterLineage
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import (
    RowFile,
    SavedResult,
    SegmentEntry,
    StageLineage,
    TableLineage,
    TracedTable,
)
from forward_lineage.store.saving.execution import Target
from forward_lineage.store.saving.origins import origins
from forward_lineage.store.saving.recipes import settings_of_then
from forward_lineage.store.saving.same_rows import Numbers, matched
from forward_lineage.store.saving.scope import ALL_NOW, Scope, scope_left
from forward_lineage.store.saving.staging import Kept
from forward_lineage.store.saving.tasks import MOST_RUNS, write_segment
from forward_lineage.store.saving.traced_query import TracedQuery, Tracer
from forward_lineage.store.saving.writing import written
from udafs.errors import ChangedError, LineageError, NotTracedError


class Capturing:
    """Captures afterwards; see `Library.capturing`.

    Args:
        tracer: traces queries of the session.
        tables: its registered tables.
        library: the saved results.

    """

    def __init__(self, tracer: Tracer, tables: RegisteredTables, library: Library) -> None:
        self._tracer, self._tables, self._library = tracer, tables, library

    def __call__(self, saved: SavedResult, whole: bool) -> SavedResult:
        """Capture lineage of a version, unless another session did so meanwhile.

        Args:
            saved: the version.
            whole: all of it, or what the save left for later.

        Returns:
            the version with that lineage; it says nothing of rows.

        Raises:
            NotTracedError: its rows cannot be made again.
            ChangedError: tables or views are not what they were, or the query gives other rows now.

        """
        recipe = saved.recipe
        if recipe is None or recipe.refused is not None:
            why = recipe.refused if recipe is not None else "nothing says how"
            raise NotTracedError(
                f"lineage of {saved.name} is asked for that was not captured, and its rows cannot be made again: {why}",
                instead=f"Save {saved.name} again, and capture it with the rows.",
            )
        with self._library.later.capturing(saved):
            found = self._library.later.find(saved, whole=whole)
            if found is not None:
                return found
            with self._library.writing(saved.name) as folder:
                lineage = self._captured(saved, recipe, whole, folder)
                return self._library.later.publish(saved, folder, lineage, whole=whole)

    def capture(self, name: str) -> SavedResult:
        """Capture the lineage of a saved result that its save left for later. If none is left, nothing happens."""
        saved = self._library.get(name)
        if any(table.captured is Captured.LATER for table in saved.tables):
            self(saved, whole=False)
        return saved

    def _captured(self, saved: SavedResult, recipe: Recipe, whole: bool, folder: Path) -> LaterLineage:
        scope = ALL_NOW if whole else scope_left(saved.tables)
        with settings_of_then(self._tables.spark, recipe):
            query = self._query(saved, recipe, scope)
            schema = StructType.fromJson(saved.schema)
            if query.schema.simpleString() != schema.simpleString():
                raise _other_rows(saved, "its columns are others")
            kept, _ = written(self._tables.spark, query, Target(folder, saved.name, schema, "auto"))
            self._check_origins(saved, query)  # while it ran, they may have changed
        places = matched(_rows(saved.folder, saved.row_files), _rows(folder, kept.row_files))
        if places is None:
            raise _other_rows(saved, "its rows are others")
        tables = [table for table in saved.tables if whole or scope.is_captured(table.name)]
        lineage = _in_order(LaterLineage(saved.data, _lineage(tables, kept, folder), kept.refers, kept.stages), folder)
        if not np.array_equal(places, np.arange(places.size)):
            lineage = _moved(lineage, places, folder)
        shutil.rmtree(folder / "rows")
        return lineage

    def _query(self, saved: SavedResult, recipe: Recipe, scope: Scope) -> TracedQuery:
        check_row_files(saved)
        try:
            query = self._tracer.query(saved.sql, saved.semantics, scope, again=recipe)
        except (ChangedError, NotTracedError) as error:
            raise _cannot(saved, error.what) from error
        self._check_origins(saved, query)
        return query

    def _check_origins(self, saved: SavedResult, query: TracedQuery) -> None:
        """The tables must be those that the result was made of, in the same versions."""
        try:
            now = {each.name.lower(): each for each in origins(query.meaning, self._tables, self._library)}
        except LineageError as error:
            raise _cannot(saved, error.what) from error
        for table in saved.tables:
            found = now.pop(table.name.lower(), None)
            if found is None or _version(found) != _version(table):
                is_now = "it does not read it" if found is None else f"now it is version {found.version}"
                raise _cannot(saved, f"it was made of version {table.version} of {table.name}, {is_now}")
        if now:
            raise _cannot(saved, f"its query reads {', '.join(each.name for each in now.values())}, too")


def refuse_to_answer_again(call: LineageCall, args: Arguments, around: Callable[[], frozenset[str]]) -> NoReturn:
    """Refuse a function in a query that runs again: `recipes` lets none be saved so. See `tracing.chosen_rows.Chooser`.

    Raises:
        NotTracedError: always.

    """
    raise NotTracedError(
        f"{call.function}(…) was answered when the result was saved",
        instead="Save it again, with its lineage.",
        at=call.at,
    )


def _version(table: TracedTable) -> tuple[int, str]:
    return table.version, json.dumps(table.manifest, sort_keys=True, default=str)


def _cannot(saved: SavedResult, why: str) -> ChangedError:
    return ChangedError(
        f"lineage of {saved.name} that was not captured with its rows cannot be captured any more: {why}",
        instead=f"Save {saved.name} again.",
    )


def _other_rows(saved: SavedResult, how: str) -> ChangedError:
    return _cannot(saved, f"its query gives another result now, {how}")


def _rows(folder: Path, files: Sequence[RowFile]) -> pa.Table:
    return pa.concat_tables([pq.read_table(folder / file.path) for file in files])


def _lineage(tables: Sequence[TracedTable], kept: Kept, folder: Path) -> tuple[TableLineage, ...]:
    return tuple(
        TableLineage(table.name, kept.of_table(_spelled(table.name, kept), number, folder))
        for number, table in enumerate(tables)
    )


def _spelled(name: str, kept: Kept) -> str:
    return next((each for each in kept.tables if each.lower() == name.lower()), name)


def _in_order(lineage: LaterLineage, folder: Path) -> LaterLineage:
    """Remove what was written beside it."""
    named = {folder / entry.path for part in _parts(lineage) for entry in part.segments}
    for path in set(folder.rglob("*.lineage")) - named:
        path.unlink()
    return lineage


def _parts(lineage: LaterLineage) -> list[TableLineage | StageLineage]:
    found: list[TableLineage | StageLineage] = [*lineage.tables, *lineage.refers]
    for stage in lineage.stages:
        found += [*stage.tables, *stage.stages]
    return found


def _moved(lineage: LaterLineage, places: Numbers, folder: Path) -> LaterLineage:
    """Give each row's lineage to the row that it is; that of stages stays what it is."""

    def moved(segments: tuple[SegmentEntry, ...], name: str) -> tuple[SegmentEntry, ...]:
        relation = StoredRelation([each.file_in(folder) for each in segments], SegmentCache())
        rows, ids = relation.pairs()
        found: list[SegmentEntry] = []
        first = 0
        for count, part in RunsRelation.from_pairs(places[rows], ids).split(places.size, MOST_RUNS):
            path = f"lineage/{name}-{first:019}.lineage"
            found.append(write_segment(folder, path, part, first_row=first, rows=count, form="runs"))
            first += count
        return tuple(found)

    tables = (replace(t, segments=moved(t.segments, f"moved-{i}")) for i, t in enumerate(lineage.tables))
    refers = (replace(r, segments=moved(r.segments, f"moved-refers-{i}")) for i, r in enumerate(lineage.refers))
    return _in_order(replace(lineage, tables=tuple(tables), refers=tuple(refers)), folder)
