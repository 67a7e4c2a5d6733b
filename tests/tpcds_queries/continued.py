"""`python -m tests.tpcds_queries.continued`: TPC-DS and TPC-H, and each thing that may be done next; resumable.

Every step of `forward-lineage check --continue` is done alone with the frame of every query, under both semantics, and
with the same rows and lineage written down. It ends with 1 if any of them differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import ForwardLineage, LineageError
from forward_lineage.checking.continuations import STEPS, Steps
from forward_lineage.checking.frame_law import Continued
from forward_lineage.spark.local import local_session
from tests.oracle.blocks import Outcome, summary
from tests.oracle.campaign import State, fingerprint
from tests.oracle.spark_answers import FAST_FOR_TINY_DATA
from tests.spark_settings import configure
from tests.structure import REPOSITORY
from tests.tpcds_queries import data as tpcds
from tests.tpcds_queries import texts
from tests.tpch_queries.neutrality import QUERIES
from tests.tpch_queries.sessions import traced_session
from tpch_queries.data import generate

SCALES = {"tpcds": 0.01, "tpch": 0.01}
SEMANTICS: tuple[str, ...] = ("data", "control")
LONGEST = 1200  # seconds, for one query under one semantics


def sessions(spark: SparkSession, home: Path, tpch: Path) -> dict[str, ForwardLineage]:
    """The tables of both, each in a session of its own."""
    session = spark.newSession()
    lineage = ForwardLineage(session, home=home / "tpcds")
    texts.register(lineage, tpcds.generate(SCALES["tpcds"]))
    found = {"tpcds": lineage, "tpch": traced_session(spark, tpch, home / "tpch")}
    for each in found.values():
        configure(each.spark, FAST_FOR_TINY_DATA)
    return found


def names(workloads: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """What is to be judged: a workload, a query, a semantics."""
    for workload in workloads:
        for query in texts.NAMES if workload == "tpcds" else QUERIES:
            if not wanted or query in wanted:
                yield from ((workload, query, semantics) for semantics in SEMANTICS)


def judged(lineage: ForwardLineage, text: str, name: str, semantics: str, scratch: Path) -> Outcome:
    """One query under one semantics, each step once."""
    start = time.monotonic()
    chosen = [Steps(((step, 11),)) for step in STEPS]
    law = Continued(len(chosen), "every step", start + LONGEST, scratch, lambda _: None, chosen=chosen)
    try:
        law.try_on(lambda: lineage.sql(text, semantics=semantics), semantics)
    except LineageError as refusal:
        law.law.skip(f"refused: {refusal}")
    counts = {"agree": law.law.held, "disagree": len(law.law.failed), "invalid": sum(law.law.not_tried.values())}
    failed = [f"{name}: {each}" for each in law.law.failed]
    seconds = round(time.monotonic() - start, 2)
    return Outcome(name, 0, len(chosen), {f"each step, {semantics}": counts}, dict(law.law.not_tried), failed, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tpcds_queries.continued", description=__doc__)
    parser.add_argument("--workloads", default="tpcds,tpch", help="which (default: both)")
    parser.add_argument("--queries", default="", help="which queries, as q12,q51 (default: all)")
    parser.add_argument("--state", type=Path, default=REPOSITORY / ".data" / "continued")
    options = parser.parse_args()
    chosen = list(names(options.workloads.split(","), [each for each in options.queries.split(",") if each]))
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        State(options.state, fingerprint()) as state,
    ):
        todo = [each for each in chosen if _name(*each) not in state.finished]
        if todo:
            _judge(todo, state, Path(folder))
        outcomes = [state.finished[_name(*each)] for each in chosen]
    failed = sum(len(each.disagreements) for each in outcomes)
    print(f"{summary(outcomes)}\n{len(chosen)} queries and semantics: {failed} differences")
    return 1 if failed else 0


def _judge(todo: Sequence[tuple[str, str, str]], state: State, scratch: Path) -> None:
    spark = local_session(
        "continued",
        master="local[2]",
        driver_memory="3g",
        log=scratch / "spark.log",
        spark__local__dir=str(scratch),
        spark__sql__warehouse__dir=str(scratch / "warehouse"),
    )
    found = sessions(spark, scratch / "home", generate(SCALES["tpch"], REPOSITORY / ".data" / "tpch" / "sf0.01"))
    for done, (workload, query, semantics) in enumerate(todo, start=1):
        folder = tpcds.default_folder(SCALES["tpcds"])
        text = texts.query(folder, query) if workload == "tpcds" else tpch_queries.query(query)
        outcome = judged(found[workload], text, _name(workload, query, semantics), semantics, scratch)
        state.add(outcome)
        print("\n".join([*outcome.disagreements, f"{done} of {len(todo)}: {summary([outcome])}"]), flush=True)
    spark.stop()


def _name(workload: str, query: str, semantics: str) -> str:
    return f"{workload} {query} {semantics}"


if __name__ == "__main__":
    sys.exit(main())
