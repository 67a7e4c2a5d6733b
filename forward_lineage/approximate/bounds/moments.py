"""Moments of a sample: how many rows, mean, squares, least, greatest; for bounders of a fixed number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Moments:
    """A sample, or many of them at once: arrays of one shape.

    Attributes:
        count: how many values.
        mean: their mean, 0 of no values.
        squares: the sum of their squared distances from the mean. No rounding makes it less than it is.
        least: the least value, infinity of none.
        greatest: the greatest value, minus infinity of none.

    """

    count: Floats
    mean: Floats
    squares: Floats
    least: Floats
    greatest: Floats

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Moments:
        """Return the moments along the last axis of an array.

        Examples:
            >>> found = Moments.of([1.0, 2.0, 6.0])
            >>> float(found.mean), float(found.squares)
            (3.0, 14.0)

        """
        array = np.asarray(values, np.float64)
        count = np.full(array.shape[:-1], float(array.shape[-1]))
        if not array.shape[-1]:
            zero = np.zeros(array.shape[:-1])
            return cls(count, zero, zero, zero + np.inf, zero - np.inf)
        mean = array.mean(axis=-1)
        squares = np.square(array - mean[..., None]).sum(axis=-1)
        return cls(count, mean, squares, array.min(axis=-1), array.max(axis=-1))

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both samples together.   [Chan, Golub and LeVeque 1983]"""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        apart = other.mean - self.mean
        return Moments(
            count,
            self.mean + apart * share,
            self.squares + other.squares + np.square(apart) * self.count * share,
            np.minimum(self.least, other.least),
            np.maximum(self.greatest, other.greatest),
        )

    @property
    def deviation(self) -> Floats:
        """The root of the mean squared distance from the mean."""
        return np.asarray(np.sqrt(self.squares / np.maximum(self.count, 1.0)))

    def mirrored(self, total: Any) -> Moments:
        """Return the moments of `total` − each value.

        Examples:
            >>> float(Moments.of([1.0, 2.0]).mirrored(10.0).mean)
            8.5

        """
        return Moments(self.count, total - self.mean, self.squares, total - self.greatest, total - self.least)

    def without_greatest(self) -> Moments:
        """Return the moments without one greatest value; its own least and greatest are those of before.

        The rest of the squares is a difference. It is rounded up, since a lesser variance would be a narrower
        interval.

        Examples:
            >>> left = Moments.of([1.0, 3.0, 8.0]).without_greatest()
            >>> float(left.mean), round(float(left.squares), 12)
            (2.0, 2.0)

        """
        count = np.maximum(self.count - 1, 0.0)
        greatest = np.where(np.isfinite(self.greatest), self.greatest, 0.0)
        some = np.maximum(count, 1.0)
        mean = np.where(count > 0, self.mean - (greatest - self.mean) / some, 0.0)
        squares = self.squares - (greatest - self.mean) * (greatest - mean) + 8 * EPSILON * self.squares
        return Moments(count, mean, np.maximum(squares, 0.0), self.least, self.greatest)


LowerLimit = Callable[[Moments, Any, Any, Any, Any], Floats]
"""(sample, low, high, size, delta) → a number that the mean of the population is below with probability ≤ delta.

The sample is drawn without replacement, its count settled beforehand, from `size` values in [low, high]. Numbers and
arrays may be mixed. A greater size, or a wider range, gives a lower limit or the same.
"""
