"""Cells that carry the set of cells they were made of: numpy itself is the oracle of movement and arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np


class Carrier:
    """A value that is only what it was made of."""

    def __init__(self, made_of: frozenset[Any] = frozenset()) -> None:
        self.made_of = made_of

    def _with(self, *others: Any) -> Carrier:
        sets = [each.made_of for each in others if isinstance(each, Carrier)]
        return Carrier(self.made_of.union(*sets))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _with
    __neg__ = __pos__ = __abs__ = _with

    def conjugate(self) -> Carrier:
        return self


def carriers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    made = np.empty(shape, object)
    for number, place in enumerate(np.ndindex(shape)):
        made[place] = Carrier(frozenset([(name, number)]))
    return made


def matrix(result: np.ndarray, name: str, size: int) -> np.ndarray:
    found = np.zeros((result.size, size), bool)
    for row, each in enumerate(result.reshape(-1).tolist()):
        for of, number in each.made_of if isinstance(each, Carrier) else ():
            if of == name:
                found[row, number] = True
    return found
