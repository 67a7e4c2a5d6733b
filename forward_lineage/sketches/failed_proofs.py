"""Proofs that a sketch serves another instance which are not worth trying: such have failed again and again.

Most of the time, the literals of the instance decide whether a sketch serves it. Some are larger than those of the
captured one, some are smaller. A range of days is within another one, a bound above another one. So proofs are counted
by that. Not to try one is never wrong: the sketch is passed over, and another is taken, or captured.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from decimal import Decimal

_IN_VAIN = 3  # proofs of a kind, before it is given up
_REMEMBERED = 1024  # kinds


class Tried:
    """How proofs went, by kind: what they are of, and how literals differ (`signs`)."""

    def __init__(self) -> None:
        self._failed: OrderedDict[str, int | None] = OrderedDict()  # None: one has succeeded

    def is_in_vain(self, kind: str) -> bool:
        """Whether proofs of a kind failed often, and none ever succeeded."""
        return (self._failed.get(kind) or 0) >= _IN_VAIN

    def note(self, kind: str, *, proven: bool) -> None:
        """Remember how a proof went."""
        before = self._failed.pop(kind, 0)
        self._failed[kind] = None if proven or before is None else before + 1
        if len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)


def signs(captured: Sequence[str], asked: Sequence[str]) -> tuple[int, ...]:
    """Return for each plain literal of an instance -1, 0, 1: below that of the captured one, the same, above it."""
    pairs = zip(map(_in_order, captured), map(_in_order, asked), strict=True)
    return tuple((theirs > ours) - (theirs < ours) for ours, theirs in pairs)


def _in_order(literal: str) -> tuple[bool, Decimal, str]:
    """A literal as something that can be compared: numbers, then text and dates."""
    if literal.removeprefix("-").replace(".", "", 1).isdecimal():
        return False, Decimal(literal), ""
    return True, Decimal(0), literal.partition("'")[2] or literal
