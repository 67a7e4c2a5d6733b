"""What names mean in a session: registered tables, then views, whose text is what the rules rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import joined
from rewrites.tables import BaseTable, View
from udafs.errors import LineageError, NotTracedError


@dataclass(frozen=True)
class NamesOfStatement:
    """What the names in one statement mean: `rewrites.tables.Tables` over a live session.

    Attributes:
        spark: the session.
        catalog: the registered tables.
        damaged: what is wrong with tables that cannot be read, by name in lower case.
        read_from: how a table's rows are to be read.

    """

    spark: SparkSession
    catalog: Catalog
    damaged: Mapping[str, LineageError] = field(default_factory=dict)
    read_from: Callable[[BaseTable], BaseTable] = lambda table: table

    def find(self, parts: Sequence[str]) -> BaseTable | View | None:
        """Return the registered table or the view that a name of one to three parts means; None when there is neither.

        Raises:
            NotTracedError: a view that was made from a DataFrame, or in another database than the current one.
            DamagedError: the table is registered, and what was written about it cannot be read.

        """
        table = self.catalog.find(parts)
        if table is not None:
            return self.read_from(table)
        view = self._view(parts)
        if view is None and (error := self.damaged.get(".".join(parts).lower())) is not None:
            raise error
        return view

    def names(self) -> list[str]:
        """Return the names of the registered tables."""
        return self.catalog.names()

    def _view(self, parts: Sequence[str]) -> View | None:
        session = self.spark._jsparkSession.sessionState()
        name = joined(parts)
        identifier = session.sqlParser().parseTableIdentifier(name)
        catalog = session.catalog()
        if not (catalog.isTempView(identifier) or catalog.tableExists(identifier)):
            return None
        found = catalog.getTempViewOrPermanentTableMetadata(identifier)
        if found.tableType().name() != "VIEW":
            return None
        called = ".".join(parts)
        if found.viewText().isEmpty():
            raise NotTracedError(
                f"{called} is a view made from a DataFrame, whose rows have no ids",
                instead=f"Register it: lineage.register({called!r}, key=…), or make it with CREATE TEMP VIEW … AS.",
            )
        _refuse_other_database(self.spark, found, called)
        with spark_errors():  # a view may have outlived what it reads
            columns = tuple(field.name for field in self.spark.table(name).schema)
        return View(called, columns, found.viewText().get())


class SessionNames:
    """What names mean to the statements of a session.

    Args:
        tables: the registered tables.
        bring_up_to_date: lets the tables know what other sessions saved meanwhile; asked before each statement.

    """

    def __init__(self, tables: RegisteredTables, bring_up_to_date: Callable[[], None]) -> None:
        self._tables = tables
        self._bring_up_to_date = bring_up_to_date

    def here(self, suspects: BaseTable | None = None) -> NamesOfStatement:
        """Return what names mean to a query that runs in this session: its hidden views serve best.

        Args:
            suspects: takes the place of the table of its name.

        """
        self._bring_up_to_date()
        catalog = self._tables.catalog
        if suspects is not None:
            catalog = catalog.replacing(suspects)

        def read_from(table: BaseTable) -> BaseTable:
            return table if table is suspects else self._tables.base_table_here(table)

        return NamesOfStatement(self._tables.spark, catalog, self._tables.damaged, read_from)

    def anywhere(self) -> NamesOfStatement:
        """Return what names mean to a text that outlives the session, or runs in another: no hidden view is named."""
        self._bring_up_to_date()
        return NamesOfStatement(self._tables.spark, self._tables.catalog, self._tables.damaged)


def _refuse_other_database(spark: SparkSession, view: Any, called: str) -> None:
    """The text of a view names tables as its maker saw them."""
    made_in = view.viewCatalogAndNamespace()
    namespace = [made_in.apply(i) for i in range(made_in.size())]
    here = [spark.catalog.currentCatalog(), spark.catalog.currentDatabase()]
    if namespace and namespace != here:
        where = ".".join(namespace)
        raise NotTracedError(
            f"view {called} was made in {where}, and is read in {'.'.join(here)}", instead=f"USE {where} first."
        )
