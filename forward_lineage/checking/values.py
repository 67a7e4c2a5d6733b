"""Rows in a form that can be compared: what must be equal apart from what may differ in the last digits.

Rows come from Spark as JSON, which has every type: intervals, years beyond Python's, maps, variants. A number with a
floating point is taken out of its row; everything else stays as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

#: How far two sums of the same floating numbers in another order may lie apart, relative to their size.
TOLERANCE = {DoubleType: 1e-9, FloatType: 1e-5}


@dataclass(frozen=True)
class Value:
    """A row of the user's columns.

    Attributes:
        exact: everything but its floating numbers, as text; equal rows have equal text. A map has no order.
        floats: its floating numbers in their order, each with its tolerance; NaN equals NaN, -0.0 equals 0.0.

    """

    exact: str
    floats: tuple[tuple[float, float], ...] = ()


class _Pairs(list[tuple[str, Any]]):
    """A JSON object: names may repeat."""


def read_row(text: str, types: Sequence[DataType]) -> Value:
    """Read a row that Spark wrote as a JSON object, NULLs included.

    Args:
        text: the object.
        types: of the columns, in their order.

    """
    pairs = json.loads(text, object_pairs_hook=_Pairs, parse_float=str, parse_int=str, parse_constant=str)
    floats: list[tuple[float, float]] = []
    exact = [_exact(value, kind, floats) for (_, value), kind in zip(pairs, types, strict=True)]
    return Value(json.dumps(exact, ensure_ascii=False), tuple(floats))


def unordered(value: Value) -> str:
    """Return a row without the order in anything it holds: for lists that Spark collects in no order."""
    return "".join(sorted(value.exact)) + str(sorted(number for number, _ in value.floats))


def _exact(value: Any, kind: DataType, floats: list[tuple[float, float]]) -> Any:
    if value is None:
        return None
    if isinstance(kind, DoubleType | FloatType):
        floats.append((_number(value), TOLERANCE[type(kind)]))
        return "~"
    if isinstance(kind, ArrayType):
        return [_exact(each, kind.elementType, floats) for each in value]
    if isinstance(kind, StructType):
        types = [field.dataType for field in kind.fields]
        return [_exact(each, part, floats) for (_, each), part in zip(value, types, strict=True)]
    if isinstance(kind, MapType):
        return _exact_map(value, kind, floats)
    return _plain(value)


def _number(text: str) -> float:
    """Return a floating number; there is one NaN and one zero, so that equal numbers are equal objects' values."""
    number = float(text)
    return math.nan if math.isnan(number) else number + 0.0


def _exact_map(value: _Pairs, kind: MapType, floats: list[tuple[float, float]]) -> Any:
    if isinstance(kind.keyType, DoubleType | FloatType):
        value = _Pairs((str(_number(key)), each) for key, each in value)
    return [[key, _exact(each, kind.valueType, floats)] for key, each in sorted(value, key=lambda pair: pair[0])]


def _plain(value: Any) -> Any:
    return [[key, _plain(each)] for key, each in value] if isinstance(value, _Pairs) else value
