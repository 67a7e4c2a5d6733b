"""Sums of doubles without rounding errors: each is split into parts that are multiples of the same power of two.

Doubles that are multiples of 2ᵘ, and at most 2ᵘ⁺ᵇ, are whole numbers in another unit. As long as sums stay below 2ᵘ⁺⁵³
no addition rounds, whatever the order. So a column is split into as few such parts as its values need: of cents up to
a thousand, two.   [Rump, Ogita and Oishi 2008, ExtractVector; Demmel and Nguyen 2013]

With C = 1.5 · 2ᵘ⁺⁵² and |x| ≤ 2ᵘ⁺⁵¹, x + C lies between 2ᵘ⁺⁵² and 2ᵘ⁺⁵³, where doubles are the multiples of 2ᵘ. So
(x + C) − C is a multiple of 2ᵘ that is nearest to x. The rest of x is at most 2ᵘ⁻¹, and has no more digits than x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

#: So many numbers may be added up as doubles; sums of more are whole numbers of 64 bits.
BATCH = 1 << 16
_DIGITS = 53
_WHOLE_DIGITS = 62
_MOST_PARTS = 3
_LARGEST = 900  # powers of two beyond these are left alone: nothing overflows, or loses digits near 0
Parts = npt.NDArray[np.number]


@dataclass(frozen=True)
class ExactSums:
    """How the values of a column are split.

    Attributes:
        units: of each part the u of which it has multiples of 2ᵘ, falling.

    Examples:
        >>> cents = ExactSums.of(0.01, 99.99, rows=1_000_000, whole=False)
        >>> parts = zip(cents.parts(np.array([0.1, 99.99])), cents.units)
        >>> cents.total([int(part.sum() * 2.0**-unit) for part, unit in parts]) == Fraction(0.1) + Fraction(99.99)
        True

    """

    units: tuple[int, ...]

    @classmethod
    def of(cls, least: float, most: float, *, rows: int, whole: bool) -> ExactSums | None:
        """Return how values are split; None: they are too different in size.

        Args:
            least: no value but 0 is nearer to 0.
            most: no value is farther from 0.
            rows: how many may be added up.
            whole: whether all are whole numbers, up to 2⁵³.

        """
        if not most:
            return cls((0,))
        top, end = math.frexp(most)[1], 0 if whole else math.frexp(least)[1] - _DIGITS
        digits = min(_DIGITS - BATCH.bit_length(), _WHOLE_DIGITS - rows.bit_length())
        if digits < 1 or top > _LARGEST or end < -_LARGEST:
            return None
        units = [end]
        while units[0] + digits < top:  # from the last part on: each has as many digits as it may
            units.insert(0, units[0] + digits)
        return cls(tuple(units)) if len(units) <= _MOST_PARTS else None

    def parts(self, values: Parts) -> Iterator[Parts]:
        """Yield the parts of values, whose sum is the values."""
        left = values
        for unit in self.units[:-1]:
            large = 1.5 * 2.0 ** (unit + _DIGITS - 1)
            part = np.add(left, large, dtype=np.float64)
            part -= large
            yield part
            left = left - part
        yield left

    def total(self, sums: list[int]) -> Fraction:
        """Return the sum of the values.

        Args:
            sums: of each part, in its unit.

        """
        end = self.units[-1]
        return (
            Fraction(sum(each << (unit - end) for each, unit in zip(sums, self.units, strict=True)))
            * Fraction(2) ** end
        )
