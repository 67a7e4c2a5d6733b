"""Values of expressions, in SQL's three-valued logic: True, False, None for unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.oracle.algebra import (
    Agg,
    AliasRef,
    Between,
    Case,
    Col,
    Exists,
    Expr,
    Func,
    Grouping,
    InList,
    InQuery,
    IsNull,
    Lit,
    Node,
    Not,
    Op,
    Over,
    Query,
    Scalar,
    Value,
)
from tests.oracle.scoping import Column, Scope, resolve

Values = tuple[Value, ...]
Lineage = frozenset[tuple[str, Value | Values]]


@dataclass(frozen=True)
class Row:
    """A row and the base rows it came from, as (table, id) pairs."""

    values: Values
    lineage: Lineage


@dataclass(frozen=True)
class Relation:
    """Annotated rows, in order, under named columns."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Env:
    """Where an expression is evaluated.

    scopes: (columns, values), innermost first. group: for a grouped row, one Env for each row of its group.
    rolled_up: the grouping expressions absent from its grouping set. windows: values of window functions for this row.
    """

    scopes: tuple[tuple[Scope, Values], ...] = ()
    ctes: dict[str, Relation] = field(default_factory=dict)
    group: tuple[Env, ...] | None = None
    rolled_up: frozenset[Expr] = frozenset()
    windows: dict[Over, Value] = field(default_factory=dict)

    def inside(self, columns: Scope, values: Values) -> Env:
        """One scope further in; neither group nor windows reach there."""
        return Env(((columns, values), *self.scopes), self.ctes)

    def column(self, name: str, qualifier: str | None) -> Value:
        found = resolve([scope for scope, _ in self.scopes], name, qualifier)
        if found is None:
            raise LookupError(f"{qualifier}.{name}")
        level, position = found
        return self.scopes[level][1][position]


class MoreThanOneRowError(Exception):
    """A scalar subquery returned several rows: an error in Spark too."""


class NondeterministicError(Exception):
    """SQL allows several answers: a LIMIT, ROWS frame or row number that cuts through ties."""


class SpellingDecidesError(NondeterministicError):
    """HAVING without aggregates over grouping sets, beside windows: Spark evaluates either first."""


class TooMuchWorkError(NondeterministicError):
    """A case that would take the interpreter minutes: subqueries nested in conditions of cross joins."""


class UnknownInError(NondeterministicError):
    """IN (subquery) that is unknown, where unknown and false differ.

    Spark returns NULL or false there, as the plan has it (an existence join knows no NULL); nothing can be compared.
    """


class Evaluator:
    """Evaluates expressions; `run` evaluates a subquery in the environment of its outer row."""

    def __init__(self, run: Callable[[Query, Env], Relation]) -> None:
        self._run = run

    def value(self, expr: Expr, env: Env) -> Value:  # noqa: C901 - one arm for each kind of expression
        if env.rolled_up and expr in env.rolled_up:
            return None
        match expr:
            case Lit(value):
                return value
            case Col(name, qualifier):
                return env.column(name, qualifier)
            case Op(op, left, right):
                return infix(op, self.value(left, env), self.value(right, env))
            case Not(operand):
                return negate(self.value(operand, env))
            case IsNull(operand, negated):
                return (self.value(operand, env) is None) != negated
            case Between(operand, low, high):
                middle = self.value(operand, env)
                return conjunction(
                    infix(">=", middle, self.value(low, env)), infix("<=", middle, self.value(high, env))
                )
            case InList(operand, items, negated):
                found = self._among((self.value(operand, env),), [(self.value(item, env),) for item in items])
                return negate(found) if negated else found
            case Case(whens, otherwise):
                for when, then in whens:
                    if self.value(when, env) is True:
                        return self.value(then, env)
                return None if otherwise is None else self.value(otherwise, env)
            case Func(name, args):
                return FUNCTIONS[name](*(self.value(arg, env) for arg in args))
            case Agg():
                if env.group is None:
                    raise TypeError("an aggregate outside a group")
                return self.aggregate(expr, env.group)
            case Grouping(operand):
                return int(operand in env.rolled_up)
            case Over():
                return env.windows[expr]
            case AliasRef(_, stands_for):
                return self.value(stands_for, env)
            case Scalar(query):
                return self._scalar(query, env)
            case Exists(query, negated):
                return bool(self._run(query, env).rows) != negated
            case InQuery(operands, query, negated):
                found = self._in_query(operands, query, env)
                if found is None:
                    raise UnknownInError("[NOT] IN (subquery) is unknown outside of a predicate")
                return negate(found) if negated else found
        raise TypeError(expr)

    def holds(self, predicate: Expr, env: Env) -> bool:
        """Whether a predicate is true, for WHERE, HAVING and QUALIFY: unknown is as good as false."""
        match predicate:
            case Op("AND", left, right):
                return self.holds(left, env) and self.holds(right, env)
            case Op("OR", left, right):
                return self.holds(left, env) or self.holds(right, env)
            case Not(InQuery(operands, query, negated)):
                return self.holds(InQuery(operands, query, not negated), env)
            case InQuery(operands, query, negated):
                # What is unknown within the subquery, in its ON or its columns, is not unknown here: it is raised.
                return self._in_query(operands, query, env) is (not negated)
        return self.value(predicate, env) is True

    def _in_query(self, operands: Sequence[Expr], query: Query, env: Env) -> bool | None:
        wanted = tuple(self.value(operand, env) for operand in operands)
        return self._among(wanted, [row.values for row in self._run(query, env).rows])

    def aggregate(self, agg: Agg, rows: Sequence[Env]) -> Value:
        """An aggregate over the rows that pass its FILTER."""
        if agg.where is not None:
            rows = [row for row in rows if self.value(agg.where, row) is True]
        if not agg.args:
            return len(rows)
        # An aggregate ignores a row with a NULL in any of its arguments.
        tuples = [t for row in rows if None not in (t := tuple(self.value(arg, row) for arg in agg.args))]
        if agg.distinct:
            tuples = list(dict.fromkeys(tuples))
        if agg.name == "count":
            return len(tuples)
        return AGGREGATES[agg.name]([t[0] for t in tuples]) if tuples else None

    def _scalar(self, query: Query, env: Env) -> Value:
        rows = self._run(query, env).rows
        if len(rows) > 1:
            raise MoreThanOneRowError
        return rows[0].values[0] if rows else None

    def _among(self, wanted: Values, candidates: Sequence[Values]) -> bool | None:
        """IN: true if one is equal, else unknown if one comparison is unknown, else false."""
        found: bool | None = False
        for candidate in candidates:
            equal: bool | None = True
            for a, b in zip(wanted, candidate, strict=True):
                equal = conjunction(equal, infix("=", a, b))
            found = disjunction(found, equal)
        return found


def own_nodes(node: Node) -> Iterator[Node]:
    """The node and its descendants, not looking into subqueries."""
    yield node
    for child in node.children():
        if not isinstance(child, Query):
            yield from own_nodes(child)


def windows_in(nodes: Sequence[Node]) -> list[Over]:
    """The window functions of expressions, not those of their subqueries."""
    return list(dict.fromkeys(n for node in nodes for n in own_nodes(node) if isinstance(n, Over)))


def has_aggregate(node: Node) -> bool:
    """Whether the node contains a grouped aggregate; the function of a window is none, its arguments may hold one."""
    if isinstance(node, Agg):
        return True
    children: Sequence[Node] = list(node.children())
    if isinstance(node, Over):
        children = [*node.function.children(), *node.partition, *node.order]
    return any(has_aggregate(child) for child in children if not isinstance(child, Query))


def negate(value: Value) -> bool | None:
    return None if value is None else not value


def conjunction(left: Value, right: Value) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def disjunction(left: Value, right: Value) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def infix(op: str, left: Value, right: Value) -> Value:
    """Value of an infix operator; NULL if an operand is, but for AND, OR and <=>."""
    if op == "AND":
        return conjunction(left, right)
    if op == "OR":
        return disjunction(left, right)
    if op == "<=>":
        return left == right
    if left is None or right is None:
        return None
    return INFIX[op](left, right)


def like(text: str, pattern: str) -> bool:
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


INFIX: dict[str, Callable[..., Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": lambda a, b: int(math.fmod(a, b)),  # the sign of the dividend
    "||": lambda a, b: a + b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "LIKE": like,
}


def strict(function: Callable[..., Value]) -> Callable[..., Value]:
    """NULL in, NULL out."""
    return lambda *args: None if None in args else function(*args)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "coalesce": lambda *args: next((arg for arg in args if arg is not None), None),
    "nullif": lambda a, b: None if a is not None and a == b else a,
    "abs": strict(abs),
    "negative": strict(lambda a: -a),
    "double": strict(float),
    "upper": strict(str.upper),
    "length": strict(len),
}

AGGREGATES: dict[str, Callable[[list], Value]] = {  # type: ignore[type-arg]
    "sum": sum,
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
    "bool_or": any,
    "bool_and": all,
}
