"""Whether arithmetic on decimals gives a number: without ANSI, one of more than 38 digits silently becomes NULL.

Under ANSI such a query fails instead, so that its answer is nobody's concern. The digits are those of Spark's types: of
a sum one more than of its longer operand, of a product those of both and one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from forward_lineage.sketches.safety.algebra import AggregateCall, Call, Column, Const, Ref, Scalar

_MOST = 38
_MOST_BEFORE_POINT_OF_A_QUOTIENT = 32  # Spark keeps six digits behind it
_LONG = 20  # digits, as Spark counts them
_ROWS = 10  # digits by which a sum grows, as Spark counts them
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")

Digits = tuple[int, int]
"""Before the point, and behind it."""


def may_be_null(op: str, left: Scalar, right: Scalar, calls: Mapping[Column, AggregateCall]) -> bool:
    """Say whether a decimal that is made of two numbers may have too many digits.

    Args:
        op: ``+``, ``-``, ``*``, ``/`` or ``%``.
        left: one number.
        right: the other one.
        calls: the aggregates that columns stand for.

    """
    a, b = digits(left, calls), digits(right, calls)
    if a is None or b is None or op == "%":  # of nothing is known, or it is one by zero
        return True
    if op == "/":
        by_zero = not isinstance(right, Const) or not right.value
        return by_zero or a[0] + b[1] > _MOST_BEFORE_POINT_OF_A_QUOTIENT
    return sum(_of(op, a, b)) > _MOST


def holds_every_integer(type_: str) -> bool:
    """Say whether a cast of an integer to a type, written as SQL, can be no overflow."""
    found = _DECIMAL.fullmatch(type_.strip().lower())
    return found is not None and int(found[1]) - int(found[2]) >= _LONG - 1


def digits(number: Scalar, calls: Mapping[Column, AggregateCall]) -> Digits | None:  # noqa: PLR0911 - one arm for each kind
    """Return how many digits the values of a number have at most; None where that is not known."""
    match number:
        case Const(value):
            return _of_value(value)
        case Ref(column):
            if column in calls:
                return _of_aggregate(calls[column])
            found = _DECIMAL.fullmatch(column.facts.type.strip().lower())
            if found is not None:
                return int(found[1]) - int(found[2]), int(found[2])
            return (_LONG, 0) if number.family == "int" else None
        case Call("neg", (operand,)):
            return digits(operand, calls)
        case Call("+" | "-" | "*" as op, (left, right)):
            a, b = digits(left, calls), digits(right, calls)
            return None if a is None or b is None else _of(op, a, b)
    return (_LONG, 0) if number.family == "int" else None


def _of(op: str, a: Digits, b: Digits) -> Digits:
    if op == "*":
        return a[0] + b[0] + 1, a[1] + b[1]
    return max(a[0], b[0]) + 1, max(a[1], b[1])


def _of_value(value: object) -> Digits | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    _, figures, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        return None
    return max(len(figures) + exponent, 0), max(-exponent, 0)


def _of_aggregate(call: AggregateCall) -> Digits | None:
    if call.name in ("count", "count_if"):
        return _LONG, 0
    inner = digits(call.args[0], {}) if call.args else None
    if inner is None or call.name not in ("sum", "min", "max", "avg"):
        return None
    if call.name == "sum":
        return inner[0] + _ROWS, inner[1]
    return (inner[0], inner[1] + 4) if call.name == "avg" else inner
