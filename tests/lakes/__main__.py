"""Random histories of lake tables: ``python -m tests.lakes --format delta --histories 20 --seed 1``.

Each history is a table that the engine of its format makes and changes in some ways by chance. After every few steps
our registration is refreshed, and compared with a dict that the steps kept (`histories`). The first difference of a
history ends it, and is told with all that was done. The exit status is the number of histories that differ, at most 1.

``--engines`` says which engines there are for this Spark, and fetches their jars.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.engines import FORMATS, NoEngineError, jars, lake_session
from tests.lakes.histories import History, Judge
from udafs.build import spark_version


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, say what came of it, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.lakes")
    parser.add_argument("--format", choices=FORMATS, default="delta")
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--steps", type=int, default=12, help="of each history")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next ones count on")
    parser.add_argument("--engines", action="store_true", help="fetch the jars, say which there are, and end")
    wanted = parser.parse_args(arguments)
    if wanted.engines:
        return _tell_engines()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        spark = lake_session(wanted.format, root)
        try:
            return _run(spark, root, wanted.format, range(wanted.seed, wanted.seed + wanted.histories), wanted.steps)
        finally:
            spark.stop()


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
        history = History(spark, kind, seed)
        judge = Judge(ForwardLineage(spark, home=root / f"home{seed}"), history)
        try:
            for step in range(steps):
                history.step()
                made += 1
                if step % 2 or step == steps - 1:
                    judge.look()
                    looked += 1
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:2000]}", *history.log, sep="\n    ", flush=True)
        spark.sql(f"DROP TABLE {history.name}")
    seconds = time.monotonic() - begun
    what = f"{len(seeds)} histories, {made} steps, {looked} looks in {seconds:.0f} s"
    print(f"{what}: {len(failed)} with differences {failed or ''}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
