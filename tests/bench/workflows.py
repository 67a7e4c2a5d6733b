"""The thesis' four workflows with real steps: ``python -m tests.bench.workflows [NAME …] [--rounds N]``.

Ten iterations of the edits that `tests.forward_lineage.steps.workflow_shapes` writes down, on generated data, each by
three ways: ours, one that keeps all it computes, and one that keeps nothing. Every iteration is run as a new program
would. The three take turns within an iteration. Seconds are of CPU, Spark's included; those of the clock stand beside.

It ends with 1 if ours takes more than 1.05 of the better of both on a workflow, is less than three times as fast as
never reusing on genomics, or keeps more than half of what keeping all does. [Macke 2021, §3.6]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any
from unittest.mock import patch

from forward_lineage.steps.keeping import Decision, Keeping, KeptResult
from forward_lineage.steps.pipeline import Outcome, Pipeline
from forward_lineage.steps.running import Run
from forward_lineage.steps.serialising import written
from forward_lineage.steps.shelf import Shelf
from forward_lineage.steps.step import Step, step
from forward_lineage.storage.local_folder import LocalFolder
from tests.bench.workflow_steps import SOURCES, write_people
from tests.forward_lineage.steps.little_store import LittleStore
from tests.forward_lineage.steps.workflow_shapes import WORKFLOWS

MOST, TIMES_ON_GENOMICS, MOST_STORAGE = 1.05, 3.0, 0.5
OURS, ALL, NOTHING = "ours", "keep all", "never reuse"


@dataclass
class Taken:
    """What one way took.

    Attributes:
        cpu: seconds of each iteration.
        clock: the same, by the clock.
        size: bytes that it kept, after each iteration.
        answer: of the last iteration.

    """

    cpu: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    answer: Any = None


@dataclass
class Place:
    """Where a workflow runs: its rows, and the process of Spark's that works for it, if there is one."""

    rows: Any
    jvm: int | None = None

    def cpu(self) -> float:
        """Seconds of CPU up to now, of this process and of Spark's."""
        return time.process_time() + (0.0 if self.jvm is None else _cpu_of(self.jvm))


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORKFLOWS)}; all when not given")
    parser.add_argument("--rounds", type=int, default=1, help="how often all is done; the quickest counts")
    parser.add_argument("--verbose", action="store_true", help="say what each run of ours did")
    told = parser.parse_args()
    missed = []
    for name in told.names or WORKFLOWS:
        rounds = [_compared(name, verbose=told.verbose) for _ in range(told.rounds)]
        missed += _report(name, rounds)
    print(*missed or ["All bars are met."], sep="\n")
    return int(bool(missed))


def _compared(name: str, *, verbose: bool) -> dict[str, Taken]:
    taken = {way: Taken() for way in (OURS, ALL, NOTHING)}
    with tempfile.TemporaryDirectory() as folder, _place(name, Path(folder)) as place:
        for way in taken:  # whoever is first compiles what all use
            _iteration(place, Taken(), way, next(_versions(name)), Path(folder) / "warm up")
        for number, source in enumerate(_versions(name)):
            first = number % len(taken)
            for way in [*taken, *taken][first : first + len(taken)]:
                outcome = _iteration(place, taken[way], way, source, Path(folder))
                print(f"{name}, iteration {number}, {way}: {taken[way].cpu[-1]:.2f} s", file=sys.stderr, flush=True)
                if verbose and way == OURS:
                    print(outcome)
    answers = {repr(each.answer) for each in taken.values()}
    assert len(answers) == 1 or name == "MNIST", answers
    return taken


def _versions(name: str) -> Iterator[str]:
    """Yield the text of each iteration: as it was written, then with one step more edited."""
    shape, edited = WORKFLOWS[name]
    numbers = dict.fromkeys(shape, 0)
    for each in ("", *edited):
        numbers = {step: number + (step == each) for step, number in numbers.items()}
        yield Template(SOURCES[name]).substitute(numbers)


def _iteration(place: Place, taken: Taken, way: str, source: str, folder: Path) -> Outcome:
    target = "checked" if "def checked" in source else "report"
    kept = folder / (f"{way} {len(taken.cpu)}" if way == NOTHING else way)
    begun, clock = place.cpu(), time.perf_counter()
    shelf = Shelf(LocalFolder(kept), budget=10**15 if way == ALL else None)
    with _WAYS[way]():
        outcome = Pipeline(list(_steps(source)), shelf, place.rows).run(target)
    taken.cpu.append(place.cpu() - begun)
    taken.clock.append(time.perf_counter() - clock)
    besides = sum(file.stat().st_size for file in (kept / "again").glob("*")) if way == ALL else 0
    taken.size.append(shelf.keeping.size + besides if way != NOTHING else 0)
    taken.answer = outcome[target]
    return outcome


def _steps(source: str) -> Iterator[Step]:
    module = types.ModuleType("user_workflow")
    sys.modules["user_workflow"] = module
    vars(module)["step"] = step
    exec(compile(source, "<user_workflow>", "exec"), vars(module))
    return (each for each in list(vars(module).values()) if isinstance(each, Step))


# ------------------------------------------------------------ the ways


@contextmanager
def _ours() -> Iterator[None]:
    yield


@contextmanager
def _keep_all() -> Iterator[None]:
    """HELIX AM: also what is left to chance is written, though nobody can read it again."""

    def decide(self: Keeping, identity: str, *, size: int, **_: Any) -> Decision:
        self.kept[identity] = KeptResult(size, 0, 0.0)
        return Decision(True, ())

    original = Run._keep_value

    def keep_value(self: Run, each: Any, value: Any, begun: float) -> None:
        original(self, each, value, begun)
        form, data = written(value) or ("", b"")
        if form and each.record is None:
            self._shelf._put(f"again/{each.step.name}-{time.time_ns()}", data)

    with patch.object(Keeping, "decide", decide), patch.object(Run, "_keep_value", keep_value):
        yield


@contextmanager
def _keep_nothing() -> Iterator[None]:
    """HELIX NM."""
    with patch.object(Keeping, "decide", lambda self, identity, **_: Decision(False, ())):
        yield


_WAYS: dict[str, Callable[[], Any]] = {OURS: _ours, ALL: _keep_all, NOTHING: _keep_nothing}


# ------------------------------------------------------------ where they run


@contextmanager
def _place(name: str, folder: Path) -> Iterator[Place]:
    if name != "census":
        yield Place(LittleStore())
        return
    from forward_lineage import ForwardLineage  # noqa: PLC0415 - three of four need no Spark
    from forward_lineage.session.step_rows import RowsOfSteps  # noqa: PLC0415
    from forward_lineage.spark.local import local_session  # noqa: PLC0415

    spark = local_session(
        "workflows", master="local[2]", driver_memory="2g", log=folder / "spark.log", spark__ui__enabled="false"
    )
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        write_people(f"{folder}/people")
        lineage = ForwardLineage(spark, home=folder / "home")
        lineage.register("people", path=f"{folder}/people")
        lineage.save("SELECT count(*) AS n FROM people", "warm_up")
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        yield Place(RowsOfSteps(lineage._parts, lineage), jvm)
    finally:
        spark.stop()


def _cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ------------------------------------------------------------ what was found


def _report(name: str, rounds: list[dict[str, Taken]]) -> list[str]:
    best = {way: min((each[way] for each in rounds), key=lambda taken: sum(taken.cpu)) for way in rounds[0]}
    cpu = {way: sum(taken.cpu) for way, taken in best.items()}
    print(f"\n{name}: cumulative seconds of CPU (of the clock), bytes kept at the end (at most)")
    for way, taken in best.items():
        each = " ".join(f"{seconds:.2f}" for seconds in taken.cpu)
        seconds, size = f"{cpu[way]:.2f} ({sum(taken.clock):.2f})", f"{taken.size[-1]:,} ({max(taken.size):,})"
        print(f"  {way:12} {seconds:>16} {size:>28}   by iteration: {each}")
    ratio = cpu[OURS] / min(cpu[ALL], cpu[NOTHING])
    times = cpu[NOTHING] / cpu[OURS]
    size = best[OURS].size[-1] / max(1, best[ALL].size[-1])
    print(f"  {ratio:.3f} of the better of both, {times:.1f} times as fast as never reusing, {size:.3f} of the bytes")
    bars = {
        f"{name}: {ratio:.3f} of the better, at most {MOST}": ratio <= MOST,
        f"{name}: {times:.2f} times as fast, at least {TIMES_ON_GENOMICS}": times >= 3 or name != "genomics",
        f"{name}: {size:.3f} of the bytes, at most {MOST_STORAGE}": size <= MOST_STORAGE,
    }
    return [f"missed: {bar}" for bar, met in bars.items() if not met]


if __name__ == "__main__":
    sys.exit(main())
