"""One mutant after another, each in a process of its own, until something notices.

First come the texts of the golden fixtures that go through the function that was changed, then the tests of the rules
that do. What noticed the mutant in an earlier campaign is asked before all. Last, what a random query's text is under a
mutant is kept, where it is another one: Spark says later whether its rows or its lineage are others (`judging`).
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.mutations.rules.importing import become
from tests.mutations.rules.paths import Functions, recorded
from tests.mutations.rules.sites import Mutant, function_of
from tests.mutations.rules.tested import Tested, first_failure, learn_tests, quick_first
from tests.oracle.generation import Case, many_cases
from tests.structure import REPOSITORY

ORACLE_QUERIES = 120
STACKED_QUERIES = 60
MOST_TEXTS = 12  # that Spark is asked about, of one mutant
SECONDS_OF_CPU = 600
_QUERIES = ("strategies.py", "stacked.py", "generation.py", "printing.py")
RULES = (
    *("rewrites", "forward_lineage/frontend", "tests/golden"),
    *(f"tests/mutations/rules/{name}" for name in ("probes.py", "sites.py", "paths.py")),
    *(f"tests/oracle/{name}" for name in _QUERIES),
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
    """What the probes say of rules that nobody has spoilt: by name the answer, and the functions it goes through.

    The same functions of each file of tests, in `tests`.
    """

    answers: dict[str, str]
    functions: dict[str, Functions]
    tests: dict[str, Tested]


def fingerprint(places: Sequence[str]) -> str:
    """Stands for what is in some places."""
    digest = hashlib.sha256()
    for place in (REPOSITORY / name for name in places):
        for file in sorted(place.rglob("*.[pg]*")) if place.is_dir() else [place]:
            if file.suffix in (".py", ".golden"):
                digest.update(f"{file.relative_to(REPOSITORY)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def oracle_cases() -> list[Case]:
    """Random queries, always the same; made in another process, for tests need a fresh Hypothesis."""
    found = in_a_process(_cases)
    assert isinstance(found, list)
    return found


def _cases() -> list[Case]:
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


def learn(cases: list[Case], folder: Path) -> Known:
    """What is to be known of rules that nobody has spoilt; kept, since it takes minutes."""
    rules = fingerprint(RULES)
    keep = folder / f"probes-{rules}.pickle"
    if not keep.exists():
        found = in_a_process(lambda: _learned(cases))
        assert isinstance(found, tuple), "the rules break before they are spoilt"
        keep.write_bytes(pickle.dumps(found))
    answers, functions = pickle.loads(keep.read_bytes())
    return Known(answers, functions, learn_tests(folder / "tests.pickle", rules, in_a_process))


def _learned(cases: list[Case]) -> tuple[dict[str, str], dict[str, Functions]]:
    become(None)
    from tests.mutations.rules import probes  # noqa: PLC0415 - not before the process is what it should be

    answers, functions = {}, {}
    for probe in [*probes.golden_probes(), *probes.oracle_probes(cases)]:
        answers[probe.name], functions[probe.name] = recorded(lambda p=probe: probes.told(p))  # type: ignore[misc]
    return answers, functions


def judged(mutant: Mutant, known: Known, cases: list[Case], first: str = "") -> Verdict:
    """What the fixtures, the tests of the rules and the random queries say of a mutant; `first` is asked first.

    What costs little comes first, and only what goes through the function that was changed is asked at all.
    """
    changed = function_of(mutant)
    through = {name for name, all_of in known.functions.items() if changed is None or changed in all_of}
    test_files = quick_first(known.tests, changed)
    if (file := first.partition("::")[0]) in known.tests:
        test_files = [file, *(each for each in test_files if each != file)]
    stages: list[Callable[[], Verdict]] = [
        lambda: _by_fixtures(mutant, known, through, first),
        lambda: _by_tests(mutant, test_files),
        lambda: _other_texts(mutant, known, cases, through),
    ]
    if first in known.tests or "::" in first:
        stages[:2] = reversed(stages[:2])
    for stage in stages:
        found = in_a_process(stage)
        verdict = found if isinstance(found, Verdict) else Verdict(mutant.name, str(found))
        if verdict.killed:
            break
    return replace(verdict, probes=len(through))


def _by_fixtures(mutant: Mutant, known: Known, through: set[str], first: str) -> Verdict:
    """Whether the text of a golden fixture is another one."""
    become(mutant)
    try:
        from tests.mutations.rules import probes  # noqa: PLC0415 - not before the process is what it should be

        golden = list(probes.golden_probes())  # some of its tables are made by the rules
    except Exception as error:
        return Verdict(mutant.name, f"importing it: {type(error).__name__}")
    asked = [probe for probe in golden if probe.name in through]
    for probe in sorted(asked, key=lambda each: (each.name != first, len(known.functions[each.name]))):
        if probes.told(probe) != known.answers[probe.name]:
            return Verdict(mutant.name, probe.name)
    return Verdict(mutant.name)


def _by_tests(mutant: Mutant, test_files: Sequence[str]) -> Verdict:
    """Whether a test fails."""
    become(mutant)
    return Verdict(mutant.name, first_failure(test_files) if test_files else "")


def _other_texts(mutant: Mutant, known: Known, cases: list[Case], through: set[str]) -> Verdict:
    """The random queries of which the rules make another text."""
    become(mutant)
    from tests.mutations.rules import probes  # noqa: PLC0415 - see above

    verdict = Verdict(mutant.name)
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


class Notes:
    """Verdicts on disk, a line each; `before` are those of other sources, which say what to ask first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.verdicts = _read(path) if path.exists() else {}
        others = sorted(path.parent.glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
        self.before = {name: verdict.killed for file in others for name, verdict in _read(file).items()}

    def add(self, verdict: Verdict) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        self.verdicts[verdict.mutant] = verdict


def _read(path: Path) -> dict[str, Verdict]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each.mutant: each for each in (Verdict(**json.loads(line)) for line in lines)}


def run(mutants: Sequence[Mutant], known: Known, cases: list[Case], notes: Notes) -> None:
    """Judge the mutants that have no verdict yet."""
    for place, mutant in enumerate(mutants, start=1):
        if mutant.name in notes.verdicts:
            continue
        verdict = judged(mutant, known, cases, notes.before.get(mutant.name, ""))
        notes.add(verdict)
        said = f"killed by {verdict.killed}" if verdict.killed else f"{len(verdict.texts)} other texts, for Spark"
        print(f"{place} of {len(mutants)}: {mutant.name}: {said}", file=sys.stderr, flush=True)
