"""Queries with Comet and without, their rows and the lineage of each: ``python -m tests.lakes.comet``.

A process without Comet answers first. Then the same is asked in a session with Comet's plugin and shuffle manager, as
it comes, and with all that it can take over. Rows are compared, and lineage as bytes. Comet must have a part in the
plans. The exit status is 0 if nothing differs.

``--overhead N`` measures instead, in N turns: Spark, lineage, Comet, and lineage under Comet.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from forward_lineage import ForwardLineage
from tests.bench.harness import Turns, Variant, compare_all, table_of_ratios
from tests.lakes.comet.asking import BY, ask, registered, saved
from tests.lakes.comet.queries import ONLY_SCANS, QUERIES
from tests.lakes.comet.session import COMET, SWITCH, VARIANTS, comet_session, session_without
from tests.spark_settings import configure
from tests.structure import REPOSITORY
from tests.tpch_queries.neutrality import told
from tests.tpch_queries.sessions import plain_session
from tpch_queries.data import generate
from udafs.build import spark_version

Answers = dict[str, dict[str, Any]]
"""What ids come from → what was asked → its answer, or the error."""


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, say what came of it, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.lakes.comet")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--semantics", choices=["data", "control"], default="data")
    parser.add_argument("--without", type=Path, help="answer without Comet, into this file, and end")
    parser.add_argument("--overhead", type=int, default=0, help="turns in which to measure")
    parser.add_argument("--scale", type=float, default=0.01, help="of TPC-H's tables")
    wanted = parser.parse_args(arguments)
    queries = wanted.queries.split(",")
    tables = generate(wanted.scale, REPOSITORY / ".data" / "tpch" / f"sf{wanted.scale:g}")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        if wanted.without:
            return _answer_without(root, tables, queries, wanted)
        if wanted.overhead:
            return _measure(root, tables, queries, wanted.overhead)
        answers = root / "answers"
        command = [sys.executable, "-m", "tests.lakes.comet", *arguments, "--without", str(answers)]
        subprocess.run(command, check=True)
        return _compare(root, tables, queries, wanted.semantics, pickle.loads(answers.read_bytes()))


def _answer_without(root: Path, tables: Path, queries: Sequence[str], wanted: argparse.Namespace) -> int:
    spark = session_without(root)
    sessions = _sessions(spark, root, tables, {})
    found = {by: dict(_answers(lineage, queries, wanted.semantics)) for by, lineage in sessions}
    spark.stop()
    wanted.without.write_bytes(pickle.dumps(found))
    return 0


def _sessions(
    spark: SparkSession, root: Path, tables: Path, settings: Mapping[str, str]
) -> Iterator[tuple[str, ForwardLineage]]:
    for by in BY:
        session = spark.newSession()
        configure(session, settings)
        yield by, registered(session, tables, root / f"home by {by}", by)


def _answers(lineage: ForwardLineage, queries: Sequence[str], semantics: str) -> Iterator[tuple[str, Any]]:
    for query in queries:
        yield query, _tried(partial(ask, lineage, QUERIES[query], semantics))
    yield "saved", _tried(partial(saved, lineage, QUERIES["q3"]))


def _tried(call: Callable[[], Any]) -> Any:
    """Return the answer of a call, or its error: a query that fails is a difference, and not the end."""
    try:
        return call()
    except Exception as error:  # whatever an engine below may raise
        return f"{type(error).__name__}: {str(error)[:300]}"


def _compare(root: Path, tables: Path, queries: Sequence[str], semantics: str, without: Answers) -> int:
    print(f"Spark {spark_version()}, {COMET}, {semantics} lineage")
    spark = comet_session(root)
    failed = 0
    for variant, settings in VARIANTS.items():
        for by, lineage in _sessions(spark, root / variant, tables, settings):
            found = dict(_answers(lineage, queries, semantics))
            wrong = {what: list(_differences(without[by][what], each)) for what, each in found.items()}
            for query in queries:
                if not (query in ONLY_SCANS or wrong[query] or found[query].operators):
                    wrong[query].append("no operator of Comet in its plan")
            differing = [what for what, each in wrong.items() if each]
            print("".join(f"  {what}: {each}\n" for what in differing for each in wrong[what]), end="")
            print(f"{variant}, ids by {by}: {len(found)} answers, {len(differing)} differ")
            used = Counter(name for each in found.values() for name in getattr(each, "operators", ()))
            print(f"  in how many plans: {', '.join(f'{name} {n}' for name, n in used.most_common())}", flush=True)
            failed += len(differing)
    spark.stop()
    return int(failed > 0)


def _differences(without: Any, found: Any) -> Iterator[str]:
    if isinstance(found, str) or isinstance(without, str):
        yield f"{found} (without Comet: {without})"
    elif isinstance(found, dict):
        yield from (f"saved, {name}" for name, rows in found.items() if rows != without[name])
    else:
        yield from told(without.answer.rows, found.answer, without.answer)


def _measure(root: Path, tables: Path, queries: Sequence[str], turns: int) -> int:
    """Print medians as ratios to Spark's own, in turns in one application: memory and shuffle manager are Comet's."""
    spark = comet_session(root)
    variants: dict[str, Callable[[str], DataFrame]] = {}
    for engine, switch in (("Spark", "false"), ("Comet", "true")):
        plain = plain_session(spark, tables)
        lineage = registered(spark.newSession(), tables, root / engine, "position")
        by_key = registered(spark.newSession(), tables, root / f"{engine} by key", "key")
        for session in (plain, lineage.spark, by_key.spark):
            session.conf.set(SWITCH, switch)
        variants |= {engine: plain.sql, f"{engine}, by position": lineage.sql, f"{engine}, by key": by_key.sql}
    named = [
        (query, [Variant(name, partial(run, QUERIES[query])) for name, run in variants.items()]) for query in queries
    ]
    found = compare_all(spark, named, Turns(turns))
    Console().print(table_of_ratios(f"Spark {spark_version()}, {COMET}", found))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
