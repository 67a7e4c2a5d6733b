"""The tables that a statement is traced to, and their rows whose lineage is noted: not all, for some callers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rewrites.tables import BaseTable


@dataclass(frozen=True)
class Narrowed:
    """The part of a statement's lineage that is noted.

    Attributes:
        tables: names of the only tables that are traced.
        restricted: some of them, with a row id that is NULL for rows whose lineage is not noted. They replace the
            tables of their names.
        placed: relations that stand in the statement under their own names, and are no registered tables.

    """

    tables: tuple[str, ...]
    restricted: tuple[BaseTable, ...] = ()
    placed: tuple[BaseTable, ...] = ()

    def restricting(self, name: str) -> BaseTable | None:
        """Return the table that takes the place of another one; None: nothing does."""
        return next((table for table in self.restricted if table.name.lower() == name.lower()), None)


def restricted(table: BaseTable, condition: str) -> BaseTable:
    """Return a table whose rows have an id only where a condition over its columns holds."""
    return replace(table, row_id=f"CASE WHEN ({condition}) THEN {table.row_id} END")


def only(tables: Collection[BaseTable]) -> Narrowed:
    """Trace these tables, with their given rows, and nothing else."""
    return Narrowed(tuple(table.name for table in tables), tuple(tables))


def not_traced(name: str, columns: Collection[str]) -> BaseTable:
    """Return a relation of the session that a statement may read, and that it is not traced to."""
    return BaseTable(name, tuple(columns), name, "0")
