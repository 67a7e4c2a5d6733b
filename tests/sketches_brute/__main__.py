"""`python -m tests.sketches_brute --cases N --seed S`: what is proven beside what brute force refutes.

It ends with 1 if something proven was refuted, or if too little of what was never refuted is proven.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from random import Random

from forward_lineage.sketches.safety.verdicts import Verdict
from tests.sketches_brute.trials import BruteCase, Refutation, cases, trial

LEAST_PROVEN = 0.9
TRIALS_OF_PROVEN, TRIALS_OF_OTHERS = 40, 600
UNTELLING = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sketches_brute", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many of each kind are shown")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    times: list[float] = []
    shown: Counter[str] = Counter()
    random = Random(options.seed)
    for case, _ in zip(cases(options.seed), range(options.cases), strict=False):
        start = time.process_time()
        verdict = case.verdict()
        times.append(time.process_time() - start)
        outcome, refutation = judged(case, random, verdict)
        kind = f"{'proven' if verdict.safe else 'not proven'}, {outcome}"
        found[kind] += 1
        if kind == "not proven, never refuted":
            reasons[verdict.why.split(" (line")[0]] += 1
        if kind in ("proven, refuted", "not proven, never refuted") and shown[kind] < options.show:
            shown[kind] += 1
            print(f"--- {kind}\n{case.sql}\n{dict(case.attributes)} {case.world}\n{verdict.why}\n{refutation}")
    return closing(found, reasons, times)


def judged(case: BruteCase, random: Random, verdict: Verdict) -> tuple[str, Refutation | None]:
    """Try a case until it is refuted; what tells too seldom (empty answers, nothing skipped) is apart."""
    telling = tried = 0
    wanted = TRIALS_OF_PROVEN if verdict.safe else TRIALS_OF_OTHERS
    while tried < wanted and (tried < UNTELLING or telling * UNTELLING >= tried):
        tried += 1
        outcome = trial(case, random, verdict.checks)
        if isinstance(outcome, Refutation):
            return "refuted", outcome
        telling += outcome == "telling"
    return "never refuted" if telling * UNTELLING >= tried else "hardly ever telling", None


def closing(found: Counter[str], reasons: Counter[str], times: list[float]) -> int:
    for kind, count in found.most_common():
        print(f"{count:7,} {kind}")
    for why, count in reasons.most_common(15):
        print(f"{count:7,} never refuted but: {why}")
    proven, timid = found["proven, never refuted"], found["not proven, never refuted"]
    share = proven / max(proven + timid, 1)
    print(f"proven of what was never refuted: {share:.3f}")
    print(f"a check: median {statistics.median(times) * 1e3:.2f} ms, largest {max(times) * 1e3:.0f} ms")
    return int(found["proven, refuted"] > 0 or share < LEAST_PROVEN)


if __name__ == "__main__":
    sys.exit(main())
