"""`Questions`: what rows of saved results were made of, and what was made of a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from forward_lineage.frontend.pushed_conditions import condition_texts
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.settings import among_settings, settings_of_values
from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.store.asking.ancestors import (
    Edge,
    all_rows,
    ancestor,
    checked_through,
    numbers_of,
    refuse_both,
    steps_of,
)
from forward_lineage.store.asking.base_rows import picked
from forward_lineage.store.asking.leaks import Leak
from forward_lineage.store.asking.pipeline import (
    BlockedError,
    Pipeline,
    Reached,
    Seeds,
    Through,
    Touched,
    facts_of,
)
from forward_lineage.store.asking.result_rows import ResultRows
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.asking.suspected_ids import Suspects
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.asking.trust import on_trust
from forward_lineage.store.asking.walks import Walks
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet
from udafs.user_warnings import warn_user

_LINEAGE_OF = re.compile(r"\s*lineage_of\s*\(\s*(\w+)\s*,\s*([^()]+?)\s*\)\s*", re.IGNORECASE)


class Questions:
    """Questions of a session to the saved results of a home. See the methods of `ForwardLineage` of the same names.

    Args:
        tables: the session's registered tables.
        library: the saved results.

    """

    def __init__(self, tables: RegisteredTables, library: Library) -> None:
        self._spark = tables.spark
        self._library = library
        self.tables_now = TablesNow(tables)
        self.result_rows = ResultRows(tables.spark)
        self._walks = Walks(library, self.tables_now)
        self.taken_on_trust = self._walks.taken_on_trust

    # ------------------------------------------------------------ backward

    def backward_ids(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Iterable[int] | None = None,
        table: str | None = None,
        through: str = "all",
    ) -> LineageSet:
        """See `ForwardLineage.backward_ids`."""
        return self._backward(result, where, rows, table, checked_through(through))[0].ids

    def backward(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Iterable[int] | None = None,
        table: str | None = None,
        through: str = "all",
    ) -> DataFrame:
        """See `ForwardLineage.backward`."""
        reached, saved = self._backward(result, where, rows, table, checked_through(through))
        answer, notes = self.rows_of(saved, reached, reached.ids)
        for note in notes:
            warn_user(note)
        return answer.drop(answer.columns[0]) if reached.edges[0][1].granules else answer

    def rows_of(self, saved: Saved, reached: Reached, ids: LineageSet) -> tuple[DataFrame, list[str]]:
        """Return some of the rows, or values, that were reached from a result, in the order of their ids.

        Args:
            saved: the result.
            reached: what `traced_back` returned.
            ids: which of them.

        Returns:
            the table's columns, or the expressions of LINEAGE ON, after a column with the id; and notes
            about their version.

        Raises:
            LineageError: as for `ForwardLineage.backward`.

        """
        edges = [(owner, edge) for owner, edge, _ in reached.edges]
        owner, edge = edges[0]
        if edge.granules:
            return self._on_trust(IdentifiedRows.of_granules(self._spark, owner, edge).pick(ids), edges), []
        if edge.is_result:
            newest = max(each.version for _, each in edges)  # has the rows of the others and perhaps more behind them
            return IdentifiedRows.of_saved(self._spark, self._library.saved(edge.name, newest), ids).pick(ids), []
        rows, notes = picked(self.tables_now, saved.name, reached, ids)
        return self._on_trust(rows, edges), notes

    def _on_trust(self, answer: DataFrame, edges: Iterable[Edge]) -> DataFrame:
        """Say in an answer which of the tables it relies on are taken on trust, now or when a result was saved."""
        return on_trust(answer, self._walks.taken_on_trust(edges))

    def steps_to(self, saved: Saved, table: str) -> list[Edge]:
        """Return the steps of a result, and of those that it was made of, that read a table."""
        return self._walks.steps_to([saved], table)

    def _backward(
        self, result: str, where: str | None, rows: Iterable[int] | None, table: str | None, through: Through
    ) -> tuple[Reached, Saved]:
        saved = self._library.saved(result)
        return self.traced_back(saved, self._row_numbers(saved, where, rows), table, through=through), saved

    def traced_back(
        self,
        saved: Saved,
        rows: LineageSet,
        table: str | None,
        around: Callable[[], frozenset[str]] = frozenset,
        through: Through = "all",
    ) -> Reached:
        """Return what rows of a version of a result were made of.

        Args:
            saved: the version.
            rows: which rows.
            table: the table; None for the only one.
            around: gives the conditions that are demanded of the table's rows: others may be left out.
            through: which paths count.

        Raises:
            LineageError: as for `ForwardLineage.backward`.

        """
        pipeline = Pipeline(self._library, [saved])
        name = ancestor(pipeline, saved, table)
        within = self._captured_within(saved, name, steps_of(pipeline, name), around)
        if within is not None and through != "model":
            return Reached([(saved, within, self._library.lineage.relation_within(saved, within).backward(rows))])
        return self._walks.back(pipeline, saved, rows, name, through)

    def _captured_within(
        self, saved: Saved, table: str, edges: Sequence[Edge], around: Callable[[], frozenset[str]]
    ) -> TracedTable | None:
        """The only step to a table, if lineage in some of its rows was captured and no other rows are asked for."""
        edge = saved.traced(table)
        if edge is None or edge.only is None or len(edges) > 1:
            return None
        demanded = condition_texts(edge.only) <= around()
        return edge if demanded and self._says_the_same(saved, edge.name, edge.only) else None

    def _says_the_same(self, saved: Saved, table: str, condition: str) -> bool:
        """Whether a condition says here, of each row, what it said when the result was saved."""
        recipe = saved.recipe if isinstance(saved, SavedResult) else None
        if recipe is None or among_settings(recipe.settings) != settings_of_values(self._spark):
            return False
        return self.tables_now.depends_on(table, condition) is None

    def _row_numbers(self, saved: Saved, where: str | None, rows: Iterable[int] | None) -> LineageSet:
        refuse_both("where=", where, "rows=", rows)
        if rows is None:
            return all_rows(saved) if where is None else self.result_rows.of(saved).where(where)
        return numbers_of(saved, rows)

    # ------------------------------------------------------------ forward

    def forward_ids(
        self,
        table: str,
        where: str | None = None,
        *,
        ids: Iterable[int] | None = None,
        result: str,
        through: str = "all",
    ) -> LineageSet:
        """See `ForwardLineage.forward_ids`."""
        return self._forward(table, where, ids, result, checked_through(through))[1]

    def forward(
        self,
        table: str,
        where: str | None = None,
        *,
        ids: Iterable[int] | None = None,
        result: str,
        through: str = "all",
    ) -> DataFrame:
        """See `ForwardLineage.forward`."""
        saved, rows = self._forward(table, where, ids, result, checked_through(through))
        answer = IdentifiedRows.of_saved(self._spark, saved, rows).pick(rows)
        return self._on_trust(answer, self.steps_to(saved, table))

    def _forward(
        self, table: str, where: str | None, ids: Iterable[int] | None, result: str, through: Through
    ) -> tuple[Saved, LineageSet]:
        saved = self._library.saved(result)
        return saved, self.traced_forward(table, self._seeds(where, ids), saved, through)

    def traced_forward(self, table: str, seeds: Seeds, saved: Saved, through: Through = "all") -> LineageSet:
        """Return the rows of a version of a result that were made of some rows of a table.

        Raises:
            LineageError: as for `ForwardLineage.forward`.

        """
        return self._walks.forth(table, seeds, saved, through)

    def impact(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> DataFrame:
        """See `ForwardLineage.impact`."""
        columns, found = facts_of(self.impacted(table, where, ids=ids), self._library.all_saved())
        answer = self._spark.createDataFrame(found, ", ".join(f"{name} {kind}" for name, kind in columns.items()))
        return self._on_trust(answer, self._walks.steps_to(self._library.all_saved(), table))

    def impacted(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> list[Touched]:
        """Return every saved result with rows that were made of suspected ones, those made of others behind these.

        Raises:
            BlockedError: of no result it can be told; of some it is said in their place.

        """
        return self._walks.impact(table, self._seeds(where, ids))

    def _seeds(self, where: str | None, ids: Iterable[int] | None) -> Suspects:
        refuse_both("where=", where, "ids=", ids)
        given = LineageSet(ids) if ids is not None else None
        return Suspects(self._spark, self._library, self.tables_now, where, given)

    # ------------------------------------------------------------ lineage as a relation

    def lineage_of(self, result: str, table: str) -> DataFrame:
        """Return (row, id): the lineage of a saved result in a table, however many steps away."""
        saved = self._library.saved(result)
        pipeline = Pipeline(self._library, [saved])
        name = ancestor(pipeline, saved, table)
        self._walks.check_one_kind_of_ids(saved, pipeline.backward(saved, LineageSet(), name))
        return self._on_trust(self._pairs(pipeline.relation(saved, name)), steps_of(pipeline, name))

    def table(self, text: str) -> DataFrame:
        """See `ForwardLineage.table`."""
        match = _LINEAGE_OF.fullmatch(text)
        if match is None:
            raise BadArgumentError(
                f"{text!r} is not a relation of the lineage store",
                instead='Write "lineage_of(a saved result, a table)".',
            )
        return self.lineage_of(match[1], match[2])

    def _pairs(self, relation: LineageRelation) -> DataFrame:
        rows, ids = relation.pairs()
        return arrow_frame(self._spark, pa.table({"row": rows, "id": ids}))

    # ------------------------------------------------------------ what is there

    def rows(self, result: str, version: int | None = None) -> DataFrame:
        """See `ForwardLineage.result`."""
        saved = self._library.get(result, version)
        rows = self._in_order(saved)
        return rows.drop(rows.columns[0])

    def numbers_in_order(self, saved: SavedResult, most: int | None = None) -> Numbers:
        """Return the numbers of the rows of a version of a saved result in its order, or of the first of them."""
        if not saved.order:
            return saved.numbers().ids()[:most]
        rows = self._in_order(saved)
        numbers = rows.select(rows.columns[0])
        found: Numbers = arrow_table(numbers if most is None else numbers.limit(most)).column(0).to_numpy()
        return found

    def _in_order(self, saved: SavedResult) -> DataFrame:
        return IdentifiedRows.of_result(self._spark, saved).in_order_of(saved)

    def identified(self, name: str) -> IdentifiedRows:
        """Return the rows of a table, or what stands for rows of a saved thing that queries cannot read, with ids.

        Raises:
            LineageError: as for `TablesNow.rows`, or a file is damaged.

        """
        saved = self._library.find(name)
        if saved is not None and not isinstance(saved, SavedResult):
            return IdentifiedRows.of_saved(self._spark, saved)
        return self.tables_now.rows(name)

    def no_longer_askable(self, table: str) -> list[str]:
        """Return the results that a condition over the rows of a table cannot be asked of: rows of then are gone.

        Tables whose ids are values are left out: only Spark knows which of their rows are gone.
        """
        found: list[str] = []
        for saved in self._library.every()[0]:
            edges = [edge for edge in saved.tables if edge.name.lower() == table.lower() and not edge.is_result]
            if not saved.is_whole or not all(self.tables_now.is_by_position(edge) for edge in edges):
                continue
            try:
                for edge in edges:
                    self.tables_now.as_it_was(saved, edge, self._library)
            except BlockedError:
                found.append(saved.name)
        return found

    def leaks(self, name: str) -> list[Leak]:
        """See `ForwardLineage.leaks`."""
        return self._walks.leaks(self._library.saved(name))

    def stale(self) -> DataFrame:
        """See `ForwardLineage.stale`."""
        found = self._walks.stale()
        answer = self._spark.createDataFrame(found, "result STRING, `table` STRING, saved_with BIGINT, now BIGINT")
        return self._on_trust(answer, self._walks.read_by_all())
