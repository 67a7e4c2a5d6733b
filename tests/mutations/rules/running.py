"""One mutant after another, each in a process of its own, until something notices.

First come the texts of the golden fixtures that go through the function that was changed, then those of random
queries, then the tests of the rules. What a random query's text is under a mutant, where it is another one, is kept:
Spark says later whether its rows or its lineage are others (`judging`).
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.mutations.rules.importing import become
from tests.mutations.rules.sites import Mutant, function_of
from tests.oracle.generation import Case, many_cases
from tests.structure import REPOSITORY

ORACLE_QUERIES = 120
STACKED_QUERIES = 60
MOST_TEXTS = 12  # that Spark is asked about, of one mutant
SECONDS_OF_CPU = 600
DECIDING = (
    *("rewrites", "forward_lineage/frontend", "tests/golden", "tests/rewrites", "tests/mutations/rules/probes.py"),
    "tests/mutations/rules/sites.py",
    *(
        "tests/oracle/strategies.py",
        "tests/oracle/stacked.py",
        "tests/oracle/generation.py",
        "tests/oracle/printing.py",
    ),
)


@dataclass
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: its name.
        killed: what noticed it; empty if nothing did.
        probes: how many texts go through the changed function.
        texts: random queries whose text is another one: number, semantics, text.
    """

    mutant: str
    killed: str = ""
    probes: int = 0
    texts: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """What the probes say of rules that nobody has spoilt: by name the answer, and the functions it goes through."""

    answers: dict[str, str]
    functions: dict[str, frozenset[tuple[str, str]]]


def fingerprint() -> str:
    """Stands for what a verdict depends on."""
    digest = hashlib.sha256()
    for place in (REPOSITORY / name for name in DECIDING):
        for file in sorted(place.rglob("*.[pg]*")) if place.is_dir() else [place]:
            if file.suffix in (".py", ".golden"):
                digest.update(f"{file.relative_to(REPOSITORY)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def oracle_cases() -> list[Case]:
    """Random queries, always the same."""
    plain = [case for _, case in many_cases(ORACLE_QUERIES, 50_000_000)]
    return plain + [case for _, case in many_cases(STACKED_QUERIES, 51_000_000, stacked=True)]


def in_a_process(work: Callable[[], Any]) -> Any:
    """What `work` returns in a fork of this process; a text if that ends otherwise, such as by a signal.

    Raises:
        RuntimeError: `work` raised: a mutant's errors are caught in it, so that is an error of ours.

    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _in_child(work, read, write)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        found = answers.read()
    _, status = os.waitpid(child, 0)
    if not found:
        return f"its process ends: {os.waitstatus_to_exitcode(status)}"
    answer = pickle.loads(found)
    if isinstance(answer, Exception):
        raise RuntimeError(f"not judged: {answer!r}")
    return answer


def _in_child(work: Callable[[], Any], read: int, write: int) -> None:
    os.close(read)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_OF_CPU, SECONDS_OF_CPU))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        answer = work()
    except Exception as error:
        answer = RuntimeError(f"{type(error).__name__}: {error}")
    with os.fdopen(write, "wb") as answers:
        answers.write(pickle.dumps(answer))
    os._exit(0)


def learn(cases: list[Case], keep: Path) -> Known:
    """The answers of rules that nobody has spoilt; kept, since they take a minute."""
    if keep.exists():
        found = pickle.loads(keep.read_bytes())
        assert isinstance(found, Known)
        return found
    answered = in_a_process(lambda: _learned(cases))
    assert isinstance(answered, tuple), "the rules break before they are spoilt"
    known = Known(*answered)
    keep.write_bytes(pickle.dumps(known))
    return known


def _learned(cases: list[Case]) -> tuple[dict[str, str], dict[str, frozenset[tuple[str, str]]]]:
    become(None)
    from tests.mutations.rules import probes  # noqa: PLC0415 - not before the process is what it should be

    answers, functions = {}, {}
    for probe in [*probes.golden_probes(), *probes.oracle_probes(cases)]:
        answers[probe.name], functions[probe.name] = probes.functions_of(probe)
    return answers, functions


def judged(mutant: Mutant, known: Known, cases: list[Case]) -> Verdict:
    """What the fixtures, the random queries and the tests of the rules say of a mutant."""
    changed = function_of(mutant)
    through = {name for name, all_of in known.functions.items() if changed is None or changed in all_of}
    found = in_a_process(lambda: _judged(mutant, known, cases, through))
    if isinstance(found, str):
        return Verdict(mutant.name, found, len(through))
    assert isinstance(found, Verdict)
    return found if found.killed else replace(found, killed=_by_tests(mutant))


def _judged(mutant: Mutant, known: Known, cases: list[Case], through: set[str]) -> Verdict:
    become(mutant)
    verdict = Verdict(mutant.name, probes=len(through))
    try:
        from tests.mutations.rules import probes  # noqa: PLC0415 - see above

        golden = list(probes.golden_probes())  # some of its tables are made by the rules
    except Exception as error:
        verdict.killed = f"importing it: {type(error).__name__}"
        return verdict
    for probe in golden:
        if probe.name in through and probes.told(probe) != known.answers[probe.name]:
            verdict.killed = probe.name
            return verdict
    for probe in probes.oracle_probes(cases):
        if len(verdict.texts) == MOST_TEXTS:
            break
        if probe.name in through and probes.told(probe) != known.answers[probe.name]:
            number, semantics = probe.name.removeprefix("oracle ").split(", ")
            verdict.texts.append((int(number), semantics, _text(probe)))
    return verdict


def _text(probe: Any) -> str:
    try:
        return str(probe.ask())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _by_tests(mutant: Mutant) -> str:
    """The first of the rules' tests that fails.

    Raises:
        RuntimeError: they cannot be run.

    """
    words = (mutant.module, mutant.kind, str(mutant.place), str(mutant.line))
    command = [sys.executable, "-m", "tests.mutations.rules.tested", *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    said = done.stdout.strip().splitlines()[-1:] or [""]
    if done.returncode > 0:
        raise RuntimeError(f"{mutant.name}: {done.stderr[-500:]}")
    return f"its process ends: {done.returncode}" if done.returncode else "" if said == ["nothing"] else said[0]


class Notes:
    """Verdicts on disk, a line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.verdicts = {each.mutant: each for each in (Verdict(**json.loads(line)) for line in lines)}

    def add(self, verdict: Verdict) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        self.verdicts[verdict.mutant] = verdict


def run(mutants: Sequence[Mutant], known: Known, cases: list[Case], notes: Notes) -> None:
    """Judge the mutants that have no verdict yet."""
    for place, mutant in enumerate(mutants, start=1):
        if mutant.name in notes.verdicts:
            continue
        verdict = judged(mutant, known, cases)
        notes.add(verdict)
        said = f"killed by {verdict.killed}" if verdict.killed else f"{len(verdict.texts)} other texts, for Spark"
        print(f"{place} of {len(mutants)}: {mutant.name}: {said}", file=sys.stderr, flush=True)
