"""The meaning of a condition, once the types of its columns are known: a test of Arrow arrays.

Values are compared exactly: integers and decimals as numbers, text as bytes, days as days. Where Spark would cast a
column to compare it (text with a number, FLOAT) it is `Doubtful`. Of three truth values NULL
is Arrow's null: AND and OR are Kleene's, as SQL's are.   [Spark 4: AnsiTypeCoercion, TypeCoercion, DecimalPrecision]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.predicates.reading import (
    Among,
    Column,
    Comparison,
    Condition,
    IsNull,
    Joined,
    Literal,
    Not,
    Operand,
    Truth,
)
from forward_lineage.predicates.unsupported import Doubtful, UnknownColumn

Arrays = Mapping[str, pa.Array]
Test = Callable[[Arrays], pa.Array]
"""Columns by name, each of `Predicate.types` → truth values, one for each row."""

_INTEGERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_OTHERS = {"string": pa.string(), "boolean": pa.bool_(), "date": pa.date32(), "double": pa.float64()}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_MOST_DIGITS = 18  # of a number that stands in a condition
_OF_DECIMALS, _OF_LONGS = 38, 20  # digits of Spark's widest decimal, and of the one that it makes of a BIGINT
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_FIRST_YEAR = 1600  # before, calendars differ
_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Predicate:
    """A condition that can be decided here.

    Attributes:
        types: of the columns that it reads, by name as the table has it.
        test: decides it.

    """

    types: Mapping[str, pa.DataType]
    test: Test

    def holds(self, columns: Arrays) -> pa.Array:
        """Return for each row whether the condition is true, not false and not NULL.

        Args:
            columns: arrays of the same length, of these types.

        Raises:
            Doubtful: Spark may see the values in another way.

        """
        return pc.fill_null(self.test(columns), False)


def arrow_type(kind: str) -> pa.DataType | None:
    """Return the Arrow type of a column that conditions are decided over; None of others.

    Args:
        kind: as Spark's `DataType.simpleString` says it.

    """
    if match := _DECIMAL.fullmatch(kind):
        return pa.decimal128(int(match[1]), int(match[2]))
    return _INTEGERS.get(kind) or _OTHERS.get(kind)


def typed(condition: Condition, columns: Iterable[tuple[str, str]]) -> Predicate:
    """Return what a condition means over a table.

    Args:
        condition: its text.
        columns: the table's columns and their Spark types.

    Raises:
        Doubtful: this is not sure to be what it means to Spark.

    """
    typing = _Typing(columns)
    test = typing.test(condition)
    return Predicate(typing.used, test)


class _Typing:
    def __init__(self, columns: Iterable[tuple[str, str]]) -> None:
        self._columns: dict[str, tuple[str, str] | None] = {}
        for name, kind in columns:
            self._columns[name.lower()] = None if name.lower() in self._columns else (name, kind)
        self.used: dict[str, pa.DataType] = {}

    def test(self, condition: Condition) -> Test:
        match condition:
            case Comparison():
                test = self._comparison(condition)
            case IsNull(column):
                test = partial(_is_null, self._column(column)[0])
            case Among(column, values):
                if len({value.kind for value in values}) > 1:
                    raise Doubtful("a list of values of several kinds")
                self._check_common_type(column, values)
                test = _joined("OR", [self._compared("=", column, value) for value in values])
            case Truth(of):
                test = self._truth(of)
            case Not(of):
                test = _opposite(self.test(of))
            case Joined(word, parts):
                test = _joined(word, [self.test(part) for part in parts])
        return test

    def _comparison(self, comparison: Comparison) -> Test:
        match comparison:
            case Comparison(operator, Column() as left, Column() as right):
                return self._columns_compared(operator, left, right)
            case Comparison(operator, Column() as column, Literal() as value):
                return self._compared(operator, column, value)
            case Comparison(operator, Literal() as value, Column() as column):
                return self._compared(_TURNED[operator], column, value)
        raise Doubtful("a comparison of two values")

    def _check_common_type(self, column: Column, values: Sequence[Literal]) -> None:
        """Of decimals: what Spark casts column and numbers to, before it compares them, must hold all of them."""
        name, kind = self._column(column)
        if not pa.types.is_decimal(kind) or any(value.kind != "number" for value in values):
            return
        behind = [len(value.text.partition(".")[2]) for value in values]
        before = max(kind.precision - kind.scale, _OF_LONGS)
        if before + max(kind.scale, *behind) > _OF_DECIMALS:
            raise Doubtful(f"{name}, a {kind}, compared with a number of so many digits")

    def _truth(self, of: Operand) -> Test:
        if isinstance(of, Literal):
            raise Doubtful(f"{of.text} as a condition")
        name, kind = self._column(of)
        if not pa.types.is_boolean(kind):
            raise Doubtful(f"{name} as a condition")
        return lambda arrays: arrays[name]

    def _column(self, column: Column) -> tuple[str, pa.DataType]:
        if column.name.lower() not in self._columns:
            raise UnknownColumn(column.name)
        known = self._columns[column.name.lower()]
        if known is None:
            raise Doubtful(f"the name {column.name}")
        name, kind = known
        arrow = arrow_type(kind)
        if arrow is None or "." in name:
            raise Doubtful(f"{name}, a {kind}")
        self.used[name] = arrow
        return name, arrow

    def _columns_compared(self, operator: str, left: Column, right: Column) -> Test:
        (one, kind), (other, other_kind) = self._column(left), self._column(right)
        compare = _COMPARE[operator]
        if pa.types.is_integer(kind) and pa.types.is_integer(other_kind):
            return lambda arrays: compare(arrays[one].cast(pa.int64()), arrays[other].cast(pa.int64()))
        if kind != other_kind or pa.types.is_floating(kind) or (pa.types.is_boolean(kind) and operator not in _EQUAL):
            raise Doubtful(f"{one} {operator} {other}")
        return lambda arrays: compare(arrays[one], arrays[other])

    def _compared(self, operator: str, column: Column, value: Literal) -> Test:
        name, kind = self._column(column)
        if value.kind == "number" and pa.types.is_integer(kind):
            return _numbers(operator, name, value, pa.int64(), 0)
        if value.kind == "number" and pa.types.is_decimal(kind):
            self._check_common_type(column, [value])
            return _numbers(operator, name, value, pa.decimal128(38, kind.scale), kind.scale)
        if value.kind == "number" and pa.types.is_floating(kind):
            return _doubles(operator, name, value)
        if value.kind == "text" and pa.types.is_string(kind):
            return _with_scalar(operator, name, pa.scalar(value.text, kind))
        if value.kind in ("text", "date") and pa.types.is_date32(kind):
            return _with_scalar(operator, name, pa.scalar(_day(value.text), kind))
        if value.kind == "truth" and pa.types.is_boolean(kind) and operator in _EQUAL:
            return _with_scalar(operator, name, pa.scalar(value.text == "TRUE"))
        raise Doubtful(f"{name} {operator} {value.text!r}")


_EQUAL = ("=", "<>")


def _is_null(name: str, arrays: Arrays) -> pa.Array:
    return pc.is_null(arrays[name])


def _opposite(test: Test) -> Test:
    return lambda arrays: pc.invert(test(arrays))


def _joined(word: str, tests: list[Test]) -> Test:
    join = pc.and_kleene if word == "AND" else pc.or_kleene
    return lambda arrays: reduce(join, (test(arrays) for test in tests))


def _with_scalar(operator: str, name: str, value: pa.Scalar) -> Test:
    compare = _COMPARE[operator]
    return lambda arrays: compare(arrays[name], value)


def _numbers(operator: str, name: str, value: Literal, kind: pa.DataType, scale: int) -> Test:
    """Compare a column with a number that may lie between two values of its type."""
    scaled = _exact(value).scaleb(scale)
    below = math.floor(scaled)
    if abs(below) >= 10**_OF_DECIMALS:
        raise Doubtful(f"{name} {operator} {value.text}")
    if below != scaled:
        if operator in _EQUAL:
            return lambda arrays: pc.if_else(pc.is_null(arrays[name]), pa.scalar(None, pa.bool_()), operator == "<>")
        operator = "<=" if operator in ("<", "<=") else ">"
    scalar: Any = below if scale == 0 and pa.types.is_integer(kind) else Decimal(below).scaleb(-scale)
    compare, limit = _COMPARE[operator], pa.scalar(scalar, kind)
    return lambda arrays: compare(arrays[name].cast(kind), limit)


def _doubles(operator: str, name: str, value: Literal) -> Test:
    number = float(_exact(value))
    if number == 0:  # and minus zero, which Spark's readers tell apart where they look at statistics
        raise Doubtful(f"{name} {operator} 0")
    compare, limit = _COMPARE[operator], pa.scalar(number, pa.float64())

    def test(arrays: Arrays) -> pa.Array:
        if pc.any(pc.is_nan(arrays[name])).as_py():
            raise Doubtful(f"{name}, which has NaN in it")
        return compare(arrays[name], limit)

    return test


def _exact(value: Literal) -> Decimal:
    if sum(each.isdigit() for each in value.text) > _MOST_DIGITS:
        raise Doubtful(f"{value.text}, a number of more than {_MOST_DIGITS} digits")
    return Decimal(value.text)


def _day(text: str) -> date:
    match = _DAY.fullmatch(text)
    try:
        found = date(*map(int, match.groups())) if match is not None else None
    except ValueError:
        found = None
    if found is None or found.year < _FIRST_YEAR:
        raise Doubtful(f"the day {text!r}")
    return found
