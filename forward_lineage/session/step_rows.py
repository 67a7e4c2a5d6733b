"""Rows of steps as saved results, and tables as steps read them. `forward_lineage.steps` knows neither."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from pyspark.sql import DataFrame

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.session.components import Parts
from forward_lineage.spark.names import quoted
from forward_lineage.spark.settings import settings_in_force
from forward_lineage.steps.looking import SavedRows, place_of
from forward_lineage.steps.shelf import Record
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.recipes import recipe_of
from forward_lineage.tracing.statements import TracedStatement
from udafs.errors import LineageError, NotTracedError

_WHERE_TABLES_GO = "spark.sql.warehouse.dir"  # says nothing of rows
_ALONE = threading.RLock()  # Spark's settings, which a save changes for a moment, are the whole session's


class StepRows:
    """A table, or the rows of a step, as a step gets them.

    In a text it is its name: ``f"SELECT count(*) AS n FROM {sales}"``.

    Attributes:
        name: of the table or saved result.

    """

    def __init__(self, name: str, parts: Parts) -> None:
        self.name, self._parts = name, parts

    def __str__(self) -> str:
        return quoted(self.name)

    def __repr__(self) -> str:
        return f"StepRows({self.name})"

    def frame(self) -> DataFrame:
        """Return a DataFrame, for a step that returns a query."""
        return self._parts.tables.spark.table(quoted(self.name))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows as tuples, in an order that is the same each time: as they were saved, or by their ids."""
        with _ALONE:
            if self._parts.library.latest(self.name) is not None:
                return [tuple(row) for row in self._parts.questions.rows(self.name).collect()]
            found = self._parts.questions.tables_now.rows(self.name).with_ids()
            return [tuple(row)[1:] for row in found.orderBy(found.columns[0]).collect()]


class Saving(Protocol):
    """The calls of `ForwardLineage` by which results are saved and dropped."""

    def save(self, df_or_sql: DataFrame | str, name: str) -> SavedResult:
        """See `ForwardLineage.save`."""
        ...

    def drop(self, name: str) -> None:
        """See `ForwardLineage.drop`."""
        ...


class RowsOfSteps:
    """Rows of steps in the store of a session.

    Args:
        parts: of the session.
        saving: the session.

    """

    def __init__(self, parts: Parts, saving: Saving) -> None:
        self._parts, self._saving = parts, saving
        self._spark = parts.tables.spark

    def version(self, table: str) -> str | None:
        """Return the version of a table, and of the settings by which it is read; None if it is taken on trust."""
        with _ALONE:
            self._parts.result_tables.bring_up_to_date()
            if self._parts.tables.registered(table).trusted:
                return None
            return f"{self._version_now(table)} {_digest(self._settings())}"

    def table(self, name: str) -> StepRows:
        """Return a table as a step gets it."""
        return StepRows(name, self._parts)

    def read(self, place: str) -> StepRows:
        """Return saved rows as a step gets them."""
        return StepRows(place, self._parts)

    def save(self, step: str, query: Any, reads: tuple[str, ...], *, once: bool) -> SavedRows:
        """Run a query and save its rows.

        `lineage.update` belongs here: rows that `step` has of an earlier version of its tables may be brought up to
        date under a new name, where its query allows, in place of running it.
        """
        with _ALONE:
            self._parts.result_tables.bring_up_to_date()
            text = self._parts.frames.sql(query)
            traced = self._parts.statements.trace(text, "data", unless_query=_no_query(step))
            rewritten = traced.rewritten
            tables = [name for name in (*rewritten.tables, *rewritten.decided_by) if name not in reads]
            before = self._versions(tables)
            reason = self._reason(traced)
            place = place_of(step, once=once or reason is not None)
            saved = self._saving.save(text, place)
            if reason is None and self._versions(tables) != before:
                reason = "a table that it reads changed while it ran"
            environment = {"tables": before, "settings": _digest(self._settings())}
            return SavedRows(place, saved.size, environment, reason)

    def holds(self, record: Record) -> bool:
        """Tell whether the rows of a record are there and depend on what is still so."""
        with _ALONE, suppress(LineageError):
            if record.is_kept and self._parts.library.latest(record.place) is None:
                return False
            if record.environment.get("settings") != _digest(self._settings()):
                return False
            self._parts.result_tables.bring_up_to_date()
            tables: Mapping[str, str] = record.environment["tables"]
            return self._versions(tables) == dict(tables)
        return False

    def drop(self, place: str) -> None:
        """Forget saved rows; results that were made of them keep what they need."""
        with _ALONE:
            self._saving.drop(place)

    # ------------------------------------------------------------ what rows depend on

    def _versions(self, tables: Any) -> dict[str, str]:
        return {name: self._version_now(name) for name in tables}

    def _version_now(self, name: str) -> str:
        """Return what tells a state of a table from any other, checked to be its state now."""
        manifest = self._parts.tables.registered(name)
        if manifest.provider is Provider.RESULT:
            saved = self._parts.library.get(name)
            return f"result {saved.version} {saved.data}"
        self._parts.tables.check_unchanged([name])
        return f"version {manifest.version} {_digest(manifest.to_data())}"

    def _settings(self) -> dict[str, Any]:
        found = settings_in_force(self._spark)
        mine = {key: value for key, value in found.items() if key.startswith("spark.sql.") and key != _WHERE_TABLES_GO}
        return {**mine, "database": self._spark.catalog.currentDatabase()}

    def _reason(self, traced: TracedStatement) -> str | None:
        """Say why the rows of a query cannot stand for it another time."""
        rewritten = traced.rewritten
        if rewritten.read.views:
            return f"it reads the view {min(rewritten.read.views)}, whose text nobody watches"
        if rewritten.through:
            return "it reads a table with lineage of its own, which nobody watches"
        known = {name.rpartition(".")[2].lower() for name in (*rewritten.tables, *rewritten.decided_by)}
        for name in rewritten.read.counts:
            if name.lower() not in known and self._is_table(name):
                return f"it reads {name}, which is not registered"
        return recipe_of(self._spark, traced, self._parts.statements.meaning(traced)).refused

    def _is_table(self, name: str) -> bool:
        return bool(self._spark.catalog.tableExists(quoted(name)))


def _no_query(step: str) -> LineageError:
    return NotTracedError(f"step {step} returns a statement that is no query", instead="Return its SELECT.")


def _digest(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
