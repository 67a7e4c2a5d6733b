"""Views that the session knows: their text is what the rules rewrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.catalog import Catalog
from rewrites.tables import BaseTable, View
from udafs.errors import LineageError


@dataclass(frozen=True)
class SessionTables:
    """What a query's names mean in a live session: registered tables first, then Spark's views.

    Attributes:
        spark: the session.
        catalog: the registered tables.
        resolve: how their rows are best read in this session.
    """

    spark: SparkSession
    catalog: Catalog
    resolve: Callable[[BaseTable], BaseTable] = lambda table: table

    def find(self, parts: Sequence[str]) -> BaseTable | View | None:
        """Return the registered table or the view that a name of one to three parts means; None when there is neither.

        Raises:
            LineageError: a view that was made from a DataFrame, or in another database than the current one.
        """
        table = self.catalog.find(parts)
        return self._view(parts) if table is None else self.resolve(table)

    def names(self) -> list[str]:
        """Return the names of the registered tables."""
        return self.catalog.names()

    def _view(self, parts: Sequence[str]) -> View | None:
        session = self.spark._jsparkSession.sessionState()
        name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
        identifier = session.sqlParser().parseTableIdentifier(name)
        catalog = session.catalog()
        if not (catalog.isTempView(identifier) or catalog.tableExists(identifier)):
            return None
        found = catalog.getTempViewOrPermanentTableMetadata(identifier)
        if found.tableType().name() != "VIEW":
            return None
        called = ".".join(parts)
        if found.viewText().isEmpty():
            raise LineageError(
                f"{called} is a view made from a DataFrame, whose rows have no ids",
                instead=f"Register it: lineage.register({called!r}, key=…), or make it with CREATE TEMP VIEW … AS.",
            )
        _refuse_other_database(self.spark, found, called)
        columns = tuple(field.name for field in self.spark.table(name).schema)
        return View(called, columns, found.viewText().get())


def _refuse_other_database(spark: SparkSession, view: Any, called: str) -> None:
    """The text of a view names tables as its maker saw them."""
    made_in = view.viewCatalogAndNamespace()
    namespace = [made_in.apply(i) for i in range(made_in.size())]
    here = [spark.catalog.currentCatalog(), spark.catalog.currentDatabase()]
    if namespace and namespace != here:
        where = ".".join(namespace)
        raise LineageError(
            f"view {called} was made in {where}, and is read in {'.'.join(here)}", instead=f"USE {where} first."
        )
