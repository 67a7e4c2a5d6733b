"""The meaning of names in a session: registered tables, then views, whose text the rules rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from forward_lineage.catalog import Catalog
from forward_lineage.results import LINEAGE_COLUMN, carries_lineage
from forward_lineage.row_ids.checks import other_table
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.row_ids.stored_ids import ids_that_are_gone
from forward_lineage.spark.errors import without_stack_traces
from forward_lineage.spark.found_names import FoundName, found_name, is_temporary_view, stated_meaning
from forward_lineage.spark.names import in_backticks, joined, split_name
from forward_lineage.spark.tables import columns_of, open_relation
from forward_lineage.spark.views import refuse_other_meaning
from forward_lineage.stored_tables import Kept
from forward_lineage.tracing.trace_scope import Narrowed
from rewrites.lineage_functions import DLUNION
from rewrites.tables import BaseTable, Source, StoredTable, View
from udafs.errors import LineageError, NotTracedError

_SHORT = 2  # parts of a name that leaves out its catalog, at most


@dataclass(frozen=True)
class NamesOfStatement:
    """The meaning of the names in one statement: `rewrites.tables.Tables` over a live session.

    Attributes:
        spark: the session.
        catalog: the registered tables.
        damaged: what is wrong with tables that cannot be read, by name in lower case.
        of_catalogs: the registered tables of Spark's catalogs, each by its registered name in lower case.
        read_from: how a table's rows are to be read.
        stored: says what a table means that carries lineage, or why its ids do not hold any more.
        chosen: tables that no catalog has, by their names. They stand for BACKWARD(…) and FORWARD(…) in this statement,
            and for the rows that functions of Python give.

    """

    spark: SparkSession
    catalog: Catalog
    damaged: Mapping[str, LineageError] = field(default_factory=dict)
    of_catalogs: Mapping[str, Manifest] = field(default_factory=dict)
    read_from: Callable[[BaseTable], BaseTable] = lambda table: table
    stored: Callable[[Kept], StoredTable] = Kept.table
    chosen: Mapping[str, BaseTable | StoredTable] = field(default_factory=dict)

    def find(self, parts: Sequence[str]) -> Source | None:
        """Return the table or the view that a name means; None when there is neither.

        A table is one that is registered, or carries the lineage of its rows.

        Raises:
            NotTracedError: a view that was made from a DataFrame, or in another database than the current one. Or a
                table that carries lineage and does not say what it means.
            NotRegisteredError: a table that carries lineage in one that is not registered.
            ChangedError: the name means another table than the one that was registered under it; or ids in a table that
                carries lineage mean other rows now.
            DamagedError: the table is registered, and what was written about it cannot be read.

        """
        if len(parts) == 1 and parts[0] in self.chosen:
            return self.chosen[parts[0]]
        table = self._registered(parts)
        if table is not None:
            return self.read_from(table)
        self._refuse_damaged(parts)
        return self._in_catalog(parts)

    def _refuse_damaged(self, parts: Sequence[str]) -> None:
        """A damaged registration must not pass for a table that nobody registered."""
        for name, error in self.damaged.items():
            if name in (".".join(parts).lower(), parts[-1].lower()) or name.endswith(f".{parts[-1].lower()}"):
                raise error

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return what columns of a table or view may be qualified with; see `Tables.qualifier`."""
        is_chosen = len(parts) == 1 and parts[0] in self.chosen
        means = None if is_chosen or len(parts) > _SHORT else _full_name(self.spark, parts)
        return tuple(parts) if means is None else split_name(means, keep_case=True)

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say whether Spark knows a name where there are no columns: that of a variable, or of a field of one."""
        try:
            with without_stack_traces():
                self.spark.sql(f"SELECT {joined(parts)}")  # it is not run
        except AnalysisException:
            return False
        return True

    def names(self) -> list[str]:
        """Return the names of the registered tables."""
        return self.catalog.names()

    def _registered(self, parts: Sequence[str]) -> BaseTable | None:
        """A short name means what it means to Spark: after USE it may be another table than before."""
        table = self.catalog.base_table(parts)
        if len(parts) > _SHORT or not self.of_catalogs:
            return table
        means = _full_name(self.spark, parts)
        same = [
            each.name for each in self.of_catalogs.values() if means and str(each.identity).lower() == means.lower()
        ]
        if table is not None and table.name in same:
            return table
        if same:
            return self.catalog.base_table(split_name(same[0]))
        if table is not None and (taken := self.of_catalogs.get(table.name.lower())) is not None:
            raise other_table(taken, f"the name means {means or 'a temporary view'} now")
        return table

    def _in_catalog(self, parts: Sequence[str]) -> StoredTable | View | None:
        name = joined(parts)
        found = found_name(self.spark, name)
        if found is None:
            return self._in_other_catalog(parts)
        called = ".".join(parts)
        frame = open_relation(self.spark, name)
        _refuse_stream(frame, called)
        if not found.view:
            kept = _kept(frame, called, found.meaning)
            return None if kept is None else self.stored(kept)
        if found.text is None:
            raise NotTracedError(
                f"{called} is a view made from a DataFrame, whose rows have no ids",
                instead=f"Register it: lineage.register({called!r}, key=…), or make it with CREATE TEMP VIEW … AS.",
            )
        _refuse_other_database(self.spark, found, called)
        refuse_other_meaning(self.spark, found, frame, called)
        columns = tuple(frame.columns)
        return View(called, columns, found.text)

    def _in_other_catalog(self, parts: Sequence[str]) -> StoredTable | None:
        """A table of Iceberg's catalog, say, that carries lineage; without it, the rules know nothing of it."""
        meaning = stated_meaning(self.spark, joined(parts))
        if meaning is None:
            return None
        called = ".".join(parts)
        kept = _kept(open_relation(self.spark, joined(parts)), called, meaning)
        return None if kept is None else self.stored(kept)


class SessionNames:
    """The meaning of names to the statements of a session.

    Args:
        tables: the registered tables.
        bring_up_to_date: lets the tables know what other sessions saved meanwhile; asked before each statement.

    Attributes:
        given: by name, the rows that functions of Python give in DataFrames of this session.

    """

    def __init__(self, tables: RegisteredTables, bring_up_to_date: Callable[[], None]) -> None:
        self._tables = tables
        self._bring_up_to_date = bring_up_to_date
        self.given: dict[str, StoredTable] = {}

    def here(self, narrowed: Narrowed | None = None) -> NamesOfStatement:
        """Return what names mean to a query that runs in this session: its hidden views serve best.

        Args:
            narrowed: tables in it take the places of those of their names.

        """
        self._bring_up_to_date()
        restricted = narrowed.restricted if narrowed is not None else ()
        catalog = self._tables.catalog
        for table in restricted:
            catalog = catalog.replacing(table)

        def read_from(table: BaseTable) -> BaseTable:
            taken = any(table is each for each in restricted)
            return table if taken else self._tables.base_table_here(table)

        known = self._tables
        stored = partial(self._stored, restricted=restricted) if restricted else self._stored
        given: dict[str, BaseTable | StoredTable] = {}
        given |= {name: _asked_of(table, restricted) for name, table in self.given.items()}
        given |= {table.relation: table for table in narrowed.placed} if narrowed is not None else {}
        return NamesOfStatement(known.spark, catalog, known.damaged, known.of_catalogs, read_from, stored, given)

    def anywhere(self) -> NamesOfStatement:
        """Return what names mean to a text that outlives the session, or runs in another: no hidden view is named."""
        self._bring_up_to_date()
        tables = self._tables
        catalogs = tables.of_catalogs
        read_from = tables.with_statistics
        return NamesOfStatement(tables.spark, tables.catalog, tables.damaged, catalogs, read_from, self._stored)

    def by_chance_in(self, text: str) -> frozenset[str]:
        """Return the names in a text of rows that functions of Python give, other ones perhaps at each reading."""
        return frozenset(name for name, table in self.given.items() if table.by_chance and name in text)

    def _stored(self, kept: Kept, restricted: Sequence[BaseTable] = ()) -> StoredTable:
        return _asked_of(kept.table(ids_that_are_gone(kept.called, kept.meaning(), self._tables)), restricted)


def _asked_of(table: StoredTable, restricted: Sequence[BaseTable]) -> StoredTable:
    """The table, where ids of only some rows of base tables are asked for."""
    only = {each.name.lower(): _ids_of(each) for each in restricted}
    return replace(table, only={name: only[name.lower()] for name in table.lineage if name.lower() in only})


def _ids_of(table: BaseTable) -> str:
    return f"(SELECT {DLUNION}({table.row_id}) AS ids FROM {table.identified or table.relation})"


def _full_name(spark: SparkSession, parts: Sequence[str]) -> str | None:
    """The meaning of a short name to Spark, whether or not there is such a table; None for a temporary view."""
    if is_temporary_view(spark, joined(parts)):
        return None
    database = split_name(spark.catalog.currentDatabase(), keep_case=True) if len(parts) == 1 else ()
    return ".".join(map(in_backticks, (spark.catalog.currentCatalog(), *database, *parts)))


def _refuse_stream(frame: DataFrame, called: str) -> None:
    if frame.isStreaming:
        raise NotTracedError(
            f"{called} is a stream, whose rows are never all there",
            instead="Write the stream to a table of files, and register that.",
        )


def _kept(frame: DataFrame, called: str, meaning: str | None) -> Kept | None:
    """A table of a catalog with the lineage of its rows; None: it has none."""
    if not carries_lineage(columns_of(frame)):
        return None
    lineage = next(each for each in frame.schema.fields if each.name.upper() == LINEAGE_COLUMN)
    columns = tuple(each for each in frame.columns if each != lineage.name)
    fields = lineage.dataType.fieldNames() if isinstance(lineage.dataType, StructType) else []
    return Kept(called, columns, meaning, tuple(fields))


def _refuse_other_database(spark: SparkSession, view: FoundName, called: str) -> None:
    """The text of a view names tables as its maker saw them."""
    namespace = list(view.made_in)
    here = [spark.catalog.currentCatalog(), spark.catalog.currentDatabase()]
    if namespace and namespace != here:
        where = ".".join(namespace)
        raise NotTracedError(
            f"view {called} was made in {where}, and is read in {'.'.join(here)}", instead=f"USE {where} first."
        )
