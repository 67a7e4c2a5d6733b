"""Whether a saved result is what its query would give now, without running the query."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from pyspark.sql import DataFrame

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.recipes import recipe_of
from forward_lineage.store.updating.inputs import Input, Inputs
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError, names_read, probes
from forward_lineage.tracing.statements import Statements, TracedStatement
from udafs.errors import LineageError


class Prover:
    """Proves that saved results are up to date.

    Args:
        statements: reads queries, and checks that Spark reads them so.
        tables: the session's registered tables.
        library: the saved results.

    """

    def __init__(self, statements: Statements, tables: RegisteredTables, library: Library) -> None:
        self._statements, self._tables, self._library = statements, tables, library
        self.inputs = Inputs(tables, library)

    def unproven(self, saved: SavedResult, inputs: Sequence[Input]) -> str | None:
        """Say why it is not known that a result is what its query would give now; None: it is proven.

        Args:
            saved: the result.
            inputs: what it was made of and is another version now.

        Raises:
            LineageError: its query cannot be read, or a table is not what was registered.

        """
        unknown = next((each.unknown for each in inputs if each.changes is None), None)
        if unknown is not None:
            return f"which rows changed is not known: {unknown}"
        traced = self._statements.trace(saved.sql, saved.semantics)
        try:
            self._check_repeatable(saved, traced)
            others = [each for each in inputs if each.changes]
            if others:
                self._check_lineage(saved, others)
                self._check_probes(saved, traced, others)
        except NotProvableError as error:
            return str(error)
        return None

    def _check_repeatable(self, saved: SavedResult, traced: TracedStatement) -> None:
        """The text alone says what is read and computed: tables that are watched, no chance, clock or session."""
        read = names_read(traced.statement.tree)
        unknown = sorted(read - {edge.name.lower() for edge in saved.tables})
        if unknown:
            raise NotProvableError(f"it reads {unknown[0]}, which may mean other rows another time")
        tables = [{"name": edge.name, "trusted": edge.trusted} for edge in saved.tables]
        refused = recipe_of(self._tables.spark, traced, {"tables": tables}).refused
        if refused is not None:
            raise NotProvableError(refused)

    def _check_lineage(self, saved: SavedResult, inputs: Sequence[Input]) -> None:
        if saved.semantics != "data" or not saved.is_whole or saved.granularity == "granules":
            raise NotProvableError(
                "only data lineage in rows, all of it captured when it was saved, tells which are touched"
            )
        for each in inputs:
            assert each.changes is not None, "others were turned away before"
            before = each.changes.before
            touched = self._library.relation(saved, each.edge).forward(before) if before else before
            if touched:
                rows = f"{len(touched)} of its {saved.rows} rows"
                raise NotProvableError(f"{rows} were made of rows of {each.edge.name} that changed")

    def _check_probes(self, saved: SavedResult, traced: TracedStatement, inputs: Sequence[Input]) -> None:
        by_name = {each.edge.name.lower(): each for each in inputs}
        only_came = not any(each.changes and each.changes.before for each in inputs)
        for probe in probes(traced.statement.tree, by_name.keys(), only_came=only_came):
            found = by_name[probe.table]
            if not found.changes or not found.changes.after:
                continue
            if self._finds_rows(probe.sql, self.inputs.rows_that_came(found).frame):
                raise NotProvableError(f"rows of {found.edge.name} that came or changed join in it now")

    def _finds_rows(self, sql: str, rows: DataFrame) -> bool:
        view = f"__fl_came_{uuid4().hex}"
        rows.drop(rows.columns[0]).createOrReplaceTempView(view)
        try:
            with spark_errors():
                return bool(self._tables.spark.sql(sql.replace(PLACE, view)).limit(1).collect())
        except LineageError as error:
            raise NotProvableError(f"what joins could not be asked: {error.what}") from None
        finally:
            self._tables.spark.catalog.dropTempView(view)
