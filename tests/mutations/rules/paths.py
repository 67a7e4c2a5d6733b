"""Which functions of the rules some work goes through. Imports none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

from tests.structure import REPOSITORY

Result = TypeVar("Result")
Functions = frozenset[tuple[str, str]]  # file and qualified name


class Paths:
    """Notes functions while it is open, in a set that may be changed."""

    def __init__(self) -> None:
        self._found: set[tuple[str, str]] = set()

    def into(self, found: set[tuple[str, str]]) -> None:
        self._found = found

    def __enter__(self) -> Self:
        root = f"{REPOSITORY}/"
        rules = f"{root}rewrites"

        def calls(frame: FrameType, _: str, __: object) -> None:
            if frame.f_code.co_filename.startswith(rules):
                self._found.add((frame.f_code.co_filename.removeprefix(root), frame.f_code.co_qualname))

        self._before, self._calls = sys.gettrace(), calls
        self.again()
        return self

    def again(self) -> None:
        """Go on noting: Python stops where it could not call the function that notes, such as at too deep a stack."""
        sys.settrace(self._calls)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


def recorded(work: Callable[[], Result]) -> tuple[Result, Functions]:
    """What some work returns, and the functions of the rules that it goes through."""
    found: set[tuple[str, str]] = set()
    with Paths() as paths:
        paths.into(found)
        returned = work()
    return returned, frozenset(found)
