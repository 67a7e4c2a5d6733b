"""Which cases of a test run every day; the others run in the long tier.

A test that says the same of many inputs keeps those every day that take other ways through the code, or are refused for
other reasons; inputs that go the same way by another name wait for `make test-long`. What a capability is for, from end
to end, is tried every day.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def every_day(cases: Iterable[Any], chosen: Collection[Any] | Callable[[Any], bool]) -> list[Any]:
    """Return the parameters of a test, those that are not chosen for the long tier.

    Args:
        cases: a value each, or a tuple of several parameters.
        chosen: those of every day, or what tells them.

    """
    known = list(cases)
    is_chosen = chosen if callable(chosen) else chosen.__contains__
    if not callable(chosen):
        unknown = [each for each in chosen if each not in known]
        assert not unknown, f"no such case: {unknown}"
    values = [each if isinstance(each, tuple) else (each,) for each in known]
    return [
        pytest.param(*value, marks=[] if is_chosen(each) else [pytest.mark.long])
        for each, value in zip(known, values, strict=True)
    ]
