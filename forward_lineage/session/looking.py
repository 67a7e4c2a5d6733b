"""Rows that somebody looks at: the first ones, what they were made of, and some base rows to open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.results import MADE_WITH, meaning_of, trusted_tables
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.showing.display import Shown
from forward_lineage.showing.first_rows import first_rows, listed_ids, rows_by_id
from forward_lineage.showing.model import Opened, Origin, ShownRow, ShownRows
from forward_lineage.showing.plain_text import counted
from forward_lineage.store.asking.pipeline import Reached
from forward_lineage.store.asking.questions import Questions
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

#: Ids of a set that are listed in a line.
LISTED = 5


class Looking:
    """Shows rows of a session.

    Args:
        tables: what is registered.
        questions: what may be asked of saved results.

    """

    def __init__(self, tables: RegisteredTables, questions: Questions) -> None:
        self._tables, self._questions = tables, questions

    def at_frame(self, frame: DataFrame, rows: int, base_rows: int) -> Shown:
        """Show a DataFrame, with lineage if `lineage.sql` made it."""
        shown = first_rows(frame, rows, max(LISTED, base_rows))
        meaning = meaning_of(frame)
        if meaning is not None and base_rows and meaning["granularity"] == "rows":
            opened = {table["name"]: self._base_rows(table, shown) for table in meaning["tables"]}
            shown = replace(shown, opened=opened)
        return Shown(replace(shown, notes=_notes(trusted_tables(frame))), frame)

    def at_result(self, saved: SavedResult, rows: int, base_rows: int) -> Shown:
        """Show a saved result; lineage that was not captured yet is not captured for that."""
        frame = self._questions.rows(saved.name, saved.version)
        plain = first_rows(frame, rows, 0)
        numbers = self._questions.numbers_in_order(saved, len(plain.rows)).tolist()
        reached = {table.name: self._reached(saved, table, numbers) for table in saved.tables}
        most = max(LISTED, base_rows)
        traced = tuple(
            ShownRow(row.cells, tuple(_origin(table, reached[table.name], place, most) for table in saved.tables))
            for place, row in enumerate(plain.rows)
        )
        shown = replace(plain, rows=traced, traced=bool(saved.tables), total=saved.rows)
        opened = {
            table.name: self._reached_rows(saved, table, found, shown)
            for table in saved.tables
            if isinstance(found := reached[table.name], list) and found and (base_rows or table.granules)
        }
        title = f"{saved.name}, version {saved.version}: {counted(saved.rows, 'row')}, semantics {saved.semantics}"
        trusted = sorted(self._questions.taken_on_trust((saved, table) for table in saved.tables))
        return Shown(replace(shown, opened=opened, title=title, notes=_notes(trusted)), frame)

    # ------------------------------------------------------------ of a query

    def _base_rows(self, table: Mapping[str, Any], shown: ShownRows) -> Opened:
        """Rows of a table as it is now, if its ids mean what they meant to the query."""
        name, ids = table["name"], listed_ids(shown, table["name"])
        try:
            now = self._tables.registered(name)
            if now.version != table["version"] and MADE_WITH not in table:
                return Opened(note=f"{name} has been registered again since: run the query again to see its rows.")
            return rows_by_id(self._questions.tables_now.rows(name).pick(LineageSet(ids)))
        except LineageError as error:
            return Opened(note=f"Its rows cannot be shown: {error}")

    # ------------------------------------------------------------ of a saved result

    def _reached(self, saved: SavedResult, table: TracedTable, numbers: list[int]) -> list[Reached] | str:
        """The lineage of each of the first rows in a table; a text if that is not known."""
        if table.captured is not Captured.NOW:
            return "captured at the first question"
        if table.only is not None:
            return f"captured where {table.only}"
        try:
            return [self._questions.traced_back(saved, LineageSet([row]), table.name) for row in numbers]
        except LineageError as error:
            return str(error)

    def _reached_rows(self, saved: SavedResult, table: TracedTable, found: list[Reached], shown: ShownRows) -> Opened:
        ids = LineageSet(listed_ids(shown, table.name))
        way = next((each for each in found if each.ids), found[0])
        try:
            rows, notes = self._questions.rows_of(saved, way, ids)
            opened = rows_by_id(rows)
        except LineageError as error:
            return Opened(note=f"Its rows cannot be shown: {error}")
        return replace(opened, are_values=bool(table.granules), note="; ".join(notes))


def _origin(table: TracedTable, reached: list[Reached] | str, row: int, most: int) -> Origin:
    if isinstance(reached, str):
        return Origin(table.name, None, note=reached)
    return Origin.of(table.name, reached[row].ids, most)


def _notes(trusted: list[str]) -> tuple[str, ...]:
    if not trusted:
        return ()
    return (f"{', '.join(trusted)}: on trust. Nobody checks that ids are unique there, or notices a change.",)
