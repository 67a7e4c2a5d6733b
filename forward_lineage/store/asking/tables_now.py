"""Present base tables of saved results: do their ids still mean what they meant when a result was saved?"""

from __future__ import annotations

from forward_lineage.row_ids.checks import check_files, check_unchanged, current_files
from forward_lineage.row_ids.data_files import stat_files
from forward_lineage.row_ids.hidden_views import files_by_name
from forward_lineage.row_ids.manifest import Manifest, same_ids
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.store.asking.pipeline import BlockedError
from forward_lineage.store.asking.rows import IdentifiedRows, missing
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.tracing.restricting import depends_on
from udafs.errors import ChangedError, LineageError
from udafs.lineage_set import LineageSet


class TablesNow:
    """The registered tables of a session, compared with what saved results were made of.

    Args:
        tables: the session's.

    """

    def __init__(self, tables: RegisteredTables) -> None:
        self._tables = tables

    def version(self, name: str) -> int | None:
        """Return the version of a table that a query would read; None when it changed and nobody registered that."""
        manifest = self._tables.get(name)
        if manifest is None:
            return None
        try:
            self._tables.check_unchanged([name])
        except LineageError:
            return None
        return manifest.version

    def registered_version(self, name: str) -> int:
        """Return the version that a table is registered as.

        Raises:
            NotRegisteredError: it is not registered.

        """
        return self._tables.registered(name).version

    def takes_on_trust(self, name: str) -> bool:
        """Tell whether a table is registered with ``trusted=True`` now."""
        manifest = self._tables.get(name)
        return manifest is not None and manifest.trusted

    def check_known(self, name: str) -> None:
        """Check that there is such a table at all.

        Raises:
            NotRegisteredError: it is not registered.

        """
        self._tables.registered(name)

    def depends_on(self, name: str, condition: str) -> str | None:
        """Say what a condition over a table's rows depends on besides the row; None: nothing.

        Raises:
            NotRegisteredError: it is not registered.
            WrongSqlError: Spark's own complaint about the condition.

        """
        base = self._tables.base_table(self._tables.registered(name))
        return depends_on(self._tables.spark, base.relation, condition)

    def rows(self, name: str) -> IdentifiedRows:
        """Return the rows of a table with their ids.

        Raises:
            NotRegisteredError: it is not registered.
            ChangedError: it is not what was registered any more.

        """
        manifest = self._tables.registered(name)
        check_unchanged(self._tables.spark, manifest)
        return self.rows_of(manifest)

    def rows_of(self, manifest: Manifest) -> IdentifiedRows:
        """Return the rows of a table that is what its registration says."""
        return self._identified(manifest, self._tables)

    def _identified(self, manifest: Manifest, tables: RegisteredTables | Registrations) -> IdentifiedRows:
        spark, base = self._tables.spark, tables.base_table(manifest)
        with files_by_name(spark, manifest):
            return IdentifiedRows.of_relation(spark, base.identified or base.relation, base.row_id, base.columns)

    def registration(self, result: str, edge: TracedTable, ids: LineageSet) -> Manifest:
        """Return the registration of a table whose rows have the ids in a saved result still.

        Raises:
            ChangedError: some of them are gone, or ids mean something else now.

        """
        now = self._tables.registered(edge.name)
        check_unchanged(self._tables.spark, now)
        self._check_meaning(result, edge, now)
        if now.version != edge.version or now.trusted:  # whether a trusted table has changed, its rows alone say
            gone = self._gone(ids, now)
            if gone:
                raise _other_rows(result, edge, now, len(ids), gone)
        return now

    def as_it_was(self, saved: Saved, edge: TracedTable, library: Library) -> IdentifiedRows | None:
        """Return the rows of a table as they were when a result was saved, if a condition must be asked of these.

        Returns:
            None where the table as it is now tells: all rows that the result was made of are there still.

        Raises:
            BlockedError: rows are in no file any more, or ids mean something else now.

        """
        now = self._tables.registered(edge.name)
        if now.version == edge.version:
            return None
        then = edge.registration()
        if then is not None and then.keeps_old_rows and (rows := self.in_old_files(edge, then)) is not None:
            return rows  # a row that was changed keeps its id there
        same = same_ids(then, now)
        gone = self._gone(library.relation(saved, edge).ids(), now) if same else 0
        if same and not gone:
            return None
        rows = self.in_old_files(edge, then) if then is not None and then.provider.by_position else None
        if rows is not None:
            return rows
        if not same:
            raise BlockedError(_meaning(saved.name, edge, now), saved)
        raise BlockedError(
            f"{gone} rows of {edge.name} that {saved.name} was made of are gone, so a condition cannot find them: "
            f"it was saved with version {edge.version}, now it is version {now.version}",
            saved,
            "give ids=",
        )

    def is_by_position(self, edge: TracedTable) -> bool:
        """Tell whether ids of a table were positions in files when a result was saved, and are so now."""
        return edge.provider.by_position and self._tables.registered(edge.name).provider.by_position

    def keeps_ids(self, edge: TracedTable) -> bool:
        """Tell whether a row that was changed keeps its id, so that a condition over its new values finds it, too."""
        then = edge.registration()
        return then is not None and then.keeps_old_rows and same_ids(then, self._tables.registered(edge.name))

    def _gone(self, ids: LineageSet, now: Manifest) -> int:
        """How many rows with these ids a table has not, or has not any more; of ids in files their ranges tell."""
        if now.provider.by_position:
            return len(missing(ids, ((file.offset, file.rows) for file in now.files)))
        return len(ids) - self.rows_of(now).pick(ids).count()

    def in_old_files(self, edge: TracedTable, then: Manifest) -> IdentifiedRows | None:
        """Return the rows of a version of a table, if its files are all where they were, and none is beside them."""
        if not self.files_are_there(edge, then):
            return None
        return self._identified(then, self._tables.registrations)

    def files_are_there(self, edge: TracedTable, then: Manifest) -> bool:
        """Tell whether the files of a version of a table are all where they were, and none is beside them."""
        spark, registrations = self._tables.spark, self._tables.registrations
        try:
            if registrations.version(edge.name, edge.version).digest() != then.digest():
                return False  # of a home that was made anew
            named = then.provider.by_format
            there = stat_files((file.path for file in then.files), spark) if named else current_files(spark, then)
            check_files(then, there)
        except LineageError:
            return False
        return True

    def check_same_version(self, saved: Saved, edge: TracedTable) -> None:
        """Check that a table's rows have the values now that they had when a result of LINEAGE ON was saved.

        Raises:
            BlockedError: it is registered as another version.

        """
        now = self._tables.registered(edge.name)
        if now.version != edge.version:
            raise BlockedError(
                f"{saved.name} knows values of {edge.name} in version {edge.version}, now it is version {now.version}",
                saved,
                f"give a condition over {', '.join(edge.granules)}",
            )

    def same_ids(self, one: TracedTable, other: TracedTable) -> bool:
        """Tell whether ids of two versions of a table mean the same rows."""
        return one.version == other.version or same_ids(one.registration(), other.registration())

    def _check_meaning(self, result: str, edge: TracedTable, now: Manifest) -> None:
        if now.version != edge.version and not same_ids(edge.registration(), now):
            raise ChangedError(_meaning(result, edge, now), instead=f"Save {result} again.")


def _meaning(result: str, edge: TracedTable, now: Manifest) -> str:
    return (
        f"the ids of {edge.name} mean other rows now: {result} was saved with version {edge.version} "
        f"(ids by {edge.provider}), now it is version {now.version} (ids by {now.provider})"
    )


def _other_rows(result: str, edge: TracedTable, now: Manifest, asked: int, gone: int) -> ChangedError:
    since = f"now it is version {now.version}" if now.version != edge.version else "on trust, and it has changed"
    what = f"{gone} of the {asked} rows of {edge.name} that were asked for are gone"
    if gone < 0:
        what = f"the {asked} ids in {edge.name} that were asked for are those of {asked - gone} rows"
    return ChangedError(
        f"{what}: {result} was saved with version {edge.version}, {since}",
        instead="lineage.backward_ids(…) still names them; save the result again for one that is in step.",
    )
