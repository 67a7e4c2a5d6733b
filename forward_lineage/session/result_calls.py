"""Calls about saved results: kept with their lineage, and asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.relations.segment import Form
from forward_lineage.results import LINEAGE_COLUMN, as_answer
from forward_lineage.session.parts import Parts
from forward_lineage.spark.interrupts import interruptible
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import Mode, Wish
from forward_lineage.store.saving.scope import Scope, When
from forward_lineage.workloads.deriving import Attributes
from forward_lineage.workloads.saving import Foreseen
from udafs.errors import BadArgumentError, LineageError
from udafs.lineage_set import LineageSet


class ResultCalls:
    """The calls of `ForwardLineage` about saved results. docs/store.md describes the store."""

    spark: SparkSession
    _parts: Parts

    def save(
        self,
        df_or_sql: DataFrame | str,
        name: str,
        *,
        semantics: str = "data",
        mode: Mode = "overwrite",
        keep_versions: bool = False,
        encoding: Form = "auto",
        tables: Collection[str] | None = None,
        where: Mapping[str, str] | None = None,
        capture: When = "now",
        workload: Sequence[str] = (),
        partition_by: Attributes = None,
        cube: Attributes = None,
        args: Arguments = None,
    ) -> SavedResult:
        """Run a query once and keep its rows and their lineage under a name, by which later queries can read it.

        Args:
            df_or_sql: a query; a DataFrame, as for `trace`; or one with `DL`, which `sql` or `trace` returned, perhaps
                filtered, sorted or projected since.
            name: letters, digits and _.
            semantics: ``"data"`` or ``"control"``; a DataFrame with `DL` has its own.
            mode: ``"overwrite"``: a new version takes the place of the one before at one stroke, when all is written;
                ``"error"``: refuse a name that is taken; ``"append"``: put the rows behind those that are there.
            keep_versions: let this version, and those before it that are there, stay readable when a later one is
                saved. Others go, unless saved results were made of them.
            encoding: of the lineage: ``"auto"`` for the smaller, ``"bdd"`` or ``"runs"`` to force one.
            tables: the only tables, and saved results, of those that the query reads, whose lineage is captured; all
                when not given.
            where: table → condition over its columns: lineage in rows that meet it is all that is captured.
            capture: ``"now"``: lineage is written with the rows; ``"later"``: at the first question, or by `capture`;
                ``"auto"``: later if the query reads much.
            workload: consuming queries that will be asked of the result, with parameters: what they do not need is not
                captured, and what they need is partitioned or added up; see `explain` and `answer`.
            partition_by: table → expressions over its columns, values of which questions will choose; a list is of the
                only table of the query.
            cube: the same, by which the result's own aggregates are added up, too.
            args: values of the parameters of a query that is given as a text, as `spark.sql` takes them.
                [Smoke, §3.2, §4.1, §4.2; docs/workloads.md]

        Returns:
            what was saved: version, columns, number of rows, tables with their numbers of (row, id) pairs.

        Raises:
            LineageError: as for `sql`; or the DataFrame's lineage is not that of its rows; or the name is in use.

        """
        scope = Scope.of(tables, where, capture)
        wish = Wish(name, semantics, mode, keep_versions, encoding, scope)
        traced = isinstance(df_or_sql, DataFrame) and LINEAGE_COLUMN in df_or_sql.columns
        query = df_or_sql if traced else self._parts.frames.sql(df_or_sql, semantics)
        if args is not None and isinstance(query, str):
            if not scope.is_all_now or workload or partition_by or cube:
                what = "args= beside what says which lineage is captured, or made beforehand: both read the text again"
                raise BadArgumentError(what, instead="Write the values into the text.")
            query = self._parts.statements.run(self._parts.statements.trace(query, semantics, args))
        with self._stopped(name), self._parts.runs.saving(query, name) as told:
            saved = self._parts.saver.save(query, wish, Foreseen(workload, partition_by, cube), told.reads)
            told.has_saved(saved)
        self._parts.result_tables.bring_up_to_date()
        return saved

    @contextmanager
    def _stopped(self, name: str) -> Iterator[None]:
        """Say of Ctrl-C whether anything was saved."""
        before = self._version(name)
        try:
            with interruptible(self.spark):
                yield
        except KeyboardInterrupt:
            now = self._version(name)
            said = "stopped, nothing saved" if now == before else f"stopped; {name}, version {now}, is saved"
            raise KeyboardInterrupt(said) from None

    def _version(self, name: str) -> int | None:
        with suppress(LineageError):
            latest = self._parts.library.latest(name)
            return None if latest is None else latest.version
        return None

    def capture(self, name: str) -> SavedResult:
        """Capture the lineage of a saved result that its save left for later; nothing happens if there is none left.

        Its query runs again, on the same versions of its tables, and must give the rows that were saved.

        Returns:
            the result.

        Raises:
            LineageError: there is no such result; its tables are not what they were, or it has other rows now.

        """
        return self._parts.capturing.capture(name)

    def prepared(self, name: str) -> list[str]:
        """Return in lines what was made beforehand for questions about a saved result, and what could not be and why.

        Raises:
            LineageError: there is no such result.

        """
        return self._parts.saver.prepared(name)

    def results(self) -> list[SavedResult]:
        """Return the newest version of every saved result, by name; those with a damaged manifest are left out."""
        return self._parts.library.results()

    def describe(self, name: str) -> SavedResult:
        """Return what is known about a saved result.

        Raises:
            LineageError: there is no such result, or its manifest is damaged.

        """
        return self._parts.library.get(name)

    def drop(self, name: str) -> None:
        """Forget a saved result; what other saved results were made of stays on disk for as long as they are there.

        Raises:
            LineageError: there is no such result.

        """
        self._parts.library.drop(name)
        self._parts.answering.forget(name)
        self._parts.result_tables.bring_up_to_date()

    def result(self, name: str, version: int | None = None) -> DataFrame:
        """Return the rows of a saved result: the user's columns, in the order in which they were saved.

        Args:
            name: the result.
            version: one that was kept; the newest when not given.

        Raises:
            LineageError: there is no such result or version, or a file of it is damaged.

        """
        return self._parts.questions.rows(name, version)

    def backward(
        self, result: str, where: str | None = None, *, rows: Iterable[int] | None = None, table: str | None = None
    ) -> DataFrame:
        """Return the base rows that rows of a saved result were made of.

        Args:
            result: its name.
            where: which rows, as a condition over its columns; all of them when neither is given.
            rows: which rows, by number, from 0.
            table: a table that the result was made of, directly or through other saved results, or one of these;
                may be left out when there is one base table only.

        Returns:
            the table's columns after a column ``row_id``, in the order of the ids; the values of a result that was
            saved with LINEAGE ON.

        Raises:
            LineageError: no such result, row, column or table; the ids no longer mean the same rows; a file is damaged.

        """
        return as_answer(self._parts.questions.backward(result, where, rows=rows, table=table))

    def backward_ids(
        self, result: str, where: str | None = None, *, rows: Iterable[int] | None = None, table: str | None = None
    ) -> LineageSet:
        """Return the ids that `backward` would return the rows of; with ``rows=`` no Spark job runs."""
        return self._parts.questions.backward_ids(result, where, rows=rows, table=table)

    def forward(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> DataFrame:
        """Return the rows of a saved result that were made of some rows of a table.

        Args:
            table: a table that the result was made of, directly or through other saved results, or one of these.
            where: which rows, as a condition over its columns; over the values if the result was saved with LINEAGE
                ON. All of them when neither is given.
            ids: which rows, by id.
            result: the result's name.

        Returns:
            the result's columns after a column ``row_id``, the number of the row, in the order of these.

        Raises:
            LineageError: as for `backward`.

        """
        return as_answer(self._parts.questions.forward(table, where, ids=ids, result=result))

    def forward_ids(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> LineageSet:
        """Return the numbers of the rows that `forward` would return; with ``ids=`` no Spark job runs."""
        return self._parts.questions.forward_ids(table, where, ids=ids, result=result)

    def impact(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> DataFrame:
        """Return every saved result with rows that were made of some rows of a table, directly or through others.

        Args:
            table: a registered table or a saved result.
            where: which rows, as a condition over its columns.
            ids: which rows, by id.

        Returns:
            ``result STRING, rows_touched BIGINT, rows BIGINT, path STRING``; a result stands behind those that it was
            made of, and `path` is the shortest way to it, e.g. ``sales → revenue → report``. `rows_touched` is NULL
            where it cannot be told: rows that a result was made of are gone, and a condition cannot find them. A
            warning says so, and which results to save again.

        Raises:
            LineageError: as for `forward`, whichever result it is about; a ChangedError only if it is about all.

        """
        return as_answer(self._parts.questions.impact(table, where, ids=ids))

    def stale(self) -> DataFrame:
        """Return the saved results that were made of something that has changed since.

        Returns:
            ``result STRING, table STRING, saved_with BIGINT, now BIGINT``: versions of the table, or of the saved
            result; `now` is NULL when it was changed and not registered again, or is not there any more.

        """
        return as_answer(self._parts.questions.stale())

    def table(self, relation: str) -> DataFrame:
        """Return lineage as a relation to join and aggregate over.

        Args:
            relation: ``"lineage_of(a saved result, a table)"``.

        Returns:
            ``row BIGINT, id BIGINT``, every pair once: the row of the result was made of the table's row.

        Raises:
            LineageError: as for `backward`.

        """
        return self._parts.questions.table(relation)
