"""`python -m tests.sketches_brute --cases N --seed S`: what is proven beside what brute force refutes.

Of safety, then of reuse, then of growth. It ends with 1 if something proven was refuted, or if too little of what was
never refuted is proven safe.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from forward_lineage.sketches.safety.verdicts import Verdict
from tests.sketches_brute.growth_trials import GrowthCase, growth_cases, growth_trial
from tests.sketches_brute.reuse_trials import ReuseCase, reuse_cases
from tests.sketches_brute.trials import BruteCase, Refutation, cases, trial

LEAST_PROVEN = 0.9
TRIALS_OF_PROVEN, TRIALS_OF_OTHERS = 30, 1000
REPORTED = 100
UNTELLING = 10
"""A case of which not one trial in so many tells anything (no rows, nothing skipped) is counted apart."""

Case = BruteCase | ReuseCase | GrowthCase
Trial = Callable[[], Refutation | str]


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
    parser.add_argument("--cases", type=int, default=10_000, help="of safety; of reuse and growth a quarter of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="how many of each kind are shown")
    options = parser.parse_args()
    safety = judged_all(cases(options.seed), options.cases, options.seed, options.show)
    safety.print("safety")
    reuse = judged_all(reuse_cases(options.seed), options.cases // 4, options.seed, options.show)
    reuse.print("reuse")
    growth = judged_all(growth_cases(options.seed), options.cases // 4, options.seed, options.show)
    growth.print("growth")
    refuted = sum(each.found["proven, refuted"] for each in (safety, reuse, growth))
    return int(refuted > 0 or safety.share < LEAST_PROVEN)


def judged_all(found: Iterable[Case], count: int, seed: int, show: int) -> Findings:
    """Judge so many cases."""
    findings, random = Findings(), Random(seed)
    for case, number in zip(found, range(count), strict=False):
        if number % REPORTED == REPORTED - 1:
            print(f"{number + 1:,} cases: {dict(findings.found)}", flush=True)
        start = time.process_time()
        verdict = case.verdict()
        findings.times.append(time.process_time() - start)
        outcome, refutation, tried = judged(trials_of(case, verdict, random), safe=verdict.safe)
        findings.trials += tried if verdict.safe else 0
        kind = f"{'proven' if verdict.safe else 'not proven'}, {outcome}"
        findings.found[kind] += 1
        if kind == "not proven, never refuted":
            findings.reasons[verdict.why.split(" (line")[0]] += 1
        if kind in ("proven, refuted", "not proven, never refuted") and findings.shown[kind] < show:
            findings.shown[kind] += 1
            print(f"--- {kind}\n{case.sql}\n{case}\n{verdict.why}\n{refutation}", flush=True)
    return findings


def trials_of(case: Case, verdict: Verdict, random: Random) -> Trial:
    """What is tried again and again."""
    if isinstance(case, GrowthCase):
        return partial(growth_trial, case, random)
    if isinstance(case, ReuseCase):
        return partial(trial, case.captured, random, case.captured.verdict_checks, case.asked)
    return partial(trial, case, random, verdict.checks)


def judged(attempt: Trial, *, safe: bool) -> tuple[str, Refutation | None, int]:
    """Try a case until it is refuted, or often enough; say how often that was, too."""
    telling = tried = 0
    wanted = TRIALS_OF_PROVEN if safe else TRIALS_OF_OTHERS
    while tried < wanted and (tried < UNTELLING or telling * UNTELLING >= tried):
        tried += 1
        outcome = attempt()
        if isinstance(outcome, Refutation):
            return "refuted", outcome, tried
        telling += outcome == "telling"
    return "never refuted" if telling * UNTELLING >= tried else "hardly ever telling", None, tried


if __name__ == "__main__":
    sys.exit(main())
