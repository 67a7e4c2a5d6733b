"""`ForwardLineage`: lineage for a live Spark session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import (
    RewrittenStatement,
    described_granules,
    parse,
    refuse_other_order,
    refuse_other_readings,
    rewrite_statement,
)
from forward_lineage.relations.segment import Form
from forward_lineage.results import described, meaning_of, with_meaning
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registrar import Registrar
from forward_lineage.row_ids.registrations import Registrations, home_folder
from forward_lineage.row_ids.resolved_views import resolved
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.granules import decoded
from forward_lineage.spark.names import quoted
from forward_lineage.spark.planning import Arguments, Planner
from forward_lineage.store.asking.questions import SavedResults
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import Mode, Saver
from forward_lineage.tracing.names import SessionTables
from rewrites.tables import BaseTable
from udafs.attach import attach
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet


class ForwardLineage:
    """Rows with their lineage, for a Spark session that is already running.

    Making one attaches the SQL functions (`dlunion`, `dl_ids`, …) and brings back what was registered under `home`
    before; making a second one for the same session does no harm.

    Args:
        spark: the session.
        home: folder of registrations and saved results; $FORWARD_LINEAGE_HOME, else ./lineage_home.

    Raises:
        LineageError: the session is a Spark Connect client. A damaged registration is reported when it is used.

    """

    def __init__(self, spark: SparkSession, home: str | Path | None = None) -> None:
        attach(spark)
        self.spark = spark
        self.home = home_folder(home)
        self.registrations = Registrations(self.home)
        self._planner = Planner(spark)
        self._registrar = Registrar(spark, self.registrations)
        known, self._damaged = self.registrations.readable()
        self._manifests: dict[str, Manifest] = {manifest.name.lower(): manifest for manifest in known}
        self._faithful: set[tuple[str, str]] = set()
        for manifest in self._manifests.values():
            self._registrar.restore_view(manifest)
        self._library = Library(self.home)
        self._saver = Saver(self, self._library)
        self._saved = SavedResults(self, self._library)

    @property
    def catalog(self) -> Catalog:
        """The registered tables, as `rewrite_sql` takes them."""
        return self._registrar.catalog(self._manifests.values())

    def tables(self) -> dict[str, Manifest]:
        """Return what is registered, by name."""
        return {manifest.name: manifest for manifest in self._manifests.values()}

    def register(
        self,
        name: str,
        *,
        key: str | Sequence[str] | None = None,
        path: str | Path | None = None,
        order_by: str | Sequence[str] | None = None,
        row_id: str | None = None,
        source: DataFrame | str | None = None,
        format: str = "parquet",  # noqa: A002 - what Spark's readers call it
        options: Mapping[str, Any] | None = None,
        trusted: bool = False,
    ) -> Manifest:
        """Give the rows of a table ids, so that queries over it can be traced. docs/row-ids.md states the contract.

        Args:
            name: what queries call the table.
            key: a unique, non-negative integer column, whose values are the ids; or any unique columns, as a list,
                which a materialised dictionary then gives ids.
            path: files to read; queries may say `name` from now on. Ids are positions in the Parquet files.
            order_by: make a copy under `home`, sorted like this, with dense ids in that order. Anything but Parquet
                files is copied, sorted or not.
            row_id: an expression over the table that is a row id already, e.g. ``_metadata.row_id`` of a Delta table.
            source: a DataFrame, or the name of a table or view, to be copied.
            format: of the files in `path`, as Spark's readers call it.
            options: of the reader.
            trusted: take it on trust that the key is unique.

        Returns:
            the manifest: columns, files, provider, version.

        Raises:
            LineageError: the table cannot be read, or the ids would not be unique, non-negative and stable.

        """
        manifest = self._registrar.register(
            name,
            key=key,
            path=path,
            order_by=order_by,
            row_id=row_id,
            source=source,
            file_format=format,
            options=dict(options or {}),
            trusted=trusted,
        )
        return self._know(manifest)

    def use(self, catalog: Catalog) -> None:
        """Trace the tables of a catalog in this session, on trust and without writing anything under `home`.

        Raises:
            LineageError: Spark cannot read one of the tables, or its columns are not the catalog's.

        """
        for table in catalog:
            self._know(self._registrar.adopt(table))

    def rows(self, table: str, ids: Iterable[int] | None = None) -> DataFrame:
        """Return rows of a registered table with their ids.

        Args:
            table: its name.
            ids: which rows, in the order of their ids; ids that no row has are passed over. All rows, in no order, when
                not given.

        Returns:
            the table's columns after a column ``row_id`` (``_row_id`` if it has such a column itself).

        Raises:
            LineageError: the table is not registered, or is not what was registered any more; an id is negative.

        """
        rows = self._saved.tables.rows(table)
        return rows.all() if ids is None else rows.pick(LineageSet(ids))

    def refresh(self, name: str) -> Manifest:
        """Accept that a table has changed: rows in unchanged files keep their ids, new rows get new ones.

        Ids of rows that are gone are retired and never given to another row.

        Raises:
            LineageError: the table is not registered, or that promise cannot be kept.

        """
        return self._know(self._registrar.refresh(self.registered(name)))

    def unregister(self, name: str) -> None:
        """Forget a table. Saved results keep the lineage they have."""
        self._registrar.drop(self.registered(name))
        del self._manifests[name.lower()]

    def sql(self, sql: str, semantics: str = "data", args: Arguments = None) -> DataFrame:
        """Run a statement and add `DL`, the lineage of every row, as the last column.

        Args:
            sql: one Spark SQL statement, LINEAGE ON at its end if need be: a query, CREATE … AS or INSERT … SELECT.
            semantics: ``"data"`` or ``"control"``.
            args: values of the parameters of a query, as `spark.sql` takes them.

        Returns:
            the user's columns, unchanged, then `DL`: a struct with one lineage value for each traced table.

        Raises:
            LineageError: the SQL is wrong or not traced, or a table is not what was registered.

        """
        statement = self._rewritten(sql, semantics, self._tables(), args=args)
        return self._run(statement, sql, semantics, args)

    def rewrite(self, sql: str, semantics: str = "data", args: Arguments = None) -> str:
        """Return Spark SQL that does what `sql` does, in any session that has the kernel and the same catalog tables.

        Raises:
            LineageError: as for `sql`.

        """
        self._know_results()
        statement = self._rewritten(sql, semantics, SessionTables(self.spark, self.catalog), args=args)
        refuse_other_order(statement.places)
        return statement.sql

    def granules(self, frame: DataFrame) -> DataFrame:
        """Return a result of LINEAGE ON with the values that its ids stand for in place of the ids.

        Args:
            frame: a result of `sql`.

        Returns:
            the same rows; each field of `DL` is an array of values.

        Raises:
            LineageError: the result was not traced so.

        """
        return decoded(frame, meaning_of(frame))

    def affected(self, sql: str, table: str, where: str, semantics: str = "data") -> DataFrame:
        """Return the result rows that were made from suspected base rows, computed once and not stored.

        Only the suspected rows are given ids, so nothing else is traced.   [Zhang 2007, §2.3]

        Args:
            sql: the query.
            table: the registered table that holds the suspected rows.
            where: which ones, as a condition over that table's columns.
            semantics: ``"data"`` or ``"control"``.

        Returns:
            the affected rows; `DL` says which suspected rows they were made from.

        Raises:
            LineageError: as for `sql`; the condition is wrong; the query does not read the table, or is a command.

        """
        known = self.registered(table)
        probe = f"SELECT * FROM {known.name} WHERE ({where})"
        self._check_fidelity(rewrite_statement(parse(probe), self.catalog))
        base = self.base_table(known)
        suspects = replace(base, row_id=f"CASE WHEN {where} THEN {base.row_id} END")
        statement = self._rewritten(sql, semantics, self._tables(suspects), traced=[known.name])
        if not statement.tables:
            raise LineageError(f"the query does not read {known.name}")
        if parse(sql).is_command:
            raise LineageError("only a query has affected rows", instead="Give the query of this command alone.")
        frame = self._run(statement, sql, semantics)
        return frame.where(f"dl_size(DL.`{known.name}`) > 0")

    # ------------------------------------------------------------ saved results: docs/store.md

    def save(
        self,
        df_or_sql: DataFrame | str,
        name: str,
        *,
        semantics: str = "data",
        mode: Mode = "overwrite",
        keep_versions: bool = False,
        encoding: Form = "auto",
    ) -> SavedResult:
        """Run a query once and keep its rows and their lineage under a name, by which later queries can read it.

        Args:
            df_or_sql: a query, or a DataFrame that `sql` returned, perhaps filtered, sorted or projected since.
            name: letters, digits and _.
            semantics: ``"data"`` or ``"control"``, of a query; a DataFrame has its own.
            mode: ``"overwrite"``: a new version takes the place of the one before at one stroke, when all is written;
                ``"error"``: refuse a name that is taken; ``"append"``: put the rows behind those that are there.
            keep_versions: let this version, and those before it that are there, stay readable when a later one is
                saved. Others go, unless saved results were made of them.
            encoding: of the lineage: ``"auto"`` for the smaller, ``"bdd"`` or ``"runs"`` to force one.

        Returns:
            what was saved: version, columns, number of rows, tables with their numbers of (row, id) pairs.

        Raises:
            LineageError: as for `sql`; or the DataFrame's lineage is not that of its rows; or the name is in use.

        """
        saved = self._saver.save(
            df_or_sql, name, semantics=semantics, mode=mode, keep_versions=keep_versions, encoding=encoding
        )
        self._know_results()
        return saved

    def results(self) -> list[SavedResult]:
        """Return the newest version of every saved result, by name; those with a damaged manifest are left out."""
        return self._library.results()

    def describe(self, name: str) -> SavedResult:
        """Return what is known about a saved result.

        Raises:
            LineageError: there is no such result, or its manifest is damaged.

        """
        return self._library.get(name)

    def drop(self, name: str) -> None:
        """Forget a saved result; what other saved results were made of stays on disk for as long as they are there.

        Raises:
            LineageError: there is no such result.

        """
        self._library.drop(name)
        self._know_results()

    def result(self, name: str, version: int | None = None) -> DataFrame:
        """Return the rows of a saved result: the user's columns, in the order in which they were saved.

        Args:
            name: the result.
            version: one that was kept; the newest when not given.

        Raises:
            LineageError: there is no such result or version, or a file of it is damaged.

        """
        return self._saved.rows(name, version)

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
        return self._saved.backward(result, where, rows=rows, table=table)

    def backward_ids(
        self, result: str, where: str | None = None, *, rows: Iterable[int] | None = None, table: str | None = None
    ) -> LineageSet:
        """Return the ids that `backward` would return the rows of; with ``rows=`` no Spark job runs."""
        return self._saved.backward_ids(result, where, rows=rows, table=table)

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
        return self._saved.forward(table, where, ids=ids, result=result)

    def forward_ids(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> LineageSet:
        """Return the numbers of the rows that `forward` would return; with ``ids=`` no Spark job runs."""
        return self._saved.forward_ids(table, where, ids=ids, result=result)

    def impact(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> DataFrame:
        """Return every saved result with rows that were made of some rows of a table, directly or through others.

        Args:
            table: a registered table or a saved result.
            where: which rows, as a condition over its columns.
            ids: which rows, by id.

        Returns:
            ``result STRING, rows_touched BIGINT, rows BIGINT, path STRING``; a result stands behind those that it was
            made of, and `path` is the shortest way to it, e.g. ``sales → revenue → report``.

        Raises:
            LineageError: as for `forward`, whichever result it is about: an answer without it would not be complete.

        """
        return self._saved.impact(table, where, ids=ids)

    def stale(self) -> DataFrame:
        """Return the saved results that were made of something that has changed since.

        Returns:
            ``result STRING, table STRING, saved_with BIGINT, now BIGINT``: versions of the table, or of the saved
            result; `now` is NULL when it was changed and not registered again, or is not there any more.

        """
        return self._saved.stale()

    def table(self, relation: str) -> DataFrame:
        """Return lineage as a relation to join and aggregate over.

        Args:
            relation: ``"lineage_of(a saved result, a table)"``.

        Returns:
            ``row BIGINT, id BIGINT``, every pair once: the row of the result was made of the table's row.

        Raises:
            LineageError: as for `backward`.

        """
        return self._saved.table(relation)

    def _know_results(self) -> None:
        """Let queries read the newest version of every saved result, whichever session saved it."""
        results = {saved.name.lower(): saved for saved in self._library.results()}
        gone = set(self._library.names()) - set(results) - set(self._library.damaged())
        for name in gone & set(self._manifests):
            if self._manifests[name].provider is Provider.RESULT:
                self._registrar.drop(self._manifests.pop(name))
        for name, saved in results.items():
            known = self._manifests.get(name)
            if known is not None and known.provider is not Provider.RESULT:
                continue  # registered here under the same name, not by us
            if known is None or known.source.get("path") != str(saved.rows_folder.resolve()):
                if known is None and self.spark.catalog.tableExists(quoted(name)):
                    continue  # the name is in use in this session
                try:
                    self._know(self._registrar.register_result(saved.name, saved.rows_folder))
                except LineageError as error:  # said when it is queried; others stay usable
                    self._damaged[saved.name] = error

    def _know(self, manifest: Manifest) -> Manifest:
        self._manifests[manifest.name.lower()] = manifest
        return manifest

    def registered(self, name: str) -> Manifest:
        """Return a table's registration.

        Raises:
            LineageError: it is not registered.

        """
        manifest = self._manifests.get(name.lower()) or self.registrations.latest(name)
        if manifest is None:
            close = self.catalog.nearest(name.split("."))
            known = f" Registered: {', '.join(close or self.catalog.names()) or 'nothing yet'}."
            raise LineageError(f"table {name} is not registered", instead=f'Call lineage.register("{name}", …).{known}')
        return manifest

    def _tables(self, suspects: BaseTable | None = None) -> SessionTables:
        """What names mean to a query that runs in this session; `suspects` takes the place of the table of its name."""
        self._know_results()
        catalog = self.catalog if suspects is None else self.catalog.replacing(suspects)

        def resolve(table: BaseTable) -> BaseTable:
            return table if table is suspects else self.base_table(self._manifests[table.name.lower()])

        return SessionTables(self.spark, catalog, resolve)

    def base_table(self, manifest: Manifest) -> BaseTable:
        """Return how the rows of a registered table are best read in this session."""
        return resolved(self.spark, manifest, self.registrations.base_table(manifest))

    def _rewritten(
        self,
        sql: str,
        semantics: str,
        tables: SessionTables,
        *,
        traced: Sequence[str] | None = None,
        args: Arguments = None,
    ) -> RewrittenStatement:
        refuse_other_readings(lambda name, default: str(self.spark.conf.get(name, default)), sql)
        try:
            statement = rewrite_statement(parse(sql), tables, semantics, traced)
        except LineageError as ours:
            for name, error in self._damaged.items():
                if ours.what == f"{name} is not a registered table":
                    raise error from None
            self._let_spark_complain(sql, args)
            raise ours from None
        for table in statement.tables:
            check_unchanged(self.spark, self._manifests[table.lower()])
        self._check_fidelity(statement, args)
        return statement

    def _let_spark_complain(self, sql: str, args: Arguments) -> None:
        """Spark's own complaint about a bad query is the better one; but it does not know about registering."""
        if not sql.strip():
            return
        try:
            statement = parse(sql)
        except LineageError:
            text = sql
        else:
            if not (statement.is_query or statement.is_command):
                return
            text = statement.text
        try:
            self._planner.plan(text, args)
        except LineageError as sparks:
            if "cannot be found" not in sparks.what:
                raise

    def _check_fidelity(self, statement: RewrittenStatement, args: Arguments = None) -> None:
        texts = (statement.user_sql, statement.reprinted)
        if texts not in self._faithful:
            check_fidelity(lambda sql: self._planner.plan(sql, args), *texts)
            self._faithful.add(texts)

    def _run(self, statement: RewrittenStatement, sql: str, semantics: str, args: Arguments = None) -> DataFrame:
        wanted = self._planner.schema(statement.user_sql, args)
        if args and not wanted.fields:
            raise LineageError("parameters in a command are not traced", instead="Write the values into the SQL.")
        if not wanted.fields:  # CREATE … AS and INSERT; a view that they make must not depend on the hidden ones
            text = self.rewrite(sql, semantics)
            with spark_errors(text):
                return self.spark.sql(text)
        with spark_errors(statement.sql):
            values = [args[place] for place in statement.places] if isinstance(args, list) else args
            frame = self.spark.sql(statement.sql, args=values) if values else self.spark.sql(statement.sql)
        tables = [self._manifests[table.lower()] for table in statement.tables]
        meaning = described(sql, semantics, tables, self.home, described_granules(statement.granules))
        return with_meaning(frame, wanted, meaning)
