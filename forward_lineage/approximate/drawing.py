"""The order in which rows of a group are read: that of the scramble, or one that is drawn while it is needed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.integer]
_SPARE = 1.02  # so many more are drawn at once than are needed, since some come twice


class ScrambleOrder:
    """Reads rows in the order of the scramble.

    Args:
        size: how many rows the group has.

    """

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def take(self, count: int) -> Places:
        """Return the places of the next rows among those of the group; fewer than asked for at the end."""
        first, self._at = self._at, min(self._at + max(count, 0), self._size)
        return np.arange(first, self._at)


class DrawnOrder:
    """Draws rows without replacement, from the entropy of the system.

    Numbers drawn with replacement, each once and without those drawn before, are any of the others with the same
    probability. They are put in random order. Once half is drawn, the others are put in random order at once.

    Args:
        size: how many rows the group has.

    """

    def __init__(self, size: int) -> None:
        self._size, self._count = size, 0
        self._chance = np.random.default_rng()
        self._drawn = np.zeros(size, np.bool_)
        self._rest: Places | None = None

    def take(self, count: int) -> Places:
        """Return the places of the next rows among those of the group; fewer than asked for at the end."""
        wanted = min(max(count, 0), self._size - self._count)
        self._count += wanted
        if self._count == self._size and self._rest is None:
            self._rest = np.empty(0, np.int64)
            return np.flatnonzero(~self._drawn)  # all the rest: their order says nothing
        if self._rest is None and 2 * self._count > self._size:
            self._rest = self._chance.permutation(np.flatnonzero(~self._drawn))
        if self._rest is not None:
            found, self._rest = self._rest[:wanted], self._rest[wanted:]
            return found
        parts: list[Places] = [np.empty(0, np.int64)]
        kind = np.uint32 if self._size < 1 << 32 else np.int64
        while (left := wanted - sum(each.size for each in parts)) > 0:
            numbers = np.sort(self._chance.integers(0, self._size, int(left * _SPARE) + 8, kind))
            new = ~self._drawn[numbers]
            new[1:] &= numbers[1:] != numbers[:-1]
            numbers = numbers[new]
            self._chance.shuffle(numbers)
            parts.append(numbers[:left])
            self._drawn[parts[-1]] = True
        return np.concatenate(parts[1:])
