"""Which tables a statement is traced to, and of which of their rows lineage is noted: not all, for those who know."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rewrites.tables import BaseTable


@dataclass(frozen=True)
class Narrowed:
    """What of a statement's lineage is noted.

    Attributes:
        tables: names of the only tables that are traced.
        restricted: some of them, with a row id that is NULL for rows whose lineage is not noted; they take the places
            of the tables of their names.

    """

    tables: tuple[str, ...]
    restricted: tuple[BaseTable, ...] = ()

    def restricting(self, name: str) -> BaseTable | None:
        """Return the table that takes the place of another one; None: nothing does."""
        return next((table for table in self.restricted if table.name.lower() == name.lower()), None)


def restricted(table: BaseTable, condition: str) -> BaseTable:
    """Return a table whose rows have an id only where a condition over its columns holds."""
    return replace(table, row_id=f"CASE WHEN ({condition}) THEN {table.row_id} END")


def only(tables: Collection[BaseTable]) -> Narrowed:
    """Trace these tables, as they are given, and nothing else."""
    return Narrowed(tuple(table.name for table in tables), tuple(tables))
