"""How often intervals of COUNT, AVG and SUM miss, of rows that a condition keeps, nobody knows how many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from forward_lineage.approximate.bounds import betting
from forward_lineage.approximate.bounds.counts import count_interval
from forward_lineage.approximate.bounds.hoeffding import hoeffding_serfling
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.bounds.means import mean_of_part
from forward_lineage.approximate.bounds.moments import Floats, Moments
from forward_lineage.approximate.bounds.sums import sum_of_part
from tests.bench.approximate.populations import SIZE, Population, populations

PARTS = ("coin", "log-normal delays", "one outlier below")
_READ = 80


def part_misses(runs: int, deltas: Sequence[float]) -> Iterator[tuple[str, float, int]]:
    """Yield what was tried, δ, and how many of the runs missed."""
    for population in populations():
        if population.name in PARTS:
            values, part = _orders(population, runs)
            yield from _settled(population, values, part, deltas)
            yield from _betting(population, values, part, deltas)


def _orders(population: Population, runs: int) -> tuple[Floats, Floats]:
    """Rows in many orders; the condition keeps those whose value is high more often."""
    generator = np.random.default_rng(6)
    chance = 0.2 + 0.5 * (population.values > np.median(population.values))
    part = (generator.random(SIZE) < chance).astype(float)
    places = generator.permuted(np.tile(np.arange(SIZE), (runs, 1)), axis=1)
    return population.values[places], part[places]


def _settled(of: Population, values: Floats, part: Floats, deltas: Sequence[float]) -> Iterator[tuple[str, float, int]]:
    kept = values[0][part[0] > 0]
    truths = {"COUNT": float(kept.size), "AVG": float(kept.mean()), "SUM": float(kept.sum())}
    asked: dict[str, Callable[[Moments, float], Interval]] = {
        "COUNT": lambda sample, delta: count_interval(int(sample.count), _READ, SIZE, delta),
        "AVG": lambda sample, delta: mean_of_part(
            hoeffding_serfling, sample, of.low, of.high, read=_READ, rows=SIZE, delta=delta
        ),
        "SUM": lambda sample, delta: sum_of_part(
            hoeffding_serfling, sample, of.low, of.high, read=_READ, rows=SIZE, delta=delta
        ),
    }
    rows = zip(values[:, :_READ], part[:, :_READ], strict=True)
    samples = [Moments.of(row[kept > 0]) for row, kept in rows]
    for name, interval in asked.items():
        for delta in deltas:
            missed = sum(not _holds(interval(sample, delta), truths[name]) for sample in samples)
            yield f"{name} of a part of {of.name}, hoeffding", delta, missed


def _betting(of: Population, values: Floats, part: Floats, deltas: Sequence[float]) -> Iterator[tuple[str, float, int]]:
    """By somebody who knows the truth, and stops after any row."""
    draws = betting.Draws((values - of.low) * part, part, SIZE)
    truth = float(values[0][part[0] > 0].mean())
    lower = betting.log_wealth_of_all(draws, truth - of.low)
    upper = betting.log_wealth_of_all(betting.mirrored(draws, of.high - of.low), of.high - truth)
    most = np.maximum(lower, upper).max(axis=1)
    for delta in deltas:
        yield f"AVG of a part of {of.name}, betting, adversary", delta, int((most >= math.log(2 / delta)).sum())


def _holds(found: Interval, truth: float) -> bool:
    near = 1e-9 * (1 + abs(truth))
    return found.low - near <= truth <= found.high + near
