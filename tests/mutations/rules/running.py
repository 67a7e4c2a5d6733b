"""One mutant after another, each in a process of its own, until something notices.

First come the texts of the golden fixtures that go through the function that was changed, then the tests of the rules
that do. What noticed the mutant in an earlier campaign is asked before all. Last, what a random query's text is under a
mutant is kept, where it is another one: Spark says later whether its rows or its lineage are others (`judging`).
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tests.mutations.rules.importing import OURS, become
from tests.mutations.rules.paths import Functions, recorded
from tests.mutations.rules.sites import Mutant, function_of
from tests.mutations.rules.tested import FOLDERS, Tested, files, first_failure, learn_tests, quick_first
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
        stages: how many of `STAGES` it has been through.
        tests: stands for the tests of the rules that there were.
    """

    mutant: str
    killed: str = ""
    probes: int = 0
    texts: list[tuple[int, str, str]] = field(default_factory=list)
    stages: int = 0
    tests: str = ""


@dataclass(frozen=True)
class Known:
    """What the probes say of rules that nobody has spoilt: by name the answer, and the functions it goes through.

    The same functions of each file of tests, in `tests`, which are learnt when a mutant first comes to them.
    """

    answers: dict[str, str]
    functions: dict[str, Functions]
    cases: list[Case]
    folder: Path

    @cached_property
    def tests(self) -> dict[str, Tested]:
        return learn_tests(self.folder / "tests.pickle", fingerprint(RULES), in_a_process)

    def through(self, mutant: Mutant) -> set[str]:
        """The probes that go through the function that was changed; all, for what runs at import."""
        changed = function_of(mutant)
        return {name for name, all_of in self.functions.items() if changed is None or changed in all_of}


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
    return Known(answers, functions, cases, folder)


def _learned(cases: list[Case]) -> tuple[dict[str, str], dict[str, Functions]]:
    become(None)
    from tests.mutations.rules import probes  # noqa: PLC0415 - not before the process is what it should be

    answers, functions = {}, {}
    for probe in [*probes.golden_probes(), *probes.oracle_probes(cases)]:
        answers[probe.name], functions[probe.name] = recorded(partial(probes.told, probe))
    return answers, functions


def by_fixtures(mutant: Mutant, known: Known, first: str) -> Verdict:
    """Whether the text of a golden fixture is another one."""
    become(mutant)
    try:
        from tests.mutations.rules import probes  # noqa: PLC0415 - not before the process is what it should be

        golden = list(probes.golden_probes())  # some of its tables are made by the rules
    except Exception as error:
        return Verdict(mutant.name, f"importing it: {type(error).__name__}")
    through = known.through(mutant)
    asked = [probe for probe in golden if probe.name in through]
    for probe in sorted(asked, key=lambda each: (each.name != first, len(known.functions[each.name]))):
        if probes.told(probe) != known.answers[probe.name]:
            return Verdict(mutant.name, probe.name)
    return Verdict(mutant.name)


def by_own_tests(mutant: Mutant, _: Known, __: str) -> Verdict:
    """Whether a test in the file that is called after the module fails."""
    own = [name for name in files() if Path(name).stem == f"test_{mutant.module.rpartition('.')[2]}"]
    become(mutant)
    return Verdict(mutant.name, first_failure(own) if own else "")


def by_tests(mutant: Mutant, known: Known, first: str) -> Verdict:
    """Whether a test fails."""
    asked = quick_first(known.tests, function_of(mutant))
    if (file := first.partition("::")[0]) in known.tests:
        asked = [file, *(each for each in asked if each != file)]
    become(mutant)
    return Verdict(mutant.name, first_failure(asked) if asked else "")


def by_texts(mutant: Mutant, known: Known, _: str) -> Verdict:
    """The random queries of which the rules make another text."""
    become(mutant)
    from tests.mutations.rules import probes  # noqa: PLC0415 - see above

    verdict, through = Verdict(mutant.name), known.through(mutant)
    for probe in probes.oracle_probes(known.cases):
        if len(verdict.texts) == MOST_TEXTS:
            break
        if probe.name in through and probes.told(probe) != known.answers[probe.name]:
            number, semantics = probe.name.removeprefix("oracle ").split(", ")
            verdict.texts.append((int(number), semantics, _text(probe)))
    return verdict


STAGES = (by_fixtures, by_own_tests, by_tests, by_texts)
"""What costs little comes first; only what goes through the function that was changed is asked at all."""


def _text(probe: Any) -> str:
    try:
        return str(probe.ask())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Notes:
    """Verdicts on disk, a line each.

    Those of fixtures hold as long as the rules do. Where tests have changed, a mutant goes through them again, the one
    that noticed it `before` first.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{fingerprint(RULES)}.jsonl"
        self.tests = fingerprint(FOLDERS)
        others = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
        self.before = {name: verdict.killed for file in others for name, verdict in _read(file).items()}
        noted = _read(self._path) if self._path.exists() else {}
        self.verdicts = {name: self._holding(verdict) for name, verdict in noted.items()}

    def _holding(self, verdict: Verdict) -> Verdict:
        if verdict.stages < 2 or verdict.tests == self.tests:
            return verdict
        return replace(verdict, killed="", texts=[], stages=1)

    def waits_for(self, mutant: Mutant, stage: int) -> bool:
        """Whether a mutant lives, and has not been through a stage."""
        known = self.verdicts.get(mutant.name)
        return known is None or (not known.killed and known.stages <= stage)

    def add(self, verdict: Verdict) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        self.verdicts[verdict.mutant] = verdict


def _read(path: Path) -> dict[str, Verdict]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each.mutant: each for each in (Verdict(**json.loads(line)) for line in lines)}


def others_modules() -> list[str]:
    """What the probes import that is not ours."""
    become(None)
    before = set(sys.modules)
    from tests.mutations.rules import probes  # noqa: F401, PLC0415 - see above

    return [name for name in sys.modules if name not in before and name.split(".")[0] not in (*OURS, "tests")]


def run(mutants: Sequence[Mutant], known: Known, notes: Notes) -> None:
    """Bring all mutants through a stage before any goes on to the next; what is noted is not done again."""
    for name in in_a_process(others_modules):  # once, not in each process: most of what a mutant costs
        with suppress(ImportError):
            importlib.import_module(name)
    for stage, ask in enumerate(STAGES):
        left = [mutant for mutant in mutants if notes.waits_for(mutant, stage)]
        for place, mutant in enumerate(left, start=1):
            if ask is by_tests:
                assert known.tests  # learnt here, not in each process
            found = in_a_process(partial(ask, mutant, known, notes.before.get(mutant.name, "")))
            verdict = found if isinstance(found, Verdict) else Verdict(mutant.name, str(found))
            notes.add(replace(verdict, probes=len(known.through(mutant)), stages=stage + 1, tests=notes.tests))
            said = f"killed by {verdict.killed}" if verdict.killed else f"goes on, {len(verdict.texts)} other texts"
            print(f"{ask.__name__} {place} of {len(left)}: {mutant.name}: {said}", file=sys.stderr, flush=True)
