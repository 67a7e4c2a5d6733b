"""Plans and keeping on many random inputs: ``python -m tests.forward_lineage.steps [--graphs N] [--sequences N]``.

It ends with 1 if a plan costs more than the best of all plans, or if keeping costs more than 1.25 of the best in the
median. The figures of other ways of keeping stand beside ours.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys

from tests.forward_lineage.steps.edit_sequences import (
    best_cost,
    cost_of,
    keep_all,
    keep_nothing,
    marginal,
    random_sequence,
    thesis,
)
from tests.forward_lineage.steps.every_plan import trials

MOST = 1.25


def main() -> int:
    """Try both, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000, help="random graphs of up to 12 steps")
    parser.add_argument("--sequences", type=int, default=1_000, help="random sequences of edits")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    wrong = trials(told.graphs, told.seed)
    print(f"{told.graphs:,} graphs, {len(wrong):,} plans that are not the best", *wrong[:20], sep="\n  ")
    return int(bool(wrong) or not _keeping_is_good(told.sequences, told.seed))


def _keeping_is_good(count: int, seed: int) -> bool:
    sequences = [random_sequence(random.Random(f"{seed} {number}")) for number in range(count)]
    if not sequences:
        return True
    best = [best_cost(each) for each in sequences]
    medians = {}
    for policy in (marginal, thesis, keep_all, keep_nothing):
        ratios = sorted(cost_of(each, policy) / least for each, least in zip(sequences, best, strict=True))
        medians[policy] = statistics.median(ratios)
        figures = f"median {medians[policy]:.3f}, mean {statistics.mean(ratios):.3f}"
        ninth = ratios[int(0.9 * count)]
        print(f"{count:,} sequences, {policy.__name__}: {figures}, 90 % below {ninth:.3f}, at most {ratios[-1]:.3f}")
    return medians[marginal] <= MOST


if __name__ == "__main__":
    sys.exit(main())
