"""Which provider a registration takes, and what it leaves behind: a manifest on disk and a name in the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids import copies, dictionary, position
from forward_lineage.row_ids import key as keys
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.data_files import with_offsets
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registrations import Registrations
from forward_lineage.row_ids.resolved_views import drop_hidden_views, make_views
from forward_lineage.spark.names import quoted, quoted_name, split_name
from forward_lineage.spark.paths import local_path
from forward_lineage.spark.tables import (
    columns_of,
    fingerprint,
    full_name,
    last_part,
    open_relation,
    open_table,
    view_text,
)
from rewrites.tables import BaseTable
from udafs.errors import LineageError


class Registrar:
    """Registers tables of one session.

    Args:
        spark: the session, with the kernel attached.
        registrations: where manifests are kept.

    """

    def __init__(self, spark: SparkSession, registrations: Registrations) -> None:
        self.spark = spark
        self.registrations = registrations

    def register(
        self,
        name: str,
        *,
        key: str | Sequence[str] | None,
        path: str | Path | None,
        order_by: str | Sequence[str] | None,
        row_id: str | None,
        source: DataFrame | str | None,
        file_format: str,
        options: dict[str, Any],
        trusted: bool,
    ) -> Manifest:
        """See `ForwardLineage.register`."""
        _refuse_contradictions(
            name, key=key, path=path, order_by=order_by, row_id=row_id, source=source, file_format=file_format
        )
        copied = order_by is not None or source is not None or (path is not None and file_format.lower() != "parquet")
        if copied:
            given = copies.open_source(
                self.spark, name, source=source, path=path, file_format=file_format, options=options
            )
            return self._copy(name, given, _listed(order_by))
        place = None if path is None else local_path(str(path)).resolve()
        if row_id is not None:
            return self._settle(name, keys.from_expression(self.spark, name, row_id, trusted=trusted))
        if isinstance(key, str):
            return self._settle(name, keys.from_key(self.spark, name, key, path=place, trusted=trusted))
        if key is not None:
            return self._dictionary(name, list(key), trusted)
        return self._by_position(name, place)

    def refresh(self, manifest: Manifest) -> Manifest:
        """See `ForwardLineage.refresh`."""
        name = manifest.name
        place = Path(manifest.source["path"]) if "path" in manifest.source and manifest.identity is None else None
        if manifest.provider is Provider.POSITION:
            return self._by_position(name, place, refreshing=True)
        if manifest.provider is Provider.KEY:
            fresh = keys.from_key(self.spark, name, manifest.key[0], path=place, trusted=manifest.trusted)
        elif manifest.provider is Provider.COLUMN:
            fresh = keys.from_expression(self.spark, name, manifest.key[0], trusted=manifest.trusted)
        elif manifest.provider is Provider.DICTIONARY:
            return self._dictionary(name, list(manifest.key), manifest.trusted)
        else:
            check_unchanged(self.spark, manifest)  # its error names the remedy: rows of a new copy cannot be recognised
            return manifest
        return self._settle(name, fresh)

    def adopt(self, table: BaseTable) -> Manifest:
        """See `ForwardLineage.use`."""
        frame = open_relation(self.spark, table.relation)
        kinds = {column.lower(): (column, kind) for column, kind in columns_of(frame)}
        missing = [column for column in table.columns if column.lower() not in kinds]
        if missing:
            raise LineageError(f"table {table.name} has no column {missing[0]}, which the catalog names")
        view = None
        if table.relation != quoted_name(table.name):
            view = f"SELECT {', '.join(map(quoted, table.columns))} FROM {table.relation}"
        manifest = Manifest(
            name=table.name,
            provider=Provider.COLUMN,
            columns=tuple(kinds[column.lower()] for column in table.columns),
            relation=table.relation,
            row_id=table.row_id,
            view=view,
            source={"relation": table.relation},
            trusted=True,
        )
        self._make_view(manifest)
        named = None if view is not None else full_name(self.spark, table.name)
        opened = frame if view is not None else open_table(self.spark, table.name)
        return replace(manifest, identity=named, source={**manifest.source, "fingerprint": fingerprint(opened)})

    def register_result(self, name: str, folder: Path) -> Manifest:
        """Register the rows of a saved result, so that later queries can trace it.

        Unlike other tables, every version of a result numbers its rows from 0: the result's own version says which.

        Args:
            name: the result's name, of one part.
            folder: its Parquet files, in the order of their names; ids are the numbers of the rows in that order.

        Raises:
            LineageError: there is no such folder, or something in it is not Parquet.

        """

        def draft(last: Manifest | None) -> Manifest:
            manifest = replace(position.from_files(self.spark, name, folder), provider=Provider.RESULT)
            return replace(manifest, next_id=max(manifest.next_id, last.next_id if last is not None else 0))

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def drop(self, manifest: Manifest) -> None:
        """Forget a table: a last version that says so."""
        self.registrations.write(lambda last: replace(last or manifest, provider=Provider.DROPPED), manifest.name)
        if manifest.view is not None and view_text(self.spark, manifest.name) == manifest.view:
            self.spark.catalog.dropTempView(last_part(manifest.name))
            drop_hidden_views(self.spark, manifest)

    def restore_view(self, manifest: Manifest) -> None:
        """Give the session the name of a table that an earlier session registered, unless the name is in use."""
        if manifest.view is None or view_text(self.spark, manifest.name) == manifest.view:
            return
        if not self.spark.catalog.tableExists(quoted_name(manifest.name)) and _readable(manifest):
            with suppress(LineageError):  # what is wrong with its files is said when it is queried
                self._make_view(manifest)

    def catalog(self, manifests: Iterable[Manifest]) -> Catalog:
        """Return registered tables as a catalog, each also under the longer names that Spark knows it by."""
        catalog = Catalog()
        known = [(manifest, self.registrations.base_table(manifest)) for manifest in manifests]
        for _, table in known:
            catalog.add(table)
        for manifest, table in known:
            for alias in _aliases(manifest):
                catalog.add_alias(alias, table)
        return catalog

    def _settle(self, name: str, manifest: Manifest) -> Manifest:
        """Write a manifest that does not depend on the version before it."""

        def draft(last: Manifest | None) -> Manifest:
            if last is None:
                return manifest
            return replace(manifest, next_id=last.next_id, retired=last.retired)

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _by_position(self, name: str, place: Path | None, *, refreshing: bool = False) -> Manifest:
        def draft(last: Manifest | None) -> Manifest:
            if place is None:
                manifest = position.from_catalog_table(self.spark, name, last)
            else:
                manifest = position.from_files(self.spark, name, place, last)
            if refreshing and last is not None:
                _refuse_nothing_kept(last, manifest)
            return manifest

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _copy(self, name: str, given: copies.Source, order_by: list[str]) -> Manifest:
        last = self.registrations.latest(name)
        if last is not None and copies.is_copy_of(last, given, order_by):
            self._make_view(last)
            return last
        with self.registrations.new_data_folder(name) as folder:
            copied = copies.copy_rows(given, order_by, folder, name)

            def draft(_: Manifest | None) -> Manifest:  # another session may have given ids meanwhile
                files, next_id = with_offsets(copied.files, self.registrations.next_id(name))
                return replace(copied, files=tuple(files), next_id=next_id)

            written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _dictionary(self, name: str, key: list[str], trusted: bool) -> Manifest:
        last = self.registrations.latest(name)
        if last is not None and dictionary.still_holds(self.spark, last, key):
            return last
        begun = self.registrations.newest(name)
        with self.registrations.new_data_folder(name) as folder:
            manifest = dictionary.from_columns(
                self.spark,
                name,
                key,
                folder,
                last=last,
                next_id=self.registrations.next_id(name),
                trusted=trusted,
            )

            def draft(_: Manifest | None) -> Manifest:
                if self.registrations.newest(name) != begun:
                    raise LineageError(f"another session registered {name} at the same time", instead="Do it again.")
                return manifest

            return self.registrations.write(draft, name)

    def _make_view(self, manifest: Manifest) -> None:
        make_views(self.spark, manifest, self.registrations.base_table(manifest))


def _refuse_contradictions(
    name: str,
    *,
    key: str | Sequence[str] | None,
    path: str | Path | None,
    order_by: str | Sequence[str] | None,
    row_id: str | None,
    source: DataFrame | str | None,
    file_format: str,
) -> None:
    parts = split_name(name)
    if (path is not None or source is not None or order_by is not None) and len(parts) > 1:
        raise LineageError(
            f"{name} cannot be the name of a temporary view",
            instead="Register files and copies under a name of one part.",
        )
    if path is not None and source is not None:
        raise LineageError("path= and source= both say where the rows come from", instead="Give one of them.")
    given = [word for word, value in (("key=", key), ("order_by=", order_by), ("row_id=", row_id)) if value is not None]
    if len(given) > 1:
        raise LineageError(f"{' and '.join(given)} both say what identifies a row", instead="Give one of them.")
    foreign = path is not None and file_format.lower() != "parquet"
    if (foreign or source is not None) and given in (["key="], ["row_id="]):
        raise LineageError(
            f"{given[0]} does not go with rows that have to be copied",
            instead="Leave it out: the rows of the copy get dense ids, in the order of order_by=.",
        )
    if path is not None and (row_id is not None or not isinstance(key, str | None)):
        raise LineageError(
            f"{given[0]} needs a table or view that Spark knows",
            instead=f"Make one first: CREATE TEMPORARY VIEW … AS SELECT * FROM parquet.`{path}`.",
        )


def _refuse_nothing_kept(last: Manifest, fresh: Manifest) -> None:
    then = {(file.offset, file.rows, file.footer) for file in last.files}
    if last.provider is Provider.POSITION and not any((f.offset, f.rows, f.footer) in then for f in fresh.files):
        raise LineageError(
            f"none of the {len(last.files)} registered files of {last.name} is left, so no row can keep its id",
            instead=f'Register "{last.name}" again: all rows get new ids, and the old ones are retired.',
        )


def _listed(order_by: str | Sequence[str] | None) -> list[str]:
    if order_by is None:
        return []
    return [order_by] if isinstance(order_by, str) else list(order_by)


def _readable(manifest: Manifest) -> bool:
    place = manifest.source.get("data") or manifest.source.get("path")
    return place is not None and Path(place).exists()


def _aliases(manifest: Manifest) -> list[str]:
    """A table of Spark's catalog may also be called by its database, and by its catalog."""
    if manifest.identity is None:
        return []
    parts = [quoted(part) for part in split_name(manifest.identity, keep_case=True)]
    return [".".join(parts[-2:]), ".".join(parts)]
