"""Random histories of lake tables: ``python -m tests.lakes --format delta --histories 20 --seed 1``.

Each history is a table that the engine of its format makes and changes in some ways by chance. After every few steps
our registration is refreshed, and compared with a dict that the steps kept (`histories`). The first difference of a
history ends it, and is told with all that was done. The exit status is the number of histories that differ, at most 1.

``--engines`` says which engines there are for this Spark, and fetches their jars.

``--tests`` runs the tests of this folder in an environment of their own, as `make test-lakes` does.

``--changes N`` compares N statements (UPDATE, DELETE, MERGE) with an interpreter instead, ten a table: see `changes`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.changed_tables import run_changes
from tests.lakes.engines import ASKED, CATALOG, FORMATS, SPARK, NoEngineError, jars, lake_session
from tests.lakes.histories import DifferenceError, run_history
from tests.spark_versions import environment
from tests.structure import REPOSITORY
from udafs.build import spark_version

A_TABLE = 10


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, say what came of it, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.lakes")
    parser.add_argument("--format", choices=FORMATS, default="delta")
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--steps", type=int, default=12, help="of each history")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next ones count on")
    parser.add_argument("--changes", type=int, default=0, help="statements that change a table with lineage")
    parser.add_argument("--engines", action="store_true", help="fetch the jars, say which there are, and end")
    parser.add_argument("--tests", action="store_true", help=f"run the tests under Spark {SPARK}, and end")
    wanted = parser.parse_args(arguments)
    if wanted.tests:
        return _run_tests()
    if wanted.engines:
        return _tell_engines()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        spark = lake_session(root, wanted.format)
        try:
            if wanted.changes:
                return _run_changes(spark, root, wanted.format, wanted.seed, wanted.changes)
            return _run(spark, root, wanted.format, range(wanted.seed, wanted.seed + wanted.histories), wanted.steps)
        finally:
            spark.stop()


def _run_tests() -> int:
    python = environment(SPARK)
    settings = {ASKED: "1", "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    command = [python, "-m", "pytest", "-q", "-rs", "tests/lakes"]  # one process: a session has all engines
    return subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **settings}, check=False).returncode


def _run_changes(spark: SparkSession, root: Path, kind: str, seed: int, statements: int) -> int:
    if kind == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
    begun, failed = time.monotonic(), []
    lineage = ForwardLineage(spark, home=root / "home")
    for number in range(statements // A_TABLE):
        try:
            run_changes(lineage, kind, seed + number, A_TABLE)
        except DifferenceError as error:
            failed.append(seed + number)
            print(f"seed {seed + number}: {error}", flush=True)
    seconds = time.monotonic() - begun
    print(f"{statements} statements in {seconds:.0f} s: {len(failed)} tables with differences {failed or ''}")
    return int(bool(failed))


def _tell_engines() -> int:
    missing = 0
    for kind in FORMATS:
        try:
            print(f"{kind}: {', '.join(jar.name for jar in jars(kind))}")
        except NoEngineError as error:
            print(f"{kind}: skipped, {error}")
            missing += 1
    return missing


def _run(spark: SparkSession, root: Path, kind: str, seeds: range, steps: int) -> int:
    print(f"Spark {spark_version()}, {', '.join(jar.name for jar in jars(kind))}", flush=True)
    begun, looked, made, failed = time.monotonic(), 0, 0, []
    for seed in seeds:
        made += steps
        try:
            looked += run_history(spark, kind, seed, steps, root / f"home{seed}")
        except DifferenceError as error:
            failed.append(seed)
            print(f"seed {seed}: {error}", flush=True)
    seconds = time.monotonic() - begun
    what = f"{len(seeds)} histories, {made} steps, {looked} looks in {seconds:.0f} s"
    print(f"{what}: {len(failed)} with differences {failed or ''}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
