"""Calls about queries: rows with their lineage, now, and nothing kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame

from forward_lineage.approximate.with_error import requested_error
from forward_lineage.frontend import explanation, refuse_other_order
from forward_lineage.results import meaning_of
from forward_lineage.session.components import Parts
from forward_lineage.spark.granules import decoded
from forward_lineage.spark.names import field_of_dl, quoted_name
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.saving.scope import Scope, When
from forward_lineage.tracing.trace_scope import only, restricted
from forward_lineage.workloads.answering import Answer
from forward_lineage.workloads.deriving import Attributes
from forward_lineage.workloads.saving import Foreseen
from udafs.errors import BadArgumentError, NotTracedError


class QueryCalls:
    """The calls of `ForwardLineage` about queries. docs/semantics.md says what the lineage of a row is."""

    _parts: Parts

    def sql(self, sql: str, semantics: str = "data", args: Arguments = None) -> DataFrame:
        """Run a statement and add `DL`, the lineage of every row, as the last column.

        Args:
            sql: one Spark SQL statement: a query, CREATE … AS or INSERT … SELECT. LINEAGE ON may come at its end. Or
                ``SELECT … WITH ERROR 0.05 CONFIDENCE 0.999``: an approximate answer, see `approximate`.
            semantics: ``"data"`` or ``"control"``.
            args: values of the parameters of a query, as `spark.sql` takes them.

        Returns:
            the user's columns, unchanged, then `DL`: a struct with one lineage value for each traced table.

        Raises:
            LineageError: the SQL is wrong or not traced, or a table is not what was registered.

        Examples:
            >>> result = lineage.sql("SELECT item, sum(amount) AS amount FROM sales GROUP BY item ORDER BY item")
            >>> result.selectExpr("item", "amount", "dl_ids(DL.sales) AS made_of").show()
            +------+------+-------+
            |  item|amount|made_of|
            +------+------+-------+
            |binder|   110| [1, 3]|
            |pencil|    30|    [2]|
            +------+------+-------+

        """
        if (request := requested_error(sql)) is not None:
            if args or semantics != "data":
                raise BadArgumentError("parameters or semantics with WITH ERROR", instead="Write values in the SQL.")
            return self._parts.approximator.frame(request)
        traced = self._parts.statements.trace(sql, semantics, args)
        with self._parts.runs.command(traced):
            return self._parts.statements.run(traced)

    def to_run(self, sql: str, semantics: str = "data") -> DataFrame | str:
        """Return the statement that `sql` would run, so that somebody else can run it. A command is not run here.

        Statements of a SQL client become this; docs/sql-clients.md describes them.

        Args:
            sql: one statement, as for `sql`. WITH LINEAGE may come at its end, too.
            semantics: ``"data"`` or ``"control"``.

        Returns:
            for a query a DataFrame, as from `sql`. For CREATE … AS and INSERT a text that does the same as `sql`, in
            any session that has the kernel and the same tables.

        Raises:
            LineageError: as for `sql`.

        Examples:
            >>> lineage.to_run("SELECT item FROM sales WITH LINEAGE").columns
            ['item', 'DL']
            >>> lineage.to_run("CREATE TABLE items USING parquet AS SELECT item FROM sales")[:18]
            'CREATE TABLE items'

        """
        traced = self._parts.statements.trace(sql, semantics)
        if traced.then:
            raise NotTracedError("a statement that is two to Spark", instead="Run it with lineage.sql(…), in Python.")
        if traced.as_it_is or traced.statement.is_command:
            return traced.rewritten.sql
        return self._parts.statements.run(traced)

    def trace(self, frame: DataFrame, semantics: str = "data") -> DataFrame:
        """Return a DataFrame with `DL`, the lineage of every row, as its last column. docs/dataframes.md says how.

        Args:
            frame: over registered tables, views of them and saved results. It is analysed here, and runs when the
                returned one does.
            semantics: ``"data"`` or ``"control"``.

        Returns:
            the rows of the DataFrame, and `DL` as from `sql`.

        Raises:
            LineageError: as for `sql`; something in the DataFrame has no SQL text, or its rows are not registered.

        Examples:
            >>> frame = spark.table("sales").where("amount > 35").groupBy().sum("amount")
            >>> lineage.trace(frame).selectExpr("`sum(amount)`", "dl_ids(DL.sales) AS made_of").show()
            +-----------+-------+
            |sum(amount)|made_of|
            +-----------+-------+
            |        110| [1, 3]|
            +-----------+-------+

        """
        return self.sql(self._parts.frames.sql(frame, semantics), semantics)

    def rewrite(self, sql: str, semantics: str = "data", args: Arguments = None) -> str:
        """Return Spark SQL that does the same as `sql`, in any session that has the kernel and the same catalog tables.

        Raises:
            LineageError: as for `sql`.

        Examples:
            >>> "dlunion" in lineage.rewrite("SELECT count(*) AS n FROM sales")
            True

        """
        rewritten = self._parts.statements.trace(sql, semantics, args, anywhere=True).rewritten
        refuse_other_order(rewritten.places)
        return rewritten.sql

    def answer(self, sql: str, args: Arguments = None) -> Answer:
        """Return the rows of a consuming query, without their lineage, in the fastest way there is.

        If `save` was told of such questions, only the data made for them are read, and no Spark job runs. Otherwise the
        query runs as by `sql`.   [Smoke, §4.2; docs/workloads.md]

        Args:
            sql: a query of ``BACKWARD(result WHERE …, table)``; others are run as by `sql`.
            args: values of its parameters, as `spark.sql` takes them.

        Returns:
            the rows as an Arrow table of the columns and types that Spark gives, and how they were found.

        Raises:
            LineageError: as for `sql`.

        Examples:
            >>> answer = lineage.answer("SELECT count(*) AS n FROM BACKWARD(by_item WHERE item = 'binder', sales)")
            >>> answer.table.to_pylist(), answer.by
            ([{'n': 2}], 'captured')

        """
        return self._parts.answering.answer(sql, args)

    def explain(
        self,
        sql: str | DataFrame,
        semantics: str = "data",
        args: Arguments = None,
        *,
        name: str | None = None,
        workload: Sequence[str] = (),
        partition_by: Attributes = None,
        cube: Attributes = None,
        tables: Collection[str] | None = None,
        where: Mapping[str, str] | None = None,
        capture: When = "now",
    ) -> str:
        """Return how lineage travels in a statement: what is computed once and referred to, and what each row carries.

        Args:
            sql: one statement, as for `sql`, or a DataFrame; it is not run. For a DataFrame you first get its SQL.
            semantics: ``"data"`` or ``"control"``.
            args: values of its parameters.
            name: under which it would be saved. Then you also see the lineage that would be captured. You see the data
                that would be made for the questions in `workload`, with the other arguments as for `save`.
            workload: as for `save`.
            partition_by: as for `save`.
            cube: as for `save`.
            tables: as for `save`.
            where: as for `save`.
            capture: as for `save`.

        Returns:
            a line for each stage, in the order in which they are computed, and one for the result. Then a line for each
            table, and for each thing that is made. With `tune` on, and no `name`, also the decision of `run`, and for
            each sketch the parts of its table that are read and skipped.

        Raises:
            LineageError: as for `sql`.

        Examples:
            >>> print(lineage.explain(by_item))
            result: each row carries a set of ids of sales

        """
        text = self._parts.frames.sql(sql, semantics)
        told = [] if sql is text else self._parts.frames.told(text)
        if name is None:
            how = explanation(self._parts.statements.trace(text, semantics, args).rewritten)
            return "\n".join([*told, how, *self._parts.runner.explain(text, args)])
        scope = Scope.of(tables, where, capture)
        how = self._parts.saver.explain(text, name, semantics, scope, Foreseen(workload, partition_by, cube))
        return "\n".join([*told, how])

    def granules(self, frame: DataFrame) -> DataFrame:
        """Return a result of LINEAGE ON with the values that its ids stand for in place of the ids.

        Args:
            frame: a result of `sql`.

        Returns:
            the same rows; each field of `DL` is an array of values.

        Raises:
            LineageError: the result was not traced so.

        Examples:
            >>> result = lineage.sql("SELECT max(amount) AS best FROM sales LINEAGE ON sales.item")
            >>> lineage.granules(result).selectExpr("best", "DL.sales AS made_of").show(truncate=False)
            +----+----------------+
            |best|made_of         |
            +----+----------------+
            |70  |[binder, pencil]|
            +----+----------------+

        """
        return decoded(frame, meaning_of(frame))

    def affected(self, sql: str | DataFrame, table: str, where: str, semantics: str = "data") -> DataFrame:
        """Return the result rows that were made from suspected base rows, computed once and not stored.

        Only the suspected rows are given ids, so nothing else is traced.   [Zhang 2007, §2.3]

        Args:
            sql: the query, or a DataFrame.
            table: the registered table that holds the suspected rows.
            where: the suspected rows, as a condition over that table's columns.
            semantics: ``"data"`` or ``"control"``.

        Returns:
            the affected rows; `DL` says which suspected rows they were made from.

        Raises:
            LineageError: as for `sql`; the condition is wrong; the query does not read the table, or is a command.

        Examples:
            >>> lineage.affected(by_item, "sales", where="t_id = 3").select("item", "amount").show()
            +------+------+
            |  item|amount|
            +------+------+
            |binder|   110|
            +------+------+

        """
        tables, statements = self._parts.tables, self._parts.statements
        sql = self._parts.frames.sql(sql, semantics)
        known = tables.registered(table)
        statements.check_condition(quoted_name(known.name), where)
        suspects = only([restricted(tables.base_table(known), where)])
        no_rows = NotTracedError("only a query has affected rows", instead="Give the query of this command alone.")
        traced = statements.trace(sql, semantics, narrowed=suspects, unless_query=no_rows)
        if not traced.rewritten.tables:
            reads = ", ".join(statements.trace(sql, semantics).rewritten.tables) or "no registered table"
            raise BadArgumentError(f"the query does not read {known.name}", instead=f"It reads {reads}.")
        return statements.run(traced).where(f"dl_size({field_of_dl(known.name)}) > 0")
