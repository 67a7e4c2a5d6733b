"""`lineage.run`: a query with the sketch that serves it, or one that is captured for it, or as it is.   [Niu 2022, §8]

Whatever is decided, the rows are those of the query run as it is: a sketch is used only where that is proven
(`safety`), of tables that are what they were, under the settings of its capture.
"""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.columns.keeping import digest
from forward_lineage.frontend import Statement, parse
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.sketches.asked import Table, facts_of, tables_of
from forward_lineage.sketches.attributes import attributes_for
from forward_lineage.sketches.capture import capture, capture_with_rows
from forward_lineage.sketches.decisions import Decision, Decisions, Way
from forward_lineage.sketches.edges import widened
from forward_lineage.sketches.kept import Captured, KeptSketches
from forward_lineage.sketches.ranges import MOST, Partition, Sketch
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.proving import prove
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import Instance, template
from forward_lineage.sketches.tuning import LEAST_GAIN, Mode, Tuning, pays, too_many
from forward_lineage.sketches.use import skipped, use
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import string_literal
from forward_lineage.spark.planning import Arguments, Planner
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.tracing.known_ranges import KnownRanges
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import Statements
from udafs.errors import ChangedError, LineageError

_REMEMBERED = 256  # texts of which is known what they read
_MOST_ROWS = 10_000  # of a top-k whose edge is looked at


@dataclass(frozen=True)
class _Query:
    """A query that a sketch may serve."""

    sql: str
    args: Arguments
    statement: Statement
    instance: Instance
    tables: Sequence[Table]
    facts: Facts

    @property
    def kind(self) -> str:
        """A short name for its template."""
        return digest(self.instance.template)

    @property
    def size(self) -> int:
        return sum(table.size for table in self.tables)

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(table.state for table in self.tables))


@dataclass(frozen=True)
class _Chosen:
    """How a query is run, and why."""

    way: Way
    why: str
    query: _Query | None = None
    captured: Captured | None = None


class Runner:
    """Runs the queries of a session with sketches.

    Args:
        statements: those of the session.
        tables: the registered tables.
        names: what names mean.
        home: folder of registrations, results and sketches.

    """

    def __init__(self, statements: Statements, tables: RegisteredTables, names: SessionNames, home: Path) -> None:
        self._spark = tables.spark
        self._statements, self._tables, self._names = statements, tables, names
        self._planner = Planner(tables.spark)
        self._kept = KeptSketches(home)
        self._tuning = Tuning()
        self._decisions = Decisions()
        self._runs: Counter[str] = Counter()  # by template: those that had no sketch
        self._uses: Counter[str] = Counter()  # by name of a capture
        self._refused: set[str] = set()  # captures that are not to be used
        self._unsafe: dict[str, str] = {}  # by template and states: why no sketch is safe
        self._ranges = KnownRanges(tables)
        self._read: OrderedDict[str, tuple[Statement, Instance] | str] = OrderedDict()
        self._spent = 0.0

    def tune(self, tuning: Tuning) -> None:
        """Decide in that way from now on."""
        self._tuning = tuning

    @property
    def decisions(self) -> Sequence[Decision]:
        """What was decided, the first decision first."""
        return self._decisions.all()

    def run(self, sql: str, args: Arguments = None) -> DataFrame:
        """See `ForwardLineage.run`."""
        if self._tuning.mode is Mode.OFF:
            return self._plain(sql, args)
        begun = time.perf_counter()
        chosen = self._chosen(sql, args)
        try:
            frame = self._frame(sql, args, chosen)
        except LineageError as error:
            chosen = _Chosen(Way.PLAIN, f"the sketch cannot be used: {error}".splitlines()[0], chosen.query)
            frame = self._plain(sql, args)
        self._note(sql, args, chosen, time.perf_counter() - begun)
        return frame

    def explain(self, sql: str, args: Arguments = None) -> str:
        """Say what `run` would do with a query now, and what a sketch saves; nothing is captured."""
        query = self._query(sql, args, least=self._tuning.least)
        if isinstance(query, str):
            return f"sketches: none, {query}"
        captured, why = self._serving(query)
        if captured is None:
            return f"sketches: none, {why}"
        return "\n".join([f"sketches: {why}", *(f"  {self._saved(each)}" for each in captured.sketches)])

    # ------------------------------------------------------------ deciding

    def _chosen(self, sql: str, args: Arguments) -> _Chosen:
        try:
            query = self._query(sql, args, least=self._tuning.least)
            if isinstance(query, str):
                return _Chosen(Way.PLAIN, query)
            captured, why = self._serving(query)
            if captured is None:
                return self._capturing(query, why)
            if captured.gain < LEAST_GAIN:
                return _Chosen(Way.PLAIN, f"its sketch would save {captured.gain:.0%} of the bytes", query)
            return _Chosen(Way.USE, why, query, captured)
        except LineageError as error:
            return _Chosen(Way.PLAIN, f"{error}".splitlines()[0])

    def _query(self, sql: str, args: Arguments, *, least: int) -> _Query | str:
        """What is known of a query; or why no sketch can serve it, or one over so few bytes would not be worth it."""
        if sum(file.size for each in self._tables.all().values() for file in each.files) < least:
            return "the registered tables are small"
        read = self._statement(sql, args)
        if isinstance(read, str):
            return read
        statement, instance = read
        found = tables_of(statement, self._names, self._tables)
        if isinstance(found, str):
            return found
        if sum(each.size for each in found) < least:
            return "its tables are small"
        ansi = str(self._spark.conf.get("spark.sql.ansi.enabled", "true")).lower() == "true"
        return _Query(sql, args, statement, instance, found, facts_of(found, ansi=ansi))

    def _statement(self, sql: str, args: Arguments) -> tuple[Statement, Instance] | str:
        key = repr((sql, args))
        if key not in self._read:
            try:
                statement = parse(sql)
                is_one = statement.is_query and statement.lineage_on is None
                self._read[key] = (statement, template(statement, literals(args))) if is_one else "it is no query"
            except LineageError as error:
                self._read[key] = f"{error}".splitlines()[0]
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        self._read.move_to_end(key)
        return self._read[key]

    def _serving(self, query: _Query) -> tuple[Captured | None, str]:
        """The sketches that serve a query and save most; or why there are none."""
        why = "no sketch has been captured of such a query"
        found: list[Captured] = []
        for each in self._kept.of(query.kind):
            missing = self._unfit(each, query)
            if missing is None:
                found.append(each)
            else:
                why = missing
        if not found:
            return None, why
        best = max(found, key=lambda each: each.gain)
        self._tables.check_unchanged(table.manifest.name for table in query.tables)
        return best, f"of {best.size / 2**20:,.0f} MB {best.gain:.0%} are not read"

    def _unfit(self, captured: Captured, query: _Query) -> str | None:
        """Why a capture does not serve a query; None: it does."""
        if captured.name in self._refused:
            return "its sketch is not to be used"
        if captured.states != query.states:
            if _is_older(captured, query):
                self._kept.drop(captured)
            return "its tables have changed since the sketch was captured"
        if captured.settings != settings_of_values(self._spark):
            return "the sketch was captured under other settings"
        read = self._statement(captured.sql, captured.args)
        if isinstance(read, str):
            return read
        same = read[1].bindings == query.instance.bindings
        if not same and not all(map(_is_plain, query.instance.bindings)):
            return "it has literals that may be read in two ways"
        attributes = {each.partition.table: each.partition.column for each in captured.sketches}
        verdict = serves(read[1], query.instance, attributes, query.facts, rows=captured.rows)
        if verdict.checks and not same:
            return "whether rows tie at the edge of its LIMIT was seen of another instance"
        return None if verdict else f"the sketch does not serve it: {verdict.why}"

    def _capturing(self, query: _Query, why: str) -> _Chosen:
        kind = query.kind
        plain = partial(_Chosen, Way.PLAIN, query=query)
        unsafe = self._unsafe.get(repr((kind, query.states)))
        if unsafe is not None:
            return plain(why=unsafe)
        if not _can_be_written(query.args):
            return plain(why="its parameters are no numbers, text or truth values")
        self._runs[kind] += 1
        if self._tuning.mode is Mode.ADAPTIVE:
            known = [each for each in self._kept.of(kind) if each.states == query.states]
            if not pays(query.statement, self._runs[kind], known):
                return plain(why=f"{why}; capturing one has not paid yet")
        if self._tuning.seconds is not None and self._spent >= self._tuning.seconds:
            return plain(why=f"{why}; the seconds for capturing are spent")
        self._planner.plan(query.sql, query.args)
        captured = self._captured(query) if not self._planner.functions else "it calls a function of the user's"
        if isinstance(captured, str):
            self._unsafe[repr((kind, query.states))] = captured
            return plain(why=captured)
        self._runs[kind] = 0
        return _Chosen(Way.CAPTURE, why, query, captured)

    # ------------------------------------------------------------ capturing

    def _captured(self, query: _Query) -> Captured | str:
        """Capture the sketches of a query and keep them; or say why none is safe."""
        attributes = attributes_for(query.statement, query.tables, query.facts)
        if not attributes:
            return "no column is proven safe for a sketch"
        begun = time.perf_counter()
        self._tables.check_unchanged(table.manifest.name for table in query.tables)
        cut_up = [self._partition(table, attributes[table.name]) for table in query.tables if table.name in attributes]
        seen = self._sketches(query, attributes, cut_up)
        if isinstance(seen, str):
            return seen
        sketches, rows = seen
        self._spent += (taken := time.perf_counter() - begun)
        kept_size = sum(self._kept_size(table, sketches.get(table.name)) for table in query.tables)
        captured = Captured(
            query.kind,
            query.sql,
            query.args,
            settings_of_values(self._spark),
            query.states,
            tuple(sketches.values()),
            int(taken * 1000),
            query.size,
            min(kept_size, query.size),
            rows,
        )
        found = self._kept.put(captured)
        for old in list(too_many(self._kept, self._tuning.budget, self._uses)):
            self._kept.drop(old)
        return found

    def _partition(self, table: Table, column: str) -> Partition:
        return Partition(table.name, column, self._ranges.bounds(self._tables.base_table(table.manifest), column, MOST))

    def _sketches(
        self, query: _Query, attributes: Mapping[str, str], partitions: Sequence[Partition]
    ) -> tuple[dict[str, Sketch], int | None] | str:
        verdict = prove(query.statement, attributes, query.facts)
        registered = {table.name: table.manifest.name for table in query.tables}
        named = [Partition(registered[each.table], each.column, each.bounds) for each in partitions]
        edges = [each for each in verdict.checks if each.kind == "no tie"]
        rows: int | None = None
        if not edges:
            found = capture(self._statements, self._tables, query.sql, named, query.args)
        else:
            wide = widened(query.statement, edges) if all(each.row <= _MOST_ROWS for each in edges) else None
            if wide is None:
                return "whether rows tie at the edge of its LIMIT cannot be seen"
            found, returned = capture_with_rows(self._statements, self._tables, wide.sql, named, query.args)
            if wide.is_tied(returned, edges):
                return "rows tie at the edge of its LIMIT, so Spark may return either"
            rows = returned.num_rows
        if any(each.kind != "no tie" and not (each.row == 1 and _is_any(found)) for each in verdict.checks):
            return "it is proven safe only where it returns rows"
        return {each.table: each.sketch(found[registered[each.table]].fragments) for each in partitions}, rows

    def _kept_size(self, table: Table, sketch: Sketch | None) -> int:
        read = skipped(self._spark, sketch) if sketch is not None else None
        return table.size if read is None else round(table.size * read.bytes.read / max(read.bytes.all, 1))

    # ------------------------------------------------------------ running

    def _plain(self, sql: str, args: Arguments) -> DataFrame:
        with spark_errors(sql):
            return self._spark.sql(sql, args=args) if args else self._spark.sql(sql)

    def _frame(self, sql: str, args: Arguments, chosen: _Chosen) -> DataFrame:
        captured = chosen.captured
        if captured is None or captured.gain < LEAST_GAIN:
            return self._plain(sql, args)
        self._uses[captured.name] += 1
        sketches = {each.partition.table: each for each in captured.sketches if not each.is_everything}
        return use(self._spark, sql, sketches, args)

    def _note(self, sql: str, args: Arguments, chosen: _Chosen, seconds: float) -> None:
        template = chosen.query.kind if chosen.query is not None else None
        way, why, captured = chosen.way, chosen.why, chosen.captured
        again = partial(self._again, args=args)
        self._decisions.add(
            lambda number: Decision(number, sql, way, why, template, captured, seconds, again, self._take_back)
        )

    def _again(self, decision: Decision, args: Arguments) -> DataFrame:
        if decision.captured is None:
            return self._plain(decision.sql, args)
        query = self._query(decision.sql, args, least=0)
        missing = query if isinstance(query, str) else self._unfit(decision.captured, query)
        if missing is not None or isinstance(query, str):
            raise ChangedError(f"decision {decision.number} cannot be replayed: {missing}")
        self._tables.check_unchanged(table.manifest.name for table in query.tables)
        return self._frame(decision.sql, args, _Chosen(Way.USE, decision.why, query, decision.captured))

    def _take_back(self, decision: Decision) -> None:
        assert decision.captured is not None
        self._refused.add(decision.captured.name)
        if decision.way is Way.CAPTURE:
            self._kept.drop(decision.captured)

    def _saved(self, sketch: Sketch) -> str:
        said = f"{sketch.partition.table} by {sketch.partition.column}"
        read = skipped(self._spark, sketch)
        if read is None:
            return f"{said}: everything is read and tested"
        parts = (("rows", read.rows), ("row groups", read.row_groups), ("files", read.files), ("bytes", read.bytes))
        return f"{said}: " + ", ".join(f"{part.read:,} of {part.all:,} {what}" for what, part in parts)


_PLAIN = re.compile(r"-?\d{1,18}(\.\d{1,18})?|(DATE\s*)?'[^'\\]*'", re.ASCII | re.IGNORECASE)


def _is_plain(literal: str) -> bool:
    """Whether a literal is read by all alike: no escapes, no exponents, no letters behind a number."""
    return _PLAIN.fullmatch(literal) is not None


def literals(args: Arguments) -> Mapping[str, str] | None:
    """Return the values of parameters as SQL, by name or by number; None where they are not known here."""
    if not args or not _can_be_written(args):
        return None
    named = args if isinstance(args, dict) else {str(i): value for i, value in enumerate(args)}
    return {name: _literal(value) for name, value in named.items()}


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return string_literal(value)
    return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else repr(value)


def _can_be_written(args: Arguments) -> bool:
    values = args.values() if isinstance(args, dict) else args or []
    return all(value is None or isinstance(value, bool | int | float | str) for value in values)


def _is_any(sketches: Mapping[str, Sketch]) -> bool:
    """Whether a row was returned: one that was made of something."""
    return any(each.fragments for each in sketches.values())


def _is_older(captured: Captured, query: _Query) -> bool:
    """Whether a capture is of the same tables as they were before: they do not come back."""
    return {name for name, _ in captured.states} == {name for name, _ in query.states}
