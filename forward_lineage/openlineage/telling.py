"""Tells of runs, each with its beginning and its end; needs the client.

Whatever goes wrong here, the user's statement goes on: it is said once, in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pyspark.sql import DataFrame

from forward_lineage.frontend.rewriting import query_of
from forward_lineage.frontend.statement import parse
from forward_lineage.openlineage.datasets import Datasets
from forward_lineage.openlineage.events import RunEvents, Table, Written
from forward_lineage.openlineage.sender import sender_of
from forward_lineage.openlineage.settings import OpenLineage
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.store.library.saved_result import SavedResult
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
    def saving(self, df_or_sql: object, name: str) -> Iterator[Callable[[SavedResult], None]]:
        """See `Runs.saving`."""
        done: list[SavedResult] = []
        sql = df_or_sql if isinstance(df_or_sql, str) else None

        def written() -> Written:
            tree = None if isinstance(df_or_sql, DataFrame) else lambda: query_of(parse(done[0].sql).tree.copy())
            return self._datasets.of_saved(done[0], tree, self._names.anywhere().find)

        with self._run(f"save.{name}", sql, lambda: self._datasets.result(name), written):
            yield done.append

    @contextmanager
    def writing(self, traced: TracedStatement, verb: str, name: str) -> Iterator[None]:
        """See `Runs.command`."""
        job = f"{verb}.{name.replace('`', '')}"
        find = self._names.anywhere().find
        with self._run(job, traced.sql, lambda: None, lambda: self._datasets.of_command(traced, name, find)):
            yield

    @contextmanager
    def _run(
        self, job: str, sql: str | None, output: Callable[[], Table | None], written: Callable[[], Written]
    ) -> Iterator[None]:
        """Send the events of a run around a block; what cannot be told of one that has ended well is left out."""
        events = self._quietly(lambda: RunEvents(self._settings, job, sql, str(self._tables.spark.version)))
        target = self._quietly(output)
        if events is None:
            yield
            return
        self._quietly(lambda: self.sender.send(events.start(target)))
        try:
            yield
        except BaseException as error:
            raised = error
            self._quietly(lambda: self.sender.send(events.failed(raised, target)))
            raise
        told = self._quietly(written) or Written(output=target)
        self._quietly(lambda: self.sender.send(events.complete(told)))

    def _quietly(self, tell: Callable[[], T]) -> T | None:
        try:
            return tell()
        except Exception as error:  # a bug of ours here must not cost the user a result
            self.sender.say(f"a run could not be told in full: {type(error).__name__}: {error}")
            return None
