"""Which functions of the rules some work goes through. Imports none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from tests.structure import REPOSITORY

Result = TypeVar("Result")
Functions = frozenset[tuple[str, str]]  # file and qualified name


def recorded(work: Callable[[], Result]) -> tuple[Result, Functions]:
    """What some work returns, and the functions of the rules that it goes through."""
    found: set[tuple[str, str]] = set()
    root = f"{REPOSITORY}/"
    rules = f"{root}rewrites"

    def calls(frame: FrameType, _: str, __: object) -> None:
        if frame.f_code.co_filename.startswith(rules):
            found.add((frame.f_code.co_filename.removeprefix(root), frame.f_code.co_qualname))

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        returned = work()
    finally:
        sys.settrace(before)
    return returned, frozenset(found)
