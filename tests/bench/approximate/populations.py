"""Populations that are hard for intervals, each a column of values and a range that it lies in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
SIZE = 240


@dataclass(frozen=True)
class Population:
    """Values and their range.

    Attributes:
        name: what it is.
        values: all of them.
        low: at most the least.
        high: at least the greatest.

    """

    name: str
    values: Values
    low: float
    high: float

    @property
    def mean(self) -> float:
        return float(self.values.mean())


def populations() -> list[Population]:
    """Return them; they are the same every time."""
    generator = np.random.default_rng(2021)
    ranks = np.arange(SIZE)
    halves = (ranks % 2).astype(float)
    outlier = generator.normal(10, 1, SIZE)
    heavy = np.minimum(generator.pareto(1.1, SIZE), 2_000)
    clusters = np.where(ranks % 12 == 0, 500.0, generator.normal(0, 1, SIZE))
    return [
        _of("coin", halves),
        _of("coin in a wide range", halves, -20, 20),
        _of("one of all is 1", (ranks == 0).astype(float)),
        _of("all but one are 1", (ranks > 0).astype(float)),
        _of("few of all are 1", (ranks < 12).astype(float)),
        _of("one outlier above", np.where(ranks == 0, 1_000, outlier)),
        _of("one outlier below", np.where(ranks == 0, -1_000, outlier)),
        _of("heavy tail", heavy),
        _of("heavy tail, mirrored", -heavy),
        _of("two clusters", clusters),
        _of("log-normal delays", np.round(generator.lognormal(2, 1.5, SIZE) - 10)),
        _of("ranks", ranks.astype(float)),
        _of("constant", np.full(SIZE, 7.0), 0, 10),
        _of("zeros and a few negative", np.where(ranks < 20, -generator.exponential(5, SIZE), 0.0)),
    ]


def _of(name: str, values: Values, low: float | None = None, high: float | None = None) -> Population:
    least, greatest = float(values.min()), float(values.max())
    return Population(name, values, least if low is None else low, greatest if high is None else high)
