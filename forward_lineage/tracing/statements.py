"""How a statement is run with lineage: read once, rewritten once, checked against Spark, then handed to Spark."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from sqlglot import exp

from forward_lineage.frontend import (
    RewrittenStatement,
    Statement,
    described_granules,
    parse,
    refuse_other_readings,
    rewrite_statement,
    without_clause,
    without_request,
)
from forward_lineage.frontend.lexing import refuse_no_text
from forward_lineage.frontend.lineage_fields import read_lineage_fields
from forward_lineage.frontend.lineage_properties import FilledTable
from forward_lineage.frontend.rewriting import semantics_of
from forward_lineage.frontend.row_changes import changes_rows
from forward_lineage.frontend.settings import OF_READING
from forward_lineage.frontend.time_travel import PastReading, find_past_readings, with_tables
from forward_lineage.results import described, with_meaning
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import NOT_FOUND, STREAMING, rewritten_errors, spark_errors
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.inserts import Target, insert_targets
from forward_lineage.spark.planning import Arguments, Planner
from forward_lineage.spark.settings import OF_TRAVEL, is_by_reference, is_guarded, settings_at_once, weighs_copies
from forward_lineage.spark.tables import check_expression, view_texts_at_once
from forward_lineage.spark.versions import refuse_what_is_newer
from forward_lineage.tracing.added_fields import with_added_fields
from forward_lineage.tracing.chosen_rows import ChosenRows, Consuming, refuse_where_it_is_asked_again
from forward_lineage.tracing.column_ranges import KnownRanges
from forward_lineage.tracing.commands import form_of_insert, refuse_permanent_view, refuse_replacing, refuse_values
from forward_lineage.tracing.functions import functions_by_chance, refuse_functions, refuse_unseen_readings
from forward_lineage.tracing.granule_cache import KnownHere
from forward_lineage.tracing.guarding import moves_safely, refuse_another_plan
from forward_lineage.tracing.names import NamesOfStatement, SessionNames
from forward_lineage.tracing.remembered import Asked, Memory, Noted, Remembered
from forward_lineage.tracing.row_changes import with_lineage_of_changes
from forward_lineage.tracing.trace_scope import Narrowed
from rewrites.granules import Granules
from rewrites.options import Options
from rewrites.tables import BaseTable
from udafs.errors import (
    BadArgumentError,
    ChangedError,
    LineageError,
    NotRegisteredError,
    NotTracedError,
    WrongSqlError,
)
from udafs.requests import analysed_again, keep_analysed, resolved_once, surroundings

#: What Spark says of a name that it does not know, and that may want registering; and of a stream.
_SAID_BETTER = (NOT_FOUND, "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", STREAMING)


@dataclass(frozen=True)
class TracedStatement:
    """A statement that may be run: rewritten, its tables unchanged, and understood as Spark understands it.

    Attributes:
        sql: as the user wrote it, LINEAGE ON, BACKWARD(…) and FORWARD(…) included.
        semantics: ``"data"`` or ``"control"``.
        statement: what was read from it.
        rewritten: what runs.
        args: values of the parameters of what runs.
        on_trust: tables that BACKWARD(…) and FORWARD(…) in it rely on, taken on trust.
        as_it_is: whether it is run as the user wrote it: an INSERT whose rows go where lineage has no place.
        remembered: what is known of it since it was rewritten, here or before; None: nothing is kept of it.
        then: a statement to be run behind it; "": none.

    """

    sql: str
    semantics: str
    statement: Statement
    rewritten: RewrittenStatement
    args: Arguments = None
    on_trust: frozenset[str] = frozenset()
    as_it_is: bool = False
    remembered: Remembered | None = None
    then: str = ""


class Statements:
    """Statements of a session, on their way from text to rows with `DL`.

    Args:
        tables: the registered tables.
        names: what names mean.
        chosen: what BACKWARD(…) and FORWARD(…) in FROM give.
        home: where registrations and results are, which the lineage's metadata mentions.

    Attributes:
        ranges: of columns, as far as they were asked for.

    """

    def __init__(self, tables: RegisteredTables, names: SessionNames, chosen: ChosenRows, home: str) -> None:
        self._spark: SparkSession = tables.spark
        self._tables = tables
        self._names, self._chosen, self._home = names, chosen, home
        self._planner = Planner(tables.spark)
        self.ranges = KnownRanges(tables)
        self._known = KnownHere(tables, self.ranges)
        self._faithful: set[Hashable] = set()  # pairs of texts, and the views in them, that mean the same to Spark
        self._memory = Memory()

    def trace(
        self,
        sql: str,
        semantics: str,
        args: Arguments = None,
        *,
        anywhere: bool = False,
        narrowed: Narrowed | None = None,
        unless_query: LineageError | None = None,
        in_parts: str | None = None,
        granules: tuple[Granules, ...] = (),
        to_store: bool = False,
        by_value: bool = False,
    ) -> TracedStatement:
        """Read, rewrite and check a statement.

        Args:
            sql: one statement.
            semantics: ``"data"`` or ``"control"``.
            args: values of its parameters.
            anywhere: whether the text is to run in other sessions, too; that of a command is: views outlive sessions.
            narrowed: what of the lineage is noted; None: all.
            unless_query: what to raise when the statement is a command or anything else that has no rows.
            in_parts: rewrite the query in parts, too: what their names begin with, see `rewrites.stage_queries`.
            granules: what ids stand for, of the only tables to trace; none: rows, unless it has a clause LINEAGE ON.
            to_store: whether others read its rows with their lineage.
            by_value: whether sets travel in the rows, whatever the session's settings say.

        Raises:
            LineageError: the SQL is wrong or not traced, or a table is not what was registered.

        """
        refuse_no_text(sql)
        sql = without_request(sql)
        if unless_query is None and (changes := self._table_changes(sql, semantics, args, anywhere=anywhere)):
            return changes
        control = semantics != "data"
        consuming = self._chosen.put_in(
            self._with_past(sql), args, anywhere=anywhere, narrowed=narrowed, all_looked_at=control
        )
        text, args = consuming.sql, consuming.args
        targets = self._targets(text)
        if targets is not None and not any(target.lineage for target in targets):
            return _plain_insert(sql, text, semantics, args, unless_query)
        target = targets[0] if targets else None
        setting = settings_at_once(self._spark, (*OF_READING, *OF_TRAVEL))
        refuse_other_readings(setting, text)
        chance = self._names.by_chance_in(text)
        options = Options(
            semantics_of(semantics),
            None if narrowed is None else narrowed.tables,
            granules,
            by_reference=is_by_reference(setting) and not by_value,
            in_parts=in_parts,
            to_store=to_store,
            by_chance=chance,
            weighs=weighs_copies(setting),
        )
        asked = Asked(options, anywhere, narrowed)
        views = self._tables.views_asked_for(self._memory.tables((text, asked)))
        with view_texts_at_once(self._spark, views):
            known = self._memory.get((text, asked), lambda: self._meaning_of_names(anywhere, narrowed, consuming))
            if known is None:
                statement = self._read(text, args, unless_query, target)
                known = self._rewritten(statement, asked, args, target, consuming)
                if statement.is_query and statement.lineage_on is None:  # else more is asked than what names mean
                    self._memory.add((text, asked), known)
            rewritten = known.rewritten
            refuse_where_it_is_asked_again(known.statement, consuming)
            refuse_permanent_view(self._spark, known.statement.tree, rewritten.tables)
            self._tables.check_unchanged(rewritten.tables)
        by_chance = self._check_fidelity(known.statement, rewritten, args, consuming)
        if by_chance and rewritten.adds_lineage:
            asked = asked.with_options(by_chance=by_chance | chance)
            known = self._rewritten(known.statement, asked, args, target, consuming)
        if not (known.is_guarded or moves_safely(self._planner, known.rewritten, args)):
            asked = asked.with_options(moves_conditions=False)
            known.rewritten = self._rewritten(known.statement, asked, args, target, consuming).rewritten
        known.is_guarded = True
        return TracedStatement(
            sql, semantics, known.statement, known.rewritten, args, consuming.on_trust, remembered=known
        )

    def _table_changes(self, sql: str, semantics: str, args: Arguments, *, anywhere: bool) -> TracedStatement | None:
        """A change of a table that carries lineage: its rows, or what they may be made of; None: another statement."""
        adds = read_lineage_fields(sql)
        if adds is not None and anywhere:
            raise NotTracedError(
                "ALTER TABLE that adds fields to DL is two statements", instead="Run it with lineage.sql(…)."
            )
        if adds is not None:
            _refuse_arguments(args)
            statement, first, then = with_added_fields(self._tables, sql, adds)
            return TracedStatement(sql, semantics, statement, first, as_it_is=True, then=then)
        if not changes_rows(sql):
            return None

        def rewritten(query: str) -> RewrittenStatement:
            return self.trace(query, semantics, anywhere=anywhere, to_store=True, by_value=True).rewritten

        found = with_lineage_of_changes(self._spark, self._names, sql, semantics, rewritten)
        if found is None:
            return None
        _refuse_arguments(args)
        return TracedStatement(sql, semantics, *found, as_it_is=True)

    def _with_past(self, sql: str) -> str:
        """The text, with tables in the places of those that it reads as they were."""
        readings = [(each, self._past(each)) for each in find_past_readings(sql)]
        found = [(each, manifest.name) for each, manifest in readings if manifest is not None]
        return with_tables(sql, [each for each, _ in found], [name for _, name in found])

    def _past(self, reading: PastReading) -> Manifest | None:
        source = self._names.here().find(reading.name)
        if not isinstance(source, BaseTable):
            return None  # it is refused where it stands
        try:
            return self._tables.past(source.name, reading.value, is_time=reading.is_time)
        except (BadArgumentError, ChangedError, NotTracedError) as error:
            raise error.said_at(reading.at) from None

    def _read(self, sql: str, args: Arguments, unless_query: LineageError | None, target: Target | None) -> Statement:
        try:
            statement = parse(sql)
        except LineageError as ours:
            self._prefer_sparks_complaint(without_clause(sql), args)
            raise (ours if target is None else form_of_insert(ours)) from None
        if unless_query is not None and not statement.is_query:
            raise unless_query
        refuse_replacing(self._spark, statement.tree)
        return statement

    def _meaning_of_names(self, anywhere: bool, narrowed: Narrowed | None, consuming: Consuming) -> NamesOfStatement:
        names = self._names.anywhere() if anywhere else self._names.here(narrowed)
        return replace(names, chosen={**names.chosen, **consuming.tables})

    def _targets(self, sql: str) -> list[Target] | None:
        """The targets of an INSERT, None for any other statement."""
        text = without_clause(sql)
        targets = insert_targets(self._spark, text)
        if targets is not None and text != sql:
            refuse_values(sql, text)
        return targets

    def check_condition(self, table: str, condition: str) -> None:
        """Check that a condition over a table's columns means to Spark what it means to the rules.

        Raises:
            LineageError: Spark refuses it, or it was read in another way.

        """
        check_expression(self._spark, condition, "Correct the condition: it is one over the columns of the table.")
        # Two pairs of parentheses: behind WHERE, Spark takes a single name in one pair for a list of aliases.
        probe = parse(f"SELECT * FROM {table} WHERE (({condition}))")
        rewritten = rewrite_statement(probe, self._tables.catalog)
        self._check_fidelity(probe, rewritten, None, Consuming(probe.text, None))

    def run(self, traced: TracedStatement) -> DataFrame:
        """Return what a query gives, `DL` its last column; carry a command out.

        Raises:
            LineageError: Spark's own complaint; or the result has a column DL already.

        """
        if traced.as_it_is:
            text, users = traced.rewritten.sql, traced.rewritten.user_sql
            with spark_errors(text) if text == users else self._planner.errors_of(users):
                found = self._spark.sql(text, args=traced.args) if traced.args else self._spark.sql(text)
                return self._spark.sql(traced.then) if traced.then else found
        if traced.statement.is_command:
            return self._carry_out(traced)
        meaning, known = self.meaning(traced), traced.remembered
        if known is None or traced.args:
            return with_meaning(*self._analysed(traced), meaning)
        if known.kept is not None and known.kept[1] == meaning:
            again = analysed_again(self._spark, known.kept[0])
            if again is not None:
                return again
        before = surroundings(self._spark)
        found = with_meaning(*self._analysed(traced), meaning)
        kept = keep_analysed(found, before)
        known.kept = None if kept is None else (kept, meaning)
        return found

    def meaning(self, traced: TracedStatement) -> dict[str, Any]:
        """Return what the ids in the `DL` of a query mean; see `results.described`."""
        rewritten = traced.rewritten
        manifests = [self._tables.registered(table) for table in rewritten.tables]
        granules = described_granules(rewritten.granules)
        ids = rewritten.meaning.tables if rewritten.meaning is not None and rewritten.through else ()
        made_with = {table.name: (each.version, each.trusted) for table, each in zip(manifests, ids, strict=False)}
        return described(
            traced.sql,
            traced.semantics,
            manifests,
            self._home,
            granules,
            made_with=made_with,
            chosen_on_trust=traced.on_trust,
            decided_by=[known for name in rewritten.decided_by if (known := self._tables.get(name)) is not None],
        )

    def _analysed(self, traced: TracedStatement) -> tuple[DataFrame, StructType]:
        """The rewritten query, and the columns that the user's text has."""
        known = traced.remembered if not traced.args else None
        if known is not None and known.columns is not None:
            before, wanted = known.columns
            with suppress(LineageError):  # said below, of the user's own text
                frame = self._frame(traced)
                if frame.schema == before:
                    return frame, wanted
        rewritten = traced.rewritten
        wanted = self._planner.schema(rewritten.user_sql, traced.args, through=bool(rewritten.through))
        frame = self._frame(traced)
        if is_guarded(self._spark) and rewritten.tables and not (traced.args or rewritten.through):
            refuse_another_plan(frame, rewritten)
        if known is not None:
            known.columns = frame.schema, wanted
        return frame, wanted

    def _frame(self, traced: TracedStatement) -> DataFrame:
        sql, args = traced.rewritten.sql, traced.args
        with rewritten_errors():
            values = traced.rewritten.values_of(args)
            return resolved_once(self._spark.sql(sql, args=values) if values else self._spark.sql(sql))

    def _carry_out(self, traced: TracedStatement) -> DataFrame:
        _refuse_arguments(traced.args)
        with spark_errors():
            return self._spark.sql(traced.rewritten.sql)

    def _rewritten(
        self, statement: Statement, asked: Asked, args: Arguments, target: Target | None, consuming: Consuming
    ) -> Remembered:
        anywhere = asked.anywhere or statement.is_command
        names = Noted(self._meaning_of_names(anywhere, asked.narrowed, consuming))
        try:
            refuse_what_is_newer(statement.tree)
            rewritten = rewrite_statement(
                statement,
                names,
                replace(asked.options, known=self._known.anywhere if anywhere else self._known),
                target=None if target is None else FilledTable(target.columns, target.lineage, target.meaning or ""),
                text_only=asked.anywhere,
                files_by_kernel=anywhere,
            )
        except (NotTracedError, NotRegisteredError, WrongSqlError) as ours:
            if statement.is_query or statement.is_command:
                self._prefer_sparks_complaint(statement.text, args)
            raise ours from None
        return Remembered(statement, rewritten, names.answers)

    def _prefer_sparks_complaint(self, sql: str, args: Arguments) -> None:
        """Spark's own complaint about a bad query is the better one; but it does not know about registering."""
        if not sql.strip():
            return
        try:
            self._planner.plan(sql, args, traced=True)
        except WrongSqlError as sparks:
            if sparks.condition not in _SAID_BETTER:
                raise

    def _check_fidelity(
        self, statement: Statement, rewritten: RewrittenStatement, args: Arguments, consuming: Consuming
    ) -> frozenset[str]:
        """Check that Spark reads of a statement what was read here; return the functions that it leaves to chance."""
        read, texts = rewritten.read, (rewritten.user_sql, rewritten.reprinted)
        known = (consuming.unnamed(texts[0]), consuming.unnamed(texts[1]), frozenset(read.views.items()))
        if known in self._faithful:
            return frozenset()
        planner, traced, through = self._planner, rewritten.adds_lineage, bool(rewritten.through)
        if statement.is_query and not (args or through) and planner.reads_alike(*texts):
            planner.facts(texts[0])
        else:
            check_fidelity(lambda sql: planner.plan(sql, args, traced=traced, through=through), *texts)
        refuse_functions(statement.tree, planner, traced=traced)
        refuse_unseen_readings(read, planner)
        if not any(map(read.is_in_text, planner.functions)):  # one of their name may do something else another time
            self._faithful.add(known)
        return functions_by_chance(statement.tree, read, planner)


def _refuse_arguments(args: Arguments) -> None:
    """Values of parameters are given to queries alone."""
    if args:
        raise NotTracedError("parameters in a command are not traced", instead="Write the values into the SQL.")


def _plain_insert(
    sql: str, text: str, semantics: str, args: Arguments, unless_query: LineageError | None
) -> TracedStatement:
    """An INSERT whose targets have no column `DL`: they get the rows that they would get without lineage."""
    if unless_query is not None:
        raise unless_query
    statement = Statement(text, exp.Command(this="INSERT", expression=exp.Literal.string(text)), None)
    as_it_is = RewrittenStatement(text, text, text, (), {})
    return TracedStatement(sql, semantics, statement, as_it_is, args, as_it_is=True)
