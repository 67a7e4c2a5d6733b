"""The search for the greatest u that bets refute, over rows that are added as they are read.

A wager does not keep rows. Of each segment of them it keeps every different y with how often it occurs, and a limit of
what a row of the segment is worth. A row is counted as if it were worth the most that any row of its segment is. So the
wealth here is at most the wealth of `betting`, and what is refuted here is refuted there. A row costs the same however
often the wager is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.bounds.moments import EPSILON, Floats

_FIRST_SHARE = 15 / 16
_SEGMENTS = 64
_BLOCKS = 18  # bits: a row is looked at with others, if these are a part of the rows left that is as small
_LEAST_SEGMENT = 16
_PLACES = 12
_BELOW, _ABOVE, _FAR = 12.0, 4.0, 45.0  # standard errors of the mean, and how many large rows may be missing
_STEPS = 24
_BETS = 6
_CLOSE = 0.004
_MOST_VALUES = 4_096
_LEADING_BITS = ~((1 << 40) - 1)  # a value without the others is less by at most a part in 4,096
Places = npt.NDArray[np.int64]
_MARGIN = 1e-5  # of the logarithm of wealth, over what rounding does to it


def shares(size: int) -> Floats:
    """Return the shares of wealth that are bet, for a universe of a size.

    Examples:
        >>> shares(8).tolist()
        [0.9375, 0.46875, 0.234375, 0.1171875]

    """
    return np.asarray(_FIRST_SHARE * 0.5 ** np.arange(max(size - 1, 1).bit_length() + 1), np.float64)


class Wager:
    """Bets that the mean of the rows that a condition keeps is greater than low + u. See `betting` for the terms.

    Args:
        size: how many rows the universe has.
        whole: whether all y are whole numbers.

    Examples:
        >>> wager = Wager(100_000)
        >>> wager.add(np.array([0.0, 1.0] * 500))
        >>> round(wager.limit(0.05), 4)
        0.445

    """

    def __init__(self, size: int, *, whole: bool = False) -> None:
        self._bets, self._whole = shares(size), whole
        block = _block(size)
        self._longest = -(-max(size // _SEGMENTS, _LEAST_SEGMENT) // block) * block
        self._left, self._spent, self._kept = size, 0.0, 0.0
        self._rows, self._found, self._drops, self._squares = 0, 0.0, False, 0.0
        # For each different y of a segment: y, how often it occurs, the number of the segment.
        self._values, self._counts, self._segment = np.empty(0), np.empty(0), np.empty(0, np.int64)
        # For each segment: how many rows the condition drops; u at evenly spaced places, as the first, the last and how
        # many steps there are to 1; the most that a row is worth at each; the least and the greatest slope, for u below
        # and above all of these.
        # Between two u the most is below a straight line, since it is the greatest of linear functions of u.
        self._dropped, self._least_slopes, self._slopes = np.empty(0), np.empty(0), np.empty(0)
        self._first, self._last, self._steps = np.empty(0), np.empty(0), np.empty(0)
        self._worths, self._rows_of_worths = np.empty(0), np.empty(0, np.int64)

    def add(self, above: Floats, part: Floats | None = None) -> None:
        """Add rows that were drawn.

        Args:
            above: y of each, in order.
            part: for each 1 if the condition keeps it, else 0; None: it keeps all.

        """
        if not above.size:
            return
        # Slopes and what was spent never fall. So the last slope of a block and what was spent before it limit a row.
        block = _block(self._left)
        first = np.arange(0, above.size, block)
        last = np.minimum(first + block, above.size) - 1
        slopes = 1 + (self._kept + (last if part is None else np.cumsum(part)[last] - part[last])) / (self._left - last)
        spent = (self._spent + np.cumsum(above)[first] - above[first]) / (self._left - first)
        before = max(self._found, self.sure())
        self._left -= above.size
        self._rows += above.size
        self._kept += float(above.size if part is None else part.sum())
        self._spent += float(above.sum())
        self._squares += float(np.square(above).sum())  # BLAS would start threads
        self._add_worths(slopes, spent, self._places(before), self._longest // block)
        self._add_values(above, part)

    def _places(self, before: float) -> Floats:
        """The u at which worths are kept: where limits will be, as far as one can say. Between them little is lost."""
        if not self._kept:
            return np.linspace(before, max(1.0, before), _PLACES)
        mean = self._spent / self._kept
        error = math.sqrt(max(self._squares / self._kept - mean * mean, 0.0) / self._kept)
        low = max(mean - _BELOW * error - _FAR * mean / self._kept, before)
        return np.linspace(low, max(mean + _ABOVE * error, low), _PLACES)

    def _add_worths(self, slopes: Floats, spent: Floats, places: Floats, blocks: int) -> None:
        """Add limits of what rows are worth, of so many blocks a segment."""
        starts = np.arange(0, slopes.size, blocks)
        worths = np.array([np.maximum.reduceat(slopes * place - spent, starts) for place in places]).T
        count, width = len(worths), float(places[-1] - places[0])
        self._worths = np.concatenate([self._worths, worths.ravel()])
        self._first = np.concatenate([self._first, np.full(count, places[0])])
        self._last = np.concatenate([self._last, np.full(count, places[-1])])
        self._steps = np.concatenate([self._steps, np.full(count, (_PLACES - 1) / width if width > 0 else 0.0)])
        self._rows_of_worths = np.arange(self._first.size) * _PLACES
        self._least_slopes = np.concatenate([self._least_slopes, np.minimum.reduceat(slopes, starts)])
        self._slopes = np.concatenate([self._slopes, np.maximum.reduceat(slopes, starts)])

    def _add_values(self, above: Floats, part: Floats | None) -> None:
        before = self._dropped.size
        segment = np.arange(above.size) // self._longest
        dropped = np.zeros(int(segment[-1]) + 1) if part is None else np.bincount(segment, 1 - part)
        self._dropped = np.concatenate([self._dropped, dropped])
        self._drops |= bool(dropped.any())
        values = above
        if part is not None:
            values, segment = above[part > 0], segment[part > 0]
        values, counts, segment = self._counted(values, segment)
        self._values = np.concatenate([self._values, values])
        self._counts = np.concatenate([self._counts, counts])
        self._segment = np.concatenate([self._segment, segment + before])

    def _counted(self, values: Floats, segment: Places) -> tuple[Floats, Floats, Places]:
        """Each different value of each segment, how often it occurs, and its segment."""
        if not values.size:
            return values, values, segment
        width = int(values.max()) + 1 if self._whole else 0
        if self._whole and width * (int(segment[-1]) + 1) <= 4 * values.size + _MOST_VALUES:
            found = np.bincount(segment * width + values.astype(np.int64))
            number = np.flatnonzero(found)
            return (number % width).astype(np.float64), found[number].astype(np.float64), number // width
        if segment[-1] == segment[0]:
            values = np.sort(values)
        else:
            order = np.lexsort((values, segment))
            values, segment = values[order], segment[order]
        starts = _first_of_each(values, segment)
        if starts.size > _MOST_VALUES:  # smaller ones win less; so nothing is refuted that would not be
            values = np.asarray((values.view(np.int64) & _LEADING_BITS).view(np.float64))
            starts = _first_of_each(values, segment)
        return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64), segment[starts]

    def sure(self) -> float:
        """Return what u is at least, whatever the rows not yet read are."""
        most = self._kept + self._left
        return self._spent / most if most else 0.0

    def limit(self, delta: float) -> float:
        """Return a number that u is below, at any time, with probability ≤ `delta`; it never falls.

        Every number returned is either sure, or one whose bet was seen to win 1/δ. So no search can make it wrong.
        """
        low = max(self._found, self.sure())
        if self._kept and self._rows:
            self._target = math.log(self._bets.size / delta) + _MARGIN
            low = self._search(low, self._spent / self._kept)
        self._found = max(float(low) * (1 - 4 * EPSILON * (self._rows + 8)), 0.0)
        return self._found

    def _worth(self, u: float) -> Floats:
        """For each segment the most that a row of it is worth, if u is right."""
        step = np.minimum(np.maximum((u - self._first) * self._steps, 0.0), _PLACES - 1.0)
        before = np.minimum(step.astype(np.int64), _PLACES - 2)
        at = self._rows_of_worths + before
        low = self._worths[at]
        between = low + (self._worths[at + 1] - low) * (step - before)
        below, above = np.maximum(self._first - u, 0.0), np.maximum(u - self._last, 0.0)
        return np.asarray(between + above * self._slopes - below * self._least_slopes)

    # ------------------------------------------------------------ search

    def _gain(self, u: float, bet: int) -> float:
        """By how much the logarithm of the wealth of a bet is over what refutes u."""
        gain = self._gains_at(u)
        return math.inf if gain is None else gain(bet)

    def _gains_at(self, u: float) -> Callable[[int], float] | None:
        """Return what gives that of each bet; None: u is refuted for sure."""
        worth = self._worth(u)
        if worth.min() <= 0:
            return None
        won = self._values / worth[self._segment] - 1
        lost = u / worth - 1 if self._drops else None

        def gain(bet: int) -> float:
            share = self._bets[bet]
            found = float(np.dot(self._counts, np.log1p(share * won))) - self._target
            return found if lost is None else found + float(np.dot(self._dropped, np.log1p(share * lost)))

        return gain

    def _search(self, low: float, high: float) -> float:
        """Return the greatest u found between a limit that holds and one that cannot be refuted."""
        if high <= low:
            return low
        at = self._guess(low, high)
        bet = self._best_bet(at, self._nearest_bet(at, high))
        for _ in range(_BETS):
            low = self._between(low, high, at, bet)
            near = min(low + _CLOSE * (high - low), high)
            better = self._best_bet(near, bet)
            if better == bet:
                break
            bet, at = better, near
        return low

    def _between(self, low: float, high: float, at: float, bet: int) -> float:
        """Halve, or go where a straight line reaches the target; the gain over the target is about straight in u."""
        reach, gains = high, {high: self._gain(high, bet)}
        for step in range(_STEPS):
            gain = gains[at] = self._gain(at, bet)
            low, high = (at, high) if gain >= 0 else (low, at)
            if high - low <= _CLOSE * (reach - low):
                break
            at = _next(low, high, gains if step % 3 < 2 else {})
        return low

    def _best_bet(self, u: float, bet: int) -> int:
        """Climb from a bet to the one that wins most; the wealth's logarithm is concave in the share."""
        gain_of = self._gains_at(u)
        if gain_of is None:
            return bet
        gain = gain_of(bet)
        for step in (1, -1):
            moved = False
            while 0 <= bet + step < self._bets.size and (other := gain_of(bet + step)) > gain:
                bet, gain, moved = bet + step, other, True
            if moved:
                break
        return bet

    def _nearest_bet(self, u: float, mean: float) -> int:
        apart = mean - u
        share = u * apart / (self._variance(mean) + apart * apart) if apart else 0.0
        bet = round(math.log2(_FIRST_SHARE / share)) if share > 0 else 0
        return min(max(bet, 0), self._bets.size - 1)

    def _guess(self, low: float, high: float) -> float:
        kept = max(float(self._counts.sum()), 1.0)
        part = self._left / (self._left + self._rows)
        width = math.sqrt(2 * self._target * self._variance(high) * part / kept) + high * self._target / (2 * kept)
        return min(max(high - width, low + (high - low) / 64), high - (high - low) / 64)

    def _variance(self, mean: float) -> float:
        with np.errstate(over="ignore"):  # it only says where to begin
            squares = np.square(self._values - mean)
        return float(np.dot(self._counts, squares)) / max(float(self._counts.sum()), 1.0)


def _block(left: int) -> int:
    """How many rows are looked at together: a power of two."""
    return 1 << max(left.bit_length() - _BLOCKS, 0)


def _first_of_each(values: Floats, segment: Places) -> Places:
    """Where each different value of a segment begins; both are in order."""
    new = np.ones(values.size, np.bool_)
    new[1:] = (values[1:] != values[:-1]) | (segment[1:] != segment[:-1])
    return np.asarray(np.flatnonzero(new), np.int64)


def _next(low: float, high: float, gains: dict[float, float]) -> float:
    """Where a line between two tried places reaches 0, kept off the ends; else the middle."""
    above, below = gains.get(low, math.inf), gains.get(high, -math.inf)
    if not (math.isfinite(above) and math.isfinite(below)) or above <= below:
        return (low + high) / 2
    return low + (high - low) * min(max(above / (above - below), 0.02), 0.98)
