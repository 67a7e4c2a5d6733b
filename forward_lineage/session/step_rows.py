"""Rows of steps as saved results, and tables as steps read them. `forward_lineage.steps` knows neither."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.session.array_calls import array_of_result, arrays_of, is_array
from forward_lineage.session.components import Parts
from forward_lineage.session.model_calls import is_model, models_of, read_model, save_model
from forward_lineage.spark.names import quoted
from forward_lineage.spark.settings import settings_in_force
from forward_lineage.spark.watched_frames import watched_frames
from forward_lineage.steps.looking import SavedRows, place_of
from forward_lineage.steps.shelf import Record
from forward_lineage.steps.step import Step
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel
from forward_lineage.store.saving.recipes import recipe_of
from forward_lineage.store.updating.updating import Step as UpdateStep
from forward_lineage.store.updating.updating import Way
from forward_lineage.tracing.statements import TracedStatement
from udafs.errors import BadArgumentError, ChangedError, LineageError, NotTracedError

if TYPE_CHECKING:
    from forward_lineage.arrays import TrackedArray
    from forward_lineage.models import Model

_WHERE_TABLES_GO = "spark.sql.warehouse.dir"  # says nothing of rows
_ALONE = threading.RLock()  # Spark's settings, which a save changes for a moment, are the whole session's


class StepRows:
    """A table, or the rows of a step, as a step gets them.

    In a text it is its name: ``f"SELECT count(*) AS n FROM {sales}"``.

    Attributes:
        name: of the table or saved result.
        version: of the saved result; None of a table.
        opened: why a value that a step computed of it is not kept; None if it may be.

    """

    opened: str | None = None

    def __init__(self, name: str, parts: Parts, version: int | None = None) -> None:
        self.name, self.version, self._parts = name, version, parts

    def __str__(self) -> str:
        return quoted(self.name)

    def __repr__(self) -> str:
        return f"StepRows({self.name})"

    def frame(self) -> DataFrame:
        """Return a DataFrame, for a step that returns a query.

        A step that computes with the frame itself is not kept: a frame may run any function that the session knows.
        """
        self._check()
        self.opened = f"it computes with the frame of {self.name}, which may run what nobody watches"
        return self._parts.tables.spark.table(quoted(self.name))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows as tuples, in an order that is the same each time: as they were saved, or by their ids."""
        with _ALONE:
            self._check()
            if self._parts.library.latest(self.name) is not None:
                return [tuple(row) for row in self._parts.questions.rows(self.name).collect()]
            found = self._parts.questions.tables_now.rows(self.name).with_ids()
            return [tuple(row)[1:] for row in found.orderBy(found.columns[0]).collect()]

    def to_array(self, columns: Sequence[str] | None = None) -> TrackedArray:
        """Return columns of saved rows as a tracked array, as `ForwardLineage.to_array` does."""
        with _ALONE:
            self._check()
            return array_of_result(self._parts, self.name, columns, self.version)

    def _check(self) -> None:
        if self.version is not None:
            _check_there(self._parts, self.name, self.version)


class Saving(Protocol):
    """The calls of `ForwardLineage` by which results are saved and dropped."""

    def save(self, df_or_sql: Any, name: str) -> Any:
        """See `ForwardLineage.save`."""
        ...

    def updates(self, name: str, *, plan: bool = False) -> Iterator[UpdateStep]:
        """See `ForwardLineage.updates`."""
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

    def read(self, place: str) -> StepRows | TrackedArray | Model:
        """Return saved rows, a saved array or a saved model, as a step gets them."""
        name, version = _name_and_version(place)
        found = self._parts.library.find(name)
        if isinstance(found, SavedArray):
            return arrays_of(self._parts).read(name, version)
        if isinstance(found, SavedModel):
            return read_model(models_of(self._parts), name, version)
        return StepRows(name, self._parts, version)

    def save(
        self, step: Step, query: Any, reads: tuple[str, ...], *, once: bool, earlier: Sequence[Record] = ()
    ) -> SavedRows:
        """Run a query and save its rows; or bring rows of the same query up to date, where that is less work.

        Raises:
            LineageError: it is no query, or cannot be traced. Another run has brought up to date what it reads.

        """
        with _ALONE:
            for name, version in map(_name_and_version, reads):
                _check_there(self._parts, name, version)
            if step.returns in ("array", "model"):
                save = self._save_array if step.returns == "array" else self._save_model
                saved, reason = save(step.name, query, once)
                environment = {"tables": {}, "settings": _digest(self._settings())}
                return SavedRows(_place(saved), saved.size, environment, reason)
            return self._save_rows(step.name, query, {_name_and_version(each)[0] for each in reads}, once, earlier)

    def _save_array(self, step: str, array: Any, once: bool) -> tuple[Saved, str | None]:
        if not is_array(array):
            kind = type(array).__name__
            raise BadArgumentError(f"step {step} returns a {kind} and no array", instead="Return an array of numpy's.")
        return self._saving.save(array, place_of(step, once=once)), None

    def _save_model(self, step: str, model: Any, once: bool) -> tuple[Saved, str | None]:
        if not is_model(model) or isinstance(model.estimator, list):
            raise BadArgumentError(
                f"step {step} returns a {type(model).__name__} and no model that was fitted once",
                instead="Return fit(estimator, X, y, name) of forward_lineage.models.",
            )
        given = model.estimator.get_params(deep=True)
        free = min((name for name in given if name.endswith("random_state") and given[name] is None), default=None)
        reason = None if free is None else f"its {free} is None, which may leave it to chance"
        place = place_of(step, once=once or reason is not None)
        saved = save_model(models_of(self._parts), model, place, model.estimator, mode="overwrite")
        return saved, reason

    def _save_rows(self, step: str, query: Any, reads: set[str], once: bool, earlier: Sequence[Record]) -> SavedRows:
        self._parts.result_tables.bring_up_to_date()
        text = self._parts.frames.sql(query)
        traced = self._parts.statements.trace(text, "data", unless_query=_no_query(step))
        rewritten = traced.rewritten
        tables = [name for name in (*rewritten.tables, *rewritten.decided_by) if name not in reads]
        before = self._versions(tables)
        reason = self._reason(traced)
        environment = {"tables": before, "settings": _digest(self._settings())}
        took_over, told = (None, "") if reason else self._brought_up_to_date(text, environment, earlier)
        if took_over is None:
            saved = self._saving.save(text, place_of(step, once=once or reason is not None))
        else:
            saved = self._parts.library.get(_name_and_version(took_over.place)[0])
        if reason is None and self._versions(tables) != before:
            reason = "a table that it reads changed while it ran"
        return SavedRows(_place(saved), saved.size, environment, reason, took_over, told)

    def _brought_up_to_date(
        self, text: str, environment: Mapping[str, Any], earlier: Sequence[Record]
    ) -> tuple[Record | None, str]:
        """Bring rows of the same query in the same settings up to date, if that touches nothing else."""
        for record in earlier:
            name, version = _name_and_version(record.place)
            saved = self._parts.library.latest(name)
            if saved is None or (saved.version, saved.sql) != (version, text):
                continue
            if record.environment.get("settings") != environment["settings"]:
                continue
            plan = list(self._saving.updates(name, plan=True))
            if any(each.result != saved.name or each.way not in (Way.UNTOUCHED, Way.PARTLY) for each in plan):
                continue
            done = list(self._saving.updates(name)) if plan else []
            if all(each.way is not Way.LEFT for each in done):
                return record, "; ".join(f"brought up to date, {each.way}: {each.why}" for each in done)
        return None, ""

    def watched(self) -> AbstractContextManager[Sequence[str]]:
        """Watch this thread for calls that take rows out of DataFrames."""
        return watched_frames()

    def holds(self, record: Record) -> bool:
        """Tell whether the rows of a record are there and depend on what is still so."""
        with _ALONE, suppress(LineageError):
            if record.is_kept:
                _check_there(self._parts, *_name_and_version(record.place))
            if record.environment.get("settings") != _digest(self._settings()):
                return False
            self._parts.result_tables.bring_up_to_date()
            tables: Mapping[str, str] = record.environment["tables"]
            return self._versions(tables) == dict(tables)
        return False

    def drop(self, place: str) -> None:
        """Forget saved rows; results that were made of them keep what they need.

        Raises:
            LineageError: they are not there any more, or were brought up to date.

        """
        name, version = _name_and_version(place)
        with _ALONE:
            _check_there(self._parts, name, version)
            self._saving.drop(name)

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


def _place(saved: Saved) -> str:
    """Where a version of a saved thing is: its name, and its number if it is not the first."""
    return saved.name if saved.version == 1 else f"{saved.name}@{saved.version}"


def _name_and_version(place: str) -> tuple[str, int]:
    name, _, version = place.partition("@")
    return name, int(version or 1)


def _check_there(parts: Parts, name: str, version: int) -> None:
    found = parts.library.find(name)
    if found is None or found.version != version:
        raise ChangedError(f"{name} has been brought up to date, or dropped, by another run", instead="Run it again.")


def _no_query(step: str) -> LineageError:
    return NotTracedError(f"step {step} returns a statement that is no query", instead="Return its SELECT.")


def _digest(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
