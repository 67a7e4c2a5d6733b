"""From what a user wants to save to frames that can be written: with all lineage, some of it, or none yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from forward_lineage.frontend.rewriting import StatementPart
from forward_lineage.results import LINEAGE_COLUMN, refuse_lineage_column
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.spark.settings import QUICK_VALUES, configured
from forward_lineage.spark.traced_frame import lineage_of_frame
from forward_lineage.store.library.capture_state import Recipe
from forward_lineage.store.library.saved_result import TracedTable
from forward_lineage.store.saving.auto import costs_less_later
from forward_lineage.store.saving.execution import user_schema
from forward_lineage.store.saving.recipes import recipe_of, views_digest
from forward_lineage.store.saving.scope import ALL_NOW, Scope
from forward_lineage.tracing.restricting import restricted_table
from forward_lineage.tracing.statements import Statements, TracedStatement
from forward_lineage.tracing.trace_scope import Narrowed
from udafs.errors import BadArgumentError, ChangedError, NotTracedError
from udafs.requests import resolved_once

_NO_ROWS = "a statement that is no query has no rows to save"


@dataclass(frozen=True)
class TracedQuery:
    """The query that is to be saved.

    Attributes:
        rows: gives its rows, with `DL` if any lineage is to be written with them; not asked where parts will do.
        meaning: of `DL`, for all tables that the query is traced to.
        scope: which of them are captured, and when; with the tables' own names.
        parts: the same rows from a statement in parts, if it has stages.
        prefix: of the names by which parts read stages.
        recipe: how to make the rows again, where that may be needed.
        columns: the user's, where they are known without the rows.

    """

    rows: Callable[[], DataFrame]
    meaning: Mapping[str, Any]
    scope: Scope = ALL_NOW
    parts: Sequence[StatementPart] = ()
    prefix: str = ""
    recipe: Recipe | None = None
    columns: StructType | None = None

    @classmethod
    def of(cls, frame: DataFrame, *others: Any) -> TracedQuery:
        """Return one whose rows are there already; the others are the attributes behind them."""
        return cls(lambda: frame, *others)

    @property
    def written(self) -> list[str]:
        """The tables whose lineage is written with the rows."""
        read = [table["name"] for table in self.meaning["tables"]]
        return [] if self.scope.when == "later" else [name for name in read if self.scope.is_captured(name)]

    @property
    def schema(self) -> StructType:
        """The user's columns."""
        return self.columns or user_schema(self.rows(), LINEAGE_COLUMN if self.written else None)

    def applied(self, table: TracedTable) -> TracedTable:
        """Return a table with what is captured of it."""
        return self.scope.applied(table)


class Tracer:
    """Traces what is to be saved.

    Args:
        statements: runs queries.
        tables: the session's registered tables.
        home: where registrations and results are.

    """

    def __init__(self, statements: Statements, tables: RegisteredTables, home: str) -> None:
        self._statements, self._tables, self._home = statements, tables, home
        self._spark = tables.spark

    def query(
        self, df_or_sql: DataFrame | str, semantics: str, scope: Scope, again: Recipe | None = None
    ) -> TracedQuery:
        """Return what is to be saved, and what its `DL` means.

        Args:
            df_or_sql: as for `ForwardLineage.save`.
            semantics: the same.
            scope: what of its lineage is captured.
            again: what the same rows were made with before, if they were.

        Raises:
            ChangedError: views are not what they were then.
            LineageError: as for `ForwardLineage.save`.

        """
        if isinstance(df_or_sql, DataFrame):
            return self._frame(df_or_sql, scope)
        if not isinstance(df_or_sql, str):
            raise BadArgumentError(
                f"only SQL and DataFrames can be saved, not {type(df_or_sql).__name__}",
                instead="Give the query's text, or what lineage.sql(…) returned.",
            )
        prefix = f"__fl_{uuid4().hex[:12]}"
        traced = self._trace(df_or_sql, semantics, prefix)
        if again is not None and again.views != views_digest(traced):
            raise ChangedError("a view that it reads says something else now")
        if scope.is_all_now and (query := self._in_parts(traced, prefix)):
            return query
        frame = self._run(traced)
        meaning = self._statements.meaning(traced)
        parts = self._parts(traced)
        if scope.is_all_now:
            return TracedQuery.of(frame, meaning, ALL_NOW, parts, prefix)
        recipe = again or recipe_of(self._spark, traced, meaning)
        found = self._scoped(traced, meaning, scope, recipe)
        if found.is_all_now or not meaning["tables"]:
            return TracedQuery.of(frame, meaning, ALL_NOW, parts, prefix)
        narrowed = self._narrowed(found, meaning)  # also where it is for later: a bad condition is said now
        if found.when == "later" or found.tables == ():
            with spark_errors(traced.rewritten.user_sql):
                plain = resolved_once(self._spark.sql(traced.rewritten.user_sql))
            return TracedQuery.of(plain, meaning, found, (), "", recipe)
        narrow = self._trace(df_or_sql, semantics, prefix, narrowed)
        parts = () if found.where else self._parts(narrow)
        return TracedQuery.of(self._run(narrow), meaning, found, parts, prefix, recipe)

    # ------------------------------------------------------------ steps

    def _frame(self, frame: DataFrame, scope: Scope) -> TracedQuery:
        meaning = lineage_of_frame(frame)
        if meaning["home"] != self._home:
            raise BadArgumentError(
                f"the DataFrame was traced under the home {meaning['home']}, not {self._home}",
                instead="Save it with the ForwardLineage that made it.",
            )
        if not scope.is_all_now:
            raise BadArgumentError(
                "a DataFrame has its lineage already, and its rows cannot be made again from a text",
                instead="Save the SQL itself to say what of its lineage is captured, and when.",
            )
        return TracedQuery.of(frame, meaning)

    def _in_parts(self, traced: TracedStatement, prefix: str) -> TracedQuery | None:
        """The query if it is saved in parts, whose rows nobody makes as a whole; None if it is not, or may not be."""
        rewritten = traced.rewritten
        if not rewritten.parts or rewritten.through:
            return None
        with spark_errors(rewritten.user_sql):
            users = self._spark.sql(rewritten.user_sql)
        if unrepeatable_parts(users):
            return None
        refuse_lineage_column(users.schema)
        meaning = self._statements.meaning(traced)
        return TracedQuery(lambda: self._run(traced), meaning, ALL_NOW, rewritten.parts, prefix, None, users.schema)

    def _trace(self, sql: str, semantics: str, prefix: str, narrowed: Narrowed | None = None) -> TracedStatement:
        no_rows = NotTracedError(_NO_ROWS, instead="Save its SELECT.")
        return self._statements.trace(sql, semantics, unless_query=no_rows, in_parts=prefix, narrowed=narrowed)

    def _run(self, traced: TracedStatement) -> DataFrame:
        with configured(self._spark, QUICK_VALUES):
            return self._statements.run(traced)

    def _parts(self, traced: TracedStatement) -> Sequence[StatementPart]:
        parts = traced.rewritten.parts
        if parts and unrepeatable_parts(self._spark.sql(traced.rewritten.user_sql)):
            return ()  # chance and the clock are asked once a query
        return parts

    def _scoped(self, traced: TracedStatement, meaning: Mapping[str, Any], scope: Scope, recipe: Recipe) -> Scope:
        """The scope with the tables' own names, `auto` decided."""
        if meaning.get("granules"):
            raise BadArgumentError(
                "LINEAGE ON says itself what is captured, and at once",
                instead="Leave tables=, where= and capture= out, or the clause.",
            )
        found = scope.of_tables([table["name"] for table in meaning["tables"]])
        if found.when == "later" and recipe.refused is not None:
            raise NotTracedError(
                f"the lineage cannot be captured later, when the rows are made again: {recipe.refused}",
                instead='Capture it with the rows: capture="now".',
            )
        if found.when != "auto":
            return found
        later = recipe.refused is None and costs_less_later(self._spark, traced.rewritten.user_sql)
        return Scope(found.tables, found.where, "later" if later else "now")

    def _narrowed(self, scope: Scope, meaning: Mapping[str, Any]) -> Narrowed:
        names = [table["name"] for table in meaning["tables"]]
        tables = [restricted_table(self._statements, self._tables, *each) for each in scope.where.items()]
        return Narrowed(tuple(name for name in names if scope.is_captured(name)), tuple(tables))
