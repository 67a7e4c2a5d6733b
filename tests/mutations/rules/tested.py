"""The tests of the rules, one of which is a mutant: only files that go through what was changed, quick ones first."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.rules.importing import OURS, become
from tests.mutations.rules.paths import Functions, Paths
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


class _Watched:
    """Notes for each file of tests what it goes through, as it is collected and as it runs."""

    def __init__(self, paths: Paths) -> None:
        self._paths, self._file, self._start = paths, "", 0.0
        self.functions: dict[str, set[tuple[str, str]]] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def _turn_to(self, file: str) -> None:
        self.seconds[self._file] += time.process_time() - self._start
        self._start = time.process_time()
        if file != self._file:
            forget_caches()
            self._file = file
            self._paths.into(self.functions.setdefault(file, set()))

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.Module):
            self._turn_to(collector.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._turn_to(nodeid.partition("::")[0])
        self._paths.again()

    def pytest_sessionfinish(self) -> None:
        self._turn_to("")


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


def first_failure(names: Iterable[str], watch: object = None) -> str:
    """The first test of some files that fails, in a process that is a mutant already; or `NOTHING`.

    Raises:
        RuntimeError: they cannot be run.

    """
    os.chdir(REPOSITORY)
    failed = _Failed()
    code = pytest.main([*OPTIONS, *names], plugins=[failed, *([watch] if watch else [])])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not failed.names:
        raise RuntimeError(f"the tests of the rules cannot be run: {code!r}")
    return failed.names[0] if failed.names else NOTHING


def learn_tests(keep: Path, rules: str, in_a_process: Callable[[Callable[[], Any]], Any]) -> dict[str, Tested]:
    """What each file of tests goes through, kept; `rules` stands for the rules that nobody has spoilt."""
    known: dict[str, Tested] = pickle.loads(keep.read_bytes()) if keep.exists() else {}
    now = {name: _digest(rules, name) for name in files()}
    if changed := {name: digest for name, digest in now.items() if name not in known or known[name].digest != digest}:
        for name, digest in changed.items():  # in processes of their own: of many files in one, most say nothing
            found = in_a_process(functools.partial(_learned, {name: digest}))
            assert isinstance(found, dict), found
            known |= found
        keep.write_bytes(pickle.dumps(known))
    return {name: known[name] for name in now}


def _digest(rules: str, name: str) -> str:
    return hashlib.sha256(rules.encode() + (REPOSITORY / name).read_bytes()).hexdigest()[:16]


def _learned(digests: Mapping[str, str]) -> dict[str, Tested]:
    become(None)
    with Paths() as paths:
        watched = _Watched(paths)
        failed = first_failure(digests, watched)
    assert failed == NOTHING, f"{failed} fails before the rules are spoilt"
    return {
        name: Tested(digest, frozenset(watched.functions.get(name, ())), watched.seconds[name])
        for name, digest in digests.items()
    }


def forget_caches() -> None:
    """Empty what functions of ours keep, so that a file does not live on what another one went through."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and each.__module__.split(".")[0] in OURS:
            each.cache_clear()


def quick_first(known: Mapping[str, Tested], changed: tuple[str, str] | None) -> list[str]:
    """The files that go through a function; all, for what runs at import."""
    found = [name for name, each in known.items() if changed is None or changed in each.functions]
    return sorted(found, key=lambda name: known[name].seconds)
