"""The conditions that are read here: comparisons of columns with literals and columns, and what joins them.

    condition := conjunction {OR conjunction}            conjunction := negation {AND negation}
    negation  := NOT negation | ( condition ) | test     TRUE and FALSE are tests, and so is a column of truth values
    test      := operand (= | == | <> | != | < | <= | > | >=) operand | column IS [NOT] NULL
               | column [NOT] IN (literal, …) | column [NOT] BETWEEN operand AND operand
    operand   := column | [-]digits[.digits] | 'text' | DATE 'yyyy-MM-dd' | TRUE | FALSE

It is a part of Spark's grammar in which each text has one meaning. A comparison has two sides, so Spark's reading of `a
= b = c` or `a = b IS NULL` does not matter. Text with an escape, a variable, a comment, a function, arithmetic or a
name of several parts is not of it.   [Spark 4, SqlBaseParser.g4: booleanExpression, predicate, valueExpression]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from forward_lineage.predicates.unsupported import Doubtful
from forward_lineage.spark.names import AMBIGUOUS, RESERVED

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>\d+(?:\.\d+)?)(?![\w.]) | (?P<date>DATE)(?=\s*') | (?P<word>[A-Za-z_][A-Za-z0-9_]*)(?![\w$'.])
    | `(?P<quoted>[^`$]+)`(?!`) | '(?P<text>[^'\\$]*)'(?!\s*') | (?P<sign><=>|==|<>|!=|<=|>=|[=<>(),-])
    )""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_BLANK = re.compile(r"[ \t\r\n]*")
COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
#: Words of the grammar, and others that begin something else behind which an operand or an operator may stand.
_WORDS = RESERVED | AMBIGUOUS | {"BETWEEN", "LIKE", "RLIKE", "ILIKE", "REGEXP", "DIV", "AT"}
_WORDS |= {"SYMMETRIC", "ASYMMETRIC", "BINARY"}


@dataclass(frozen=True)
class Column:
    """A column by the name that the text has for it.

    Attributes:
        name: without quotes.

    """

    name: str


@dataclass(frozen=True)
class Literal:
    """A value that stands in the text.

    Attributes:
        kind: ``number``, ``text``, ``date`` or ``truth``.
        text: digits with at most one point and a sign; the text; the day; ``TRUE`` or ``FALSE``.

    """

    kind: str
    text: str


Operand = Column | Literal


@dataclass(frozen=True)
class Comparison:
    """Two operands and an operator, of the values of `COMPARISONS`."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True)
class IsNull:
    """Whether a column is NULL."""

    column: Column


@dataclass(frozen=True)
class Among:
    """Whether a column is one of some literals, at least one."""

    column: Column
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Truth:
    """A column of truth values, or a truth value, as a condition."""

    of: Operand


@dataclass(frozen=True)
class Not:
    """The opposite; of NULL it is NULL."""

    of: Condition


@dataclass(frozen=True)
class Joined:
    """Conditions joined by AND or by OR, two or more."""

    word: str
    parts: tuple[Condition, ...]


Condition = Comparison | IsNull | Among | Truth | Not | Joined


def read_condition(text: str) -> Condition:
    """Return what a condition says.

    Raises:
        Doubtful: it is not of the grammar above.

    """
    reader = _ConditionReader(list(_tokens(text)))
    found = reader.condition()
    if reader.rest:
        raise Doubtful(f"{reader.rest[0][1]!r} behind a condition")
    return found


def columns_of(condition: Condition) -> set[str]:
    """Return the names of the columns that a condition reads, as it has them."""
    match condition:
        case Comparison(_, left, right):
            operands: tuple[Operand, ...] = (left, right)
        case IsNull(column) | Among(column, _):
            operands = (column,)
        case Truth(of):
            operands = (of,)
        case Not(of):
            return columns_of(of)
        case Joined(_, parts):
            return set().union(*map(columns_of, parts))
    return {each.name for each in operands if isinstance(each, Column)}


Token = tuple[str, str]
_Read = Callable[[], Condition]


def _tokens(text: str) -> Iterator[Token]:
    at, end = 0, len(text)
    while at < end:
        if blank := _BLANK.match(text, at):
            at = blank.end()
        if at == end:
            return
        found = _TOKEN.match(text, at)
        if found is None or text[at:].startswith("--"):
            raise Doubtful(f"{text[at : at + 20]!r}")
        kind = str(found.lastgroup)
        said = found[kind]
        if kind == "word":
            yield ("name", said) if said.upper() not in _WORDS else ("word", said.upper())
        else:
            yield ("name" if kind == "quoted" else kind), said
        at = found.end()


_DEEPEST = 50


class _ConditionReader:
    """Reads tokens from the front; what is left is `rest`."""

    def __init__(self, tokens: list[Token]) -> None:
        self.rest = tokens
        self._depth = 0

    def condition(self) -> Condition:
        return self._joined("OR", lambda: self._joined("AND", self._negation))

    def _joined(self, word: str, read: _Read) -> Condition:
        parts = [read()]
        while self._takes("word", word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _negation(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Doubtful("a condition nested so deeply")
        try:
            if self._takes("word", "NOT"):
                return Not(self._negation())
            if self._takes("sign", "("):
                found = self.condition()
                self._demand("sign", ")")
                return found
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Condition:
        left = self._operand()
        kind, said = self.rest[0] if self.rest else ("", "")
        if kind == "sign" and said in COMPARISONS:
            del self.rest[0]
            return Comparison(COMPARISONS[said], left, self._operand())
        if isinstance(left, Literal):
            if left.kind == "truth":
                return Truth(left)
            raise Doubtful(f"{left.text!r} as a condition")
        if self._takes("word", "IS"):
            opposite = self._takes("word", "NOT")
            self._demand("word", "NULL")
            return Not(IsNull(left)) if opposite else IsNull(left)
        opposite = self._takes("word", "NOT")
        if self._takes("word", "IN"):
            found: Condition = self._among(left)
        elif self._takes("word", "BETWEEN"):
            low = self._operand()
            self._demand("word", "AND")
            found = Joined("AND", (Comparison(">=", left, low), Comparison("<=", left, self._operand())))
        elif opposite:
            raise Doubtful("NOT behind a column")
        else:
            return Truth(left)
        return Not(found) if opposite else found

    def _among(self, column: Column) -> Among:
        self._demand("sign", "(")
        values = []
        while True:
            value = self._operand()
            if isinstance(value, Column):
                raise Doubtful("a column in a list")
            values.append(value)
            if not self._takes("sign", ","):
                break
        self._demand("sign", ")")
        return Among(column, tuple(values))

    def _operand(self) -> Operand:
        kind, said = self.rest.pop(0) if self.rest else ("", "the end")
        if kind == "name":
            return Column(said)
        if (kind, said) == ("sign", "-") and self.rest and self.rest[0][0] == "number":
            return Literal("number", "-" + self.rest.pop(0)[1])
        if kind in ("number", "text"):
            return Literal(kind, said)
        if kind == "date" and self.rest and self.rest[0][0] == "text":
            return Literal("date", self.rest.pop(0)[1])
        if kind == "word" and said in ("TRUE", "FALSE"):
            return Literal("truth", said)
        raise Doubtful(f"{said!r} where a column or a value may stand")

    def _takes(self, kind: str, said: str) -> bool:
        if self.rest and self.rest[0] == (kind, said):
            del self.rest[0]
            return True
        return False

    def _demand(self, kind: str, said: str) -> None:
        if not self._takes(kind, said):
            raise Doubtful(f"no {said} where one is due")
