"""Calls about tables: registering, and rows by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.registration_request import Request, refuse_unnamed
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.session.components import Parts
from forward_lineage.session.stopping import says_what_is_kept
from forward_lineage.store.asking.trust import on_trust
from udafs.lineage_set import LineageSet


class TableCalls:
    """The calls of `ForwardLineage` about tables. docs/row-ids.md states the contract."""

    spark: SparkSession
    registrations: Registrations
    _parts: Parts

    @property
    def catalog(self) -> Catalog:
        """The registered tables, as `rewrite_sql` takes them.

        Examples:
            >>> "sales" in lineage.catalog
            True

        """
        return self._parts.tables.catalog

    def tables(self) -> dict[str, Manifest]:
        """Return the manifests of all registered tables, by name. Saved results are among them.

        Examples:
            >>> lineage.tables()["sales"]
            Manifest(sales, version 1, ids by key (t_id), 3 columns)

        """
        return self._parts.tables.all()

    def register(
        self,
        name: str,
        *unnamed: object,
        key: str | Sequence[str] | None = None,
        path: str | Path | Sequence[str | Path] | None = None,
        order_by: str | Sequence[str] | None = None,
        row_id: str | None = None,
        source: DataFrame | str | None = None,
        format: str = "parquet",  # noqa: A002 - what Spark's readers call it
        options: Mapping[str, Any] | None = None,
        trusted: bool = False,
        hashes: bool = False,
    ) -> Manifest:
        """Give the rows of a table ids, so that queries over it can be traced. docs/row-ids.md states the contract.

        Args:
            name: the name of the table in queries.
            unnamed: refused; say by name where the rows are read from.
            key: a unique, non-negative integer column, whose values are the ids. Or any unique columns, as a list,
                which a materialised dictionary then gives ids. Of rows that are copied, too.
            path: files to read; queries may use `name` from now on. Ids are positions in the Parquet files. Give a
                file or folder, local or on any file system that the session's Hadoop knows (``s3a://bucket/events``).
                Or give a pattern, if nothing has just that name, or a list of these.
            order_by: make a copy under `home`, sorted like this, with dense ids in that order. Anything but Parquet
                files is copied, sorted or not.
            row_id: an expression over the table that is a row id already, e.g. ``_metadata.row_id`` of a Delta table.
            source: a DataFrame, or the name of a table or view, to be copied.
            format: of the files in `path`, as Spark's readers call it. A folder with the log of a Delta or Iceberg
                table is read as that, its rows having ids of their own.
            options: of the reader. Secrets only by reference, as ``${env:NAME}``, which is what the manifest keeps.
            trusted: take it on trust that the key is unique, and that changes do no harm. Nothing is checked, and every
                answer that relies on the table says so (`results.trusted_tables`). Needed for sources that we cannot
                watch: Hive tables, JDBC, custom sources.
            hashes: keep a hash of each row of a table with a key under `home`. Later `changed` and `update` can tell
                which rows were changed. It takes a pass over all columns, now and at each `refresh`.

        Returns:
            the manifest: columns, files, provider, version.

        Raises:
            LineageError: the table cannot be read; the ids would not be unique, non-negative and stable; its rows may
                change unnoticed or by themselves (`rand()`, LIMIT without ORDER BY), are a stream, or carry lineage.

        Examples:
            By a key, and by the position in Parquet files; `folder` is a folder of yours:

            >>> lineage.register("sales", key="t_id").ids_by
            'key (t_id)'
            >>> spark.range(5).write.parquet(f"{folder}/events")
            >>> lineage.register("events", path=f"{folder}/events").ids_by
            'position'

        """
        refuse_unnamed(name, unnamed)
        request = Request(name, key, path, order_by, row_id, source, format, dict(options or {}), trusted, hashes)
        known = isinstance(name, str) and self._parts.tables.get(name) is not None
        done = "registered again" if known else "registered"
        with says_what_is_kept(self.spark, name, done, self.registrations.newest, f"{name} is not"):
            return self._parts.tables.register(request)

    def use(self, catalog: Catalog) -> None:
        """Trace the tables of a catalog in this session, on trust and without writing anything under `home`.

        Raises:
            LineageError: Spark cannot read one of the tables, or its columns are not the catalog's.

        Examples:
            >>> from forward_lineage import Catalog
            >>> spark.range(3).createOrReplaceTempView("shops")
            >>> catalog = Catalog()
            >>> catalog.register("shops", ["id"], key="id")
            >>> lineage.use(catalog)
            >>> lineage.sql("SELECT id FROM shops WHERE id > 0").selectExpr("id", "dl_ids(DL.shops) AS made_of").show()
            +---+-------+
            | id|made_of|
            +---+-------+
            |  1|    [1]|
            |  2|    [2]|
            +---+-------+

        """
        for table in catalog:
            self._parts.tables.adopt(table)

    def rows(self, table: str, ids: Iterable[int] | None = None) -> DataFrame:
        """Return rows of a registered table, or cells of a saved array, with their ids.

        Args:
            table: its name.
            ids: the ids of the rows. You get the rows in the order of their ids; ids that no row has are passed over.
                All rows, in no order, when not given.

        Returns:
            the table's columns after a column ``row_id`` (``_row_id`` if it has such a column itself).

        Raises:
            LineageError: the table is not registered, or is not what was registered any more; an id is negative.

        Examples:
            >>> lineage.rows("sales", [3, 1]).show()
            +------+----+------+------+
            |row_id|t_id|  item|amount|
            +------+----+------+------+
            |     1|   1|binder|    40|
            |     3|   3|binder|    70|
            +------+----+------+------+

        """
        tables = self._parts.questions.tables_now
        found = self._parts.questions.identified(table)
        rows = found.with_ids() if ids is None else found.pick(LineageSet(ids))
        return on_trust(rows, [table] if tables.takes_on_trust(table) else [])

    def refresh(self, name: str) -> Manifest:
        """Accept that a table has changed: rows in unchanged files keep their ids, new rows get new ones.

        Ids of rows that are gone are retired and never given to another row. Rows of a copy are copied again, with the
        options that were given; those that have a key keep their ids. See `no_longer_askable` for what is lost.

        Raises:
            LineageError: the table is not registered, or that promise cannot be kept.

        Examples:
            >>> spark.range(4).write.parquet(f"{folder}/visits")
            >>> lineage.register("visits", path=f"{folder}/visits").version
            1
            >>> spark.range(4, 6).write.mode("append").parquet(f"{folder}/visits")
            >>> lineage.refresh("visits").version
            2

        """
        with says_what_is_kept(self.spark, name, "refreshed", self.registrations.newest, f"{name} is not"):
            return self._parts.tables.refresh(name)

    def no_longer_askable(self, name: str) -> list[str]:
        """Return the saved results that cannot be asked with a condition over a table, until they are updated.

        Rows that they were made of are gone, and no file has their values. Questions with ``ids=`` still answer. Of a
        table whose ids are values (``key=``), none is named here: only Spark can tell.

        Examples:
            >>> lineage.no_longer_askable("sales")
            []

        """
        return self._parts.questions.no_longer_askable(name)

    def changed(self, name: str, since: int, *, kinds: bool = False) -> DataFrame:
        """Return the rows of a table that were written, or went, since an earlier version of its registration.

        Of Delta with row tracking and Iceberg of version 3 their logs tell. Of files that have positions whole files
        came or went. Of a copy with a key its rows are compared with those of the copy before. An UPDATE of a row that
        keeps its id is a change of it. Ask `impact(name, ids=…)` for the saved results that the row is in.

        Args:
            name: the table.
            since: the earlier version, e.g. the one that a saved result was made with.
            kinds: say ``came`` or ``differs`` in place of ``written``.

        Returns:
            ``row_id BIGINT, change STRING``: ``written`` for a row that came or was changed, ``gone`` for one that
            went.

        Raises:
            LineageError: the table is not registered, or has changed since. Or its ids do not say which rows were
                changed. Or the two versions have different ids or columns, or rows of the earlier one are gone.

        Examples:
            Here `orders` is the folder of a Delta table that tracks rows, and `update` changes its second row.

            >>> lineage.register("orders", path=orders)
            Manifest(orders, version 1, ids by delta, 2 columns)
            >>> update(orders)
            >>> lineage.refresh("orders").version
            2
            >>> lineage.changed("orders", since=1).show()
            +------+-------+
            |row_id| change|
            +------+-------+
            |     1|written|
            +------+-------+

        """
        return self._parts.tables.changed(name, since, kinds)

    def unregister(self, name: str) -> None:
        """Forget a table. Saved results keep the lineage they have.

        Raises:
            LineageError: the table is not registered.

        Examples:
            >>> spark.range(3).createOrReplaceTempView("trial")
            >>> lineage.register("trial", key="id").version
            1
            >>> lineage.unregister("trial")
            >>> "trial" in lineage.tables()
            False

        """
        self._parts.tables.unregister(name)
