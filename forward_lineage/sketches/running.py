"""`lineage.run`: a query with the sketch that serves it, or one that is captured for it, or as it is.   [Niu 2022, §8]

Under every decision, the rows are those of the plain query. A sketch is used only if that is proven (`safety`), of
unchanged tables, under the settings of its capture.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from forward_lineage.extras import import_extra
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.capture_plan import Capturer
from forward_lineage.sketches.decisions import Decision, Decisions, Way
from forward_lineage.sketches.serving import Serving
from forward_lineage.sketches.sketch_store import Capture, KeptSketches
from forward_lineage.sketches.sketched_query import AskedQuery, QueryReader, can_be_written
from forward_lineage.sketches.sketched_scan import as_it_is, cut_down, said_of, skipped
from forward_lineage.sketches.tuning import Mode, Tuning, is_worth_it, pays, too_many
from forward_lineage.spark.planning import Arguments
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import Statements
from udafs.errors import ChangedError, LineageError


@dataclass(frozen=True)
class _Chosen:
    """How a query is run, and why."""

    way: Way
    why: str
    query: AskedQuery | None = None
    captured: Capture | None = None


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
        self._reader = QueryReader(tables, names)
        self._capturer = Capturer(statements, tables, names)
        self._kept = KeptSketches(home)
        self._serving = Serving(tables, self._reader, self._kept)
        self._tuning = Tuning()
        self._decisions = Decisions()
        self._runs: Counter[str] = Counter()  # by template: those that had no sketch
        self._uses: Counter[str] = Counter()  # by name of a capture
        self._spent = 0.0

    def tune(self, tuning: Tuning) -> None:
        """Decide in that way from now on.

        Raises:
            SetupError: the extra `sketches` is not installed, and `tuning` asks for more than nothing.

        """
        if tuning.mode is not Mode.OFF:
            import_extra("z3", "sketches", "sketches need")
        self._tuning = tuning

    @property
    def decisions(self) -> Sequence[Decision]:
        """The decisions, the first one first."""
        return self._decisions.all()

    def run(self, sql: str, args: Arguments = None) -> DataFrame:
        """Run a query as Spark does, without lineage; with a sketch, if one serves it and you called `tune`."""
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

    def explain(self, sql: str, args: Arguments = None) -> Sequence[str]:
        """Return in lines what `run` would do with a statement now, and what sketches save; nothing is captured.

        There are none where `run` does what Spark does, since nobody has called `tune`.
        """
        if self._tuning.mode is Mode.OFF:
            return ()
        found = self._found(sql, args)
        if found.way is Way.USE and found.captured is not None:
            saved = (said_of(each, skipped(self._spark, each)) for each in found.captured.sketches)
            return f"run: with sketches, {found.why}", *(f"  {each}" for each in saved)
        missing = found.why if found.query is None else self._not_now(found.query, found.why, runs=1)
        if found.way is Way.PLAIN or missing is not None or found.query is None:
            return (f"run: as it is, {missing or found.why}",)
        attributes = self._capturer.attributes(found.query)
        if isinstance(attributes, str):
            return (f"run: as it is, {attributes}",)
        return f"run: captures sketches first, {found.why}", *(f"  {on} by {of}" for on, of in attributes.items())

    # ------------------------------------------------------------ deciding

    def _chosen(self, sql: str, args: Arguments) -> _Chosen:
        found = self._found(sql, args)
        if found.way is not Way.CAPTURE or found.query is None:
            return found
        try:
            return self._capturing(found.query, found.why)
        except LineageError as error:
            return _Chosen(Way.PLAIN, f"{error}".splitlines()[0])

    def _found(self, sql: str, args: Arguments) -> _Chosen:
        """How a query is to be run, as far as what there is decides it; sketches that it wants are not captured yet."""
        try:
            query = self._reader.query(sql, args, least=self._tuning.least)
            if isinstance(query, str):
                return _Chosen(Way.PLAIN, query)
            captured, why = self._serving.best(query)
            if captured is None:
                return _Chosen(Way.CAPTURE, why, query)
            if not is_worth_it(captured, query):
                return _Chosen(Way.PLAIN, f"its sketch would save {captured.gain:.0%} of the bytes", query)
            return _Chosen(Way.USE, why, query, captured)
        except LineageError as error:
            return _Chosen(Way.PLAIN, f"{error}".splitlines()[0])

    def _capturing(self, query: AskedQuery, why: str) -> _Chosen:
        if can_be_written(query.args):
            self._runs[query.kind] += 1
        captured = self._not_now(query, why) or self._capturer.capture(
            query, witnesses=not self._serving.wants_all(query)
        )
        if isinstance(captured, str):
            return _Chosen(Way.PLAIN, captured, query)
        captured = self._keep(captured, query)
        self._runs[query.kind] = 0
        return _Chosen(Way.CAPTURE, why, query, captured)

    def _not_now(self, query: AskedQuery, why: str, runs: int = 0) -> str | None:
        """Why sketches of a query that has none are not captured, after so many more runs; None: they are to be."""
        if not can_be_written(query.args):
            return "its parameters are no numbers, text or truth values"
        if self._tuning.mode is Mode.ADAPTIVE:
            known = [each for each in self._kept.of(query.kind) if each.states == query.states]
            if not pays(query.statement, self._runs[query.kind] + runs, known):
                return f"{why}; capturing one has not paid yet"
        if self._tuning.seconds is not None and self._spent >= self._tuning.seconds:
            return f"{why}; the seconds for capturing are spent"
        return None

    def _keep(self, captured: Capture, query: AskedQuery) -> Capture:
        self._spent += captured.milliseconds / 1000
        kept = self._kept.put(captured)
        for old in self._serving.superseded(kept, query):
            self._kept.drop(old)
        for old in list(too_many(self._kept, self._tuning.budget, self._uses)):
            self._kept.drop(old)
        return kept

    # ------------------------------------------------------------ running

    def _plain(self, sql: str, args: Arguments) -> DataFrame:
        return as_it_is(self._spark, sql, args)

    def _frame(self, sql: str, args: Arguments, chosen: _Chosen) -> DataFrame:
        captured = chosen.captured
        if captured is None or chosen.query is None or not is_worth_it(captured, chosen.query):
            return self._plain(sql, args)
        self._uses[captured.name] += 1
        sketches = {each.partition.table: each for each in captured.sketches if not each.is_everything}
        return cut_down(self._plain(sql, args), sketches)

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
        missing = query if isinstance(query, str) else self._serving.unfit(decision.captured, query)
        if missing is not None or isinstance(query, str):
            raise ChangedError(f"decision {decision.number} cannot be replayed: {missing}")
        return self._frame(decision.sql, args, _Chosen(Way.USE, decision.why, query, decision.captured))

    def _take_back(self, decision: Decision) -> None:
        assert decision.captured is not None
        self._serving.refuse(decision.captured)
        if decision.way is Way.CAPTURE:
            self._kept.drop(decision.captured)
