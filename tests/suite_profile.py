"""What the suite costs, by file, in CPU seconds of whole process trees: the clock measures how busy the machine is.

    python -m tests.suite_profile -n 3 --dist loadfile --no-loadscope-reorder -m "not long"
    python -m tests.suite_profile --top 20 tests/test_docs.py

Arguments of pytest follow behind. A test costs the CPU seconds of its process, its Java process and of all
programs that it starts. Its fixtures count with it; those that several tests share are listed apart. Code that Java
still compiles for one test while the next has begun counts with the next.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = "SUITE_PROFILE"  # the variable that says where each process of pytest writes what it measured
_TICKS = os.sysconf("SC_CLK_TCK")
_SUBREAPER = 36  # of prctl: what outlives its parent becomes a child of this process, and stays in the sum
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.exec")


@dataclass(frozen=True)
class Spent:
    """A line of a process's list: what one test, or one shared fixture, has cost."""

    kind: str
    name: str
    cpu: float
    clock: float
    programs: int


class Measuring:
    """A process of pytest, which writes a line for each test."""

    def __init__(self, folder: Path) -> None:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self._lines = (folder / f"{os.getpid()}.jsonl").open("a")
        self._before = (cpu_of_tree(os.getpid()), time.monotonic())
        self._programs = self._programs_before = 0
        sys.addaudithook(self._count)

    def _count(self, event: str, _: tuple[Any, ...]) -> None:
        self._programs += event in _STARTS

    def _write(self, kind: str, name: str, since: tuple[float, float], programs: int) -> tuple[float, float]:
        now = (cpu_of_tree(os.getpid()), time.monotonic())
        spent = Spent(kind, name, now[0] - since[0], now[1] - since[1], self._programs - programs)
        self._lines.write(json.dumps(spent.__dict__) + "\n")
        self._lines.flush()
        return now

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        yield
        self._before = self._write("test", item.nodeid, self._before, self._programs_before)
        self._programs_before = self._programs

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope == "function":
            yield
            return
        since, programs = (cpu_of_tree(os.getpid()), time.monotonic()), self._programs
        yield
        self._write("fixture", f"{fixturedef.baseid}::{fixturedef.argname}", since, programs)


def cpu_of_tree(root: int) -> float:
    """The CPU seconds of a process, of its children that have ended, and of all below it that are alive."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a hundred times a second
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:  # has ended meanwhile
            continue
        parents[int(name)] = int(fields[1])
        used[int(name)] = sum(map(int, fields[11:15]))
    total, below = 0, [root]
    children = defaultdict(list)
    for process, parent in parents.items():
        children[parent].append(process)
    while below:
        process = below.pop()
        total += used.get(process, 0)
        below += children[process]
    return total / _TICKS


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin: measure where tests run, not in the process that hands them out."""
    if FOLDER in os.environ and (hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)):
        config.pluginmanager.register(Measuring(Path(os.environ[FOLDER])))


def spent_in(folder: Path) -> list[Spent]:
    return [Spent(**json.loads(line)) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]


def report(spent: list[Spent], top: int) -> str:
    """Files, shared fixtures and single tests, the costliest first."""
    tests = [each for each in spent if each.kind == "test"]
    lines = [f"{sum(each.cpu for each in tests):.0f} CPU seconds, {len(tests)} tests"]
    lines += ["", "CPU s   clock s  tests  programs  file", *_rows(tests, top, by_file=True)]
    lines += ["", "CPU s   clock s  times  programs  shared fixture", *_rows(spent, top, kind="fixture")]
    lines += ["", "CPU s   clock s         programs  test", *_rows(tests, top)]
    return "\n".join(lines)


def _rows(spent: list[Spent], top: int, *, by_file: bool = False, kind: str = "test") -> list[str]:
    groups: dict[str, list[Spent]] = defaultdict(list)
    for each in spent:
        if each.kind == kind:
            groups[each.name.partition("::")[0] if by_file else each.name].append(each)
    rows = [
        (sum(e.cpu for e in group), sum(e.clock for e in group), len(group), sum(e.programs for e in group), name)
        for name, group in groups.items()
    ]
    return [
        f"{cpu:7.1f} {clock:8.1f} {n:6d} {programs:9d}  {name}"
        for cpu, clock, n, programs, name in sorted(rows, reverse=True)[:top]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=40, help="how many of each list are shown")
    parser.add_argument("--keep", type=Path, help="a folder for what is measured; one of before is shown again")
    asked, for_pytest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        ended = 0
        if for_pytest or not any(folder.iterdir()):
            command = [sys.executable, "-m", "pytest", "-p", "tests.suite_profile", *for_pytest]
            ended = subprocess.run(command, env={**os.environ, FOLDER: str(folder.resolve())}, check=False).returncode
        print(report(spent_in(folder), asked.top))
    return ended


if __name__ == "__main__":
    sys.exit(main())
