"""Columns of a query that are sums: linear in aggregates of the rows of a group, or a quotient of two that are.

`sum`, `count` and `count_if` add up over rows. So does whatever is made of them by adding, subtracting, and multiplying
with numbers. An average is the quotient of a sum and a count. For everything else no part of a difference belongs to a
row by arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from forward_lineage.frontend import print_sql

_PASSED = {"round", "bround", "coalesce", "ifnull", "nvl", "double", "float", "bigint", "int", "decimal"}
_NUMERIC = {"DECIMAL", "DOUBLE", "FLOAT", "BIGINT", "INT", "SMALLINT", "TINYINT"}


@dataclass(frozen=True)
class Linear:
    """A sum of aggregates, each times a number.

    Attributes:
        terms: number and place among the aggregates.

    """

    terms: tuple[tuple[Fraction, int], ...]

    def of(self, values: Sequence[Fraction]) -> Fraction:
        """Return its value, or what one row adds to it."""
        return sum((factor * values[place] for factor, place in self.terms), Fraction(0))


@dataclass(frozen=True)
class Form:
    """A column: ``over / under``, or ``over`` alone.

    Attributes:
        over: a sum.
        under: a sum; None: there is no quotient.

    """

    over: Linear
    under: Linear | None = None


class NotLinearError(Exception):
    """An expression is no sum of aggregates; the text says why."""


class FormReader:
    """Reads select items of one block.

    Attributes:
        aggregates: SQL expressions over the rows of a group. Each gives the amount of a row, NULL being nothing.

    """

    def __init__(self) -> None:
        self.aggregates: list[exp.Expr] = []

    def read(self, node: exp.Expr) -> Form:
        """Return the form of an expression.

        Raises:
            NotLinearError: it has none.

        """
        over, under = self._quotient(node)
        if not over.terms:
            raise NotLinearError("it adds nothing up")
        return Form(over, under)

    def _quotient(self, node: exp.Expr) -> tuple[Linear, Linear | None]:
        node = node.unnest()
        match node:
            case exp.Alias():
                return self._quotient(node.this)
            case exp.Cast() if print_sql(node.args["to"]).partition("(")[0].upper() in _NUMERIC:
                return self._quotient(node.this)
            case exp.Div() | exp.Mul() | exp.Neg() | exp.Add() | exp.Sub():
                return self._arithmetic(node)
        return self._called(*_call(node))

    def _arithmetic(self, node: exp.Expr) -> tuple[Linear, Linear | None]:
        match node:
            case exp.Div():
                return self._divided(node)
            case exp.Mul():
                return self._scaled(node)
            case exp.Neg():
                over, under = self._quotient(node.this)
                return _times(over, Fraction(-1)), under
        return self._plain(node), None

    def _called(self, name: str, arguments: list[exp.Expr], condition: exp.Expr | None) -> tuple[Linear, Linear | None]:
        if name in _PASSED and arguments:
            return self._quotient(arguments[0])
        if name in ("avg", "mean"):
            if len(arguments) != 1 or isinstance(arguments[0], exp.Distinct):
                raise NotLinearError("an average of DISTINCT values is no sum over rows")
            return self._one(arguments[0], condition), self._count(arguments, condition)
        return self._aggregate(name, arguments, condition), None

    def _plain(self, node: exp.Expr) -> Linear:
        """A sum without a quotient."""
        node = node.unnest()
        if isinstance(node, exp.Add | exp.Sub):
            left, right = (self._or_number(each) for each in (node.this, node.expression))
            return Linear((*left.terms, *_times(right, Fraction(-1 if isinstance(node, exp.Sub) else 1)).terms))
        over, under = self._quotient(node)
        if under is not None:
            raise NotLinearError("it adds quotients")
        return over

    def _or_number(self, node: exp.Expr) -> Linear:
        return Linear(()) if _number(node) is not None else self._plain(node)  # a number changes no difference

    def _divided(self, node: exp.Div) -> tuple[Linear, Linear | None]:
        by = _number(node.expression)
        if by:
            over, under = self._quotient(node.this)
            return _times(over, 1 / by), under
        if _adds_number(node.this) or _adds_number(node.expression):
            raise NotLinearError("it divides by more than a sum")
        return self._plain(node.this), self._plain(node.expression)

    def _scaled(self, node: exp.Mul) -> tuple[Linear, Linear | None]:
        left, right = _number(node.this), _number(node.expression)
        factor, other = (left, node.expression) if left is not None else (right, node.this)
        if factor is None:
            raise NotLinearError("it multiplies aggregates")
        over, under = self._quotient(other)
        return _times(over, factor), under

    def _aggregate(self, name: str, arguments: Sequence[exp.Expr], condition: exp.Expr | None) -> Linear:
        if any(isinstance(each, exp.Distinct) for each in arguments):
            raise NotLinearError(f"{name}(DISTINCT …) is no sum over rows")
        if name == "sum" and len(arguments) == 1:
            return self._one(arguments[0], condition)
        if name == "count":
            return self._count(arguments, condition)
        if name == "count_if" and len(arguments) == 1:
            return self._one(_if(arguments[0], exp.Literal.number(1)), condition)
        raise NotLinearError(f"{name or 'it'} is no sum over rows")

    def _one(self, value: exp.Expr, condition: exp.Expr | None) -> Linear:
        value = value.copy() if condition is None else _if(condition, value)
        if value not in self.aggregates:
            self.aggregates.append(value)
        return Linear(((Fraction(1), self.aggregates.index(value)),))

    def _count(self, arguments: Sequence[exp.Expr], condition: exp.Expr | None) -> Linear:
        one: exp.Expr = exp.Literal.number(1)
        counted = [each for each in arguments if not isinstance(each, exp.Star | exp.Literal)]
        if counted:
            there = [exp.Not(this=exp.Is(this=exp.paren(each.copy()), expression=exp.Null())) for each in counted]
            one = _if(exp.and_(*there), one)
        return self._one(one, condition)


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr], exp.Expr | None]:
    """Name, arguments and FILTER of a call; an empty name of anything else."""
    condition = None
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this, node.this
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), list(node.expressions), condition
    return "", [], None


def _number(node: exp.Expr) -> Fraction | None:
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return Fraction(str(node.this))
        except ValueError:  # 1L, 0.5D
            return None
    return None


def _adds_number(node: exp.Expr) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Add | exp.Sub):
        return any(_number(each) is not None or _adds_number(each) for each in (node.this, node.expression))
    return False


def _times(linear: Linear, factor: Fraction) -> Linear:
    return Linear(tuple((number * factor, place) for number, place in linear.terms))
