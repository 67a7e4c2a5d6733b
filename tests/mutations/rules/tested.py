"""The tests of the rules, one of which is a mutant: only files that go through what was changed, quick ones first."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.rules.importing import become
from tests.mutations.rules.paths import Functions, recorded
from tests.structure import REPOSITORY

FOLDERS = ("tests/rewrites", "tests/forward_lineage/frontend")
OPTIONS = ("-x", "-q", "-m", "not slow and not long", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain")
NOTHING = ""


@dataclass(frozen=True)
class Tested:
    """What a file of tests goes through, and how long that takes, in seconds of CPU; `digest` stands for the file."""

    digest: str
    functions: Functions
    seconds: float


class _Failed:
    """Which tests, or files of tests, failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def files() -> list[str]:
    found = [file for folder in FOLDERS for file in sorted((REPOSITORY / folder).rglob("test_*.py"))]
    return [file.relative_to(REPOSITORY).as_posix() for file in found]


def first_failure(names: Iterable[str]) -> str:
    """The first test of some files that fails, in a process that is a mutant already; or `NOTHING`.

    Raises:
        RuntimeError: they cannot be run.

    """
    os.chdir(REPOSITORY)
    failed = _Failed()
    code = pytest.main([*OPTIONS, *names], plugins=[failed])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not failed.names:
        raise RuntimeError(f"the tests of the rules cannot be run: {code!r}")
    return failed.names[0] if failed.names else NOTHING


def learn_tests(keep: Path, rules: str, in_a_process: Callable[[Callable[[], Any]], Any]) -> dict[str, Tested]:
    """What each file of tests goes through, kept; `rules` stands for the rules that nobody has spoilt."""
    known: dict[str, Tested] = pickle.loads(keep.read_bytes()) if keep.exists() else {}
    now = {name: _digest(rules, name) for name in files()}
    for name, digest in now.items():
        if name not in known or known[name].digest != digest:
            known[name] = in_a_process(lambda n=name, d=digest: _learned(n, d))  # type: ignore[misc]
            assert isinstance(known[name], Tested), f"{name}: {known[name]}"
            print(f"{name}: {known[name].seconds:.1f} s", file=sys.stderr, flush=True)
    keep.write_bytes(pickle.dumps(known))
    return {name: known[name] for name in now}


def _digest(rules: str, name: str) -> str:
    return hashlib.sha256(rules.encode() + (REPOSITORY / name).read_bytes()).hexdigest()[:16]


def _learned(name: str, digest: str) -> Tested:
    become(None)
    start = time.process_time()
    failed, functions = recorded(lambda: first_failure([name]))
    assert failed == NOTHING, f"{failed} fails before the rules are spoilt"
    return Tested(digest, functions, time.process_time() - start)


def quick_first(known: Mapping[str, Tested], changed: tuple[str, str] | None) -> list[str]:
    """The files that go through a function; all, for what runs at import."""
    found = [name for name, each in known.items() if changed is None or changed in each.functions]
    return sorted(found, key=lambda name: known[name].seconds)
