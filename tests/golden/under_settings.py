"""`python -m tests.golden.under_settings`: the golden fixtures under every setting that must not matter; resumable.

Rows must be those of plain Spark under the same setting, lineage that of the fixture. It ends with 1 if not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from tests.golden import execution, tables
from tests.golden.cases import Case, read_all
from tests.golden.tables import catalog
from tests.oracle.blocks import Outcome, summary
from tests.oracle.campaign import State, fingerprint
from tests.oracle.spark_answers import FAILURES, FAST_FOR_TINY_DATA
from tests.spark_settings import configure
from tests.spark_switches import BY_REFERENCE, CACHED_TABLES, SWITCHES, turned
from tests.structure import REPOSITORY
from udafs.attach import attach
from udafs.errors import LineageError

# The texts are those of the fixtures, and the tables are there before a setting is.
NAMES = [name for name, settings in SWITCHES.items() if not {BY_REFERENCE, CACHED_TABLES} & settings.keys()]


def cases() -> list[Case]:
    return [case for case in read_all() if case.rows and not case.bug and not case.since]


def golden_session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    attach(session)
    configure(session, FAST_FOR_TINY_DATA)
    tables.create(session)
    return session


def under(spark: SparkSession, setting: str, chosen: Sequence[Case]) -> Outcome:
    """Run cases under one setting."""
    start, found, wrong = time.monotonic(), Counter[str](), []
    with turned(spark, setting):
        for case in chosen:
            said = list(differences(spark, case))
            found["disagree" if said else "agree"] += 1
            wrong += [f"{setting}, {case.name}: {each}" for each in said]
    seconds = round(time.monotonic() - start, 2)
    return Outcome(setting, 0, len(chosen), {f"golden under {setting}": dict(found)}, {}, wrong, seconds)


def differences(spark: SparkSession, case: Case) -> Iterator[str]:
    """What is not as it should be, a line each."""
    for semantics, wanted in case.rows.items():
        statement = execution.rewritten(case, semantics, catalog())
        if isinstance(statement, LineageError):
            raise statement
        try:
            plain = execution.rows(execution.run(spark, statement.user_sql, case.args), traced=False)
        except FAILURES:
            continue  # under this setting it is no query
        try:
            frame = execution.run(spark, statement.sql, case.args, statement.places)
            rows = execution.rows(frame, traced=bool(statement.tables))
        except FAILURES as error:
            yield f"{semantics}: fails: {str(error)[:300]}"
            continue
        if sorted(values for values, _ in rows) != sorted(values for values, _ in plain):
            yield f"{semantics}: rows {rows}, plain Spark {plain}"
        elif sorted(execution.as_lines(rows)) != sorted(wanted) and _values_alike(plain, wanted):
            yield f"{semantics}: lineage {execution.as_lines(rows)}, not {wanted}"


def _values_alike(plain: Sequence[tuple[str, str]], wanted: Sequence[str]) -> bool:
    """Whether the setting leaves the fixture's rows as they are: without ANSI some are others."""
    left = list(wanted)
    for values in sorted((each for each, _ in plain), key=len, reverse=True):
        line = next((each for each in left if each == values or each.startswith(f"{values} | ")), None)
        if line is None:
            return False
        left.remove(line)
    return not left


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.under_settings", description=__doc__)
    parser.add_argument(
        "--settings", nargs="+", metavar="NAME", default=NAMES, choices=NAMES, help="which ones (default: all)"
    )
    parser.add_argument("--every", type=int, default=1, help="of the cases every N-th (default: all)")
    parser.add_argument("--state", type=Path, default=REPOSITORY / ".data" / "golden")
    options = parser.parse_args()
    chosen, wanted = cases()[:: options.every], options.settings
    key = f"every-{options.every}-{fingerprint()}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, State(options.state, key) as state:
        folder = Path(scratch)
        spark = local_session(
            "golden",
            master="local[2]",
            driver_memory="2g",
            log=folder / "spark.log",
            spark__sql__warehouse__dir=str(folder / "warehouse"),
            spark__forward_lineage__by_reference="true",
        )
        session = golden_session(spark)
        for name in [each for each in wanted if each not in state.finished]:
            outcome = under(session, name, chosen)
            state.add(outcome)
            print("\n".join([*outcome.disagreements, summary([outcome])]), flush=True)
        spark.stop()
        outcomes = [state.finished[name] for name in wanted]
    failed = sum(len(each.disagreements) for each in outcomes)
    print(f"{len(wanted)} settings, {len(chosen)} fixtures: {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
