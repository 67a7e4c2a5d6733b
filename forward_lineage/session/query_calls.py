"""Calls about queries: rows with their lineage, now, and nothing kept."""

from __future__ import annotations

from pyspark.sql import DataFrame

from forward_lineage.frontend import explanation, refuse_other_order
from forward_lineage.results import meaning_of
from forward_lineage.session.parts import Parts
from forward_lineage.spark.granules import decoded
from forward_lineage.spark.names import field_of_dl, quoted_name
from forward_lineage.spark.planning import Arguments
from forward_lineage.tracing.narrowed import only, restricted
from udafs.errors import BadArgumentError, NotTracedError


class QueryCalls:
    """The calls of `ForwardLineage` about queries. docs/semantics.md says what the lineage of a row is."""

    _parts: Parts

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
        return self._parts.statements.run(self._parts.statements.trace(sql, semantics, args))

    def rewrite(self, sql: str, semantics: str = "data", args: Arguments = None) -> str:
        """Return Spark SQL that does what `sql` does, in any session that has the kernel and the same catalog tables.

        Raises:
            LineageError: as for `sql`.

        """
        rewritten = self._parts.statements.trace(sql, semantics, args, anywhere=True).rewritten
        refuse_other_order(rewritten.places)
        return rewritten.sql

    def explain(self, sql: str, semantics: str = "data", args: Arguments = None) -> str:
        """Return how lineage travels in a statement: what is computed once and referred to, and what each row carries.

        Args:
            sql: one statement, as for `sql`; it is not run.
            semantics: ``"data"`` or ``"control"``.
            args: values of its parameters.

        Returns:
            a line for each stage, in the order in which they are computed, then one for the result.

        Raises:
            LineageError: as for `sql`.

        """
        return explanation(self._parts.statements.trace(sql, semantics, args).rewritten)

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
        tables, statements = self._parts.tables, self._parts.statements
        known = tables.registered(table)
        statements.check_condition(quoted_name(known.name), where)
        suspects = only([restricted(tables.base_table(known), where)])
        no_rows = NotTracedError("only a query has affected rows", instead="Give the query of this command alone.")
        traced = statements.trace(sql, semantics, narrowed=suspects, unless_query=no_rows)
        if not traced.rewritten.tables:
            reads = ", ".join(statements.trace(sql, semantics).rewritten.tables) or "no registered table"
            raise BadArgumentError(f"the query does not read {known.name}", instead=f"It reads {reads}.")
        return statements.run(traced).where(f"dl_size({field_of_dl(known.name)}) > 0")
