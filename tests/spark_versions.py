"""The tests under several versions of Spark: ``python -m tests.spark_versions [3.5 4.0 …]``, as `make test-spark` does.

``--suite golden``, which may be said several times, runs that suite alone.

Each version gets a virtual environment of its own, ``.venvs/<version>``, with the newest PySpark of it and all that
the tests need, made once. Then its kernel is compiled and `SUITES` run. What a version cannot have is left out with a
reason (marker ``since``), and what is left out is counted and told.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.structure import REPOSITORY
from udafs import versions
from udafs.errors import SetupError
from udafs.versions import check_version

ENVIRONMENTS = REPOSITORY / ".venvs"
VERSIONS = tuple(f"{major}.{minor}" for major, minor in versions.VERSIONS)
_OURS = "tests/forward_lineage"
_SESSIONS = tuple(f"{_OURS}/test_{each}.py" for each in ("session", "hostile_names", "bad_input", "shadowing"))
# name → what pytest is given
SUITES = {
    "quick tier": ("-m", "not long and not slow"),
    "kernel": ("tests/udafs", "-m", "not long"),
    "golden": ("tests/golden/test_golden.py",),  # every case: what Spark makes of them is in question here
    "golden frames": ("tests/golden", "-m", "not long", "--ignore=tests/golden/test_golden.py"),
    "TPC-H": ("tests/tpch_queries/test_small_scale.py", "-m", "not long"),
    "DataFrames": (f"{_OURS}/dataframes", "tests/doctest_frames", "-m", "not long"),
    "saving and asking": (f"{_OURS}/store", "-m", "not long"),
    "sessions": (f"{_OURS}/tracing", f"{_OURS}/spark", *_SESSIONS, "-m", "not long"),
    "row ids": (f"{_OURS}/row_ids", f"{_OURS}/columns", "-m", "not long"),
    "SQL clients": (f"{_OURS}/door", "tests/walmart_demo", "-m", "not long"),
    "Connect": ("tests/connect", "-m", "not long"),
    "sketches": (f"{_OURS}/sketches", "-m", "not long"),
    "views and workloads": (f"{_OURS}/views", f"{_OURS}/workloads", f"{_OURS}/pages", "-m", "not long"),
    "profiling": (f"{_OURS}/profiling", f"{_OURS}/predicates", "-m", "not long"),
    "command line": (f"{_OURS}/cli", f"{_OURS}/embedded", f"{_OURS}/notebooks", "-m", "not long"),
    "other tools": (f"{_OURS}/openlineage", f"{_OURS}/checking", f"{_OURS}/showing", "-m", "not long"),
    "clusters": ("tests/cluster", "-m", "not long"),
}
JOBS = os.environ.get("JOBS", "3")


@dataclass
class Outcome:
    """What came of one suite under one version.

    Attributes:
        seconds: how long it took.
        passed: how many tests did.
        left_out: reason → how many tests were skipped for it.
        known: how many failed as a fixture says that they do (xfail).
        failed: names of those that failed, or why there are none.

    """

    seconds: float = 0
    passed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    known: int = 0
    failed: list[str] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, print the table, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark_versions")
    parser.add_argument("versions", nargs="*", metavar="version", help="such as 4.1; all, if none is named")
    parser.add_argument("--suite", action="append", choices=list(SUITES), help="one suite alone; may come again")
    wanted = parser.parse_args(arguments)
    versions = wanted.versions or list(VERSIONS)
    for version in versions:
        check_version(version)
    rows = []
    for version in versions:
        spark, outcomes = _tested(version, wanted.suite or list(SUITES))
        rows += [(spark, suite, outcome) for suite, outcome in outcomes.items()]
    print("\n".join(table(rows)))
    return int(any(outcome.failed for _, _, outcome in rows))


def _tested(version: str, suites: Sequence[str]) -> tuple[str, dict[str, Outcome]]:
    python = environment(version)
    spark = _printed(python, "import pyspark; print(pyspark.__version__)")
    print(f"Spark {spark}: compiling the kernel …", flush=True)
    compiled = subprocess.run([python, "-c", "from udafs.build import build_kernel; build_kernel()"], check=False)
    if compiled.returncode:
        return spark, {"compiling": Outcome(failed=["the kernel does not compile"])}
    outcomes = {}
    for name in suites:
        print(f"Spark {spark}: {name} …", flush=True)
        outcomes[name] = _run(python, SUITES[name], ENVIRONMENTS / f"{version}-{name.replace(' ', '-')}.xml")
    return spark, outcomes


def environment(version: str) -> str:
    """Return the interpreter of a version's environment, which is made when it is not there or setup.py is newer.

    Args:
        version: of Spark, of which the newest patch is taken: ``4.1``; or a patch, ``4.1.1``.

    """
    folder = ENVIRONMENTS / version
    python, ready = str(folder / "bin" / "python"), folder / ".ready"
    if not ready.exists() or ready.stat().st_mtime < (REPOSITORY / "setup.py").stat().st_mtime:
        print(f"Spark {version}: installing into {folder.relative_to(REPOSITORY)} …", flush=True)
        venv.create(folder, symlinks=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-e", ".[dev]", f"pyspark=={version}.*"], cwd=REPOSITORY, check=True)
        ready.touch()
    return python


def _printed(python: str, program: str) -> str:
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def _run(python: str, arguments: Sequence[str], report: Path) -> Outcome:
    report.unlink(missing_ok=True)
    begun = time.monotonic()
    options = ["-q", "-n", JOBS, "--dist", "loadfile", "--no-loadscope-reorder", f"--junitxml={report}"]
    interpreters = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    command = [python, "-m", "pytest", *options, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **interpreters}, check=False)
    outcome = read(report) if report.exists() else Outcome(failed=["pytest wrote no report"])
    if done.returncode and not outcome.failed:
        outcome.failed.append(f"pytest ended with {done.returncode}")
    outcome.seconds = time.monotonic() - begun
    return outcome


def read(report: Path) -> Outcome:
    """Return what a JUnit report of pytest's says; the seconds are left at 0."""
    outcome = Outcome()
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif skipped is None:
            outcome.passed += 1
        elif skipped.get("type") == "pytest.xfail":
            outcome.known += 1
        else:
            outcome.left_out[skipped.get("message") or "no reason given"] += 1
    if not outcome.passed and not outcome.failed:
        outcome.failed.append("no test ran")
    return outcome


def table(rows: Iterable[tuple[str, str, Outcome]]) -> list[str]:
    """Return lines to print: version × suite × result, then why tests were left out and which failed."""
    rows = list(rows)
    lines = [f"{'Spark':<8}{'tests':<20}{'passed':>7}{'left out':>10}{'known bugs':>12}{'failed':>8}{'seconds':>9}"]
    for spark, suite, each in rows:
        left_out = each.left_out.total()
        counts = f"{each.passed:>7}{left_out:>10}{each.known:>12}{len(each.failed):>8}{each.seconds:>9.0f}"
        lines.append(f"{spark:<8}{suite:<20}{counts}")
    for spark, suite, each in rows:
        lines += [f"{spark} {suite}: {count} left out: {reason}" for reason, count in sorted(each.left_out.items())]
    for spark, suite, each in rows:
        lines += [f"{spark} {suite}: FAILED {name}" for name in each.failed]
    return lines


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as error:
        sys.exit(str(error))
