"""Intervals of numbers, and what holds of their products."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """All numbers from one to another, both included.

    Attributes:
        low: the least.
        high: the greatest.

    Examples:
        >>> 2.0 in Interval(1.0, 3.0), Interval(1.0, 3.0).width
        (True, 2.0)

    """

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.high - self.low

    @property
    def exact(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high

    def overlaps(self, other: Interval) -> bool:
        """Tell whether a number is in both.

        Examples:
            >>> Interval(1, 2).overlaps(Interval(2, 3)), Interval(1, 2).overlaps(Interval(2.5, 3))
            (True, False)

        """
        return self.low <= other.high and other.low <= self.high

    def narrowed(self, other: Interval) -> Interval:
        """Return the numbers that are in both, if both hold; two that do not overlap give their nearest ends.

        Examples:
            >>> Interval(1, 3).narrowed(Interval(2, 5))
            Interval(low=2, high=3)

        """
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else Interval(high, low)

    def scaled(self, factor: float) -> Interval:
        """Return the interval of a multiple.

        Examples:
            >>> Interval(-1, 3).scaled(-2)
            Interval(low=-6, high=2)

        """
        return self.product(Interval(factor, factor))

    def product(self, other: Interval) -> Interval:
        """Return the interval of the product of a number of each.

        The thesis multiplies the lower ends, and the upper ends. Of a negative number that is no interval of the
        product, so all four products are compared.   [Macke 2021, §6.4.1, repaired]

        Examples:
            >>> Interval(2, 3).product(Interval(-5, -4))
            Interval(low=-15, high=-8)

        """
        ends = [one * another for one in (self.low, self.high) for another in (other.low, other.high)]
        return Interval(min(ends), max(ends))
