"""`Questions`: backward, forward, impact and staleness, as `store.asking.questions` answers them with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forward_lineage.embedded.answers import Impact, PickedRows, Stale
from forward_lineage.embedded.array_cells import CellRows
from forward_lineage.embedded.base_tables import BaseTables
from forward_lineage.embedded.identified import Identified
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.parquet_rows import DataFileRows
from forward_lineage.embedded.settings import refuse_settings
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.storage.homes import Home
from forward_lineage.store.asking.ancestors import (
    Edge,
    all_rows,
    ancestor,
    checked_through,
    numbers_of,
    refuse_both,
    steps_of,
)
from forward_lineage.store.asking.pipeline import Pipeline, facts_of
from forward_lineage.store.asking.walks import Walks
from forward_lineage.store.library.cells import thing_columns
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel
from forward_lineage.store.library.saved_result import SavedResult
from udafs.lineage_set import LineageSet


class Questions:
    """Questions to the saved results of a home. Each method may raise `NeedsSpark`; else they are those of
    `ForwardLineage` of the same names, and raise its errors.

    Args:
        home: where registrations and results are.

    """  # noqa: D205 - the first sentence is as long as that

    def __init__(self, home: Home) -> None:
        self.library = Library(home).capturing(_left_to_spark)
        self.tables = BaseTables(Registrations(home))
        self._walks = Walks(self.library, self.tables)

    def backward(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Iterable[int] | None = None,
        table: str | None = None,
        through: str = "all",
    ) -> PickedRows:
        """Return the base rows that rows of a result were made of."""
        saved = self.library.saved(result)
        refuse_both("where=", where, "rows=", rows)
        pipeline = Pipeline(self.library, [saved])
        name = ancestor(pipeline, saved, table)
        _refuse_values(steps_of(pipeline, name))
        if rows is not None:
            numbers = numbers_of(saved, rows)
        else:
            numbers = all_rows(saved) if where is None else _conditioned(_rows_of(saved), where)
        reached = self._walks.back(pipeline, saved, numbers, name, checked_through(through))
        edge = reached.edges[0][1]
        if edge.is_result:
            # The newest has the rows of the others, perhaps more behind them.
            newest = max(each.version for _, each, _ in reached.edges)
            return _rows_of(self.library.saved(edge.name, newest)).pick(reached.ids)
        picked = self.tables.rows(edge).pick(reached.ids)
        if len(picked.ids) != len(reached.ids):
            raise NeedsSpark(f"rows of {edge.name} that are not there")
        self.tables.check_still(edge.name)
        return picked

    def forward(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> PickedRows:
        """Return the rows of a result that were made of some rows of a table."""
        saved = self.library.saved(result)
        seeds = self._seeds(where, ids)
        rows = self._walks.forth(table, seeds, saved)
        seeds.check_still()
        return replace(_rows_of(saved).pick(rows), trusted=self._on_trust([saved], table))

    def impact(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> Impact:
        """Return every result with rows that were made of suspected ones, those made of others behind these."""
        seeds = self._seeds(where, ids)
        found = self._walks.impact(table, seeds)
        seeds.check_still()
        saved = self.library.all_saved()
        return Impact(tuple(found), self._on_trust(saved, table), facts_of(found, saved))

    def stale(self) -> Stale:
        """Return the results that were made of something that has changed since."""
        return Stale(tuple(self._walks.stale()), tuple(sorted(self._walks.taken_on_trust(self._walks.read_by_all()))))

    def touched(self, table: str, where: str | None) -> dict[str, LineageSet]:
        """Return the rows that rows of a table touch, by the name of their result in lower case."""
        found = self.impact(table, where).touched
        return {each.result.name.lower(): each.rows for each in found if each.rows is not None}

    def suspected(self, table: str, where: str | None) -> LineageSet:
        """Return the ids of the rows of a table or result that a condition holds for, or of all."""
        rows = self._rows(table)
        return rows.all_ids() if where is None else _conditioned(rows, where)

    def rows_of(self, name: str, ids: LineageSet) -> PickedRows:
        """Return rows of a table or a result."""
        return self._rows(name).pick(ids)

    def version(self, name: str) -> int | None:
        """Return the version of a table; None when it has changed and nobody registered that, or is not there."""
        return self.tables.version(name)

    def _rows(self, name: str) -> Identified:
        saved = self.library.find(name)
        return self.tables.rows_now(name) if saved is None else _rows_of(saved)

    def _on_trust(self, saved: Iterable[Saved], table: str | None = None) -> tuple[str, ...]:
        return tuple(sorted(self._walks.taken_on_trust(self._walks.steps_to(saved, table))))

    def _seeds(self, where: str | None, ids: Iterable[int] | None) -> _Suspects:
        refuse_both("where=", where, "ids=", ids)
        return _Suspects(self.library, self.tables, where, LineageSet(ids) if ids is not None else None)


class _Suspects:
    """Rows of a table or saved result, said by a condition, by ids, or all of them; read without Spark."""

    def __init__(self, library: Library, tables: BaseTables, where: str | None, given: LineageSet | None) -> None:
        self._library, self._tables, self._where, self._given = library, tables, where, given
        self._read: dict[str, LineageSet] = {}
        self._by_version: dict[tuple[str, int], LineageSet] = {}

    def __call__(self, saved: Saved, edge: TracedTable) -> LineageSet:
        _refuse_values([(saved, edge)])
        key = edge.name.lower(), edge.version
        if self._where is None and self._given is None and not edge.is_result:
            return self._library.relation(saved, edge).ids()
        if key not in self._by_version:
            self._by_version[key] = self._of_result(edge) if edge.is_result else self._of_base(edge)
        return self._by_version[key]

    def _of_result(self, edge: TracedTable) -> LineageSet:
        then = self._library.saved(edge.name, edge.version)
        if self._given is not None:
            now = self._library.find(edge.name)
            if now is None or now.keeps_numbers_of != then.keeps_numbers_of:
                raise NeedsSpark(f"row numbers of {edge.name}, which was saved again")
            return self._given
        return all_rows(then) if self._where is None else _conditioned(_rows_of(then), self._where)

    def _of_base(self, edge: TracedTable) -> LineageSet:
        if self._given is not None:
            return self._given
        assert self._where is not None, "asked before"
        name = edge.name.lower()
        if name not in self._read:
            self._read[name] = _conditioned(self._tables.rows(edge), self._where)
        elif self._tables.registered(edge.name).version != edge.version:
            raise NeedsSpark(f"{edge.name} in two versions")
        return self._read[name]

    def check_still(self) -> None:
        """Check that tables whose rows were read were what was registered all the time.

        Raises:
            ChangedError: one of them was not.

        """
        for name in self._read:
            self._tables.check_still(name)


def _conditioned(rows: Identified, where: str) -> LineageSet:
    refuse_settings()
    return rows.where(where)


def _rows_of(saved: Saved) -> Identified:
    check_row_files(saved)
    if isinstance(saved, SavedArray | SavedModel):
        return Identified(saved.name, thing_columns(saved), (CellRows(saved),))
    if not isinstance(saved, SavedResult):
        raise NeedsSpark(f"{saved.name}, a saved {saved.called}")
    files = [DataFileRows(str(saved.folder / each.path), each.rows, each.first_row) for each in saved.row_files]
    if not files and saved.rows:
        raise NeedsSpark(f"{saved.name}, which an earlier release saved")
    return Identified(saved.name, saved.columns, tuple(files))


def _refuse_values(edges: Iterable[Edge]) -> None:
    for saved, edge in edges:
        if edge.granules or edge.only is not None:
            raise NeedsSpark(f"lineage of {saved.name} in {edge.name}, which is of values or in part")


def _left_to_spark(saved: SavedResult, _: bool) -> SavedResult:
    raise NeedsSpark(f"lineage of {saved.name} that was left for later")
