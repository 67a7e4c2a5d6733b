"""Implications between conditions on linked rows, decided by z3: unsatisfiable within the time limit, or not proven.

SQL's three-valued logic is modelled as pairs (value, is null). Integers, dates and decimals are exact; strings and
floating-point numbers are a total order into which literals are put in their places. All arithmetic on the latter is
left open. An open expression stands for itself: one unknown for each expression and side, and both sides linked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import z3  # an extra: who imports this module does so when a question is asked

from forward_lineage.sketches.safety.algebra import (
    Call,
    Column,
    Const,
    Ref,
    Scalar,
    Subquery,
    parts,
    references,
    subqueries,
)
from forward_lineage.sketches.safety.bounds import interval, is_present
from forward_lineage.sketches.safety.facts import EXACT, Family, as_number
from forward_lineage.sketches.safety.linking import Links, link_of
from forward_lineage.sketches.safety.state import UNKNOWN, Link, State
from forward_lineage.sketches.safety.verdicts import UnprovenError

MILLISECONDS = 200
"""How long one question may take; then it is not proven."""

MOST_CONDITIONS = 40

SKETCH, ALL = "′", ""
Pair = tuple[Any, Any]  # a z3 value, and whether it is NULL

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_KINDS: dict[Family, str] = {
    "int": "number",
    "decimal": "number",
    "date": "date",
    "string": "string",
    "float": "float",
    "bool": "bool",
    "timestamp": "timestamp",
}


class Question:
    """One question about a row over the sketch and its counterpart; or about rows of two instances of a statement.

    Attributes:
        states: side → what is known of its rows; both sides of a safety check have one state.
        link: how an expression that is left open is linked across the sides.
    """

    def __init__(
        self, states: Mapping[str, State], link: Callable[[Scalar], Link], ranked: Sequence[Scalar], *, wraps: bool
    ) -> None:
        self.solver = z3.Solver()
        self.solver.set("timeout", MILLISECONDS)
        self._states, self._link, self._wraps = states, link, wraps
        strings = {
            each.value
            for scalar in ranked
            for each in parts(scalar)
            if isinstance(each, Const) and isinstance(each.value, str)
        }
        self._ranks = {text: rank for rank, text in enumerate(sorted(strings, key=lambda text: text.encode()))}
        self._open: dict[tuple[Scalar, str], Pair] = {}

    def is_true(self, condition: Scalar, side: str) -> Any:
        """A condition is true, not false and not unknown."""
        value, null = self.encoded(condition, side)
        return z3.And(value, z3.Not(null)) if z3.is_bool(value) else self._left_open_truth(condition, side)

    def assume(self, conditions: Iterable[Scalar], side: str) -> None:
        """Take conditions for true on one side."""
        for condition in conditions:
            self.solver.add(self.is_true(condition, side))

    def assume_not(self, condition: Scalar, side: str) -> None:
        """Take a condition for false or unknown on one side."""
        self.solver.add(z3.Not(self.is_true(condition, side)))

    def follows(self) -> bool:
        """Whether no values fulfil all that was assumed, and the negation of what is to follow among it."""
        return bool(self.solver.check() == z3.unsat)

    def _left_open_truth(self, condition: Scalar, side: str) -> Any:
        return self._pair(Call("is true", (condition,), family="bool"), side)[0]

    # --- expressions ----------------------------------------------------------------------------------------

    def encoded(self, scalar: Scalar, side: str) -> Pair:  # noqa: PLR0911 - one arm for each kind of expression
        """An expression on one side."""
        match scalar:
            case Const(None):
                return z3.BoolVal(False), z3.BoolVal(True)
            case Const():
                value = self._constant(scalar)
                return self._pair(scalar, ALL) if value is None else (value, z3.BoolVal(False))
            case Ref(column):
                return self._column(scalar, column, side)
            case Call("and" | "or" as op, (left, right)):
                return _connected(op, self._truth(left, side), self._truth(right, side))
            case Call("not", (operand,)):
                value, null = self._truth(operand, side)
                return z3.Not(value), null
            case Call("is_null", (operand,)):
                return self.encoded(operand, side)[1], z3.BoolVal(False)
            case Call(op, (left, right)) if op in _COMPARE or op == "<=>":
                return self._compared(scalar, op, left, right, side)
            case Call(op, args) if op in ("+", "-", "neg", "*") and self._is_exact(scalar, op):
                return self._arithmetic(op, [self.encoded(each, side) for each in args])
            case Call("coalesce", args) if len({each.family for each in args}) == 1:
                return self._coalesced([self.encoded(each, side) for each in args])
        return self._pair(scalar, side)

    def _column(self, scalar: Ref, column: Column, side: str) -> Pair:
        """A column, by what it was made of as far as that is still there: of a group only its keys are."""
        state = self._states[side]
        definition = state.definition(column)
        if definition is None or subqueries(definition) or any(state.link(c) is None for c in references(definition)):
            return self._pair(scalar, side)
        return self.encoded(definition, side)

    def _truth(self, scalar: Scalar, side: str) -> Pair:
        pair = self.encoded(scalar, side)
        return pair if z3.is_bool(pair[0]) else self._pair(Call("is true", (scalar,), family="bool"), side)

    def _constant(self, scalar: Const) -> Any:
        value = scalar.value
        if isinstance(value, str):
            return z3.RealVal(self._ranks[value]) if value in self._ranks else None
        if isinstance(value, bool):
            return z3.BoolVal(value)
        number = as_number(value)
        if number is None:
            return None
        if scalar.family in ("int", "date"):
            return z3.IntVal(int(number))
        return _real(number)

    def _is_exact(self, scalar: Call, op: str) -> bool:
        """Whether arithmetic is that of numbers: a product of decimals may be rounded, an integer may wrap around."""
        if scalar.family == "int":
            return not self._wraps
        return scalar.family == "decimal" and (op != "*" or any(isinstance(each, Const) for each in scalar.args))

    def _arithmetic(self, op: str, operands: list[Pair]) -> Pair:
        values = [value for value, _ in operands]
        null = z3.Or(*(null for _, null in operands))
        match op:
            case "+":
                return values[0] + values[1], null
            case "-":
                return values[0] - values[1], null
            case "*":
                return values[0] * values[1], null
        return -values[0], null

    def _coalesced(self, operands: list[Pair]) -> Pair:
        value, null = operands[-1]
        for other, missing in reversed(operands[:-1]):
            value, null = z3.If(missing, value, other), z3.And(missing, null)
        return value, null

    def _compared(self, scalar: Call, op: str, left: Scalar, right: Scalar, side: str) -> Pair:
        left, right = _as_dates(left, right), _as_dates(right, left)
        if left == Const(None) or right == Const(None):
            if op == "<=>":
                return self.encoded(right if left == Const(None) else left, side)[1], z3.BoolVal(False)
            return z3.BoolVal(False), z3.BoolVal(True)
        left, right = _as_floats(left, right), _as_floats(right, left)
        kinds = {_KINDS.get(left.family), _KINDS.get(right.family)}
        if len(kinds) != 1 or None in kinds:
            return self._pair(scalar, side)
        (a, no_a), (b, no_b) = self.encoded(left, side), self.encoded(right, side)
        if op == "<=>":
            return z3.Or(z3.And(no_a, no_b), z3.And(z3.Not(no_a), z3.Not(no_b), a == b)), z3.BoolVal(False)
        if "bool" in kinds and op not in ("=", "<>"):
            a, b = z3.If(a, 1, 0), z3.If(b, 1, 0)
        return _COMPARE[op](a, b), z3.Or(no_a, no_b)

    # --- what is left open ----------------------------------------------------------------------------------

    def _pair(self, scalar: Scalar, side: str) -> Pair:
        key = (scalar, side)
        if key not in self._open:
            number = len(self._open)
            link = UNKNOWN if side == ALL else self._linked(scalar)
            if link.is_equal and side != ALL:
                self._open[key] = self._pair(scalar, ALL)
                return self._open[key]
            self._open[key] = pair = _unknown(scalar.family, f"v{number}{side}", f"n{number}{side}")
            self._assume_bounds(scalar, pair, side)
            if side != ALL:
                self._assume_link(link, pair, self._pair(scalar, ALL))
        return self._open[key]

    def _linked(self, scalar: Scalar) -> Link:
        try:
            return self._link(scalar)
        except UnprovenError:
            return UNKNOWN

    def _assume_bounds(self, scalar: Scalar, pair: Pair, side: str) -> None:
        value, null = pair
        state = self._states[side]
        if is_present(scalar, state):
            self.solver.add(z3.Not(null))
        if scalar.family in ("int", "decimal", "date"):
            low, high = interval(scalar, state)
            if low is not None:
                self.solver.add(value >= _real(low))
            if high is not None:
                self.solver.add(value <= _real(high))

    def _assume_link(self, link: Link, sketch: Pair, every: Pair) -> None:
        (a, no_a), (b, no_b) = sketch, every
        if link.sense == "truth":
            self.solver.add(_truth_rank(a, no_a) <= _truth_rank(b, no_b))
        if link.sense in ("truth", "?"):
            return
        if z3.is_bool(a):
            a, b = z3.If(a, 1, 0), z3.If(b, 1, 0)
        related = {"=": a == b, "<": a <= b, ">": a >= b, "0": z3.Or(a == b, a == 0)}[link.sense]
        if link.vanish:
            self.solver.add(z3.Or(no_a, z3.And(z3.Not(no_b), related)))
        else:
            self.solver.add(no_a == no_b, z3.Or(no_a, related))


def implied(goal: Scalar, passed: Sequence[Scalar], state: State, links: Links, *, wraps: bool = False) -> bool:
    """Say whether `goal` is true of a row over all rows where `passed` is true of its counterpart over the sketch.

    Args:
        goal: the condition.
        passed: what is true of the row over the sketch.
        state: what is known of both rows.
        links: how the values of subqueries are linked.
        wraps: whether integers wrap around instead of failing.
    """
    known = _related([goal, *passed], state)
    question = Question(
        {SKETCH: state, ALL: state},
        lambda scalar: linked(scalar, state, links),
        [goal, *passed, *known],
        wraps=wraps,
    )
    question.assume((*passed, *known), SKETCH)
    question.assume(known, ALL)
    question.assume_not(goal, ALL)
    return question.follows()


def linked(scalar: Scalar, state: State, links: Links) -> Link:
    """How an expression that is left open is linked."""
    if isinstance(scalar, Call) and scalar.op == "is true":
        return Link("=") if link_of(scalar.args[0], state, links).is_equal else UNKNOWN
    return link_of(scalar, state, links)


def _related(scalars: Sequence[Scalar], state: State) -> list[Scalar]:
    """Conditions that hold, without subqueries; the outermost ones first."""
    simple = [each for each in state.conditions if not any(isinstance(part, Subquery) for part in parts(each))]
    return [each for each in simple if each not in scalars][:MOST_CONDITIONS]


def _truth_rank(value: Any, null: Any) -> Any:
    """False, unknown, true, in that order."""
    return z3.If(null, 1, z3.If(value, 2, 0))


def _connected(op: str, left: Pair, right: Pair) -> Pair:
    """Three-valued AND and OR."""
    (a, no_a), (b, no_b) = left, right
    if op == "and":
        false = z3.Or(z3.And(z3.Not(a), z3.Not(no_a)), z3.And(z3.Not(b), z3.Not(no_b)))
        return z3.And(a, b), z3.And(z3.Or(no_a, no_b), z3.Not(false))
    true = z3.Or(z3.And(a, z3.Not(no_a)), z3.And(b, z3.Not(no_b)))
    return true, z3.And(z3.Or(no_a, no_b), z3.Not(true))


def _unknown(family: Family, name: str, null: str) -> Pair:
    if family == "bool":
        return z3.Bool(name), z3.Bool(null)
    return (z3.Int(name) if family in ("int", "date") else z3.Real(name)), z3.Bool(null)


def _real(number: Fraction) -> Any:
    return z3.Q(number.numerator, number.denominator)


def _as_dates(scalar: Scalar, other: Scalar) -> Scalar:
    """A string that is compared with a date, as a date: Spark casts it."""
    if isinstance(scalar, Const) and isinstance(scalar.value, str) and other.family == "date":
        try:
            return Const(dt.date.fromisoformat(scalar.value).toordinal(), family="date")
        except ValueError:
            return scalar
    return scalar


def _as_floats(scalar: Scalar, other: Scalar) -> Scalar:
    """A number that is compared with a floating-point one, as such: Spark casts it."""
    if isinstance(scalar, Const) and scalar.family in EXACT and other.family == "float":
        number = as_number(scalar.value)
        return scalar if number is None else Const(float(number), family="float")
    if scalar.family in EXACT and other.family == "float":
        return Call("cast double", (scalar,), family="float")
    return scalar
