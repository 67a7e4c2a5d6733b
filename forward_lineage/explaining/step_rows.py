"""The sources of rows of two versions: base rows as they were and are, and rows of the results in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.explaining.comparison import TableMoves
from forward_lineage.explaining.few_rows import ID, FewRows
from forward_lineage.explaining.past_tables import PastTables
from forward_lineage.explaining.saved_rows import MatchedRow, key_places, matched_rows
from forward_lineage.explaining.summed_block import keys_of
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.spark.versions import arrow_table
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

Numbers = tuple[int | None, int | None]
_MOST_ROWS = 200_000  # of a result in between


@dataclass(frozen=True)
class BaseImages:
    """Some rows of a base table, in both versions.

    Attributes:
        columns: names.
        before: id → values.
        after: id → values.
        note: why an image is not known; else "".

    """

    columns: tuple[str, ...] = ()
    before: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    after: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class StepChange:
    """A row of a result in between that differs.

    Attributes:
        then: the earlier version of that result.
        now: the later one.
        row: the row.

    """

    then: SavedResult
    now: SavedResult
    row: MatchedRow


class StepRows:
    """Finds them.

    Args:
        spark: reads what Arrow does not.
        library: the saved results.
        past: tables as they were.
        few: reads few rows.
        edges: base table in lower case → that table as the two versions read it.
        changes: base table → its rows that differ; None where nobody knows.

    """

    def __init__(  # noqa: PLR0917
        self,
        spark: SparkSession,
        library: Library,
        past: PastTables,
        few: FewRows,
        edges: Mapping[str, tuple[TracedTable, TracedTable]],
        changes: Mapping[str, RowChanges | None],
    ) -> None:
        self._spark, self._library, self._past, self._few = spark, library, past, few
        self._edges, self._changes = edges, changes

    # ------------------------------------------------------------ base rows

    def lineage(self, saved: SavedResult, row: int | None, table: str) -> LineageSet:
        """Return the ids in a base table that a row was made of."""
        if row is None:
            return LineageSet()
        return Pipeline(self._library, [saved]).backward(saved, LineageSet([row]), table).ids

    def moves(self, then: SavedResult, now: SavedResult, numbers: Numbers) -> Iterator[TableMoves]:
        """Yield how the lineage of a row moved, by base table."""
        read = self._past.base_edges(then).keys() & self._past.base_edges(now).keys()
        for name, (old, new) in self._edges.items():
            if name in read:
                yield self._moved(then, now, numbers, old, new)

    def _moved(
        self, then: SavedResult, now: SavedResult, numbers: Numbers, old: TracedTable, new: TracedTable
    ) -> TableMoves:
        none = LineageSet()
        if old.granules or new.granules:
            note = f"it was saved with LINEAGE ON {', '.join(new.granules or old.granules)}: values, not rows"
            return TableMoves(new.name, none, none, none, note)
        try:
            before, after = self.lineage(then, numbers[0], old.name), self.lineage(now, numbers[1], new.name)
        except LineageError as error:
            return TableMoves(new.name, none, none, none, error.what)
        changes = self._changes.get(new.name)
        differs = before & after & changes.differs if changes is not None else none
        return TableMoves(new.name, after - before, before - after, differs)

    def images(self, table: str, ids: LineageSet) -> BaseImages:
        """Return base rows as they were and are."""
        old, new = self._edges[table.lower()]
        try:
            columns, before = self._rows(old, ids)
            names, after = self._rows(new, ids)
        except LineageError as error:
            return BaseImages(note=f"rows of {table} are not shown: {error.what}")
        if [each.lower() for each in columns] != [each.lower() for each in names]:
            return BaseImages(note=f"rows of {table} are not shown: its columns are others now")
        return BaseImages(names, before, after)

    def _rows(self, edge: TracedTable, ids: LineageSet) -> tuple[tuple[str, ...], dict[int, tuple[Any, ...]]]:
        manifest = edge.registration()
        try:
            if manifest is None:
                raise NeedsSpark(edge.name)
            found = self._few.of(manifest, ids, {name.lower() for name, _ in manifest.columns})
        except NeedsSpark:
            found = self._rows_by_spark(edge, ids)
        names = tuple(each for each in found.column_names if each != ID)
        values = zip(*(found[each].to_pylist() for each in names), strict=True) if names else iter(())
        return names, dict(zip(found[ID].to_pylist(), values, strict=True))

    def _rows_by_spark(self, edge: TracedTable, ids: LineageSet) -> pa.Table:
        table = self._past.table_then(edge)
        listed = ", ".join(map(quoted, table.columns))
        among = ", ".join(f"{int(each)}L" for each in ids) or "NULL"
        rows = f"SELECT {listed}, {table.row_id} AS {ID} FROM {table.identified or table.relation}"
        with spark_errors():
            return arrow_table(self._spark.sql(f"SELECT * FROM ({rows}) WHERE {ID} IN ({among})"))

    # ------------------------------------------------------------ results in between

    def results(self, then: SavedResult, now: SavedResult, numbers: Numbers) -> Iterator[StepChange]:
        """Yield the rows of results that a row was made of, directly, and that differ.

        Raises:
            LineageError: which rows these are is not known.

        """
        for edge in now.tables:
            before = next((each for each in then.tables if each.name.lower() == edge.name.lower()), None)
            if not edge.is_result or before is None or before.version == edge.version:
                continue
            old, new = self._library.get(edge.name, before.version), self._library.get(edge.name, edge.version)
            asked = self._ids(then, before, numbers[0]), self._ids(now, edge, numbers[1])
            if max(old.rows, new.rows) > _MOST_ROWS:
                continue
            names = keys_of(new.sql, [name for name, _ in new.columns])
            key = key_places(new, names if names is not None else [name for name, _ in new.columns])
            yield from (StepChange(old, new, row) for row in matched_rows(old, new, key, asked))

    def _ids(self, saved: SavedResult, edge: TracedTable, row: int | None) -> LineageSet:
        if row is None:
            return LineageSet()
        return self._library.relation(saved, edge).backward(LineageSet([row]))
