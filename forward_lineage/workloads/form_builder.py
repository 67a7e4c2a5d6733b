"""From a saved result and the questions that will come to what is made for them beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from forward_lineage.frontend.pushed_conditions import condition_texts
from forward_lineage.relations.groups import narrowest
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.settings import Settings
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.workloads.base_rows import WantedExpressions, base_rows, types_of
from forward_lineage.workloads.column_cache import ColumnCache, KnownColumns
from forward_lineage.workloads.columns import SUMMED, Array, Coded, Valued, check_coded, check_summed
from forward_lineage.workloads.forms import Form, Kind, Sums, cells_of, cube, partition, sums_of
from forward_lineage.workloads.table_placeholder import placed_table
from udafs.errors import LineageError, NotTracedError

FEW_CELLS = 16
"""A cube is made where its cells are fewer than the base rows by this factor, else a partition."""
MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class FormPlan:
    """The form that is to be made for one kind of question.

    Attributes:
        table: the base table.
        attributes: texts of what parameters are compared with, those that are compared by = first.
        keys: texts of what is grouped by.
        calls: text of a column → the functions that are asked of it.
        fixed: texts of conditions that all such questions have.
        kind: what is made; None: a cube if it has few cells.

    """

    table: str
    attributes: tuple[str, ...]
    keys: tuple[str, ...]
    calls: Mapping[str, frozenset[str]]
    fixed: tuple[str, ...] = ()
    kind: Kind | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """All expressions over the table's rows."""
        return *self.attributes, *self.keys, *self.calls, *self.fixed


Refused = list[tuple[FormPlan, str]]
"""What could not be made, and why."""


@dataclass(frozen=True, eq=False)
class Made:
    """A form, and for which questions it is."""

    plan: FormPlan
    form: Form


class Making:
    """Makes forms of one session.

    Args:
        tables: the session's tables.
        library: the saved results.

    """

    def __init__(self, tables: RegisteredTables, library: Library) -> None:
        self.tables, self.library = tables, library
        self.settings = Settings(tables.spark)
        self._columns = ColumnCache()

    def made(self, saved: SavedResult, plans: Sequence[FormPlan]) -> tuple[list[Made], Refused]:
        """Make forms of a version of a result.

        Returns:
            those that could be made, and why the others could not.

        """
        found: list[Made] = []
        refused: Refused = []
        for table in dict.fromkeys(plan.table for plan in plans):
            mine = [plan for plan in plans if plan.table == table]
            try:
                found += self._of_table(saved, table, mine, refused)
            except LineageError as error:
                refused += [(plan, error.what) for plan in mine]
        return found, refused

    def _of_table(self, saved: SavedResult, table: str, plans: Sequence[FormPlan], refused: Refused) -> list[Made]:
        manifest = self.tables.registered(table)
        plans = [replace(plan, table=manifest.name) for plan in plans]
        edge = direct_edge(saved, manifest)
        check_unchanged(self.tables.spark, manifest)
        known = self._columns.of(repr((manifest.name, manifest.digest(), self.settings.now())))
        able = self._computed(manifest, edge, plans, known, refused)
        if not able:
            return []
        bars, at = _bars(self.library.lineage.relation_within(saved, edge), saved, known)
        found = []
        for plan in able:
            try:
                found.append(Made(plan, _form(plan, bars, at, known)))
            except NotTracedError as error:
                refused.append((plan, error.what))
        check_unchanged(self.tables.spark, manifest)
        self._columns.shrink()
        return found

    def _computed(
        self,
        manifest: Manifest,
        edge: TracedTable,
        plans: Sequence[FormPlan],
        known: KnownColumns,
        refused: Refused,
    ) -> list[FormPlan]:
        """Compute the columns that plans need; returns those that can be made."""
        base = self.tables.base_table(manifest)
        texts = dict.fromkeys(text for plan in plans for text in plan.texts)
        with placed_table(self.tables, manifest) if texts.keys() - known.types.keys() else nullcontext():
            able = [plan for plan in plans if self._is_able(plan, edge, known, refused)]
        wanted = _wanted(able, known)
        if able and (known.rows < 0 or wanted.coded or wanted.valued):
            with placed_table(self.tables, manifest):
                known.add(base_rows(self.tables.spark, manifest, base, wanted))
        return able

    def _is_able(self, plan: FormPlan, edge: TracedTable, known: KnownColumns, refused: Refused) -> bool:
        """Whether what a plan names has types that we know, and the lineage that was captured is enough."""
        try:
            if edge.captured is not Captured.NOW:
                raise NotTracedError(f"lineage in {edge.name} is not captured with the rows")
            if edge.only is not None and not condition_texts(edge.only) <= set(plan.fixed):
                raise NotTracedError(f"of {edge.name} lineage in some rows is captured, and all may be asked for")
            new = [text for text in plan.texts if text not in known.types]
            types = known.types
            types |= types_of(self.tables.spark, new)
            for text in (*plan.attributes, *plan.keys):
                check_coded(types[text], text)
            for text, functions in plan.calls.items():
                if functions & {"sum", "avg"} or _is_number(types[text]):
                    check_summed(types[text], text)
                else:
                    check_coded(types[text], text)
        except LineageError as error:
            refused.append((plan, error.what))
            return False
        return True


def _wanted(plans: Sequence[FormPlan], known: KnownColumns) -> WantedExpressions:
    """The columns that are not known yet."""
    texts = [text for plan in plans for text in plan.calls]
    numbers = {text for text in texts if _is_number(known.types[text])}
    coded = [text for plan in plans for text in (*plan.attributes, *plan.keys, *plan.fixed)]
    coded += [text for text in texts if text not in numbers]
    return WantedExpressions(
        tuple(text for text in dict.fromkeys(coded) if text not in known.coded),
        tuple(text for text in sorted(numbers) if text not in known.valued),
    )


def direct_edge(saved: SavedResult, manifest: Manifest) -> TracedTable:
    """Return the step from a result to a table that it was made of directly.

    Raises:
        NotTracedError: the table is not what the result was made of, or nobody would know.

    """
    if manifest.trusted:
        raise NotTracedError(f"{manifest.name} is taken on trust")
    edge = saved.traced(manifest.name)
    if edge is None:
        raise NotTracedError(f"{saved.name} is made of {manifest.name} over other results only")
    if edge.granules or edge.trusted:
        raise NotTracedError(f"{saved.name} knows no rows of {manifest.name} that can be checked")
    if not edge.is_result and edge.version != manifest.version:
        raise NotTracedError(f"{saved.name} was made of another version of {manifest.name}")
    if edge.is_result:
        raise NotTracedError(f"{manifest.name} is a saved result")
    return edge


def _is_number(kind: pa.DataType) -> bool:
    return any(test(kind) for test in SUMMED)


def _bars(relation: LineageRelation, saved: SavedResult, rows: KnownColumns) -> tuple[Coded, Array]:
    """For each base row that a row of the result was made of, which one that was; and which base row it is."""
    bar, ids = relation.pairs()
    at = ids if rows.ids is None else np.searchsorted(rows.ids, ids)
    if at.size and (int(at.max()) >= rows.rows or (rows.ids is not None and np.any(rows.ids[at] != ids))):
        raise NotTracedError("it was made of rows that are not there any more")
    if at.size and np.bincount(at, minlength=rows.rows).max() > 1:
        raise NotTracedError(f"rows of {saved.name} share base rows")
    return Coded(pa.nulls(max(saved.rows, 1)), bar.astype(narrowest(max(saved.rows - 1, 0)))), at


def _form(plan: FormPlan, bars: Coded, at: Array, rows: KnownColumns) -> Form:
    for text in plan.fixed:
        holds = rows.coded[text]
        true = np.flatnonzero([value is True for value in holds.values.to_pylist()])
        mine = np.isin(holds.codes[at], true)
        at, bars = at[mine], Coded(bars.values, bars.codes[mine])
    everything = at.size == rows.rows and bool(np.all(at == np.arange(at.size)))
    chosen = slice(None) if everything else at
    attributes = {text: _at(rows.coded[text], chosen) for text in plan.attributes}
    keys = {text: _at(rows.coded[text], chosen) for text in plan.keys}
    measures = {text: _sums(text, functions, rows, chosen, at.size) for text, functions in plan.calls.items()}
    cells = None if plan.kind == "partition" else cells_of(bars, attributes, keys)
    few = cells is not None and cells[0].size * FEW_CELLS <= at.size and cells[0].size <= MOST_CELLS
    if cells is not None and (few or plan.kind == "cube"):
        return cube(bars, attributes, keys, measures, cells)
    return partition(bars, attributes, keys, measures, at.astype(narrowest(rows.rows)))


def _at(column: Coded, chosen: slice | Array) -> Coded:
    return Coded(column.values, column.codes[chosen])


def _sums(text: str, functions: frozenset[str], rows: KnownColumns, chosen: slice | Array, count: int) -> Sums:
    numbers = rows.valued.get(text)
    if numbers is None:
        return sums_of(_at(rows.coded[text], chosen), functions, count, text)
    valid = None if numbers.valid is None else numbers.valid[chosen]
    return sums_of(Valued(numbers.kind, numbers.values[chosen], valid), functions, count, text)
