"""Small populations, whole: every sample, every order, in fractions where equality is claimed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from forward_lineage.approximate.bounds import betting, wager
from forward_lineage.approximate.bounds.bernstein import bernstein_serfling
from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
from forward_lineage.approximate.bounds.means import mean_limits
from forward_lineage.approximate.bounds.moments import LowerLimit, Moments
from forward_lineage.approximate.bounds.range_trim import range_trim

BOUNDERS = [hoeffding_serfling, range_trim(hoeffding_serfling), bernstein_serfling, range_trim(bernstein_serfling)]
POPULATIONS = [
    [0] * 11 + [1],
    [0] * 6 + [1] * 6,
    [1] * 11 + [0],
    list(range(12)),
    [-3, -3, -2, 0, 0, 0, 0, 1, 1, 50],
]


@pytest.mark.parametrize("bounder", BOUNDERS)
@pytest.mark.parametrize("population", POPULATIONS)
def test_of_all_samples_few_miss(bounder: LowerLimit, population: list[int]) -> None:
    low, high, size = float(min(population)), float(max(population)), len(population)
    mean = sum(population) / size
    for count in range(1, size + 1):
        samples = Moments.of(np.array(list(itertools.combinations(population, count)), float))
        for delta in (0.5, 0.1, 0.01):
            ends = mean_limits(bounder, samples, low, high, size, delta=delta)
            missed = (ends[0] > mean + 1e-12) | (ends[1] < mean - 1e-12)
            assert missed.mean() <= delta, (count, delta)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 5.0)])
def test_a_greater_size_or_range_never_gives_a_greater_limit(low: float, high: float) -> None:
    """What RangeTrim and Theorem 6.3 rest on."""
    generator = np.random.default_rng(52)
    for count in (1, 2, 3, 7, 12):
        sample = Moments.of(generator.uniform(low, high, (50, count)))
        for bounder in BOUNDERS[::2]:
            sizes = [bounder(sample, low, high, size, 0.05) for size in range(count, 40)]
            assert all(np.all(more <= less + 1e-12) for less, more in itertools.pairwise(sizes))
            wider = bounder(sample, low - 1, high + 1, 20, 0.05)
            assert np.all(wider <= bounder(sample, low, high, 20, 0.05) + 1e-12)


# Rows (y, p) whose part has the mean u: with every kept row, with dropped ones, with one that is much larger.
UNIVERSES = [
    [(0, 1), (1, 1), (3, 1), (4, 1)],
    [(0, 0), (2, 1), (0, 1), (0, 0), (1, 1)],
    [(0, 0), (40, 1), (0, 1), (0, 1), (1, 1)],
    [(2, 1), (2, 1), (2, 1), (0, 0)],
]


@pytest.mark.parametrize("universe", UNIVERSES)
@pytest.mark.parametrize("share", [Fraction(15, 16), Fraction(15, 64)])
def test_wealth_is_a_martingale(universe: list[tuple[int, int]], share: Fraction) -> None:
    """The mean factor over the rows that may come next is 1, whatever came before; exactly, to the last row."""
    truth = Fraction(sum(y for y, _ in universe), sum(p for _, p in universe))
    places = range(len(universe))
    for count in places:
        for before in itertools.combinations(places, count):
            rest = [universe[place] for place in places if place not in before]
            factors = [_factor([universe[place] for place in before], row, len(rest), truth, share) for row in rest]
            assert sum(factors) == len(rest)
            assert min(factors) >= 1 - share


@pytest.mark.parametrize("universe", UNIVERSES)
def test_numbers_follow_the_fractions(universe: list[tuple[int, int]]) -> None:
    truth, share = Fraction(sum(y for y, _ in universe), sum(p for _, p in universe)), Fraction(15, 32)
    for order in itertools.permutations(universe):
        expected = [_factor(list(order[:at]), row, len(order) - at, truth, share) for at, row in enumerate(order)]
        found = betting.factors(_draws(list(order), len(order)), float(truth), float(share))
        assert found == pytest.approx([float(each) for each in expected], rel=1e-12)


@pytest.mark.parametrize("universe", UNIVERSES)
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_of_all_orders_few_ever_refute_what_is_true(universe: list[tuple[int, int]], delta: float) -> None:
    """Looking after every row, at both ends."""
    kept = [y for y, p in universe if p]
    truth, top = sum(kept) / len(kept), float(max(kept))
    orders = list(itertools.permutations(universe))
    missed = 0
    for order in orders:
        found = None
        for count in range(1, len(order) + 1):
            found = betting.mean_interval(_draws(list(order[:count]), len(order)), 0.0, top, delta, found)
            if not found.low - 1e-9 <= truth <= found.high + 1e-9:
                missed += 1
                break
        else:
            assert found is not None
            assert found.low == pytest.approx(truth)
            assert found.high == pytest.approx(truth)
    assert missed <= delta * len(orders)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_about_the_greatest_limit_and_none_above(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size, count = 1_500, int(generator.integers(20, 1_000))
    above = np.round(generator.lognormal(0, 1 + seed % 3, count), 3)
    part = None if seed % 2 else (generator.random(count) < 0.3).astype(float)
    draws = betting.Draws(above if part is None else above * part, part, size)
    delta = 10.0 ** -generator.integers(1, 16)
    found = betting.lower_limit(draws, delta)
    bets = wager.shares(size)
    target = math.log(bets.size / delta)
    kept = count if part is None else part.sum()
    grid = np.linspace(draws.sure(), draws.above.sum() / kept, 120)[1:]
    best = np.array([max(betting.log_wealth(draws, u, float(bet))[-1] for bet in bets) for u in grid])
    greatest = grid[best >= target].max(initial=draws.sure())
    step = grid[1] - grid[0]
    assert found <= greatest + step
    assert found >= greatest - step - 0.02 * (grid[-1] - greatest)
    wealth = betting.log_wealth_of_all(draws, found)[-1] if found > draws.sure() else np.inf
    assert wealth >= math.log(1 / delta)


@pytest.mark.parametrize("seed", range(2))
def test_a_wager_never_counts_more_than_was_won(seed: int) -> None:
    """Rows are put together in segments; whatever u and the bet are, that makes wealth less."""
    generator = np.random.default_rng(seed)
    size, counts = 4_000, generator.integers(1, 700, 6)
    above = np.floor(generator.exponential(20, counts.sum()))
    part = None if seed % 2 else (generator.random(above.size) < 0.7).astype(float)
    draws = betting.Draws(above if part is None else above * part, part, size)
    bets = wager.Wager(size)
    for rows in np.split(np.arange(above.size), np.cumsum(counts)[:-1]):
        bets.add(draws.above[rows], None if part is None else part[rows])
        low = bets.limit(1e-6)
    mean = draws.spent[-1] / draws.kept[-1]
    for u in generator.uniform(low / 2, mean * 1.3, 60):
        for bet, share in enumerate(wager.shares(size)):
            counted = bets._gain(float(u), bet) + bets._target
            won = float(betting.log_wealth(draws, u, float(share))[-1])
            assert counted <= won + 1e-9
    assert bets.limit(1e-6) == pytest.approx(low, rel=0.01)
    counted_whole = _again(bets, draws, part).limit(1e-6)
    assert counted_whole > low * 0.97
    below = counted_whole * (1 - 1e-9)
    assert below <= draws.sure() or betting.log_wealth_of_all(draws, below)[-1] >= math.log(1e6)
    assert mean - low <= 1.05 * (mean - betting.lower_limit(draws, 1e-6))


@pytest.mark.parametrize("counts", [(60_000,), (1_024, 3_072, 12_288, 43_616)])
def test_rows_together_lose_little(counts: tuple[int, ...]) -> None:
    """Values far above the low end, as of the upper end of delays: worths kept far apart would lose a good part."""
    generator = np.random.default_rng(11)
    size, delta = 500_000, 1e-15
    above = 2_000 - np.floor(np.minimum(generator.lognormal(3, 1, sum(counts)), 1_999))
    wealth, draws = wager.Wager(size, whole=True), betting.Draws(above, None, size)
    for rows in np.split(above, np.cumsum(counts)[:-1]):
        wealth.add(rows)
    mean, target = float(above.mean()), math.log(wager.shares(size).size / delta)
    refuted = [
        u
        for u in np.linspace(mean - 4, mean, 200)
        if max(betting.log_wealth(draws, u, float(share))[-1] for share in wager.shares(size)[:4]) >= target
    ]
    assert mean - wealth.limit(delta) < 1.08 * (mean - max(refuted))


def _again(bets: wager.Wager, draws: betting.Draws, part: np.ndarray | None) -> wager.Wager:
    """A wager that nobody asked anything yet; whole numbers are counted in another way than others."""
    fresh = wager.Wager(draws.size, whole=True)
    fresh.add(draws.above, part)
    assert fresh._counts.sum() == bets._counts.sum()
    return fresh


def _factor(before: list[tuple[int, int]], row: tuple[int, int], left: int, u: Fraction, share: Fraction) -> Fraction:
    spent, kept = sum(y for y, _ in before), sum(p for _, p in before)
    worth = ((left + kept) * u - spent) / left
    got = row[0] + (1 - row[1]) * u
    return 1 + share * (got / worth - 1) if worth else Fraction(1)


def _draws(rows: list[tuple[int, int]], size: int) -> betting.Draws:
    above, part = np.array(rows, float).reshape(-1, 2).T
    return betting.Draws(above, part, size)
