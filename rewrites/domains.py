"""Domains: what is known of the values of an expression, so that each value can be its own id.   [Zhang 2007, §4.3]

v  →  place(v), its place among all values that the domain has: 0 for NULL, and from 1 in their order
Ensures:  the value alone says the place (no dictionary, no second look at the table), and the place alone the value. A
          value outside the domain fails the query: it never gets another one's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Protocol

from sqlglot import exp

from rewrites.lineage_functions import dl_granule, dl_granule_value, dl_listed, dl_listed_value

WHOLE = 1 << 63
"""How many ids there are, see `udafs.delta.MAX_ID`."""
_DAYS = (-(1 << 31), (1 << 31) - 1)
_HALF = (1 - (1 << 62), (1 << 62) - 1)  # with NULL as many as there are ids
#: Spark's types whose values are integers: the least and the greatest that are ids by themselves.
_INTEGERS = {
    "BOOLEAN": (0, 1),
    "TINYINT": (-(1 << 7), (1 << 7) - 1),
    "SMALLINT": (-(1 << 15), (1 << 15) - 1),
    "INT": _DAYS,
    "DATE": _DAYS,
    "BIGINT": _HALF,
    "TIMESTAMP": _HALF,
    "TIMESTAMP_NTZ": _HALF,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
_LONGEST_DECIMAL = 18  # digits that fit a BIGINT
#: What Spark's own functions of a date or a time return, which is an INT; years, of any DATE or TIMESTAMP.
_OF_CALENDAR = {
    "year": (-5_877_641, 5_881_580),
    "quarter": (1, 4),
    "month": (1, 12),
    "weekofyear": (1, 53),
    "dayofyear": (1, 366),
    "day": (1, 31),
    "dayofmonth": (1, 31),
    "dayofweek": (1, 7),
    "weekday": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}


class Domain(Protocol):
    """The values that an expression may have."""

    @property
    def size(self) -> int:
        """How many places there are, that of NULL among them."""

    def place(self, value: exp.Expr) -> exp.Expr:
        """Return the place of a value, a BIGINT that is never NULL; the tree becomes part of it."""

    def value(self, place: exp.Expr) -> exp.Expr:
        """Return the value at a place."""


@dataclass(frozen=True)
class Integers:
    """Values that are integers by their type: numbers, days, microseconds, the digits of a decimal.

    Attributes:
        type: as Spark's `DataType.sql` spells it.
        least: the first one.
        most: the last one.
        of_type: whether these are bounds of the type; else something else is known of the expression.
    """

    type: str
    least: int
    most: int
    of_type: bool = True

    @property
    def size(self) -> int:
        """How many places there are, that of NULL among them."""
        return self.most - self.least + 2

    def place(self, value: exp.Expr) -> exp.Expr:
        """Return the place of a value, a BIGINT that is never NULL; the tree becomes part of it."""
        return dl_granule(value, self.type, self.least, self.most)

    def value(self, place: exp.Expr) -> exp.Expr:
        """Return the value at a place."""
        return dl_granule_value(place, self.type, self.least)


@dataclass(frozen=True)
class Listed:
    """Strings that are written into the query, because a table has few of them.

    Attributes:
        values: in UTF-8, ascending, as Spark orders strings: by their bytes.
    """

    values: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """How many places there are, that of NULL among them.

        One string at least, so that no number of one digit takes all ids beside it.
        """
        return max(len(self.values), 1) + 1

    def place(self, value: exp.Expr) -> exp.Expr:
        """Return the place of a value, a BIGINT that is never NULL; the tree becomes part of it."""
        return dl_listed(value, self._list())

    def value(self, place: exp.Expr) -> exp.Expr:
        """Return the value at a place."""
        return dl_listed_value(place, self._list())

    def _list(self) -> bytes:
        return b"".join(len(each).to_bytes(4, "big") + each for each in self.values)


def fit(domains: Iterable[Domain]) -> bool:
    """Say whether all combinations of values have ids."""
    return prod(domain.size for domain in domains) <= WHOLE


def integers(type_name: str, expression: exp.Expr, is_sparks: Callable[[str], bool]) -> Integers | None:
    """Return the values that an expression of a type may have; None where they are no integers.

    Args:
        type_name: as Spark's `DataType.sql` spells it.
        expression: as parsed.
        is_sparks: says whether a function of that name is Spark's own.
    """
    called = expression.name.lower() if isinstance(expression, exp.Anonymous) else ""
    if type_name == "INT" and called in _OF_CALENDAR and is_sparks(called):
        return Integers(type_name, *_OF_CALENDAR[called], of_type=False)
    if type_name in _INTEGERS:
        return Integers(type_name, *_INTEGERS[type_name])
    digits = _DECIMAL.fullmatch(type_name)
    if digits is None or int(digits[1]) > _LONGEST_DECIMAL:
        return None
    most = 10 ** int(digits[1]) - 1
    return Integers(type_name, -most, most)
