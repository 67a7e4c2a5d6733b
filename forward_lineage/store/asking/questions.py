"""`SavedResults`: save results of a session, and ask what their rows were made of and what was made of a row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from forward_lineage.relations.relation import LineageRelation
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.spark.granules import entries_of_rows
from forward_lineage.spark.names import split_name
from forward_lineage.store.asking.pipeline import Node, Pipeline, Reached, Touched, node_of
from forward_lineage.store.asking.rows import Rows
from forward_lineage.store.asking.tables_now import BaseTables
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

if TYPE_CHECKING:
    from forward_lineage.session import ForwardLineage

_LINEAGE_OF = re.compile(r"\s*lineage_of\s*\(\s*(\w+)\s*,\s*([^()]+?)\s*\)\s*", re.IGNORECASE)


class SavedResults:
    """The saved results of a home, asked from a session. See the methods of `ForwardLineage` of the same names.

    Args:
        lineage: the session's lineage.
        library: the saved results.

    """

    def __init__(self, lineage: ForwardLineage, library: Library) -> None:
        self.lineage, self.library = lineage, library
        self.spark = lineage.spark
        self.tables = BaseTables(lineage)

    # ------------------------------------------------------------ backward

    def backward_ids(
        self, result: str, where: str | None = None, *, rows: Iterable[int] | None = None, table: str | None = None
    ) -> LineageSet:
        """See `ForwardLineage.backward_ids`."""
        return self._backward(result, where, rows, table)[0].ids

    def backward(
        self, result: str, where: str | None = None, *, rows: Iterable[int] | None = None, table: str | None = None
    ) -> DataFrame:
        """See `ForwardLineage.backward`."""
        reached, saved = self._backward(result, where, rows, table)
        edges = [(owner, edge) for owner, edge, _ in reached.edges]
        owner, edge = edges[0]
        if edge.granules:
            values = Rows.of_granules(self.spark, owner, edge).pick(reached.ids)
            return values.drop(values.columns[0])
        if edge.is_result:
            newest = max(each.version for _, each in edges)  # has the rows of the others and perhaps more behind them
            return Rows.of_result(self.spark, self.library.get(edge.name, newest)).pick(reached.ids)
        oldest = min((each for _, each in edges), key=lambda each: each.version)
        return self.tables.pick(saved.name, oldest, reached.ids)

    def _backward(
        self, result: str, where: str | None, rows: Iterable[int] | None, table: str | None
    ) -> tuple[Reached, SavedResult]:
        saved = self.library.get(result)
        pipeline = Pipeline(self.library, [saved])
        name = self._ancestor(pipeline, saved, table)
        reached = pipeline.backward(saved, self._row_numbers(saved, where, rows), name)
        reached = Reached([each for each in reached.edges if each[2]] or reached.edges[:1])
        self._one_kind_of_ids(saved, [(owner, edge) for owner, edge, _ in reached.edges])
        return reached, saved

    def _row_numbers(self, saved: SavedResult, where: str | None, rows: Iterable[int] | None) -> LineageSet:
        _refuse_both("where=", where, "rows=", rows)
        if rows is None:
            return _all_rows(saved) if where is None else Rows.of_result(self.spark, saved).where(where)
        numbers = LineageSet(rows)
        if numbers and numbers != numbers.below(saved.rows):
            beyond = int(numbers.ids()[-1])
            raise LineageError(
                f"{saved.name} has no row {beyond}: it has {saved.rows} rows, counted from 0",
                instead="Rows are counted as lineage.result(…) returns them.",
            )
        return numbers

    def _ancestor(self, pipeline: Pipeline, saved: SavedResult, table: str | None) -> str:
        """The table that is meant: a direct one or a further ancestor; the only base table when none is named."""
        known = pipeline.tables()
        if table is not None:
            name = table.lower() if table.lower() in known else ".".join(split_name(table))
            if name in known:
                return known[name]
            raise LineageError(
                f"{saved.name} was not made of {table}",
                instead=f"It was made of {', '.join(known.values())}." if known else "It was made of no table.",
            )
        bases = sorted({edge.name for each in pipeline.nodes.values() for edge in each.tables if not edge.is_result})
        if len(bases) == 1:
            return bases[0]
        if not bases:
            raise LineageError(f"{saved.name} was made of no table", instead="There is nothing to trace.")
        raise LineageError(f"{saved.name} was made of {', '.join(bases)}", instead="Say which: table=….")

    def _one_kind_of_ids(self, saved: SavedResult, edges: list[tuple[SavedResult, TracedTable]]) -> None:
        """Ids that came on several paths must mean the same rows."""
        first_owner, first = edges[0]
        for owner, edge in edges[1:]:
            same = (
                edge.granules == first.granules
                and (not edge.granules or owner is first_owner)
                and (self._same_numbers(edge, first) if edge.is_result else self.tables.same_ids(edge, first))
            )
            if not same:
                again = first_owner.name if first.version < edge.version else owner.name
                raise LineageError(
                    f"{saved.name} was made of {edge.name} in two ways, as version {first.version} in "
                    f"{first_owner.name} and as version {edge.version} in {owner.name}, whose ids differ in meaning",
                    instead=f"Save {again} again, and what was made of it.",
                )

    def _same_numbers(self, one: TracedTable, other: TracedTable) -> bool:
        versions = (self.library.get(each.name, each.version) for each in (one, other))
        return len({version.keeps_numbers_of for version in versions}) == 1

    # ------------------------------------------------------------ forward

    def forward_ids(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> LineageSet:
        """See `ForwardLineage.forward_ids`."""
        return self._forward(table, where, ids, result)[1]

    def forward(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, result: str
    ) -> DataFrame:
        """See `ForwardLineage.forward`."""
        saved, rows = self._forward(table, where, ids, result)
        return Rows.of_result(self.spark, saved).pick(rows)

    def _forward(
        self, table: str, where: str | None, ids: Iterable[int] | None, result: str
    ) -> tuple[SavedResult, LineageSet]:
        saved = self.library.get(result)
        pipeline = Pipeline(self.library, [saved])
        name = self._ancestor(pipeline, saved, table)
        touched = self._touched(pipeline, name, where, ids).get(node_of(saved))
        return saved, touched.rows if touched else LineageSet()

    def impact(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> DataFrame:
        """See `ForwardLineage.impact`."""
        found = [
            (each.result.name, len(each.rows), each.result.rows, " → ".join(each.path))
            for each in self.impacted(table, where, ids=ids)
        ]
        return self.spark.createDataFrame(found, "result STRING, rows_touched BIGINT, rows BIGINT, path STRING")

    def impacted(self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None) -> list[Touched]:
        """Return every saved result with rows that were made of suspected ones, those made of others behind these."""
        latest = self.library.all_results()
        pipeline = Pipeline(self.library, latest)
        known = pipeline.tables()
        name = table.lower() if table.lower() in known else ".".join(split_name(table))
        if name not in known:
            self.tables.check_known(table)
            return []
        touched = self._touched(pipeline, known[name], where, ids)
        return [touched[node] for node in pipeline.nodes if node in touched and pipeline.nodes[node] in latest]

    def _touched(
        self, pipeline: Pipeline, table: str, where: str | None, ids: Iterable[int] | None
    ) -> dict[Node, Touched]:
        _refuse_both("where=", where, "ids=", ids)
        given = LineageSet(ids) if ids is not None else None
        seeds = _Suspects(self, table, where, given)
        return pipeline.forward(table, seeds)

    # ------------------------------------------------------------ lineage as a relation

    def lineage_of(self, result: str, table: str) -> DataFrame:
        """Return (row, id): the lineage of a saved result in a table, however many steps away."""
        saved = self.library.get(result)
        pipeline = Pipeline(self.library, [saved])
        name = self._ancestor(pipeline, saved, table)
        reached = pipeline.backward(saved, LineageSet(), name)
        self._one_kind_of_ids(saved, [(owner, edge) for owner, edge, _ in reached.edges])
        return self._pairs(pipeline.relation(saved, name))

    def table(self, text: str) -> DataFrame:
        """See `ForwardLineage.table`."""
        match = _LINEAGE_OF.fullmatch(text)
        if match is None:
            raise LineageError(
                f"{text!r} is not a relation of the lineage store",
                instead='Write "lineage_of(a saved result, a table)".',
            )
        return self.lineage_of(match[1], match[2])

    def _pairs(self, relation: LineageRelation) -> DataFrame:
        rows, ids = relation.pairs()
        return self.spark.createDataFrame(pa.table({"row": rows, "id": ids}))

    # ------------------------------------------------------------ what is there

    def rows(self, result: str, version: int | None = None) -> DataFrame:
        """See `ForwardLineage.result`."""
        saved = self.library.get(result, version)
        rows = Rows.of_result(self.spark, saved)
        return rows.every(sort=len(saved.row_files) > 1)  # Spark reads large files first

    def stale(self) -> DataFrame:
        """See `ForwardLineage.stale`."""
        found: list[tuple[str, str, int, int | None]] = []
        for saved in self.library.results():
            then = {
                (edge.name, edge.version, edge.is_result)
                for each in Pipeline(self.library, [saved]).nodes.values()
                for edge in each.tables
            }
            for name, version, is_result in sorted(then):
                now = self._version_now(name, is_result)
                if now != version:
                    found.append((saved.name, name, version, now))
        return self.spark.createDataFrame(found, "result STRING, `table` STRING, saved_with BIGINT, now BIGINT")

    def _version_now(self, name: str, is_result: bool) -> int | None:
        """The version of a table that a query would read now; None when it changed and nobody registered that."""
        if is_result:
            latest = self.library.latest(name)
            return latest.version if latest else None
        manifest = self.tables.now(name)
        if manifest is None or not self._holds(manifest):
            return None
        return manifest.version

    def _holds(self, manifest: Manifest) -> bool:
        try:
            check_unchanged(self.spark, manifest)
        except LineageError:
            return False
        return True


class _Suspects:
    """The suspected rows of a table as ids, for each edge that leads to it: what `Pipeline.forward` asks for."""

    def __init__(self, asked: SavedResults, table: str, where: str | None, given: LineageSet | None) -> None:
        self.asked, self.table, self.where, self.given = asked, table, where, given
        self._by_version: dict[int, LineageSet] = {}
        self._base: LineageSet | None = None

    def __call__(self, saved: SavedResult, edge: TracedTable) -> LineageSet:
        if edge.granules:
            return self._granules(saved, edge)
        return self._of_result(edge) if edge.is_result else self._of_base(saved, edge)

    def _of_result(self, edge: TracedTable) -> LineageSet:
        """A condition is looked up in the version that was read; numbers must be those of the newest version."""
        if edge.version not in self._by_version:
            then = self.asked.library.get(edge.name, edge.version)
            if self.given is not None:
                now = self.asked.library.latest(edge.name)
                if now is None or now.keeps_numbers_of != then.keeps_numbers_of:
                    raise LineageError(
                        f"row numbers of {edge.name} are asked for, and a result was made of its version "
                        f"{edge.version}, whose rows have other numbers",
                        instead="Save that result again, or give where=.",
                    )
                self._by_version[edge.version] = self.given
            elif self.where is None:
                self._by_version[edge.version] = _all_rows(then)
            else:
                self._by_version[edge.version] = Rows.of_result(self.asked.spark, then).where(self.where)
        return self._by_version[edge.version]

    def _of_base(self, saved: SavedResult, edge: TracedTable) -> LineageSet:
        if self.given is not None:
            return self.given
        if self.where is None:
            return self.asked.library.relation(saved, edge).relation().ids()
        self.asked.tables.check_all_there(saved, edge, self.asked.library)
        if self._base is None:
            self._base = self.asked.tables.rows(edge.name).where(self.where)
        return self._base

    def _granules(self, saved: SavedResult, edge: TracedTable) -> LineageSet:
        """A condition may be over the values of LINEAGE ON, or over the table's columns."""
        values = Rows.of_granules(self.asked.spark, saved, edge)
        if self.given is None and self.where is None:
            return values.where("true")
        if self.where is not None:
            with suppress(LineageError):
                return values.where(self.where)
        if edge.is_result:
            then = self.asked.library.get(edge.name, edge.version)
            rows, ids = Rows.of_result(self.asked.spark, then), self._of_result(edge)
        else:
            self.asked.tables.check_same_version(saved, edge)
            rows = self.asked.tables.rows(edge.name)
            ids = self.given if self.given is not None else rows.where(str(self.where))
        return Rows(entries_of_rows(rows.pick(ids), values.frame, edge.granules)).where("true")


def _all_rows(saved: SavedResult) -> LineageSet:
    return LineageSet(range(saved.rows))


def _refuse_both(one: str, first: object, two: str, second: object) -> None:
    if first is not None and second is not None:
        raise LineageError(f"{one} and {two} both say which rows are meant", instead="Give one of them.")
