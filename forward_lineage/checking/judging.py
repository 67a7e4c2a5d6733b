"""One statement, judged: run as it is, run with lineage, compared, and the laws tried on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from forward_lineage.checking.base_tables import BaseTables
from forward_lineage.checking.comparison import compare_bags, first_difference
from forward_lineage.checking.copies import Copies, NotCutError, OtherRows
from forward_lineage.checking.frame_law import Continued
from forward_lineage.checking.laws import Trial
from forward_lineage.checking.ordering import Expected
from forward_lineage.checking.outcomes import Laws, Outcome, Rows, Verdict, grouped
from forward_lineage.checking.reordered_runs import PlainAgain
from forward_lineage.checking.results import Failure, Result, collect, failure_of
from forward_lineage.checking.shapes import is_deterministic, is_join_of_tables
from forward_lineage.checking.statements import is_query, is_script, names_in, stays_out, without_lineage_on
from forward_lineage.spark.names import split_name
from udafs.errors import FailedQueryError, InternalError, LineageError

SEMANTICS = ("data", "control")


@dataclass(frozen=True)
class TrialRequest:
    """A statement to be tried.

    Attributes:
        semantics: which ones.
        rows: how many result rows of a query to sample.
        timeout: seconds for the laws of a query, after which no further one is tried.
        continued: how many continuations of each traced frame.

    """

    semantics: Sequence[str] = SEMANTICS
    rows: int = 5
    timeout: float = 60.0
    continued: int = 0


@dataclass
class Judge:
    """Judges the statements of one file, in their order.

    Attributes:
        bases: the file's base tables, and its session.
        copies: copies of base tables.
        wanted: what is to be tried.
        step: called with what is done next.
        said: called with the verdict on each semantics, as soon as it stands; a later one takes its place.

    """

    bases: BaseTables
    copies: Copies
    wanted: TrialRequest
    step: Callable[[str], None]
    said: Callable[[str, Verdict], None]

    def judge(self, sql: str, place: str) -> Laws:
        """Judge a statement.

        Args:
            sql: the statement.
            place: what the sample depends on.

        Raises:
            SparkIsGoneError: the Java process has ended.

        """
        if is_script(sql):
            why = "a BEGIN … END block is not traced, and was not run"
            self._say_all(Verdict(Outcome.REFUSED, why, why))
            return Laws()
        if not is_query(sql):
            self._say_all(self.set_up(sql))
            return Laws()
        return self._query(sql, place)

    def set_up(self, sql: str) -> Verdict:
        """Run a statement that is no query, in the scratch catalog."""
        if (why := stays_out(sql)) is not None:
            return Verdict(Outcome.PASSED_OVER, why, grouped(why))
        self.step("set-up")
        self.bases.before_set_up(sql)
        try:
            self.bases.spark.sql(sql).collect()
        except Exception as error:  # whatever Spark says
            return _wrong(failure_of(error))
        finally:
            with suppress(LineageError):
                self.bases.after_set_up(sql)
        return Verdict(Outcome.SET_UP)

    def _query(self, sql: str, place: str) -> Laws:
        self.step("base tables")
        self.bases.prepare(sql)
        self.step("plain")
        plain_sql, coarser = without_lineage_on(sql)
        try:
            frame = self.bases.spark.sql(plain_sql)
            plain = collect(frame)
        except Exception as error:  # whatever Spark says
            self._say_all(self._wrong_for_us_too(sql, _wrong(failure_of(error))))
            return Laws()
        expected = Expected(plain_sql, plain, self.bases.spark.sql)
        traced = {semantics: self._traced(sql, semantics, expected) for semantics in self.wanted.semantics}
        rows = {name: each for name, each in traced.items() if each is not None}
        return Laws() if coarser else self._tried(frame, expected, rows, place)

    def _wrong_for_us_too(self, sql: str, verdict: Verdict) -> Verdict:
        """A statement that plain Spark refuses may be refused by us, too, but must not break us."""
        if verdict.outcome is not Outcome.WRONG:
            return verdict
        try:
            self.bases.lineage.rewrite(sql)
        except Exception as error:  # what is raised is the question
            failure = failure_of(error)
            if failure.ours is None or isinstance(failure.ours, InternalError):
                return Verdict(Outcome.FAILED, failure.why, grouped(failure.why))
        return verdict

    def _traced(self, sql: str, semantics: str, expected: Expected) -> tuple[Verdict, Result] | None:
        """Run a query with lineage and say what came of it; None when no rows came."""
        self.step(semantics)
        try:
            found = collect(self.bases.lineage.sql(sql, semantics), traced=True)
            verdict = _compared(expected, found)
        except Exception as error:  # what is raised is the question
            self.said(semantics, self._without_ids(sql, _without_rows(failure_of(error))))
            return None
        self.said(semantics, verdict)
        return verdict, found

    def _without_ids(self, sql: str, verdict: Verdict) -> Verdict:
        """Say why a table has no ids, if that is why a query was refused."""
        words = names_in(sql)
        reasons = [(name, why) for name, why in self.bases.unregistered.items() if split_name(name)[-1] in words]
        if verdict.outcome is not Outcome.REFUSED or not reasons:
            return verdict
        name, why = reasons[0]
        return replace(verdict, why=f"{name} has no row ids: {why}", reason=grouped(f"no row ids: {why}"))

    def _tried(
        self, frame: DataFrame, expected: Expected, traced: dict[str, tuple[Verdict, Result]], place: str
    ) -> Laws:
        deadline = time.monotonic() + self.wanted.timeout
        trial = Trial(expected.sql, self.wanted.rows, place, deadline, self.step)
        tables = sorted({table for _, found in traced.values() for table in found.tables})
        differ = any(verdict.rows is Rows.DIFFERENT for verdict, _ in traced.values())
        if not traced or not (tables or differ or not is_deterministic(frame)):
            return trial.laws  # nothing could come in another order
        self.step("other order")
        other = self._other_rows(trial, expected.sql, tables)
        again = PlainAgain(frame, expected, other)
        try:
            agrees = again.agrees([found for _, found in traced.values()])
            if agrees and is_deterministic(frame) and other.tables:
                self._laws(trial, frame, traced, other)
                self._frames(trial, traced)
                agrees = not trial.laws.witness.failed or again.agrees_in_doubt()
        except NotCutError as error:
            trial.laws.witness.skip(str(error))
            return trial.laws
        if agrees:
            return trial.laws
        for semantics, (verdict, _) in traced.items():
            self.said(semantics, _not_deterministic(verdict))
        return Laws()

    def _other_rows(self, trial: Trial, sql: str, tables: Sequence[str]) -> OtherRows:
        """The base rows in another order; unchanged if that cannot be."""
        try:
            return OtherRows(self.bases.lineage, tables, self.bases.views(sql), self.copies)
        except NotCutError as error:
            trial.laws.witness.skip(str(error))
            return OtherRows(self.bases.lineage, (), (), self.copies)

    def _laws(
        self, trial: Trial, frame: DataFrame, traced: dict[str, tuple[Verdict, Result]], other: OtherRows
    ) -> None:
        control, data = traced.get("control"), traced.get("data")
        if all(not found.tables or not found.rows for _, found in traced.values()):
            return
        other.check_effect(trial.sql)
        if control is not None and control[1].tables and control[1].rows:
            trial.witnesses(control[1], other)
        if data is not None and data[1].tables and data[1].rows and is_join_of_tables(frame):
            trial.necessity(data[1], other)

    def _frames(self, trial: Trial, traced: dict[str, tuple[Verdict, Result]]) -> None:
        """Continue each traced frame."""
        if not self.wanted.continued:
            return
        continued = Continued(self.wanted.continued, trial.seed, trial.deadline, self.copies.scratch, self.step)
        trial.laws.frames = continued.law
        for semantics in traced:
            continued.try_on(lambda named=semantics: self.bases.lineage.sql(trial.sql, named), semantics)  # type: ignore[misc]

    def _say_all(self, verdict: Verdict) -> None:
        for semantics in self.wanted.semantics:
            self.said(semantics, verdict)


def _compared(expected: Expected, found: Result) -> Verdict:
    plain = expected.plain
    rows = Rows.DIFFERENT if list(found.columns) != list(plain.columns) else expected.compare(found.rows)
    why = ""
    if rows is Rows.DIFFERENT:
        same = compare_bags(plain.rows, found.rows) is not Rows.DIFFERENT
        why = "the rows come in another order" if same else first_difference(plain.rows, found.rows)
        why = why if list(found.columns) == list(plain.columns) else f"columns {found.columns}, not {plain.columns}"
    return Verdict(Outcome.REWRITTEN, why, "", rows, tuple(found.tables), len(plain.rows))


def _wrong(failure: Failure) -> Verdict:
    outcome = _limit(failure) or Outcome.WRONG
    return Verdict(outcome, failure.why, failure.condition or grouped(failure.why))


def _without_rows(failure: Failure) -> Verdict:
    """The error of our side, where plain Spark gave rows."""
    refused = failure.ours is not None and not isinstance(failure.ours, InternalError | FailedQueryError)
    outcome = _limit(failure) or (Outcome.REFUSED if refused else Outcome.FAILED)
    what = failure.ours.what if failure.ours is not None else failure.why
    return Verdict(outcome, failure.why, grouped(what))


def _limit(failure: Failure) -> Outcome | None:
    """The limit of the process that was met, if one was."""
    if failure.no_memory:
        return Outcome.OUT_OF_MEMORY
    return Outcome.TOO_LARGE if failure.too_large else None


def _not_deterministic(verdict: Verdict) -> Verdict:
    why = "plain Spark gives other rows over the same rows in another order"
    return replace(verdict, outcome=Outcome.NOT_DETERMINISTIC, why=why, reason=why, rows=None)
