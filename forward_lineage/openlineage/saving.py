"""The news of a save while it runs, for listeners."""

from __future__ import annotations

from collections.abc import Sequence

from forward_lineage.store.library.saved_result import SavedResult, TracedTable


class Saving:
    """The news of a save while it runs; this one keeps it to itself."""

    def reads(self, tables: Sequence[TracedTable]) -> None:
        """Say which tables and saved results the query reads, before it runs."""

    def has_saved(self, saved: SavedResult) -> None:
        """Say what was saved."""
