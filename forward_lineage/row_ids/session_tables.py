"""The registered tables of a session: by name, as rules need them, and in the best way to read them here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.catalog import Catalog
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.hidden_views import resolved, views_asked_for
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.name_lookup import not_registered
from forward_lineage.row_ids.registrar import Registrar
from forward_lineage.row_ids.registration_request import Request
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.row_ids.row_changes import RowChanges, Version, row_changes
from forward_lineage.row_ids.table_statistics import statistics_of
from rewrites.tables import BaseTable
from udafs.errors import LineageError


class RegisteredTables:
    """The registrations that this session knows; names are compared without regard to case.

    Making one gives the session the names of the tables that earlier sessions registered.

    Args:
        spark: the session, with the kernel attached.
        registrations: manifests on disk.

    Attributes:
        damaged: by name in lower case, the faults of tables and results that cannot be read; you are told one when you
            use its table.

    """

    def __init__(self, spark: SparkSession, registrations: Registrations) -> None:
        self.spark = spark
        self.registrations = registrations
        self._registrar = Registrar(spark, registrations)
        known, damaged = registrations.readable()
        self.damaged: dict[str, LineageError] = {name.lower(): error for name, error in damaged.items()}
        self._manifests: dict[str, Manifest] = {manifest.name.lower(): manifest for manifest in known}
        for manifest in known:
            self._registrar.restore_view(manifest)

    # ------------------------------------------------------------ what is there

    def all(self) -> dict[str, Manifest]:
        """Return every registration, by the table's name."""
        return {manifest.name: manifest for manifest in self._manifests.values()}

    @property
    def catalog(self) -> Catalog:
        """The tables as `rewrite_sql` takes them."""
        return self._registrar.catalog(self._manifests.values())

    @property
    def of_catalogs(self) -> dict[str, Manifest]:
        """The registered tables of Spark's catalogs, each by its registered name in lower case."""
        return {name: each for name, each in self._manifests.items() if each.identity is not None}

    def get(self, name: str) -> Manifest | None:
        """Return the registration that this session knows; None when there is none."""
        return self._manifests.get(name.lower())

    def registered(self, name: str) -> Manifest:
        """Return a table's registration, also one that another session made meanwhile.

        Raises:
            NotRegisteredError: there is none.
            DamagedError: its manifest cannot be read.

        """
        manifest = self.get(name) or self.registrations.latest(name)
        if manifest is None:
            raise not_registered(name, [each.name for each in self._manifests.values()])
        return manifest

    def base_table(self, manifest: Manifest) -> BaseTable:
        """Return how the rows of a table are best read in this session."""
        table = resolved(self.spark, manifest, self.registrations.base_table(manifest))
        return replace(table, statistics=statistics_of(manifest))

    def with_statistics(self, table: BaseTable) -> BaseTable:
        """Return a table of `catalog` with what is known of its rows."""
        return replace(table, statistics=statistics_of(self._manifests[table.name.lower()]))

    def base_table_here(self, table: BaseTable) -> BaseTable:
        """Return how the rows of a table of `catalog` are best read in this session."""
        return self.base_table(self._manifests[table.name.lower()])

    def views_asked_for(self, names: Iterable[str]) -> list[str]:
        """Return the views that are looked at before a statement runs that reads these tables, as far as known here."""
        known = [found for name in names if (found := self.get(name)) is not None]
        return [view for manifest in known for view in views_asked_for(manifest)]

    def check_unchanged(self, names: Iterable[str]) -> list[Manifest]:
        """Return the registrations of some tables, each being what was registered still.

        Raises:
            ChangedError: one of them is not.

        """
        manifests = [self._manifests[name.lower()] for name in names]
        for manifest in manifests:
            check_unchanged(self.spark, manifest)
        return manifests

    def changed(self, name: str, since: int, kinds: bool = False) -> DataFrame:
        """Return the rows of a table that came, differ or went since an earlier version of its registration."""
        now = self.registered(name)
        check_unchanged(self.spark, now)
        return self.changes(self.registrations.version(now.name, since), now).as_frame(self.spark, kinds)

    def changes(self, then: Manifest, now: Manifest) -> RowChanges:
        """Tell which rows of a table went, came or differ between two versions, the later being what is there.

        Raises:
            LineageError: as for `row_changes`.

        """
        return row_changes(self.spark, self._version(then), self._version(now))

    def _version(self, manifest: Manifest) -> Version:
        return Version(manifest, self.registrations.path(manifest), self.registrations.base_table(manifest))

    # ------------------------------------------------------------ what changes it

    def register(self, request: Request) -> Manifest:
        """Give the rows of a table ids, so that queries over it can be traced. docs/row-ids.md states the contract."""
        return self._know(self._registrar.register(request))

    def past(self, name: str, value: str, *, is_time: bool) -> Manifest | None:
        """Return an earlier version of a registered table as a table; None: it is not registered, or has no log.

        Args:
            name: of the table.
            value: which version, or its time.
            is_time: which of these.

        """
        manifest = self.get(name)
        if manifest is None or not manifest.provider.by_format or manifest.is_past:
            return None
        return self._know(self._registrar.register_past(manifest, value, is_time=is_time))

    def adopt(self, table: BaseTable) -> Manifest:
        """Take a table of a catalog on trust; see `ForwardLineage.use`."""
        return self._know(self._registrar.adopt(table))

    def refresh(self, name: str) -> Manifest:
        """Accept that a table has changed: rows in unchanged files keep their ids, new rows get new ones."""
        return self._know(self._registrar.refresh(self.registered(name)))

    def unregister(self, name: str) -> None:
        """Forget a table. Saved results keep the lineage they have."""
        self._registrar.drop(self.registered(name))
        self._manifests.pop(name.lower(), None)

    def register_result(self, name: str, place: str, schema: Mapping[str, Any]) -> Manifest:
        """Make the rows of a saved result a table; see `Registrar.register_result`."""
        return self._know(self._registrar.register_result(name, place, schema))

    def forget_result(self, name: str) -> None:
        """Make the name of a saved result that is gone mean nothing, if it means one."""
        manifest = self.get(name)
        if manifest is not None and manifest.provider is Provider.RESULT:
            self._registrar.drop(self._manifests.pop(name.lower()))
            self.registrations.clear_results(manifest.name)

    def _know(self, manifest: Manifest) -> Manifest:
        self._manifests[manifest.name.lower()] = manifest
        self.damaged.pop(manifest.name.lower(), None)
        return manifest
