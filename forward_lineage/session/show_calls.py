"""Calls for people who look: rows with their lineage as text and as HTML, ids as lists."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.results import LINEAGE_COLUMN, meaning_of
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.session.components import Parts
from forward_lineage.showing.display import Shown
from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.spark.names import field_of_dl
from forward_lineage.storage.homes import Home
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError, LineageError, NotTracedError

_MOST_NAMES = 50
_NO_ROWS = NotTracedError("only a query has rows to show", instead="Run the command with lineage.sql(…).")


class ShowCalls:
    """The calls of `ForwardLineage` for people who look. docs/notebooks.md shows them."""

    _parts: Parts
    home: Home

    def show(self, what: DataFrame | str | SavedResult, rows: int = 20, truncate: int = 60) -> None:
        """Print rows as `DataFrame.show` does, with their lineage: ``orders {3, 17, …} 7 rows``.

        Args:
            what: a result of `sql`, any other DataFrame, a query, or a saved result as `save` or `describe` gave it.
            rows: how many.
            truncate: how long a value may be, in characters.

        Raises:
            LineageError: as for `sql`; Spark cannot compute the rows; `rows` or `truncate` is below 1.

        Examples:
            >>> lineage.show(by_item)
            +------+------+-------------------+
            |item  |amount|DL                 |
            +------+------+-------------------+
            |binder|110   |sales {1, 3} 2 rows|
            |pencil|30    |sales {2} 1 row    |
            +------+------+-------------------+
            2 rows

        """
        if truncate < 1:
            raise BadArgumentError(f"truncate={truncate} leaves nothing of a value", instead="Give 1 or more.")
        print(self.shown(what, rows, base_rows=0).text(truncate))

    def shown(self, what: DataFrame | str | SavedResult, rows: int = 20, base_rows: int = 5) -> Shown:
        """Return rows as a notebook shows them. You can open each row to base rows that it was made of.

        Args:
            what: as for `show`.
            rows: how many; they are computed now, in one job of Spark.
            base_rows: how many of each table a row is opened to; reading them takes another job for each table. 0: a
                row cannot be opened.

        Returns:
            an object that is HTML in a notebook, and text elsewhere; its attribute `frame` has all rows.

        Raises:
            LineageError: as for `show`. Base rows that cannot be read, or whose ids mean other rows by now, are not
                shown; you see the reason instead.

        Examples:
            >>> lineage.shown(lineage.describe("by_item"), rows=1).frame.count()
            2

        """
        if rows < 1 or base_rows < 0:
            raise BadArgumentError(
                f"rows={rows} and base_rows={base_rows} cannot be shown", instead="Show at least one row."
            )
        looking = self._parts.looking
        if isinstance(what, SavedResult):
            return looking.at_result(what, rows, base_rows)
        if isinstance(what, str):
            what = self._parts.statements.run(self._parts.statements.trace(what, "data", unless_query=_NO_ROWS))
        if not isinstance(what, DataFrame):
            raise BadArgumentError(
                f"{type(what).__name__} has no rows to show",
                instead="Give a DataFrame, a query, or a saved result: lineage.describe(name).",
            )
        return looking.at_frame(what, rows, base_rows)

    def ids(self, frame: DataFrame) -> DataFrame:
        """Return a result with its lineage as arrays of ids, ready for `toPandas`, `toArrow` and Spark's functions.

        Under LINEAGE ON ids stand for values; get these from `granules`. For an Arrow table or a pandas DataFrame that
        is here already, call `forward_lineage.ids(table)`.

        Args:
            frame: a result of `sql`.

        Returns:
            the same rows; each field of `DL` is an ``array<bigint>``, ascending.

        Raises:
            BadArgumentError: it has no `DL` of ours as its last column.

        Examples:
            >>> lineage.ids(lineage.sql(by_item)).select("item", "DL.sales").show()
            +------+------+
            |  item| sales|
            +------+------+
            |binder|[1, 3]|
            |pencil|   [2]|
            +------+------+

        """
        meaning = meaning_of(frame)
        if meaning is None:
            raise BadArgumentError(
                "the last column of the DataFrame is no DL that lineage.sql made",
                instead="Give what lineage.sql(…) returned, with DL as its last column.",
            )
        names = [table["name"] for table in meaning["tables"]]
        fields = [F.call_function("dl_ids", F.expr(field_of_dl(name))).alias(name) for name in names]
        return frame.withColumn(LINEAGE_COLUMN, F.struct(*fields))

    def flush_events(self, patience: float = 5.0) -> bool:
        """Wait until the events of OpenLineage that are on their way are sent. The end of the program does so, too.

        Args:
            patience: seconds to wait at most.

        Returns:
            whether none is left; True if none are sent at all.

        Examples:
            >>> lineage.flush_events()
            True

        """
        return self._parts.runs.flush(patience)

    def __repr__(self) -> str:
        return f"ForwardLineage(home={str(self.home)!r})"

    def _repr_html_(self) -> str:
        tables = [each for each in self._parts.tables.all().values() if each.provider is not Provider.RESULT]
        rows = [[each.name, each.ids_by, str(each.version)] for each in tables[:_MOST_NAMES]]
        facts = [("home", str(self.home)), ("tables", _number(len(tables)))]
        parts = [table_html(("table", "ids", "version"), rows)] if rows else []
        try:
            saved = self._parts.library.results()
        except LineageError as error:
            return facts_html("ForwardLineage", [*facts, ("saved results", str(error))], parts)
        listed = [
            [each.name, f"{each.rows:,}", ", ".join(table.name for table in each.tables), each.semantics, each.saved_at]
            for each in saved[:_MOST_NAMES]
        ]
        parts += [table_html(("saved result", "rows", "made of", "semantics", "saved at"), listed)] if listed else []
        return facts_html("ForwardLineage", [*facts, ("saved results", _number(len(saved)))], parts)


def _number(count: int) -> str:
    return f"{count:,}" if count <= _MOST_NAMES else f"{count:,}, of which the first {_MOST_NAMES} are listed"
