"""Whether a saved result is what its query would give now, without running the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.recipes import recipe_of
from forward_lineage.store.updating.changed_views import ChangedViews
from forward_lineage.store.updating.inputs import Input, Inputs
from forward_lineage.store.updating.joining_rows import NotProvableError, Probe, names_read
from forward_lineage.store.updating.sources_in_parts import Source
from forward_lineage.store.updating.touched_rows import telling_probes
from forward_lineage.tracing.statements import Statements, TracedStatement
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet


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
        self._found: dict[Probe, bool] = {}  # of the result that was looked at last

    def unproven(self, saved: SavedResult, inputs: Sequence[Input]) -> str | None:
        """Say why it is not known that a result is what its query would give now; None: it is proven.

        Args:
            saved: the result.
            inputs: what it was made of and is another version now.

        Raises:
            LineageError: its query cannot be read, or a table is not what was registered.

        """
        self._found.clear()
        try:
            traced = self.checked(saved, inputs)
            others = as_read(inputs, traced.statement.tree)
            if others:
                self._check_lineage(saved, others)
                self._check_probes(traced.statement.tree, others)
        except NotProvableError as error:
            return str(error)
        return None

    def checked(self, saved: SavedResult, inputs: Sequence[Input]) -> TracedStatement:
        """Return the query of a result if something may be proven of it.

        Raises:
            NotProvableError: nothing can be, since which rows changed is not known, or the query is no function of
                what it reads, or its lineage does not tell.
            LineageError: as for `unproven`.

        """
        unknown = next((each.unknown for each in inputs if each.changes is None), None)
        if unknown is not None:
            raise NotProvableError(f"which rows changed is not known: {unknown}")
        traced = self._statements.trace(saved.sql, saved.semantics)
        self._check_repeatable(saved, traced)
        self._check_deciding(inputs)
        told = saved.semantics == "data" and saved.is_whole and saved.granularity != "granules"
        if not told and any(each.changes for each in inputs):
            raise NotProvableError(
                "only data lineage in rows, all of it captured when it was saved, tells which are touched"
            )
        return traced

    def _check_deciding(self, inputs: Sequence[Input]) -> None:
        """Rows that went are in no lineage where they only decided, so probes have to find them."""
        for each in inputs:
            if each.only_decides and each.changes and each.changes.before and not self.inputs.keep_old_rows(inputs):
                raise NotProvableError(f"{each.edge.name} only decides, and rows that went cannot be read any more")

    def _check_repeatable(self, saved: SavedResult, traced: TracedStatement) -> None:
        """The text alone says what is read and computed: tables that are watched, no chance, clock or session."""
        read = names_read(traced.statement.tree)
        unknown = sorted(read - {edge.name.lower() for edge in saved.inputs})
        if unknown:
            raise NotProvableError(f"it reads {unknown[0]}, which may mean other rows another time")
        tables = [{"name": edge.name, "trusted": edge.trusted} for edge in saved.inputs]
        refused = recipe_of(self._tables.spark, traced, {"tables": tables}).refused
        if refused is not None:
            raise NotProvableError(refused)

    def _check_lineage(self, saved: SavedResult, inputs: Sequence[Input]) -> None:
        for each in inputs:
            touched = self.made_of_changed(saved, [each])
            if touched:
                rows = f"{len(touched)} of its {saved.rows} rows"
                raise NotProvableError(f"{rows} were made of rows of {each.edge.name} that changed")

    def made_of_changed(self, saved: SavedResult, inputs: Sequence[Input]) -> LineageSet:
        """Return the numbers of the rows that were made of rows that went or differ."""
        found = LineageSet()
        for each in inputs:
            assert each.changes is not None, "others were turned away before"
            if each.changes.before and not each.only_decides:
                found |= self._library.relation(saved, each.edge).forward(each.changes.before)
        return found

    def _check_probes(self, tree: exp.Expr, inputs: Sequence[Input]) -> None:
        by_name = {each.edge.name.lower(): each for each in inputs}
        for probe in self.finding(telling_probes(tree, by_name.keys(), self.went(inputs)), by_name):
            name = by_name[probe.table].edge.name
            raise NotProvableError(f"rows of {name} that {'went, ' if probe.both else ''}came or changed join in it")

    def went(self, inputs: Sequence[Input]) -> set[str] | None:
        """Return the names of tables whose rows went or differ; None: some of these rows cannot be read any more."""
        if not self.inputs.keep_old_rows(inputs):
            return None
        return {each.edge.name.lower() for each in inputs if each.changes and each.changes.before}

    def finding(self, probes: Sequence[Probe], inputs: Mapping[str, Input]) -> list[Probe]:
        """Return those probes that find rows: of tables that changed, in their places. They run as one job.

        Raises:
            NotProvableError: a probe cannot run.

        """
        ahead = [probe for probe in probes if probe not in self._found]
        try:
            with self.views(inputs) as views, spark_errors():
                found = views.finding(ahead)
        except LineageError as error:
            raise NotProvableError(f"what joins could not be asked: {error.what}") from None
        self._found |= {probe: probe in found for probe in ahead}
        return [probe for probe in probes if self._found[probe]]

    @contextmanager
    def views(self, inputs: Mapping[str, Input], sources: Sequence[Source] = ()) -> Iterator[ChangedViews]:
        """Give rows of changed tables names in the session, for probes, and those of queries that stand as tables."""
        views = ChangedViews(self.inputs, inputs, self._tables.spark, sources)
        try:
            yield views
        finally:
            views.drop()


def as_read(inputs: Sequence[Input], tree: exp.Expr) -> list[Input]:
    """Return those that have other rows to a query, in the columns that it reads."""
    return [each for each in (one.as_read(tree) for one in inputs) if each.changes]
