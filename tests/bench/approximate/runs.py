"""Many runs over one population at once: the orders in which its rows are read, and what bounders need of them."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.bounds import betting
from forward_lineage.approximate.bounds.error_budget import rows_at_look
from forward_lineage.approximate.bounds.moments import Floats, Moments
from tests.bench.approximate.populations import SIZE, Population

LOOKS = [rows for look in range(1, 20) if (rows := rows_at_look(8, look)) < SIZE]
_KNOWN_WELL = 0.06  # a standard error, as a part of the range
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """A population, read in many orders.

    Attributes:
        population: what is read.
        count: in how many orders.
        salt: two with different ones are independent of each other.

    """

    population: Population
    count: int
    salt: int = 0

    @cached_property
    def orders(self) -> Floats:
        """The values of each run in its order."""
        generator = np.random.default_rng([zlib.crc32(self.population.name.encode()), self.count, self.salt])
        return np.asarray(generator.permuted(np.tile(self.population.values, (self.count, 1)), axis=1))

    @cached_property
    def looks(self) -> list[Moments]:
        """The samples of all runs at each look."""
        return [Moments.of(self.orders[:, :rows]) for rows in LOOKS]

    @cached_property
    def quarter(self) -> Moments:
        """The samples of a quarter of the rows."""
        return Moments.of(self.orders[:, : SIZE // 4])

    @cached_property
    def wealth(self) -> Floats:
        """For each run and row the greater logarithm of the wealth of those who bet against the truth, on either end.

        An interval at δ misses the truth, at that row or before, where it has reached ln(2/δ).
        """
        draws, truth = betting.Draws(self.orders - self.population.low, None, SIZE), self.population.mean
        width = self.population.high - self.population.low
        lower = betting.log_wealth_of_all(draws, truth - self.population.low)
        upper = betting.log_wealth_of_all(betting.mirrored(draws, width), self.population.high - truth)
        return np.asarray(np.maximum.accumulate(np.maximum(lower, upper), axis=1))

    @cached_property
    def stops(self) -> Places:
        """For each run the look, from 0, at which its mean looks well known: a rule that depends on its own values."""
        spread = max(float(np.ptp(self.population.values)), 1e-9)
        error = [look.deviation / math.sqrt(rows) for look, rows in zip(self.looks, LOOKS, strict=True)]
        return first_of([each < _KNOWN_WELL * spread for each in error])


def first_of(happened: list[npt.NDArray[np.bool_]]) -> Places:
    """For each run the first look at which something happened, else the last one."""
    at = np.array(happened)
    at[-1] = True
    return np.asarray(at.argmax(axis=0))
