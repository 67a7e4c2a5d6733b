"""The order in which rows of a group are read: that of the scramble, or one that is drawn while it is needed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.integer]
_FEW, _MANY = 4_096, 1 << 20
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

    While few of many are drawn, their numbers are kept in order: to mark them would touch as many pages of memory.

    Args:
        size: how many rows the group has.
        chance: where numbers come from, for several orders; None: one of its own.

    """

    def __init__(self, size: int, chance: np.random.Generator | None = None) -> None:
        self._size, self._count, self._given = size, 0, chance
        self._kind = np.uint32 if size < 1 << 32 else np.int64
        self._few: Places = np.empty(0, self._kind)
        self._marks: npt.NDArray[np.bool_] | None = None
        self._rest: Places | None = None

    @cached_property
    def _chance(self) -> np.random.Generator:
        return self._given or np.random.default_rng()

    def take(self, count: int) -> Places:
        """Return the places of the next rows among those of the group; fewer than asked for at the end."""
        wanted = min(max(count, 0), self._size - self._count)
        self._count += wanted
        if self._count == self._size and self._rest is None:
            self._rest = np.empty(0, np.int64)
            return np.flatnonzero(~self._marked())  # all the rest: their order says nothing
        if self._rest is None and 2 * self._count > self._size:
            self._rest = self._chance.permutation(np.flatnonzero(~self._marked()))
        if self._rest is not None:
            found, self._rest = self._rest[:wanted], self._rest[wanted:]
            return found
        if self._count > _FEW or self._size < _MANY:
            self._marked()
        parts: list[Places] = []
        while (left := wanted - sum(each.size for each in parts)) > 0:
            parts.append(self._some(left))
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _some(self, most: int) -> Places:
        """Draw rows, up to so many."""
        numbers = np.sort(self._chance.integers(0, self._size, int(most * _SPARE) + 8, self._kind))
        new = self._are_new(numbers)
        new[1:] &= numbers[1:] != numbers[:-1]
        numbers = numbers[new]
        self._chance.shuffle(numbers)
        found = numbers[:most]
        if self._marks is not None:
            self._marks[found] = True
        else:
            self._few = np.sort(np.concatenate([self._few, found]))
        return found

    def _are_new(self, numbers: Places) -> npt.NDArray[np.bool_]:
        if self._marks is not None:
            return ~self._marks[numbers]
        if not self._few.size:
            return np.ones(numbers.size, np.bool_)
        places = np.minimum(np.searchsorted(self._few, numbers), self._few.size - 1)
        return np.asarray(self._few[places] != numbers)

    def _marked(self) -> npt.NDArray[np.bool_]:
        """Which rows are drawn, for each."""
        if self._marks is None:
            self._marks = np.zeros(self._size, np.bool_)
            self._marks[self._few] = True
        return self._marks
