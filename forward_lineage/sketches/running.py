"""`lineage.run`: a query with the sketch that serves it, or one that is captured for it, or as it is.   [Niu 2022, §8]

Whatever is decided, the rows are those of the query run as it is: a sketch is used only where that is proven
(`safety`), of tables that are what they were, under the settings of its capture.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.sketches.asked import AskedQuery, Reader, can_be_written, is_plain
from forward_lineage.sketches.capturing import Capturer
from forward_lineage.sketches.decisions import Decision, Decisions, Way
from forward_lineage.sketches.kept import Captured, KeptSketches
from forward_lineage.sketches.ranges import Sketch
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.tuning import LEAST_GAIN, Mode, Tuning, pays, too_many
from forward_lineage.sketches.use import skipped, use
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.planning import Arguments
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import Statements
from udafs.errors import ChangedError, LineageError


@dataclass(frozen=True)
class _Chosen:
    """How a query is run, and why."""

    way: Way
    why: str
    query: AskedQuery | None = None
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
        self._reader = Reader(tables, names)
        self._capturer = Capturer(statements, tables)
        self._kept = KeptSketches(home)
        self._tuning = Tuning()
        self._decisions = Decisions()
        self._runs: Counter[str] = Counter()  # by template: those that had no sketch
        self._uses: Counter[str] = Counter()  # by name of a capture
        self._refused: set[str] = set()  # captures that are not to be used
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
        query = self._reader.query(sql, args, least=self._tuning.least)
        if isinstance(query, str):
            return f"sketches: none, {query}"
        captured, why = self._serving(query)
        if captured is None:
            return f"sketches: none, {why}"
        return "\n".join([f"sketches: {why}", *(f"  {self._saved(each)}" for each in captured.sketches)])

    # ------------------------------------------------------------ deciding

    def _chosen(self, sql: str, args: Arguments) -> _Chosen:
        try:
            query = self._reader.query(sql, args, least=self._tuning.least)
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

    def _serving(self, query: AskedQuery) -> tuple[Captured | None, str]:
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
        return best, f"of {best.size / 2**20:,.0f} MB {best.gain:.0%} are not read"

    def _unfit(self, captured: Captured, query: AskedQuery) -> str | None:
        """Why a capture does not serve a query; None: it does."""
        if captured.name in self._refused:
            return "its sketch is not to be used"
        if captured.states != query.states:
            if _is_older(captured, query):
                self._kept.drop(captured)
            return "its tables have changed since the sketch was captured"
        if captured.settings != settings_of_values(self._spark):
            return "the sketch was captured under other settings"
        return self._unproven(captured, query)

    def _unproven(self, captured: Captured, query: AskedQuery) -> str | None:
        read = self._reader.statement(captured.sql, captured.args)
        if isinstance(read, str):
            return read
        _, instance = read
        same = instance.bindings == query.bindings
        if not same and not all(map(is_plain, query.bindings)):
            return "it has literals that may be read in two ways"
        attributes = {each.partition.table: each.partition.column for each in captured.sketches}
        verdict = serves(instance, query.instance, attributes, query.facts, rows=captured.rows)
        if verdict.checks and not same:
            return "whether rows tie at the edge of its LIMIT was seen of another instance"
        return None if verdict else f"the sketch does not serve it: {verdict.why}"

    def _capturing(self, query: AskedQuery, why: str) -> _Chosen:
        kind = query.kind
        plain = partial(_Chosen, Way.PLAIN, query=query)
        if not can_be_written(query.args):
            return plain(why="its parameters are no numbers, text or truth values")
        self._runs[kind] += 1
        if self._tuning.mode is Mode.ADAPTIVE:
            known = [each for each in self._kept.of(kind) if each.states == query.states]
            if not pays(query.statement, self._runs[kind], known):
                return plain(why=f"{why}; capturing one has not paid yet")
        if self._tuning.seconds is not None and self._spent >= self._tuning.seconds:
            return plain(why=f"{why}; the seconds for capturing are spent")
        captured = self._capturer.capture(query)
        if isinstance(captured, str):
            return plain(why=captured)
        captured = self._keep(captured)
        self._runs[kind] = 0
        return _Chosen(Way.CAPTURE, why, query, captured)

    def _keep(self, captured: Captured) -> Captured:
        self._spent += captured.milliseconds / 1000
        kept = self._kept.put(captured)
        for old in list(too_many(self._kept, self._tuning.budget, self._uses)):
            self._kept.drop(old)
        return kept

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
        query = self._reader.query(decision.sql, args, least=0)
        missing = query if isinstance(query, str) else self._unfit(decision.captured, query)
        if missing is not None or isinstance(query, str):
            raise ChangedError(f"decision {decision.number} cannot be replayed: {missing}")
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


def _is_older(captured: Captured, query: AskedQuery) -> bool:
    """Whether a capture is of the same tables as they were before: they do not come back."""
    return {name for name, _ in captured.states} == {name for name, _ in query.states}
