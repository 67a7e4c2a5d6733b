"""Values that questions compare with, as Spark compares them: of the same kind only, so that nothing has to be cast."""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from forward_lineage.spark.planning import Arguments

_WHOLE = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{0,18}\.\d{1,18}")


class OtherKindError(Exception):
    """Spark would cast one of both sides; what then is equal, it says itself."""


def value_of(node: exp.Expr, args: Arguments) -> Any:
    """Return the value of a literal, or of a parameter by name.

    Raises:
        OtherKindError: it is neither, or there is no such parameter, or how it is written says more than its value.

    """
    if isinstance(node, exp.Placeholder):
        if not isinstance(args, dict) or node.name not in args:
            raise OtherKindError
        return args[node.name]
    if node.is_string:
        if re.search(r"[\\']", node.name):
            raise OtherKindError
        return node.name
    if _WHOLE.fullmatch(node.name):
        return int(node.name)
    if _DECIMAL.fullmatch(node.name):
        return Decimal(node.name)
    raise OtherKindError


def check_comparable(kind: pa.DataType, value: Any) -> None:
    """Check that a value is one that a column of a type may have.

    Raises:
        OtherKindError: it is not.

    """
    if pa.types.is_string(kind):
        fits = type(value) is str
    elif pa.types.is_boolean(kind):
        fits = type(value) is bool
    elif pa.types.is_date32(kind):
        fits = type(value) is datetime.date
    elif pa.types.is_integer(kind):
        fits = type(value) is int and -(2**63) <= value < 2**63
    elif pa.types.is_decimal128(kind):
        fits = (type(value) is int and abs(value) < 10**18) or (type(value) is Decimal and _is_plain(value))
    else:
        fits = False
    if not fits:
        raise OtherKindError


def bounds(values: Sequence[Any], nulls: int, operator: str, value: Any) -> tuple[int, int]:
    """Return the first of ascending values for which a comparison holds, and the one behind the last.

    Args:
        values: NULL behind all others.
        nulls: how many of them are NULL.
        operator: ``=``, ``<``, ``<=``, ``>`` or ``>=``.
        value: what they are compared with.

    """
    last = len(values) - nulls
    if isinstance(value, str):
        values, value = [each.encode() for each in values[:last]], value.encode()
    below, above = bisect_left(values, value, 0, last), bisect_right(values, value, 0, last)
    ranges = {"=": (below, above), "<": (0, below), "<=": (0, above), ">": (above, last), ">=": (below, last)}
    return ranges[operator]


def _is_plain(value: Decimal) -> bool:
    return value.is_finite() and len(value.as_tuple().digits) <= 18 and -18 <= int(value.as_tuple().exponent) <= 0
