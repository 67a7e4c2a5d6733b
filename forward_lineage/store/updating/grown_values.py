"""The values of a group that has other rows than before: those of before, less those that went, and those that came.

    sum   12 = 10 − 3 + 5        count   4 = 4 − 1 + 1        avg   3.0 = 12 / 4, as Spark divides

Averages are divided as Spark divides them, if that is one number whatever the order in which Spark adds:

- of whole numbers, Spark adds up in floating point. That is exact while no sum can pass 2^53;
- of decimals of up to 11 digits it adds whole numbers so, divides twice, and rounds. If that is exact, the quotient is
  wrong by less than 2^-50 of it; so it is told where all such numbers round to one;
- of others it divides decimals exactly enough, and rounds half up.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating.growing_groups import ADDED, AVERAGE, KEY, Growing, Parts
from forward_lineage.store.updating.joining_rows import NotProvableError

Values = Sequence[Any]

_EXTREMES: dict[str, Callable[..., Any]] = {"min": min, "max": max}
_MOST = 2**63
_DIGITS = 80  # more than two sums of 38 have
_EXACT = 2**53
"""Up to which all whole numbers are floating point numbers."""
_NEAR = Fraction(1, 2**50)
_QUICK_DIGITS = 15
"""Of averages which Spark may compute in floating point."""
_MORE_DIGITS = 4
"""That an average has, more than what it is of."""


def grown(
    how: Growing,
    kinds: Sequence[str],
    then: Values,
    *,
    came: Values | None = None,
    went: Values | None = None,
    now: Values | None = None,
) -> tuple[Any, ...]:
    """Return the values of a group that has other rows: its columns, and the hidden ones behind them.

    Args:
        how: what the columns are.
        kinds: the types of all these columns, as Spark names them.
        then: the values of before; of hidden columns only if `now` is not given.
        came: all of those of the rows that came, if some did.
        went: the same of those that went.
        now: the values that the hidden columns have now.

    Raises:
        NotProvableError: a sum is too large for its type, or it is not known whether it was; or an average is not told
            by its sum.

    """
    functions, counts = (*how.columns, *how.functions), counted_sums(how)
    asked = len(how.columns) if now is not None else len(functions)
    found: list[Any] = []
    for place, function in enumerate(functions[:asked]):
        values = [None if each is None else each[place] for each in (then, went, came)]
        found.append(_grown(function, kinds[place], *values, counted=place in counts))
    found += now or ()
    for place, count in counts.items():
        if place < asked:
            _check_sums(kinds[place], place, count, (then, came, went), found[count])
            found[place] = None if is_empty(found[count]) else found[place]
    for place, parts in enumerate(how.parts):
        if how.columns[place] == AVERAGE:
            found[place] = _average(kinds[place], parts, found, kinds)
    return tuple(found)


def counted_sums(how: Growing) -> dict[int, int]:
    """Return where it stands how many values a sum is of, by the places of sums for which it is known."""
    of_averages = {parts.sum: parts.count for parts in how.parts if parts.sum is not None}
    of_sums = {place: parts.count for place, parts in enumerate(how.parts) if parts.sum is None}
    return {place: count for each in (of_averages, of_sums) for place, count in each.items() if count is not None}


def is_empty(count: int) -> bool:
    """Tell whether a group has no values, so that their sum is NULL."""
    return count == 0


def _grown(function: str, kind: str, then: Any, went: Any, came: Any, *, counted: bool) -> Any:
    if function in (KEY, AVERAGE):
        return then
    if function in _EXTREMES:  # a hidden one is a bound, also when rows went
        known = [each for each in (then, came) if each is not None]
        return _EXTREMES[function](known) if known else None
    if then is None and came is not None and kind.startswith("decimal") and not counted:
        raise NotProvableError("a sum is NULL, which may mean that it was too large")
    if then is None and came is None and not counted:
        return None
    return _sum(kind, then or 0, taken(went), came or 0)


def taken(went: Any) -> Any:
    """Return what is to be taken away."""
    return went or 0


def _sum(kind: str, then: Any, went: Any, came: Any) -> Any:
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        found = then - went + came
        sized = sized_decimal(kind)
        if abs(found) >= (10 ** (sized[0] - sized[1]) if sized else _MOST):
            raise NotProvableError("a sum may be too large for its type")
        return found if sized is None else _scaled(found, sized[1])


def _scaled(found: Any, scale: int) -> decimal.Decimal:
    """A decimal with as many digits behind the point as its type has."""
    return decimal.Decimal(found).quantize(decimal.Decimal(1).scaleb(-scale))


def sized_decimal(kind: str) -> tuple[int, int] | None:
    """Return how many digits a decimal type has, and how many of these behind the point; None: it is another type."""
    sized = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    return (int(sized[1]), int(sized[2])) if sized else None


def _check_sums(kind: str, place: int, count: int, sides: Sequence[Values | None], now: int) -> None:
    """A decimal sum that is NULL where there are values was too large.

    Args:
        kind: its type.
        place: where it stands.
        count: where it stands of how many values it is.
        sides: the values of before, of rows that came, and of those that went.
        now: of how many values it is now.

    """
    came, went = (0 if each is None else each[count] for each in sides[1:])
    for values, number in zip(sides, (now - came + went, came, went), strict=True):
        if kind.startswith("decimal") and number and values is not None and values[place] is None:
            raise NotProvableError("a sum is NULL, which may mean that it was too large")


# ------------------------------------------------------------ averages


def _average(kind: str, parts: Parts, found: Sequence[Any], kinds: Sequence[str]) -> Any:
    assert parts.sum is not None and parts.count is not None, "an average has both"
    total, count = found[parts.sum], found[parts.count]
    if not count:
        return None
    if total is None:
        raise NotProvableError("a sum is NULL, which may mean that it was too large")
    if parts.bounds is not None:
        return _of_whole_numbers(total, count, [found[each] for each in parts.bounds])
    sized, summed = sized_decimal(kind), sized_decimal(kinds[parts.sum])
    if sized is None or summed is None:
        raise NotProvableError(f"an average of type {kind} is not told by its sum")
    return _of_decimals(Fraction(total) / count, count, sized, summed)


def _of_whole_numbers(total: int, count: int, bounds: Sequence[int]) -> float:
    if max(map(abs, bounds)) * count > _EXACT:
        raise NotProvableError("an average is of so many numbers, or of such large ones, that it may have been rounded")
    return total / count


def _of_decimals(exact: Fraction, count: int, sized: tuple[int, int], summed: tuple[int, int]) -> decimal.Decimal:
    digits, scale = sized
    near = [exact]
    if digits <= _QUICK_DIGITS:
        if count * 10 ** (digits - _MORE_DIGITS) > _EXACT:
            raise NotProvableError("an average is of so many numbers that it may have been rounded")
        near = [exact * (1 - _NEAR), exact * (1 + _NEAR)]
    rounded = {_half_up(each, scale) for each in near}
    if len(rounded) > 1 or scale != min(summed[1] + _MORE_DIGITS, digits):
        raise NotProvableError("an average is so close to the middle of two numbers that it may be either")
    (found,) = rounded
    if abs(found) >= 10**digits:
        raise NotProvableError("an average may be too large for its type")
    return decimal.Decimal(found).scaleb(-scale, decimal.Context(prec=_DIGITS))


def _half_up(value: Fraction, scale: int) -> int:
    """The nearest number with so many digits behind the point, in units of the last; of two the one away from 0."""
    doubled = 2 * abs(value) * 10**scale
    found = (int(doubled) + 1) // 2
    return found if value >= 0 else -found


def check_kinds(how: Growing, kinds: Sequence[str]) -> None:
    """Check that values of columns can be compared, or added in any order.

    Args:
        how: what the columns are.
        kinds: the types of these and of the hidden ones.

    Raises:
        NotProvableError: those of one cannot.

    """
    for column, kind in zip((*how.columns, *how.functions), kinds, strict=True):
        exact = kind in joined.INTEGERS or kind.startswith("decimal(")
        known = kind == "double" or exact if column == AVERAGE else exact
        if not (known if column in {*ADDED, AVERAGE} else joined.is_comparable(kind)):
            raise NotProvableError(f"{column} of type {kind} is not added to")
