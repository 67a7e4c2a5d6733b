"""Saved results as tables: queries read the newest version of each by its name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import quoted
from forward_lineage.spark.paths import is_far
from forward_lineage.storage.mirror import LOCAL
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import place_as_read, rows_as_read
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import LineageError, SetupError


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
        results = {saved.name.lower(): saved for saved in found if isinstance(saved, SavedResult)}
        for name in set(self._library.names()) - set(results) - set(damaged):
            self._tables.forget_result(name)
            self._library.clear_copies(name)
        for saved in results.values():
            if self._is_to_be_read(saved):
                self._read(saved)

    def _is_to_be_read(self, saved: SavedResult) -> bool:
        """Whether the name is free, or means another version of the result."""
        known = self._tables.get(saved.name)
        if known is None:
            return not self._tables.spark.catalog.tableExists(quoted(saved.name))
        if known.provider is not Provider.RESULT:
            return False
        with suppress(SetupError):  # said when it is read
            place = place_as_read(self._tables.spark, saved)
            fetched = saved.files is not LOCAL and not is_far(place)
            return known.source.get("path") != place or (fetched and not Path(place).exists())
        return True

    def _read(self, saved: SavedResult) -> None:
        try:
            self._tables.register_result(saved.name, rows_as_read(self._tables.spark, saved), saved.schema)
            self._library.clear_copies(saved.name)
        except LineageError as error:  # said when it is queried; others stay usable
            self._tables.damaged[saved.name.lower()] = error
