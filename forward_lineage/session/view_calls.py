"""The calls about views: charts over the same base rows, ready to be brushed; and a page of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession

from forward_lineage.pages import check_installed
from forward_lineage.pages.page_definition import AskedPage, over_join, page_of, read_page
from forward_lineage.session.components import Parts
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.versions import arrow_table
from forward_lineage.store.saving.saver import Wish
from forward_lineage.views.joined import Joined
from forward_lineage.views.linked import LinkedViews
from forward_lineage.workloads.saving import Foreseen
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet
from udafs.user_warnings import warn_user

if TYPE_CHECKING:  # Bokeh is an extra
    from forward_lineage.pages.server import Page


class ViewCalls:
    """The calls of `ForwardLineage` about views. docs/views.md and docs/explore.md describe them."""

    spark: SparkSession
    _parts: Parts

    def views(self, views: Mapping[str, str], *, table: str | None = None) -> LinkedViews:
        """Link views over the same base rows, so that a brush in one updates all others in milliseconds.

        The columns that views need are read once, and kept under `home` as arrays that are mapped into memory. They
        are of one version of the table. After a `refresh`, the next call makes them again.   [Psallidas and Wu 2018]

        Args:
            views: for each view, by its name, a query or the name of a saved result. Queries are ``SELECT keys, count |
                sum | avg FROM table [WHERE …] GROUP BY keys [ORDER BY …]``. All are over one registered table, which
                may be a saved result. The rows of a saved result are its bars.
            table: the table that links saved results. You may leave it out if all were made of one base table only, or
                if there are queries.

        Returns:
            the views. Call `brush` to see how much chosen bars of one leave of the others, and `hand` for a hand that
            remembers.

        Raises:
            LineageError: a query is of another form, the message says where; Spark refuses it; the table is not what
                was registered, or the views have no table in common; sums might leave 64 bits.

        Examples:
            >>> queries = {
            ...     "items": "SELECT item, count(*) AS n FROM sales GROUP BY item ORDER BY item",
            ...     "large": "SELECT amount > 35 AS large, count(*) AS n FROM sales GROUP BY 1 ORDER BY 1",
            ... }
            >>> linked = lineage.views(queries)
            >>> linked.brush("items", [0]).table("large").to_pylist()
            [{'large': False, 'n': 0}, {'large': True, 'n': 2}]

        """
        return self._parts.opening.views(views, table)

    def explore(
        self,
        views: Mapping[str, Any] | str | Path | LinkedViews,
        *,
        table: str | None = None,
        title: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        names: Iterable[str] = (),
        progress: Callable[[str], None] | None = None,
    ) -> Page:
        """Serve a page of linked views to browsers: charts that you brush with mouse or keys, and the base rows.

        In a notebook the page is shown if it is the last value of a cell. It needs the extra `pages`.

        Args:
            views: as for `views`; or all over one join, which is then saved, and whose rows are the base rows. In place
                of a text you may give a mapping with ``sql``, ``chart`` and ``value``, the column that is drawn. Charts
                are ``bars``, ``histogram``, ``timeline``, ``heatmap`` and ``table``. You may also give a file with
                them, .sql or .toml, or views that are open.
            table: as for `views`.
            title: the heading of the page; the table's name when not given.
            host: the address to listen at. Any but that of the loopback interface lets other machines in, without
                encryption; they still need the token.
            port: the port; 0: any that is free.
            token: 16 or more letters, digits, ``-`` and ``_`` that the address must have in it; a random one when not
                given.
            names: names besides the host's by which browsers reach this machine.
            progress: is told what is done, e.g. ``3 of 7 views, carriers``; from the calling thread.

        Returns:
            the page. Its address is ``url``. Call ``stop()``, or leave a ``with`` block, to end it.

        Raises:
            LineageError: a view is none, or cannot be drawn so (the message says in which line of the file); Bokeh is
                not installed; the port is taken.

        Examples:
            >>> with lineage.explore({"items": "SELECT item, count(*) AS n FROM sales GROUP BY item"}) as page:
            ...     page.url.startswith("http://127.0.0.1:")
            True

        """
        check_installed()
        from forward_lineage.pages.page_model import shown  # noqa: PLC0415 - the same
        from forward_lineage.pages.server import Page  # noqa: PLC0415 - it needs the extra

        if isinstance(views, LinkedViews):
            linked, asked = views, AskedPage({}, title=title)
        else:
            asked = read_page(Path(views)) if isinstance(views, str | Path) else page_of(views, table, title)
            asked = self._over_saved_join(asked, progress or (lambda what: None))
            try:
                linked = self._parts.opening.views(
                    {name: view.sql for name, view in asked.views.items()}, table or asked.table, tell=progress
                )
            except LineageError as error:
                raise asked.in_file(error) from None
        asked = AskedPage(asked.views, asked.table, title or asked.title, asked.file)
        return Page(shown(linked, asked, self._reader(linked.table_name)), host, port, token, names)

    def _over_saved_join(self, asked: AskedPage, tell: Callable[[str], None]) -> AskedPage:
        """Save the join that views are over, unless it is there, and let them be over that."""
        over, joined = over_join(asked)
        if joined is None:
            return asked
        self._check_in_own_words(asked, joined)
        if not self._is_saved(joined):
            tell("saving the join")
            self._parts.saver.save(joined.sql, Wish(joined.name), Foreseen((), None, None), lambda tables: None)
            self._parts.result_tables.bring_up_to_date()
        rows = f"the views join {' and '.join(joined.tables)}, so the join is saved as {joined.name}"
        warn_user(f"{rows}. Its rows are the base rows of the page.")
        return over

    def _check_in_own_words(self, asked: AskedPage, joined: Joined) -> None:
        """Let Spark see the views as they are: it says where in them something is wrong."""
        for name in joined.views:
            try:
                with spark_errors(asked.views[name].sql):
                    self.spark.sql(asked.views[name].sql)
            except LineageError as error:
                raise asked.in_file(error, name) from None

    def _is_saved(self, joined: Joined) -> bool:
        saved = self._parts.library.latest(joined.name)
        if saved is None or saved.sql.strip() != joined.sql:
            return False
        return not any(row["result"] == saved.name for row in self._parts.questions.stale().collect())

    def _reader(self, table: str) -> Any:
        """The function that reads base rows for a page."""
        tables_now = self._parts.questions.tables_now

        def read(ids: LineageSet) -> pa.Table:
            with spark_errors():
                return arrow_table(tables_now.rows(table).pick(ids))

        return read
