"""Calls that explain a saved result: why it changed, and why a row is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forward_lineage.explaining.comparison import Comparison
from forward_lineage.explaining.missing_rows import MissingRows
from forward_lineage.session.components import Parts


class ExplainCalls:
    """The calls of `ForwardLineage` that explain a saved result. docs/why.md tells a story of both."""

    _parts: Parts

    def compare(
        self,
        name: str,
        before: int | None = None,
        after: int | None = None,
        *,
        key: Sequence[str] | None = None,
        by: Sequence[str] = (),
        where: str | None = None,
    ) -> Comparison:
        """Say which rows of a saved result differ between two versions, and which base rows each difference is due to.

        A difference in a sum, a count or an average is attributed to base rows that came, went or have other values.
        The arithmetic is exact, and parts are added up by columns of the tables. The rest is shown as a remainder.

        Args:
            name: the result. Keep its versions: ``save(…, keep_versions=True)``.
            before: the earlier version; the one before `after` when not given.
            after: the later version; the newest when not given.
            key: columns that tell its rows apart; those of GROUP BY, or all of DISTINCT, when not given.
            by: columns, or expressions over them, of the tables behind FROM, e.g. ``["region"]``.
            where: a condition over the result's columns: compare the rows that meet it in either version.

        Returns:
            the answer: `show()` prints it, `rows` are its rows, `frame(…)` gives DataFrames, `as_json()` JSON.

        Raises:
            NotSavedError: there is no such result or version.
            BadArgumentError: two rows have one key, or the text of the query does not say what is a key.
            LineageError: a file is damaged; Spark's own complaint about `where` or `by`.

        Examples:
            >>> def bills(*amounts):
            ...     rows = [(at, "pen" if at < 3 else "ink", amount) for at, amount in enumerate(amounts, 1)]
            ...     frame = spark.createDataFrame(rows, "id INT, item STRING, amount INT")
            ...     frame.createOrReplaceTempView("bill_rows")
            >>> bills(40, 30, 70)
            >>> lineage.register("bills", source="bill_rows", key="id").version
            1
            >>> by_bill = "SELECT item, sum(amount) AS amount FROM bills GROUP BY item"
            >>> saved = lineage.save(by_bill, "billed", keep_versions=True)
            >>> bills(40, 35, 70)
            >>> lineage.refresh("bills").version
            2
            >>> saved = lineage.save(by_bill, "billed", keep_versions=True)
            >>> lineage.compare("billed").show()
            billed, version 1 → 2: 0 added, 0 removed, 1 changed
            item = pen: changed
              amount: 70 → 75 (+5)
                +5  bills 2 differs
              bills: other values 2

        """
        listed = [by] if isinstance(by, str) else list(by)
        parts = self._parts
        parts.result_tables.bring_up_to_date()
        return parts.comparer.compare(name, (before, after), key, listed, where=where)

    def why_not(
        self,
        name: str,
        *,
        where: str | None = None,
        table: str | None = None,
        ids: Iterable[int] | None = None,
        version: int | None = None,
    ) -> MissingRows:
        """Say which part of a saved result's query keeps rows out, and why.

        Rows are followed from the table through joins, conditions, groups and limits. Views and saved results that the
        query reads are steps of the way. The tables are read in the versions that the result was made of.

        Args:
            name: the result.
            where: a condition over the result's columns that the missing row would meet.
            table: a base table, of which rows are missing; with `ids`.
            ids: the ids of these rows, up to 1,000.
            version: of the result; the newest when not given.

        Returns:
            the answer: `show()` prints it, `steps` is the way, `kept_out_by` the step that no row got past.

        Raises:
            NotTracedError: rows are not followed through a part of the query; the message says where it stands.
            BadArgumentError: the condition does not say which rows are meant.
            ChangedError: rows of a table, as they were, are gone.
            LineageError: Spark's own complaint about the condition.

        Examples:
            >>> large = lineage.save("SELECT item, amount FROM sales WHERE amount > 35", "large")
            >>> lineage.why_not("large", where="item = 'pencil'").show()
            item = 'pencil' in large, version 1: WHERE kept it out (large, line 1, column 38): ...

        """
        parts = self._parts
        parts.result_tables.bring_up_to_date()
        return parts.missing.why_not(name, where, table, ids, version)
