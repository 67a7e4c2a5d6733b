"""`python -m tests.sketches_brute --cases N --seed S`: what is proven beside what brute force refutes.

Of safety, of sketches of one witness, of reuse, of growth. It ends with 1 if something proven was refuted, or if too
little of what was never refuted is proven safe.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from random import Random

from forward_lineage.sketches.safety.verdicts import Proof
from tests.sketches_brute.growth_trials import GrowthCase, growth_cases, growth_trial
from tests.sketches_brute.reuse_trials import ReuseCase, reuse_cases
from tests.sketches_brute.trials import BruteCase, Refutation, cases, trial
from tests.sketches_brute.witness_trials import witness_cases

LEAST_PROVEN = 0.9
TRIALS_OF_PROVEN = 30
TRIALS_OF_OTHERS = {"safety": 4000, "witnesses": 1000, "reuse": 1000, "growth": 1000}
REPORTED = 100
UNTELLING = 10
"""A case of which not one trial in so many tells anything (no rows, nothing skipped) is counted apart."""

Case = BruteCase | ReuseCase | GrowthCase
Trial = Callable[[], Refutation | str]
KINDS: dict[str, Callable[[int], Iterator[Case]]] = {
    "safety": cases,
    "witnesses": witness_cases,
    "reuse": reuse_cases,
    "growth": growth_cases,
}


@dataclass
class Findings:
    """What became of cases."""

    found: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    trials: int = 0  # of what is proven: each a query, data, attributes and ranges

    @property
    def share(self) -> float:
        proven, timid = self.found["proven, never refuted"], self.found["not proven, never refuted"]
        return proven / max(proven + timid, 1)

    def add(self, more: Findings) -> None:
        """Count what became of other cases, too."""
        self.found += more.found
        self.reasons += more.reasons
        self.times += more.times
        self.trials += more.trials

    def print(self, what: str) -> None:
        print(f"{what}: {sum(self.found.values()):,} cases, {self.trials:,} trials of what is proven")
        for kind, count in self.found.most_common():
            print(f"{count:7,} {kind}")
        for why, count in self.reasons.most_common(12):
            print(f"{count:7,} never refuted but: {why}")
        print(f"proven of what was never refuted: {self.share:.3f}")
        if self.times:
            print(
                f"a check, CPU: median {statistics.median(self.times) * 1e3:.2f} ms,"
                f" at most {max(self.times) * 1e3:.0f} ms"
            )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sketches_brute", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="of safety; of each other kind a quarter of them")
    parser.add_argument("--after", type=int, default=0, help="go on after so many cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", type=int, default=3, help="how many of each kind are shown")
    options = parser.parse_args()
    found = {}
    for kind in options.kinds.split(","):
        found[kind] = judged_all(kind, options)
        found[kind].print(kind)
    refuted = sum(each.found["proven, refuted"] for each in found.values())
    return int(refuted > 0 or ("safety" in found and found["safety"].share < LEAST_PROVEN))


def judged_all(kind: str, options: argparse.Namespace) -> Findings:
    """Judge so many cases of a kind, each process its part of them."""
    findings = Findings()
    with ProcessPoolExecutor(options.processes) as pool:
        for part in pool.map(partial(judged_part, kind, options), range(options.processes)):
            findings.add(part)
    return findings


def judged_part(kind: str, options: argparse.Namespace, part: int) -> Findings:
    """Judge one case in so many, from the numbered one on; chance of its own for each, so that parts do not matter."""
    findings = Findings()
    count = options.cases if kind == "safety" else options.cases // 4
    for number, case in islice(enumerate(KINDS[kind](options.seed)), options.after + part, count, options.processes):
        if number // options.processes % REPORTED == REPORTED - 1:
            print(f"{number + 1:,} cases, part {part + 1}: {dict(findings.found)}", flush=True)
        judge(kind, case, Random(f"{options.seed}, {number}"), findings, options.show)
    return findings


def judge(kind: str, case: Case, random: Random, findings: Findings, show: int) -> None:
    """Say what becomes of a case."""
    start = time.process_time()
    verdict = case.verdict()
    findings.times.append(time.process_time() - start)
    wanted = TRIALS_OF_PROVEN if verdict.safe else TRIALS_OF_OTHERS[kind]
    outcome, refutation, tried = judged(trials_of(case, verdict, random), wanted)
    findings.trials += tried if verdict.safe else 0
    became = f"{'proven' if verdict.safe else 'not proven'}, {outcome}"
    findings.found[became] += 1
    if became == "not proven, never refuted":
        findings.reasons[verdict.why.split(" (line")[0]] += 1
    if became in ("proven, refuted", "not proven, never refuted") and findings.shown[became] < show:
        findings.shown[became] += 1
        print(f"--- {became}\n{case.sql}\n{case}\n{verdict.why}\n{refutation}", flush=True)


def trials_of(case: Case, verdict: Proof, random: Random) -> Trial:
    """What is tried again and again."""
    if isinstance(case, GrowthCase):
        return partial(growth_trial, case, random)
    if isinstance(case, ReuseCase):
        return partial(trial, case.captured, random, case.captured.verdict_checks, case.asked)
    return partial(trial, case, random, verdict.checks)


def judged(attempt: Trial, wanted: int) -> tuple[str, Refutation | None, int]:
    """Try a case until it is refuted, or often enough; say how often that was, too."""
    telling = tried = 0
    while tried < wanted and (tried < UNTELLING or telling * UNTELLING >= tried):
        tried += 1
        outcome = attempt()
        if isinstance(outcome, Refutation):
            return "refuted", outcome, tried
        telling += outcome == "telling"
    return "never refuted" if telling * UNTELLING >= tried else "hardly ever telling", None, tried


if __name__ == "__main__":
    sys.exit(main())
