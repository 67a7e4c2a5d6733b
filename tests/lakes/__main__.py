"""Random histories of lake tables: ``python -m tests.lakes --format delta --histories 20 --seed 1``.

Each history is a table that the engine of its format makes and changes in some ways by chance. After every few steps
our registration is refreshed, and compared with a dict that the steps kept (`histories`). The first difference of a
history ends it, and is told with all that was done. The exit status is 0 if all were run and none differs.

``--engines`` says which engines there are for this Spark, and fetches their jars.

``--tests [VERSION …]`` runs the tests of this folder under each version of Spark in an environment of its own, as
`make test-lakes SPARK=…` does.

``--changes N`` compares N statements (UPDATE, DELETE, MERGE) with an interpreter instead, ten a table: see `changes`.

``--interpreted`` lets Spark interpret expressions, for which it generates and compiles code otherwise. Rows are few, so
most of the time goes there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.changed_tables import run_changes
from tests.lakes.engines import ASKED, CATALOG, FORMATS, SPARK, NoEngineError, jars, lake_session
from tests.lakes.histories import DifferenceError, run_history
from tests.spark_settings import FEW_WORDS, INTERPRETED
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
    parser.add_argument("--interpreted", action="store_true", help="let Spark generate no code: more histories an hour")
    parser.add_argument("--engines", action="store_true", help="fetch the jars, say which there are, and end")
    parser.add_argument(
        "--tests", nargs="*", metavar="VERSION", help=f"run the tests under versions of Spark ({SPARK}), and end"
    )
    wanted = parser.parse_args(arguments)
    if wanted.tests is not None:
        return max([_run_tests(version) for version in wanted.tests or [SPARK]])
    if wanted.engines:
        return _tell_engines()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        spark = lake_session(root, wanted.format, settings=INTERPRETED | FEW_WORDS if wanted.interpreted else None)
        try:
            if wanted.changes:
                return _run_changes(spark, root, wanted.format, wanted.seed, wanted.changes)
            seeds = range(wanted.seed, wanted.seed + wanted.histories)
            return _run_histories(spark, root, wanted.format, seeds, wanted.steps)
        finally:
            spark.stop()


def _run_tests(version: str) -> int:
    python = environment(version)
    settings = {ASKED: "1", "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    command = [python, "-m", "pytest", "-q", "-rs", "-n", "2", "--dist", "loadfile", "tests/lakes"]
    return subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **settings}, check=False).returncode


def _run_changes(spark: SparkSession, root: Path, kind: str, seed: int, statements: int) -> int:
    if kind == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
    lineage = ForwardLineage(spark, home=root / "home")

    def compare(seed: int) -> str:
        run_changes(lineage, kind, seed, A_TABLE)
        return f"{A_TABLE} statements"

    return _judge(kind, range(seed, seed + statements // A_TABLE), compare)


def _run_histories(spark: SparkSession, root: Path, kind: str, seeds: range, steps: int) -> int:
    def compare(seed: int) -> str:
        looks, at_once, refused = run_history(spark, kind, seed, steps, root / f"home{seed}")
        return f"{steps} steps, {looks} looks, {at_once} times two writers at once, {refused} of them refused"

    return _judge(kind, seeds, compare)


def _judge(kind: str, seeds: range, judged: Callable[[int], str]) -> int:
    """Run one after the other, say how far it is, and what differs; Ctrl+C ends it with what was done by then."""
    print(f"Spark {spark_version()}, {', '.join(jar.name for jar in jars(kind))}", flush=True)
    begun, failed, done = time.monotonic(), [], 0
    try:
        for seed in seeds:
            try:
                what = judged(seed)
            except DifferenceError as error:
                failed.append(seed)
                what = str(error)
            done += 1
            print(f"seed {seed}: {what} ({done} of {len(seeds)}, {time.monotonic() - begun:.0f} s)", flush=True)
    except KeyboardInterrupt:
        print("stopped")
    print(f"{done} of {len(seeds)}: {len(failed)} with differences {failed or ''}", flush=True)
    return int(bool(failed) or done < len(seeds))


def _tell_engines() -> int:
    missing = 0
    for kind in FORMATS:
        try:
            print(f"{kind}: {', '.join(jar.name for jar in jars(kind))}")
        except NoEngineError as error:
            print(f"{kind}: skipped, {error}")
            missing += 1
    return missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
