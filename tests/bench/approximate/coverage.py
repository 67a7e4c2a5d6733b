"""How often intervals miss: ``python -m tests.bench.approximate.coverage [runs]``; ends with 1 if one misses too often.

Every population of `populations` is read in `runs` orders (10,000). Each bounder is tried in four ways, at four δ:

- fixed n: one look, after a quarter of the rows;
- early stop: looks at settled numbers of rows, until the sample looks as if its mean were known well;
- active scanning: two populations side by side, both read further as long as their intervals overlap;
- adversary: who knows the truth, and stops at the first look that is wrong; with betting, after any row.

Of 10,000 runs 1113, 583, 139 and 24 may miss at most, at δ = .1, .05, .01 and .001: a bounder that misses as often as
it may exceeds these numbers once in about ten thousand campaigns. The normal approximation is tried too, and must fail.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.bounds.bernstein import bernstein_serfling
from forward_lineage.approximate.bounds.error_budget import decayed, shared
from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
from forward_lineage.approximate.bounds.means import mean_limits
from forward_lineage.approximate.bounds.moments import Floats, LowerLimit, Moments
from forward_lineage.approximate.bounds.range_trim import range_trim
from tests.bench.approximate.parts import part_misses
from tests.bench.approximate.populations import SIZE, Population, populations
from tests.bench.approximate.runs import LOOKS, Places, Runs, first_of

RUNS = 10_000
ALLOWED = {0.1: 1113, 0.05: 583, 0.01: 139, 0.001: 24}
WAYS = ("fixed n", "early stop", "active scanning", "adversary")
_ROUNDING = 1e-9

Truths = npt.NDArray[np.bool_]
Ends = tuple[Floats, Floats]
Missed = dict[tuple[str, float], int]


@dataclass(frozen=True)
class Bounder:
    """What is tried.

    Attributes:
        name: of it.
        ends: samples, their population, δ → the ends of the intervals; None: betting.
        share: of δ at a look, from 1.

    """

    name: str
    ends: Callable[[Moments, Population, float], Ends] | None = None
    share: Callable[[float, int], float] = decayed


def bounders() -> list[Bounder]:
    """Return all that must not miss."""
    plain = {"hoeffding": hoeffding_serfling, "bernstein": bernstein_serfling}
    trimmed = {f"{name} + range trim": range_trim(bounder) for name, bounder in plain.items()}
    return [*(Bounder(name, ends_of(bounder)) for name, bounder in (plain | trimmed).items()), Bounder("betting")]


def ends_of(bounder: LowerLimit) -> Callable[[Moments, Population, float], Ends]:
    """Return what gives the ends of a bounder's intervals."""
    return lambda sample, of, delta: mean_limits(bounder, sample, of.low, of.high, SIZE, delta=delta)


def normal(sample: Moments, _: Population, delta: float) -> Ends:
    """Return the interval that most systems give."""
    deviation = np.sqrt(sample.squares / np.maximum(sample.count - 1, 1))
    error = NormalDist().inv_cdf(1 - delta / 2) * deviation * np.sqrt((1 - sample.count / SIZE) / sample.count)
    return sample.mean - error, sample.mean + error


def at_most(runs: int, delta: float) -> int:
    """Return how many of some runs may miss; of fewer than 10,000 it is a rough limit that chance hardly exceeds."""
    return ALLOWED[delta] if runs == RUNS else math.ceil(runs * delta + 4.5 * math.sqrt(runs * delta) + 4)


def misses(bounder: Bounder, mine: Runs, theirs: Runs, deltas: Sequence[float]) -> Missed:
    """Return for each way and δ how many runs miss.

    Args:
        bounder: what is tried.
        mine: the runs.
        theirs: the runs of what is beside it in active scanning; δ is then shared.
        deltas: the probabilities.

    """
    found: Missed = {}
    for delta in deltas:
        half = shared(delta, 2)
        if bounder.ends is None:
            once, looks, both = _bets(mine, theirs, delta, half)
        else:
            once = _wrong(bounder.ends(mine.quarter, mine.population, delta), mine.population)
            looks, _ = _at_looks(bounder, mine, delta)
            both = _side_by_side(bounder, mine, theirs, half)
        found["fixed n", delta] = int(once.sum())
        found["early stop", delta] = int(_up_to(looks, mine.stops).sum())
        found["active scanning", delta] = int(both.sum())
        ever = mine.wealth[:, -1] >= math.log(2 / delta) + _ROUNDING if bounder.ends is None else looks.any(axis=0)
        found["adversary", delta] = int(ever.sum())
    return found


def _bets(mine: Runs, theirs: Runs, delta: float, half: float) -> tuple[Truths, Truths, Truths]:
    """When wealth says that the truth was refuted.

    To know when two intervals come apart would take a search for each run and look. Here a standard error of either
    says when to stop, which depends on the values as much.
    """
    at = np.array(LOOKS) - 1
    refuted = mine.wealth >= math.log(2 / delta) + _ROUNDING
    limit = math.log(2 / half) + _ROUNDING
    last = np.maximum(mine.stops, theirs.stops)
    both = [_up_to((each.wealth[:, at] >= limit).T, last) for each in (mine, theirs)]
    return refuted[:, SIZE // 4 - 1], refuted[:, at].T, both[0] | both[1]


def _at_looks(bounder: Bounder, runs: Runs, delta: float) -> tuple[Truths, list[Ends]]:
    assert bounder.ends is not None
    ends = [
        bounder.ends(sample, runs.population, bounder.share(delta, look)) for look, sample in enumerate(runs.looks, 1)
    ]
    return np.array([_wrong(each, runs.population) for each in ends]), ends


def _side_by_side(bounder: Bounder, mine: Runs, theirs: Runs, delta: float) -> Truths:
    (wrong, ends), (wrong_too, ends_too) = _at_looks(bounder, mine, delta), _at_looks(bounder, theirs, delta)
    last = first_of([(a[0] > b[1]) | (b[0] > a[1]) for a, b in zip(ends, ends_too, strict=True)])
    return _up_to(wrong, last) | _up_to(wrong_too, last)


def _wrong(ends: Ends, of: Population) -> Truths:
    near = _ROUNDING * (1 + abs(of.mean))
    return np.asarray((ends[0] > of.mean + near) | (ends[1] < of.mean - near))


def _up_to(wrong: Truths, last: Places) -> Truths:
    """Whether a look up to the last one was wrong; an interval is narrowed by all looks before."""
    return np.asarray((wrong & (np.arange(len(wrong))[:, None] <= last)).any(axis=0))


def campaign(runs: int, tried: Sequence[Bounder], deltas: Sequence[float] = tuple(ALLOWED)) -> Iterator[str]:
    """Print the worst of all populations; yield a line for each case that misses too often."""
    worst: dict[str, Missed] = {bounder.name: {} for bounder in tried}
    found = populations()
    for place, population in enumerate(found):
        mine, theirs = Runs(population, runs), Runs(found[place - 1], runs, salt=1)
        for bounder in tried:
            for case, count in misses(bounder, mine, theirs, deltas).items():
                worst[bounder.name][case] = max(worst[bounder.name].get(case, 0), count)
                if count > at_most(runs, case[1]):
                    yield f"{bounder.name} of {population.name}, {case[0]}, at {case[1]}: {count}"
    for name, cases in worst.items():
        for way in WAYS:
            shown = "  ".join(f"{cases[way, delta]:6}" for delta in deltas)
            print(f"{name:24} {way:16} worst of {len(found)}: {shown}", flush=True)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    shown = "  ".join(f"{at_most(runs, delta):6}" for delta in ALLOWED)
    print(f"misses in {runs:,} runs at δ = {', '.join(map(str, ALLOWED))}")
    print(f"{'allowed':24} {'':16} {'':12} {shown}")
    wrong = list(campaign(runs, bounders()))
    for name, delta, count in part_misses(runs, tuple(ALLOWED)):
        print(f"{name:66} at δ = {delta}: {count:6}", flush=True)
        if count > at_most(runs, delta):
            wrong.append(f"{name}, at {delta}: {count}")
    caught = list(campaign(runs, [Bounder("normal approximation", normal)]))
    for each in wrong:
        print("MISSES TOO OFTEN:", each)
    print(f"the normal approximation misses too often in {len(caught)} cases, our bounders in {len(wrong)}")
    return 1 if wrong or not caught else 0


if __name__ == "__main__":
    sys.exit(main())
