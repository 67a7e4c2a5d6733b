"""The provider that a registration takes, and its results: a manifest on disk and a name in the session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids import copies, dictionary, kept_hashes, position
from forward_lineage.row_ids import key as keys
from forward_lineage.row_ids.checks import check_name, check_there, check_unchanged
from forward_lineage.row_ids.data_files import DataFile, with_offsets
from forward_lineage.row_ids.file_locations import as_list, source_of
from forward_lineage.row_ids.formats import provider
from forward_lineage.row_ids.formats.named_tables import by_name, current
from forward_lineage.row_ids.formats.past_versions import name_of_version, version_of
from forward_lineage.row_ids.formats.versions import Table, check_kept, table_of
from forward_lineage.row_ids.hidden_views import drop_hidden_views, make_name, make_views
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.other_formats import refuse_other_formats
from forward_lineage.row_ids.parquet_function import know_columns
from forward_lineage.row_ids.registration_request import Request
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.row_ids.sources import check_repeatable
from forward_lineage.spark.names import joined, quoted, quoted_name, split_name
from forward_lineage.spark.paths import is_far
from forward_lineage.spark.tables import (
    columns_in,
    columns_of,
    fingerprint,
    full_name,
    last_part,
    open_relation,
    open_table,
    view_text,
)
from rewrites.tables import BaseTable
from udafs.attach import is_remote
from udafs.errors import BadArgumentError, ChangedError, LineageError, NameTakenError, listed

_NUMBERED = re.compile(r"/part-(\d{19})\.parquet$")


class Registrar:
    """Registers tables of one session.

    Args:
        spark: the session, with the kernel attached.
        registrations: where manifests are kept.

    """

    def __init__(self, spark: SparkSession, registrations: Registrations) -> None:
        self.spark = spark
        self.registrations = registrations

    def register(self, request: Request) -> Manifest:
        """Give the rows of a table ids; see `ForwardLineage.register`."""
        request.check()
        self.registrations.folder(request.name)  # raises what is wrong with the name, before anything is read
        name, key, path = request.name, request.key, request.path
        if request.asks_for_a_copy:
            return self._register_copy(request)
        if path is not None and not is_remote(self.spark):
            refuse_other_formats(name, as_list(path))
        place = None if path is None else source_of(self.spark, path)
        table = None if place is None else self._with_a_log(request, place)
        if place is None and key is None and request.row_id is None:
            table = by_name(self.spark, name)
        if table is not None:
            return self._by_format(name, table, trusted=request.trusted)
        if request.row_id is not None:
            by_expression = keys.from_expression(self.spark, name, request.row_id, trusted=request.trusted)
            return self._settle(name, by_expression, hashes=request.hashes)
        if isinstance(key, str):
            by_key = keys.from_key(self.spark, name, key, path=place, trusted=request.trusted)
            return self._settle(name, by_key, hashes=request.hashes)
        if key is not None:
            return self._dictionary(name, list(key), request.trusted)
        return self._by_position(name, place)

    def refresh(self, manifest: Manifest) -> Manifest:
        """Accept that a table has changed: rows in unchanged files keep their ids, new rows get new ones."""
        name, trusted = manifest.name, manifest.trusted
        check_name(self.spark, manifest)
        if manifest.copied_from:
            return self._copied_again(manifest)
        named: dict[str, Any] = {part: manifest.source[part] for part in ("path", "paths") if part in manifest.source}
        place = named if named and manifest.identity is None else None
        match manifest.provider:
            case Provider.POSITION:
                return self._by_position(name, place, refreshing=True)
            case Provider.KEY | Provider.COLUMN:
                by_key = manifest.provider is Provider.KEY
                ids = partial(keys.from_key, path=place) if by_key else keys.from_expression
                found = ids(self.spark, name, manifest.key[0], trusted=trusted)
                return self._settle(name, found, hashes="hashes" in manifest.source)
            case Provider.DICTIONARY:
                return self._dictionary(name, list(manifest.key), trusted)
            case Provider.DELTA | Provider.ICEBERG if not manifest.is_past:
                table = table_of(self.spark, manifest)
                if manifest.identity is not None:
                    table = current(self.spark, manifest.identity, name)
                check_kept(manifest, table)
                return self._by_format(name, table, trusted=trusted)
        check_unchanged(self.spark, manifest)
        return manifest

    def register_past(self, manifest: Manifest, value: str, *, is_time: bool) -> Manifest:
        """Register an earlier version of a registered table with a log; once.

        Args:
            manifest: the table's registration.
            value: which version, or its time.
            is_time: which of these.

        Raises:
            BadArgumentError, ChangedError: there is none.
            NameTakenError: something else has the name.
            LineageError: it cannot be read, see `provider.from_log`.

        """
        named = manifest.identity
        table = table_of(self.spark, manifest) if named is None else current(self.spark, named, manifest.name)
        version = version_of(self.spark, manifest.name, table, value, is_time=is_time)
        name = name_of_version(manifest.name, version)
        known = self.registrations.latest(name)
        if known is not None and known.is_past and known.key[:2] == manifest.key[:2]:
            check_there(self.spark, known)
            self._make_view(known)
            return known
        if known is not None or self.spark.catalog.tableExists(quoted_name(name)):
            raise NameTakenError(f"{name} is the name of something else", instead="Register that under another name.")
        table = replace(table, identity=None)

        def draft(_: Manifest | None) -> Manifest:
            return provider.from_log(self.spark, name, table, trusted=manifest.trusted, version=version)

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def adopt(self, table: BaseTable) -> Manifest:
        """Trace the tables of a catalog in this session, on trust and without writing anything under `home`."""
        frame = open_relation(self.spark, table.relation)
        own_name = table.relation == quoted_name(table.name)
        view = None if own_name else f"SELECT {', '.join(map(quoted, table.columns))} FROM {table.relation}"
        given = open_relation(self.spark, f"(SELECT {table.row_id} AS id FROM {table.identified or table.relation})")
        check_repeatable(given, table.name)
        manifest = Manifest(
            name=table.name,
            provider=Provider.COLUMN,
            columns=_as_spark_has_them(table, frame),
            relation=table.relation,
            row_id=table.row_id,
            view=view,
            source={"relation": table.relation},
            trusted=True,
        )
        self._make_view(manifest)
        named = full_name(self.spark, table.name) if own_name else None
        opened = open_table(self.spark, table.name) if own_name else frame
        return replace(manifest, identity=named, source={**manifest.source, "fingerprint": fingerprint(opened)})

    def register_result(self, name: str, place: str | Path, schema: Mapping[str, Any] | None = None) -> Manifest:
        """Register the rows of a saved result, so that later queries can trace it.

        Unlike other tables, every version of a result numbers its rows from 0: the result's own version says which.

        Args:
            name: the result's name, of one part.
            place: the folder of its Parquet files, or its address. Ids are the numbers of the rows: files are called
                by that of their first row.
            schema: what the files say that their columns are, as JSON, if it is known.

        Raises:
            LineageError: there is no such folder, or something in it is not Parquet.

        """
        path = str(place) if is_far(str(place)) else str(Path(place).resolve())
        columns = None
        if schema is not None:
            know_columns(self.spark, path, schema)
            columns = columns_in(StructType.fromJson(dict(schema)))

        def draft(last: Manifest | None) -> Manifest:
            rows = position.from_source(self.spark, name, {"path": path}, columns=columns)
            files = tuple(replace(file, offset=_first_number(file)) for file in rows.files)
            ends = (rows.next_id, last.next_id if last is not None else 0, *(each.offset + each.rows for each in files))
            return replace(rows, provider=Provider.RESULT, files=files, next_id=max(ends))

        written = self.registrations.write(draft, name, of_result=True)
        self.registrations.clear_results(name)
        make_name(self.spark, written)
        return written

    def drop(self, manifest: Manifest) -> None:
        """Forget a table: a last version that says so."""
        self.registrations.write(
            lambda last: replace(last or manifest, provider=Provider.DROPPED),
            manifest.name,
            of_result=manifest.provider is Provider.RESULT,
        )
        self.registrations.clear_granules(manifest.name)
        if manifest.view is not None and not manifest.gives_name:
            drop_hidden_views(self.spark, manifest)
        elif manifest.view is not None and view_text(self.spark, manifest.name) == manifest.view:
            self.spark.catalog.dropTempView(last_part(manifest.name))
            drop_hidden_views(self.spark, manifest)

    def restore_view(self, manifest: Manifest) -> None:
        """Give the session the name of a table that an earlier session registered, unless the name is in use."""
        if not manifest.gives_name or view_text(self.spark, manifest.name) == manifest.view:
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

    def _settle(self, name: str, manifest: Manifest, *, hashes: bool = False) -> Manifest:
        """Write a manifest that does not depend on the version before it, but for hashes that are kept."""

        def draft(last: Manifest | None) -> Manifest:
            if last is None:
                return manifest
            return replace(manifest, next_id=last.next_id, retired=last.retired)

        last = self.registrations.latest(name) if hashes else None
        if not hashes:
            written = self.registrations.write(draft, name)
        elif last is not None and draft(last).says_the_same(kept_hashes.without(last)) and kept_hashes.are_kept(last):
            written = last
        else:
            with self.registrations.new_data_folder(name) as folder:
                manifest = kept_hashes.written(self.spark, manifest, folder)
                written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _by_position(self, name: str, place: Mapping[str, Any] | None, *, refreshing: bool = False) -> Manifest:
        def draft(last: Manifest | None) -> Manifest:
            if place is None:
                manifest = position.from_catalog_table(self.spark, name, last)
            else:
                manifest = position.from_source(self.spark, name, place, last)
            if refreshing and last is not None:
                _refuse_nothing_kept(last, manifest)
            return manifest

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _with_a_log(self, request: Request, place: Mapping[str, Any]) -> Table | None:
        """Return the table whose format gives its rows ids, if a path is that of one."""
        if request.names_a_log:
            return provider.of_format(self.spark, str(place.get("path", request.path)), request.file_format)
        if request.key is not None:
            self._refuse_other_versions(request)
            return None
        return provider.recognised(self.spark, place["path"]) if "path" in place else None

    def _refuse_other_versions(self, request: Request) -> None:
        """The folder of a table with a log has files that the current version has not."""
        if request.path is None or request.file_format.lower() != "parquet":
            return
        place = source_of(self.spark, request.path)
        if "path" in place and (table := provider.recognised(self.spark, place["path"])) is not None:
            raise BadArgumentError(
                f"{place['path']} is a table of {table.provider}, and not all files in it are of its current version",
                instead="Leave key= and order_by= out, since its rows have ids of their own; or name it as Spark knows "
                "it, without path=.",
            )

    def _by_format(self, name: str, table: Table, *, trusted: bool) -> Manifest:
        def draft(last: Manifest | None) -> Manifest:
            return provider.from_log(self.spark, name, table, last, trusted=trusted)

        written = self.registrations.write(draft, name)
        self._make_view(written)
        return written

    def _register_copy(self, request: Request) -> Manifest:
        self._refuse_other_versions(request)
        given = copies.open_source(
            self.spark,
            request.name,
            source=request.source,
            path=request.path,
            file_format=request.file_format,
            options=dict(request.options),
        )
        if request.key is None:
            return self._copy(request.name, given, request.sort_keys)
        key = request.key if isinstance(request.key, str) else list(request.key)
        return self._keyed_copy(request.name, given, key, request.trusted)

    def _copied_again(self, manifest: Manifest) -> Manifest:
        """Copy what has changed since it was copied, with the options that were given then."""
        if self._is_in_step(manifest):
            return manifest
        again = copies.opened_again(self.spark, manifest)
        if manifest.provider is Provider.COPY:
            return self._copy(manifest.name, again, list(manifest.order_by))
        key = manifest.key[0] if manifest.provider is Provider.KEY else list(manifest.key)
        return self._keyed_copy(manifest.name, again, key, manifest.trusted)

    def _is_in_step(self, manifest: Manifest) -> bool:
        """Whether what a copy was made from is known to be what it was; a name may mean other files than then."""
        table = manifest.copied_from.get("table")
        if table is not None and self.spark.catalog.tableExists(quoted_name(table)):
            return False  # it is copied again only if it is not what it was
        try:
            check_unchanged(self.spark, manifest)
        except ChangedError:
            return False
        return bool(manifest.copied_files())

    def _copy(self, name: str, given: copies.Source, order_by: list[str]) -> Manifest:
        last = self.registrations.latest(name)
        if last is not None and last.provider is Provider.COPY and copies.is_copy_of(last, given, order_by):
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

    def _keyed_copy(self, name: str, given: copies.Source, key: str | list[str], trusted: bool) -> Manifest:
        """Copy rows that a key identifies: a row that is there again has the id that it had, whatever else of it is."""
        last = self.registrations.latest(name)
        if last is not None and _is_by_key(last, key) and copies.is_copy_of(last, given, ()):
            self._make_view(last)
            return last
        with self.registrations.new_data_folder(name) as folder:
            copied = copies.copy_rows(given, (), folder, name).source
            if isinstance(key, str):
                place = {"path": str(folder), "format": "parquet"}
                manifest = keys.from_key(self.spark, name, key, path=place, trusted=trusted)
                return self._settle(name, replace(manifest, source={**manifest.source, "copied": copied}))
            written = self._dictionary(name, key, trusted, copied)
        self._make_view(written)
        return written

    def _dictionary(
        self, name: str, key: list[str], trusted: bool, copied: Mapping[str, Any] | None = None
    ) -> Manifest:
        last = self.registrations.latest(name)
        if copied is None and last is not None and dictionary.still_holds(self.spark, last, key):
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
                copied=copied,
            )

            def draft(_: Manifest | None) -> Manifest:
                if self.registrations.newest(name) != begun:
                    raise NameTakenError(f"another session registered {name} at the same time", instead="Do it again.")
                return manifest

            return self.registrations.write(draft, name)

    def _make_view(self, manifest: Manifest) -> None:
        make_views(self.spark, manifest, self.registrations.base_table(manifest))


def _first_number(file: DataFile) -> int:
    """The number of the first row in a file of a saved result; others call their files as they like."""
    named = _NUMBERED.search(file.path)
    return file.offset if named is None else int(named[1])


def _as_spark_has_them(table: BaseTable, frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """Return the columns that a catalog names, with the types that Spark says."""
    kinds = {column.lower(): (column, kind) for column, kind in columns_of(frame)}
    missing = [column for column in table.columns if column.lower() not in kinds]
    if missing:
        raise ChangedError(
            f"table {table.name} has no column {missing[0]}, which the catalog names",
            instead=f"Spark reads {listed(frame.columns)}: put the catalog right.",
        )
    return tuple(kinds[column.lower()] for column in table.columns)


def _refuse_nothing_kept(last: Manifest, fresh: Manifest) -> None:
    then = {(file.offset, file.rows, file.footer) for file in last.files}
    if last.provider is Provider.POSITION and not any((f.offset, f.rows, f.footer) in then for f in fresh.files):
        raise ChangedError(
            f"none of the {len(last.files)} registered files of {last.name} is left, so no row can keep its id",
            instead=f'Register "{last.name}" again: all rows get new ids, and the old ones are retired.',
        )


def _is_by_key(manifest: Manifest, key: str | list[str]) -> bool:
    """Whether ids are from this key, in the same way."""
    one = isinstance(key, str)
    columns = [key] if isinstance(key, str) else key
    same = [column.lower() for column in manifest.key] == [column.lower() for column in columns]
    return same and manifest.provider is (Provider.KEY if one else Provider.DICTIONARY)


def _readable(manifest: Manifest) -> bool:
    if "paths" in manifest.source:
        return True
    place = manifest.source.get("data") or manifest.source.get("path")
    return place is not None and (is_far(place) or Path(place).exists())


def _aliases(manifest: Manifest) -> list[str]:
    """A table of Spark's catalog may also be called by its database, and by its catalog."""
    if manifest.identity is None:
        return []
    parts = split_name(manifest.identity, keep_case=True)
    if parts[0].lower() != "spark_catalog":  # after USE, a name without the catalog means another table
        return [joined(parts)]
    return [joined(parts[-2:]), joined(parts)]
