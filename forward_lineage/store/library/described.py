"""What is said of a saved result in a line, and in a notebook's cell."""

from __future__ import annotations

from typing import Any

from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.showing.plain_text import counted


class Described:
    """Says what a saved result is; `SavedResult` is one and has the attributes."""

    name: str
    version: int
    sql: str
    semantics: str
    saved_at: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    tables: tuple[Any, ...]

    def __repr__(self) -> str:
        made_of = ", ".join(table.name for table in self.tables) or "no table"
        facts = (f"version {self.version}", counted(self.rows, "row"), f"made of {made_of}", self.semantics)
        return f"SavedResult({self.name}, {', '.join(facts)}, saved at {self.saved_at})"

    def _repr_html_(self) -> str:
        facts = [("rows", f"{self.rows:,}"), ("semantics", self.semantics), ("saved at", self.saved_at)]
        made_of = [[table.name, str(table.version), _pairs(table)] for table in self.tables]
        title = f"{self.name}, version {self.version}"
        parts = [table_html(("made of", "version", "pairs (row, id)"), made_of)] if made_of else []
        return facts_html(title, [*facts, ("query", self.sql)], [*parts, table_html(("column", "type"), self.columns)])


def _pairs(table: Any) -> str:
    return f"{table.pairs:,}" if table.is_whole else "captured in part, or at the first question"
