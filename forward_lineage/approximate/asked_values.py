"""Values that somebody asks for, as the column that they are compared with has them."""

from __future__ import annotations

import math
import numbers
from datetime import date, datetime
from decimal import Decimal

from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.table_columns import Column
from udafs.errors import BadArgumentError

_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_LARGEST = 1 << 63


class Never:
    """A value that no row of a column can have."""


def asked_value(value: object, column: Column) -> object:
    """Return a value as a column has it; `Never` if it cannot have it.

    Args:
        value: a number, text, truth value or day of Python, or of numpy.
        column: that it is compared with.

    Raises:
        BadArgumentError: it is of another kind than the column.

    """
    value = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    known, found = _as_column(value, column.kind)
    if not known:
        raise BadArgumentError(
            f"{column.name} is a {column.kind.simpleString()}, and {value!r} is none",
            instead="Ask for a value of its type, or None.",
        )
    return found.ljust(column.width) if isinstance(found, str) else found


def is_number(value: object) -> bool:
    """Tell whether an argument is a number that is not NaN, of Python or numpy; a truth value is none."""
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and not math.isnan(value)


def compared_as(column: Column) -> str:
    """Return how values of a column are compared: the word that the kernel knows, see `FilterColumn.scala`."""
    kinds: dict[str, tuple[type[T.DataType], ...]] = {
        "whole": _WHOLE,
        "float": (T.FloatType, T.DoubleType),
        "decimal": (T.DecimalType,),
        "text": (T.StringType,),
        "day": (T.DateType,),
        "truth": (T.BooleanType,),
    }
    return next(word for word, types in kinds.items() if isinstance(column.kind, types))


def _as_column(value: object, kind: T.DataType) -> tuple[bool, object]:
    """Whether a value is of the kind of a column, and what it is there."""
    if isinstance(kind, T.BooleanType) or isinstance(value, bool):
        return isinstance(kind, T.BooleanType) and isinstance(value, bool), value
    if isinstance(kind, _WHOLE):
        fits = isinstance(value, int) and -_LARGEST <= value < _LARGEST
        return isinstance(value, int), value if fits else Never()
    if isinstance(kind, T.FloatType | T.DoubleType):
        known = isinstance(value, int | float)
        return known, _as_float(value) if known else value  # type: ignore[arg-type]
    if isinstance(kind, T.DecimalType):
        known = isinstance(value, int | Decimal)
        return known, _as_decimal(Decimal(value), kind) if known else value  # type: ignore[arg-type]
    if isinstance(kind, T.DateType):
        return isinstance(value, date) and not isinstance(value, datetime), value
    return isinstance(kind, T.StringType) and isinstance(value, str), value


def _as_float(value: float) -> object:
    try:
        found = float(value)
    except OverflowError:
        return Never()
    return found if found == value or isinstance(value, float) else Never()


def _as_decimal(value: Decimal, kind: T.DecimalType) -> object:
    if not value.is_finite():
        return Never()
    _, digits, exponent = value.as_tuple()
    number = "".join(map(str, digits)).lstrip("0")
    stripped = number.rstrip("0")
    assert isinstance(exponent, int)
    scale = -(exponent + len(number) - len(stripped)) if stripped else 0
    before = len(stripped) - scale
    return value if scale <= kind.scale and before <= kind.precision - kind.scale else Never()
