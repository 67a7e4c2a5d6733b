"""Expressions over rows that are here: the few whose meaning does not hang on Spark, evaluated exactly as it does.

Numbers are integers and decimals, and comparisons are between values of one sort. Spark casts, rounds,
computes values out of range, and calls functions that are not named here.   [Spark 4: DecimalPrecision, TypeCoercion]
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
from sqlglot import exp

from forward_lineage.embedded.needs_spark import NeedsSpark

Row = Sequence[int]
"""For each table of FROM the place of a row."""
_PARTS = {"this", "expression", "expressions", "table", "low", "high", "is_string", "ifs", "default"}
"""What an expression may have; with anything else, as DISTINCT in a call, it may mean something else."""
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_COMPARED |= {exp.GT: operator.gt, exp.GTE: operator.ge}
_COMPUTED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_OF_DATE = {
    "year": operator.attrgetter("year"),
    "month": operator.attrgetter("month"),
    "day": operator.attrgetter("day"),
}
_EXACT = Context(prec=2 * _MOST_DIGITS + 2)


@dataclass(frozen=True)
class Sort:
    """The type of a value.

    Attributes:
        name: ``integer``, ``decimal``, ``null``, or Spark's name of another type.
        bits: of an integer.
        digits: of a decimal.
        scale: of a decimal.

    """

    name: str
    bits: int = 0
    digits: int = 0
    scale: int = 0

    @classmethod
    def of_column(cls, kind: str) -> Sort:
        """Return that of a column of a Spark type."""
        if kind in _BITS:
            return cls("integer", _BITS[kind])
        found = _DECIMAL.fullmatch(kind)
        return cls(kind) if found is None else cls("decimal", 0, int(found[1]), int(found[2]))

    @property
    def is_exact(self) -> bool:
        """Whether it is a number with an exact value."""
        return self.name in ("integer", "decimal")

    def as_decimal(self) -> Sort:
        """Return the decimal that holds a number of this type."""
        return Sort("decimal", 0, _DIGITS[self.bits], 0) if self.name == "integer" else self


@dataclass(frozen=True)
class Value:
    """An expression.

    Attributes:
        of: its value in a row.
        sort: its type.
        tables: places of the tables that it reads.
        arrow: the Arrow type of a column that is handed on.

    """

    of: Callable[[Row], Any]
    sort: Sort
    tables: frozenset[int] = frozenset()
    arrow: pa.DataType | None = None

    def array(self, rows: Sequence[Row]) -> pa.Array:
        """Return its values in some rows."""
        values = [self.of(row) for row in rows]
        if self.sort.name == "decimal":
            kind = pa.decimal128(self.sort.digits, self.sort.scale)
            return pa.array([None if each is None else Decimal(each) for each in values], kind)
        kind = _INTEGERS[self.sort.bits] if self.sort.name == "integer" else self.arrow
        return pa.array(values, kind)


class Values:
    """Reads expressions over the tables of FROM.

    Args:
        tables: alias in lower case → column in lower case → its values; and the columns' Spark types.

    """

    def __init__(self, tables: Sequence[tuple[str, Mapping[str, pa.ChunkedArray], Mapping[str, str]]]) -> None:
        self._columns: dict[tuple[str, str], Value] = {}
        for at, (alias, columns, kinds) in enumerate(tables):
            for name, array in columns.items():
                self._columns[alias, name] = Value(
                    _taken(array.to_pylist(), at), Sort.of_column(kinds[name]), frozenset([at]), array.type
                )

    def read(self, node: exp.Expr) -> Value:
        """Return an expression.

        Raises:
            NeedsSpark: Spark alone knows its value.

        """
        if isinstance(node, exp.Paren):
            return self.read(node.this)
        reader = _READERS.get(type(node))
        parts = {name for name, value in node.args.items() if value} - (
            {"negate"} if isinstance(node, exp.Is) else set()
        )
        if reader is None or not parts <= _PARTS:
            raise NeedsSpark(f"{node.key.upper()} in an expression")
        return reader(self, node)

    def _column(self, node: exp.Expr) -> Value:
        found = [
            value
            for (alias, name), value in self._columns.items()
            if name == node.name.lower() and node.text("table").lower() in ("", alias)
        ]
        if len(found) != 1 or node.text("db"):
            raise NeedsSpark(f"the column {node.name}")
        return found[0]

    # ------------------------------------------------------------ numbers

    def _literal(self, node: exp.Expr) -> Value:
        text = str(node.this)
        if node.args.get("is_string"):
            return Value(lambda _: text, Sort("string"), arrow=pa.string())
        if re.fullmatch(r"\d{1,9}", text):
            number = int(text)
            return Value(lambda _: number, Sort("integer", 32))
        if re.fullmatch(r"\d{1,18}\.\d{1,18}", text):
            exact = Decimal(text)
            scale = len(text.split(".")[1])
            return Value(lambda _: exact, Sort("decimal", 0, max(len(text.lstrip("0")) - 1, scale), scale))
        raise NeedsSpark(f"the literal {text}")

    def _computed(self, node: exp.Expr) -> Value:
        left, right = self.read(node.this), self.read(node.expression)
        if not (left.sort.is_exact and right.sort.is_exact):
            raise NeedsSpark(f"{node.key.upper()} of what is not exact")
        compute, both = _COMPUTED[type(node)], left.tables | right.tables
        if left.sort.name == right.sort.name == "integer":
            bits = max(left.sort.bits, right.sort.bits)
            return Value(_within(_strict(compute, left, right), bits), Sort("integer", bits), both)
        sort = _computed_sort(node, left.sort.as_decimal(), right.sort.as_decimal())
        return Value(_strict(_exactly(compute), left, right), sort, both)

    def _negative(self, node: exp.Expr) -> Value:
        inner = self.read(node.this)
        if not inner.sort.is_exact:
            raise NeedsSpark("a minus sign before what is not exact")
        of = _strict(lambda value: -value, inner)
        return Value(_within(of, inner.sort.bits) if inner.sort.bits else of, inner.sort, inner.tables)

    # ------------------------------------------------------------ truth

    def _compared(self, node: exp.Expr) -> Value:
        left, right = self.read(node.this), self.read(node.expression)
        _check_comparable(left.sort, right.sort)
        return _truth(_strict(_COMPARED[type(node)], left, right), left, right)

    def _between(self, node: exp.Expr) -> Value:
        value, low, high = (self.read(node.args[each]) for each in ("this", "low", "high"))
        for each in (low, high):
            _check_comparable(value.sort, each.sort)
        return _truth(
            _both(_strict(operator.ge, value, low), _strict(operator.le, value, high), False), value, low, high
        )

    def _among(self, node: exp.Expr) -> Value:
        if not node.expressions or node.args.get("query") or node.args.get("unnest"):
            raise NeedsSpark("IN with a query")
        value, listed = self.read(node.this), [self.read(each) for each in node.expressions]
        for each in listed:
            _check_comparable(value.sort, each.sort)
        of = _strict(operator.eq, value, listed[0])
        for each in listed[1:]:
            of = _both(of, _strict(operator.eq, value, each), True)
        return _truth(of, value, *listed)

    def _joined(self, node: exp.Expr) -> Value:
        left, right = self._truth_of(node.this), self._truth_of(node.expression)
        return _truth(_both(left.of, right.of, isinstance(node, exp.Or)), left, right)

    def _not(self, node: exp.Expr) -> Value:
        inner = self._truth_of(node.this)
        return _truth(_strict(operator.not_, inner), inner)

    def _is_null(self, node: exp.Expr) -> Value:
        if not isinstance(node.expression, exp.Null):
            raise NeedsSpark("IS with something else than NULL")
        inner = self.read(node.this)
        wanted = not node.args.get("negate")
        return _truth(lambda row: (inner.of(row) is None) is wanted, inner)

    def _truth_of(self, node: exp.Expr) -> Value:
        found = self.read(node)
        if found.sort.name != "boolean":
            raise NeedsSpark("a condition that is no condition")
        return found

    # ------------------------------------------------------------ choices and functions

    def _case(self, node: exp.Expr) -> Value:
        if node.this is not None:
            raise NeedsSpark("CASE with a value")
        ways = [(self._truth_of(each.this), self.read(each.args["true"])) for each in node.args["ifs"]]
        default = node.args.get("default")
        last = Value(lambda _: None, Sort("null")) if default is None else self.read(default)
        results = [*(value for _, value in ways), last]

        def of(row: Row) -> Any:
            return next((value for asked, value in ways if asked.of(row)), last).of(row)

        return _one_of(of, results, [asked for asked, _ in ways])

    def _function(self, node: exp.Expr) -> Value:
        name, given = str(node.this).lower(), [self.read(each) for each in node.expressions]
        if name in _OF_DATE and len(given) == 1 and given[0].sort.name == "date":
            return Value(_strict(_OF_DATE[name], given[0]), Sort("integer", 32), given[0].tables)
        if name == "coalesce" and given:
            return _one_of(
                lambda row: next((found for each in given if (found := each.of(row)) is not None), None), given
            )
        raise NeedsSpark(f"the function {name}")


_READERS: dict[type[exp.Expr], Callable[[Values, Any], Value]] = {
    exp.Column: Values._column,
    exp.Literal: Values._literal,
    exp.Neg: Values._negative,
    exp.Between: Values._between,
    exp.In: Values._among,
    exp.And: Values._joined,
    exp.Or: Values._joined,
    exp.Not: Values._not,
    exp.Is: Values._is_null,
    exp.Case: Values._case,
    exp.Anonymous: Values._function,
    exp.Null: lambda _, __: Value(lambda _: None, Sort("null")),
    **dict.fromkeys(_COMPARED, Values._compared),
    **dict.fromkeys(_COMPUTED, Values._computed),
}


def _taken(values: Sequence[Any], table: int) -> Callable[[Row], Any]:
    return lambda row: values[row[table]]


def _strict(act: Callable[..., Any], *given: Value) -> Callable[[Row], Any]:
    """A function whose value is NULL where that of one argument is."""
    if len(given) == 1:
        (only,) = given
        return lambda row: None if (value := only.of(row)) is None else act(value)
    left, right = given

    def of(row: Row) -> Any:
        one, other = left.of(row), right.of(row)
        return None if one is None or other is None else act(one, other)

    return of


def _both(left: Callable[[Row], Any], right: Callable[[Row], Any], strong: bool) -> Callable[[Row], Any]:
    """AND, where False is strong, or OR, where True is; NULL is neither."""

    def of(row: Row) -> Any:
        one, other = left(row), right(row)
        if one is strong or other is strong:
            return strong
        return None if one is None or other is None else not strong

    return of


def _within(of: Callable[[Row], Any], bits: int) -> Callable[[Row], Any]:
    limit = 1 << (bits - 1)

    def checked(row: Row) -> Any:
        value = of(row)
        if value is not None and not -limit <= value < limit:
            raise NeedsSpark("a number out of range")
        return value

    return checked


def _exactly(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def computed(one: Any, other: Any) -> Any:
        with localcontext(_EXACT):
            return compute(one, other)

    return computed


def _truth(of: Callable[[Row], Any], *given: Value) -> Value:
    return Value(of, Sort("boolean"), frozenset[int]().union(*(each.tables for each in given)), pa.bool_())


def _decimal(digits: int, scale: int) -> Sort:
    if digits > _MOST_DIGITS:
        raise NeedsSpark("a decimal that is rounded")
    return Sort("decimal", 0, digits, scale)


def _computed_sort(node: exp.Expr, one: Sort, other: Sort) -> Sort:
    if isinstance(node, exp.Mul):
        return _decimal(one.digits + other.digits + 1, one.scale + other.scale)
    scale = max(one.scale, other.scale)
    return _decimal(max(one.digits - one.scale, other.digits - other.scale) + scale + 1, scale)


def _one_of(of: Callable[[Row], Any], results: Sequence[Value], asked: Sequence[Value] = ()) -> Value:
    """A value that is that of one of several expressions."""
    tables = frozenset[int]().union(*(each.tables for each in (*results, *asked)))
    sorts = [each.sort for each in results if each.sort.name != "null"]
    if not sorts:
        raise NeedsSpark("a choice of NULL alone")
    if all(each.name == "integer" for each in sorts):
        return Value(of, Sort("integer", max(each.bits for each in sorts)), tables)
    if all(each.is_exact for each in sorts):
        scale = max(each.as_decimal().scale for each in sorts)
        whole = max(each.as_decimal().digits - each.as_decimal().scale for each in sorts)
        return Value(of, _decimal(whole + scale, scale), tables)
    if len(set(sorts)) > 1:
        raise NeedsSpark("a choice of several types")
    return Value(of, sorts[0], tables, next(each.arrow for each in results if each.sort.name != "null"))


def _check_comparable(one: Sort, other: Sort) -> None:
    if one.is_exact and other.is_exact:
        left, right = one.as_decimal(), other.as_decimal()
        _decimal(max(left.digits - left.scale, right.digits - right.scale) + max(left.scale, right.scale), 0)
    elif one != other or one.name not in ("string", "date", "boolean"):
        raise NeedsSpark(f"a {one.name} compared with a {other.name}")
