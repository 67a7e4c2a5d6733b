"""Tells of runs, each with its beginning and its end; needs the client.

If something goes wrong here, the user's statement goes on, and the log has one line about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from openlineage.client.event_v2 import RunEvent
from pyspark.sql import DataFrame

from forward_lineage.frontend.rewriting import query_of
from forward_lineage.frontend.statement import parse
from forward_lineage.openlineage.datasets import Datasets, Inputs, all_of
from forward_lineage.openlineage.events import EventDataset, RunEvents, Written
from forward_lineage.openlineage.saving import Saving
from forward_lineage.openlineage.sender import sender_of
from forward_lineage.openlineage.settings import OpenLineage
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import TracedStatement

T = TypeVar("T")


class Teller:
    """Tells of runs of a session.

    Args:
        settings: where events go.
        tables: the session's tables.
        names: what names mean in it.
        home: where results are.

    Attributes:
        sender: sends the events.

    """

    def __init__(self, settings: OpenLineage, tables: RegisteredTables, names: SessionNames, home: str) -> None:
        self._settings, self._tables, self._names = settings, tables, names
        self._datasets = Datasets(tables, home, settings.namespace)
        self.sender = sender_of(settings)

    @contextmanager
    def saving(self, df_or_sql: object, name: str) -> Iterator[Saving]:
        """Tell of a save while the block runs, which says what it reads and what it has saved."""
        sql = df_or_sql if isinstance(df_or_sql, str) else None
        run = _Run(self, f"save.{name}", sql, lambda: self._datasets.result(name))
        save = _Save(run, self._datasets)

        def written() -> Written:
            saved = save.saved
            tree = None if isinstance(df_or_sql, DataFrame) else lambda: query_of(parse(saved.sql).tree.copy())
            return self._datasets.of_saved(saved, run.inputs, tree, self._names.anywhere().find)

        with run.told(written):
            yield save

    @contextmanager
    def writing(self, traced: TracedStatement, verb: str, name: str) -> Iterator[None]:
        """Tell of a statement that writes a table while the block runs; of any other say nothing."""
        run = _Run(self, f"{verb}.{name.replace('`', '')}", traced.sql, lambda: None)
        run.begin(lambda: self._datasets.read_by(traced))
        with run.told(lambda: self._datasets.of_command(traced, run.inputs, name, self._names.anywhere().find)):
            yield

    def events(self, job: str, sql: str | None) -> RunEvents:
        """Return what makes the events of a run that begins now."""
        return RunEvents(self._settings, job, sql, str(self._tables.spark.version))

    def quietly(self, tell: Callable[[], T]) -> T | None:
        """Return what cannot be told as None, and say so: a bug of ours here must not cost the user a result."""
        try:
            return tell()
        except Exception as error:
            self.sender.say(f"a run could not be told in full: {type(error).__name__}: {error}")
            return None


class _Run:
    """One run: its beginning, which is told when it is known what is read, and its end.

    Args:
        teller: sends the events.
        job: the job's name.
        sql: the query; None: there is no text.
        output: gives what will be written; None: that has no name yet.

    Attributes:
        inputs: what is read, as far as it is known.

    """

    def __init__(self, teller: Teller, job: str, sql: str | None, output: Callable[[], EventDataset | None]) -> None:
        self._teller = teller
        self._events = teller.quietly(lambda: teller.events(job, sql))
        self._output = teller.quietly(output)
        self._begun = False
        self.inputs: Inputs = {}

    def begin(self, inputs: Callable[[], Inputs]) -> None:
        """Send the first event, if it is not sent."""
        if not self._begun:
            self._begun = True
            self.inputs = self._teller.quietly(inputs) or {}
            self._send(lambda events: events.start(self._known()))

    @contextmanager
    def told(self, written: Callable[[], Written]) -> Iterator[None]:
        """Send the last event behind a block; what cannot be told of one that has ended well is left out."""
        try:
            yield
        except BaseException as error:
            raised = error
            self.begin(lambda: {})  # if it was not understood, nobody knows what it would have read
            self._send(lambda events: events.failed(raised, self._known()))
            raise
        self.begin(lambda: {})
        told = self._teller.quietly(written) or self._known()
        self._send(lambda events: events.complete(told))

    def _known(self) -> Written:
        return Written(all_of(self.inputs), self._output)

    def _send(self, event: Callable[[RunEvents], RunEvent]) -> None:
        events = self._events
        if events is not None:
            self._teller.quietly(lambda: self._teller.sender.send(event(events)))


class _Save(Saving):
    """A save that is told.

    Attributes:
        saved: what was saved; there when the save has ended well.

    """

    saved: SavedResult

    def __init__(self, run: _Run, datasets: Datasets) -> None:
        self._run, self._datasets = run, datasets

    def reads(self, tables: Sequence[TracedTable]) -> None:
        """Say which tables and saved results the query reads, before it runs."""
        self._run.begin(lambda: self._datasets.read(tables))

    def has_saved(self, saved: SavedResult) -> None:
        """Say what was saved."""
        self.saved = saved
