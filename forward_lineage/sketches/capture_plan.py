"""How the sketches of a query are captured: which columns, in which ranges, and what must be seen of the rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from forward_lineage.columns.ranges import Partition, Sketch
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.attributes import Estimates, attributes_for
from forward_lineage.sketches.edges import widened
from forward_lineage.sketches.find_sketches import capture, capture_with_rows, granules_of
from forward_lineage.sketches.safety.proving import prove
from forward_lineage.sketches.safety.verdicts import Proof
from forward_lineage.sketches.sampled import Sampled
from forward_lineage.sketches.sketch_store import Capture
from forward_lineage.sketches.sketched_query import AskedQuery, QueriedTable
from forward_lineage.sketches.sketched_scan import kept_size
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import Statements
from rewrites.granules import MOST_RANGES
from rewrites.witnesses import mark

_MOST_ROWS = 10_000  # of a top-k whose edge is looked at


class Capturer:
    """Captures sketches in a session.

    Args:
        statements: those of the session.
        tables: the registered tables.
        names: what names mean.

    """

    def __init__(self, statements: Statements, tables: RegisteredTables, names: SessionNames) -> None:
        self._spark, self._statements, self._tables, self._names = tables.spark, statements, tables, names
        self._planner = Planner(tables.spark)
        self._ranges = statements.ranges
        self._unsafe: dict[str, str] = {}  # by template, or instance, and states of tables: why no sketch is safe

    def capture(self, query: AskedQuery, *, witnesses: bool) -> Capture | str:
        """Capture the sketches of a query; or say why none is safe. They are not kept yet.

        Args:
            query: the query.
            witnesses: whether of a group rows that attain its `min` and `max` may do: they serve no other instance.

        """
        begun = time.perf_counter()
        attributes = self.attributes(query, self._sampled(query))
        if isinstance(attributes, str):
            return attributes
        cut_up = [self._partition(table, attributes[table.name]) for table in query.tables if table.name in attributes]
        facts = query.facts
        one_witness = witnesses and self._has_witnesses(query, cut_up)
        verdict = prove(query.statement, attributes, facts, one_witness=one_witness)
        if one_witness and not verdict:  # safe with all rows of groups, as the attributes were chosen
            one_witness, verdict = False, prove(query.statement, attributes, facts)
        seen = self._sketches(query, verdict, cut_up, one_witness)
        if isinstance(seen, str):
            return self._unsafe.setdefault(_instance(query), seen)
        sketches, rows = seen
        taken = time.perf_counter() - begun
        left = sum(kept_size(self._spark, table, sketches.get(table.name)) for table in query.tables)
        return Capture(
            query.kind,
            query.sql,
            query.args,
            settings_of_values(self._spark),
            query.states,
            tuple(sketches.values()),
            int(taken * 1000),
            query.size,
            min(left, query.size),
            rows,
            one_witness=one_witness,
        )

    def attributes(self, query: AskedQuery, estimates: Estimates | None = None) -> Mapping[str, str] | str:
        """Return by table the column that a sketch of a query would be of; or say why none is safe.

        Args:
            query: the query.
            estimates: of sketches, see `attributes_for`.

        """
        kind = repr((query.kind, query.states))
        why = self._unsafe.get(kind) or self._unsafe.get(_instance(query))
        if why is not None:
            return why
        found = attributes_for(query.statement, query.tables, query.facts, estimates)
        if not found:  # nor for other instances, says the paper
            return self._unsafe.setdefault(kind, "no column is proven safe for a sketch")
        self._planner.plan(query.sql, query.args)
        return "it calls a function of the user's" if self._planner.functions else found

    def _sampled(self, query: AskedQuery) -> Sampled:
        def cut(table: QueriedTable, column: str) -> Partition:
            return _registered(query, [self._partition(table, column)])[0]

        return Sampled(self._statements, self._tables, query, cut)

    def _partition(self, table: QueriedTable, column: str) -> Partition:
        known = self._tables.base_table(table.manifest)
        return Partition(table.name, column, self._ranges.bounds(known, column, MOST_RANGES))

    def _has_witnesses(self, query: AskedQuery, partitions: Sequence[Partition]) -> bool:
        """Whether there are groups for which such rows may do."""
        named = _registered(query, partitions)
        granules = {each.table.lower(): granules_of(self._tables, each, one_witness=True) for each in named}
        return mark(query.statement.tree.copy(), granules, self._names.here())

    def _sketches(
        self, query: AskedQuery, verdict: Proof, partitions: Sequence[Partition], one_witness: bool
    ) -> tuple[dict[str, Sketch], int | None] | str:
        named = _registered(query, partitions)
        edges = [each for each in verdict.checks if each.kind == "no tie"]
        rows: int | None = None
        if not edges:
            found = capture(self._statements, self._tables, query.sql, named, query.args, one_witness=one_witness)
        else:
            wide = widened(query.statement, edges) if all(each.row <= _MOST_ROWS for each in edges) else None
            if wide is None:
                return "whether rows tie at the edge of its LIMIT cannot be seen"
            found, returned = capture_with_rows(
                self._statements, self._tables, wide.sql, named, query.args, one_witness=one_witness
            )
            if wide.is_tied(returned, edges):
                return "rows tie at the edge of its LIMIT, so Spark may return either"
            rows = returned.num_rows
        if any(each.kind != "no tie" and not (each.row == 1 and _is_any(found)) for each in verdict.checks):
            return "it is proven safe only where it returns rows"
        sketches = zip(partitions, named, strict=True)
        return {own.table: own.sketch(found[each.table].fragments) for own, each in sketches}, rows


def _registered(query: AskedQuery, partitions: Sequence[Partition]) -> list[Partition]:
    """Partitions of a query's tables, under the names that they were registered by."""
    names = {table.name: table.manifest.name for table in query.tables}
    return [replace(each, table=names[each.table]) for each in partitions]


def _instance(query: AskedQuery) -> str:
    return repr((query.kind, query.bindings, query.states))


def _is_any(sketches: Mapping[str, Sketch]) -> bool:
    """Whether a row was returned: one that was made of something."""
    return any(each.fragments for each in sketches.values())
