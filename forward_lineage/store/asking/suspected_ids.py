"""Suspected rows of a table as ids, for each step that read the table: what `Pipeline.forward` asks for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.spark.granules import entries_of_rows
from forward_lineage.store.asking.ancestors import all_rows
from forward_lineage.store.asking.pipeline import BlockedError
from forward_lineage.store.asking.rows import Condition, IdentifiedRows
from forward_lineage.store.asking.tables_now import TablesNow
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from udafs.errors import ChangedError, WrongSqlError
from udafs.lineage_set import LineageSet


@dataclass
class Suspects:
    """Rows of a table or saved result, said by a condition, by ids, or all of them.

    Attributes:
        spark: the session.
        library: the saved results.
        tables: the registered tables.
        where: which rows, as a condition over the columns, or over the values of LINEAGE ON.
        given: which rows, by id.

    """

    spark: SparkSession
    library: Library
    tables: TablesNow
    where: Condition | None
    given: LineageSet | None
    _by_version: dict[int, LineageSet] = field(default_factory=dict, init=False)
    _base: dict[int | None, LineageSet] = field(default_factory=dict, init=False)  # None: of the table as it is now

    def __call__(self, saved: Saved, edge: TracedTable) -> LineageSet:
        """Return the ids that stand for the suspected rows in the lineage of a result.

        Args:
            saved: the result.
            edge: its lineage in the table.

        Raises:
            LineageError: the condition is wrong.
            BlockedError: rows that the result was made of are not there any more, or ids mean something else now.

        """
        if edge.granules:
            return self._granules(saved, edge)
        return self._of_result(saved, edge) if edge.is_result else self._of_base(saved, edge)

    def _of_result(self, saved: Saved, edge: TracedTable) -> LineageSet:
        """A condition is looked up in the version that was read; numbers must be those of the newest version."""
        if edge.version not in self._by_version:
            then = self.library.saved(edge.name, edge.version)
            if self.given is not None:
                self._check_numbers(saved, edge, then)
                found = self.given
            elif self.where is None:
                found = all_rows(then)
            else:
                found = IdentifiedRows.of_saved(self.spark, then).where(self.where)
            self._by_version[edge.version] = found
        return self._by_version[edge.version]

    def _check_numbers(self, saved: Saved, edge: TracedTable, then: Saved) -> None:
        now = self.library.find(edge.name)
        if now is None or now.keeps_numbers_of != then.keeps_numbers_of:
            raise BlockedError(
                f"row numbers of {edge.name} are asked for, and {saved.name} was made of its version "
                f"{edge.version}, whose rows have other numbers",
                saved,
                "give where=",
            )

    def _of_base(self, saved: Saved, edge: TracedTable) -> LineageSet:
        if self.given is not None:
            return self.given
        if self.where is None:
            return self.library.relation(saved, edge).ids()
        then = self.tables.as_it_was(saved, edge, self.library)
        version = edge.version if then is not None else None
        if version not in self._base:
            found = (then or self.tables.rows(edge.name)).where(self.where)
            if then is not None and self.tables.keeps_ids(edge):
                with suppress(ChangedError):  # what it has now is not registered, so that nobody can ask of it
                    found |= self.tables.rows(edge.name).where(self.where)
            self._base[version] = found
        return self._base[version]

    def _granules(self, saved: Saved, edge: TracedTable) -> LineageSet:
        """A condition may be over the values of LINEAGE ON, or over the table's columns."""
        values = IdentifiedRows.of_granules(self.spark, saved, edge)
        if self.given is None and self.where is None:
            return values.where("true")
        if self.where is not None:
            with suppress(WrongSqlError):  # it may be over columns that are none of the values
                return values.where(self.where)
        entries = entries_of_rows(self._rows_behind(saved, edge), values.frame, edge.granules)
        return IdentifiedRows(entries).where("true")

    def _rows_behind(self, saved: Saved, edge: TracedTable) -> DataFrame:
        """Return the suspected rows themselves, with the table's columns."""
        if edge.is_result:
            then = self.library.saved(edge.name, edge.version)
            return IdentifiedRows.of_saved(self.spark, then).pick(self._of_result(saved, edge))
        self.tables.check_same_version(saved, edge)
        rows = self.tables.rows(edge.name)
        return rows.pick(self.given if self.given is not None else rows.where(self.where or "true"))
