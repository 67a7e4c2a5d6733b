"""Saved results as tables: queries read the newest version of each by its name."""

from __future__ import annotations

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.spark.names import quoted
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import LineageError


class ResultTables:
    """Keeps the registered tables of a session in step with the saved results of its home.

    Args:
        library: the saved results, whichever session saved them.
        tables: the session's tables.

    """

    def __init__(self, library: Library, tables: RegisteredTables) -> None:
        self._library, self._tables = library, tables

    def bring_up_to_date(self) -> None:
        """Let queries read the newest version of every saved result, and none that is gone."""
        found, damaged = self._library.every()
        results = {saved.name.lower(): saved for saved in found}
        for name in set(self._library.names()) - set(results) - set(damaged):
            self._tables.forget_result(name)
        for saved in results.values():
            if self._is_to_be_read(saved):
                self._read(saved)

    def _is_to_be_read(self, saved: SavedResult) -> bool:
        """Whether the name is free, or means another version of the result."""
        known = self._tables.get(saved.name)
        if known is None:
            return not self._tables.spark.catalog.tableExists(quoted(saved.name))
        return known.provider is Provider.RESULT and known.source.get("path") != str(saved.rows_folder.resolve())

    def _read(self, saved: SavedResult) -> None:
        try:
            check_row_files(saved)
            self._tables.register_result(saved.name, saved.rows_folder)
        except LineageError as error:  # said when it is queried; others stay usable
            self._tables.damaged[saved.name.lower()] = error
