"""The objects that answer the calls of a session: one for each kind of question."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.approximate.approximator import Approximator
from forward_lineage.approximate.occurrences import Occurrences
from forward_lineage.dataframes.frame_to_sql import Frames
from forward_lineage.explaining.comparing import Comparer
from forward_lineage.explaining.past_tables import PastTables
from forward_lineage.explaining.why_not import MissingExplainer
from forward_lineage.openlineage.runs import Given, Runs
from forward_lineage.profiling.profiler import Profiler
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.session.looking import Looking
from forward_lineage.sketches.running import Runner
from forward_lineage.spark.planning import Arguments
from forward_lineage.storage.homes import Home, folder_of
from forward_lineage.store.asking.calls import LineageCalls
from forward_lineage.store.asking.questions import Questions
from forward_lineage.store.library.library import Library
from forward_lineage.store.result_tables import ResultTables
from forward_lineage.store.saving.deferred_capture import Capturing, refuse_to_answer_again
from forward_lineage.store.saving.saver import Saver
from forward_lineage.store.saving.traced_query import Tracer
from forward_lineage.store.updating.proving import Prover
from forward_lineage.store.updating.replacing import Replacer
from forward_lineage.stored_tables import Meaning
from forward_lineage.tracing.chosen_rows import ChosenRows
from forward_lineage.tracing.names import SessionNames
from forward_lineage.tracing.statements import Statements
from forward_lineage.views.opening import Opening
from forward_lineage.workloads.answering import Answering
from forward_lineage.workloads.form_builder import Making
from forward_lineage.workloads.saving import WorkloadSaver


@dataclass(frozen=True)
class Parts:
    """The parts of a session's lineage.

    Attributes:
        tables: what is registered.
        statements: how a statement is run.
        frames: DataFrames as statements.
        library: what is saved.
        result_tables: saved results as tables that queries can read.
        saver: how results are saved.
        answering: answers consuming queries, from what was made for them beforehand.
        capturing: captures lineage of saved results afterwards.
        questions: what may be asked of saved results.
        opening: how linked views are opened.
        profiler: how constraints are checked.
        approximator: answers from a part of the rows.
        occurrences: tells whether tuples of values occur.
        runner: runs queries with sketches.
        looking: shows rows.
        runs: tells other tools of runs.
        prover: tells which saved results are up to date.
        replacer: makes the touched part of a saved result again.
        comparer: tells why versions of a result differ.
        missing: tells why rows are not in a result.

    """

    tables: RegisteredTables
    statements: Statements
    frames: Frames
    library: Library
    result_tables: ResultTables
    saver: WorkloadSaver
    answering: Answering
    capturing: Capturing
    questions: Questions
    opening: Opening
    profiler: Profiler
    approximator: Approximator
    occurrences: Occurrences
    runner: Runner
    looking: Looking
    runs: Runs
    prover: Prover
    replacer: Replacer
    comparer: Comparer
    missing: MissingExplainer


def parts_of(spark: SparkSession, registrations: Registrations, home: Home, openlineage: Given = None) -> Parts:
    """Put the parts together.

    Args:
        spark: a session with the kernel attached.
        registrations: the registrations under the home.
        home: where registrations and results are.
        openlineage: where events of runs go.

    """
    near = folder_of(home)  # where what can be made again is kept
    tables = RegisteredTables(spark, registrations)
    saved = Library(home)
    result_tables = ResultTables(saved, tables)
    up_to_date = result_tables.bring_up_to_date
    names = SessionNames(tables, up_to_date)
    again = Statements(tables, names, ChosenRows(spark, refuse_to_answer_again), str(home))
    capturing = Capturing(Tracer(again, tables, str(home)), tables, saved)
    library = saved.capturing(capturing)
    questions = Questions(tables, library)
    chosen = ChosenRows(spark, LineageCalls(tables, library, questions, up_to_date))
    statements = Statements(tables, names, chosen, str(home))
    tracer = Tracer(statements, tables, str(home))

    def run(sql: str, semantics: str, args: Arguments) -> DataFrame:
        return statements.run(statements.trace(sql, semantics, args))

    def rows_of(sql: str, semantics: str) -> tuple[DataFrame, Meaning | None]:
        traced = statements.trace(sql, semantics, to_store=True)
        return statements.run(traced), traced.rewritten.meaning

    answering = Answering(tables, library, near, run, up_to_date)
    prover = Prover(statements, tables, library)
    rows_saver = Saver(tracer, tables, library, prover.inputs.changes)
    saver = WorkloadSaver(rows_saver, statements, Making(tables, library), answering)
    opening = Opening(tables, library, near, up_to_date)
    profiler = Profiler(tables, rows_saver, near, up_to_date)
    runner = Runner(statements, tables, names, near)
    past = PastTables(tables, names, library)
    return Parts(
        tables,
        statements,
        Frames(tables, up_to_date, rows_of, names.given),
        library,
        result_tables,
        saver,
        answering,
        capturing,
        questions,
        opening,
        profiler,
        Approximator(tables, near, up_to_date),
        Occurrences(tables, near, up_to_date),
        runner,
        Looking(tables, questions),
        Runs(openlineage, tables, names, str(home)),
        prover,
        Replacer(prover, statements, chosen, tables, library),
        Comparer(tables, library, questions, past),
        MissingExplainer(tables, library, questions, past),
    )
