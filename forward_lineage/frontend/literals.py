"""How literals and types are read: as text, exactly as the user wrote them."""

from __future__ import annotations

import re
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from forward_lineage.frontend.nodes import TypedLiteral, type_of_text
from udafs.errors import NotTracedError, Position
from udafs.versions import DOUBLED_QUOTES_SINCE, installed

_Node = TypeVar("_Node", bound=exp.Expr)

SUFFIXED_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:l|s|y|bd|d|f)", re.IGNORECASE)

_TYPED_LITERALS = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X"}
_UNITS = re.compile(
    r"(?:NANOSECOND|MICROSECOND|MILLISECOND|SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|QUARTER|YEAR)S?", re.IGNORECASE
)
_FIELDS = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}
# Words behind a column's name in CREATE that are no type.
_NOT_A_TYPE = {"AFTER", "CHECK", "COMMENT", "CONSTRAINT", "DEFAULT", "FIRST", "GENERATED", "NOT", "PRIMARY", "UNIQUE"}
# Behind VALUES they show that it is a column of that name and no inline table.
AFTER_A_NAME = {
    TokenType.ALIAS,
    TokenType.COMMA,
    TokenType.DOT,
    TokenType.EQ,
    TokenType.FROM,
    TokenType.GT,
    TokenType.L_BRACKET,
    TokenType.LT,
    TokenType.R_PAREN,
    TokenType.SENTINEL,
}


def _verbatim(self: LiteralParser, token: Token) -> exp.Expr:
    return self.expression(TypedLiteral(this=self._text(token, token)), token)


class LiteralParser(SparkParser):
    """Literals, types and casts of sqlglot's Spark parser, kept as text."""

    STRING_PARSERS: ClassVar[dict[TokenType, Any]] = {
        TokenType.STRING: lambda self, token: self._parse_strings(token),
        TokenType.RAW_STRING: lambda self, token: self._parse_strings(token),
    }
    NUMERIC_PARSERS: ClassVar[dict[TokenType, Any]] = {
        TokenType.NUMBER: lambda self, token: self._parse_a_number(token),
        TokenType.HEX_STRING: _verbatim,
        TokenType.BIT_STRING: _verbatim,
    }
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **{
            t: SparkParser.PRIMARY_PARSERS[t] for t in (TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.STAR)
        },
        **STRING_PARSERS,
        **NUMERIC_PARSERS,
    }

    DOUBLED_QUOTES: ClassVar[bool] = installed() >= DOUBLED_QUOTES_SINCE
    _joins_strings = True

    def _written(self, node: _Node, how: str) -> _Node:
        node.meta["written"] = how
        return self.expression(node)

    def _text(self, first: Token, last: Token) -> str:
        return self.sql[first.start : last.end + 1]

    def _refuse(self, what: str, token: Token, instead: str) -> NoReturn:
        at = Position(token.line, token.col - (token.end - token.start))
        raise NotTracedError(what, at=at, instead=instead)

    def _parse_strings(self, first: Token) -> exp.Expr:
        """One literal of one or several adjacent strings, which Spark joins."""
        value, last = first.text, first
        while self._joins_strings and self._match_set((TokenType.STRING, TokenType.RAW_STRING)):
            value += f"{self._doubled_quote(last, self._prev)}{self._prev.text}"
            last = self._prev
        literal = exp.Literal.string(value)
        literal.meta["written"] = self._text(first, last)
        return self.expression(literal, first)

    def _doubled_quote(self, before: Token, behind: Token) -> str:
        """The quote that stands doubled between two parts of a string: 'it''s'. Older Sparks see two strings there."""
        touching = before.end + 1 == behind.start and self.sql[before.end] == self.sql[behind.start]
        plain = before.token_type is behind.token_type is TokenType.STRING
        return self.sql[before.end] if touching and plain and self.DOUBLED_QUOTES else ""

    def _parse_key_value_property(self, *args: Any, **kwargs: Any) -> Any:
        self._joins_strings = False  # OPTIONS ('key' 'value')
        index = self._index
        try:
            property_ = super()._parse_key_value_property(*args, **kwargs)
        finally:
            self._joins_strings = True
        if isinstance(property_, exp.Property):
            parts = self._tokens[index : self._index]
            property_.meta["written"] = "=" if any(part.token_type is TokenType.EQ for part in parts) else " "
        return property_

    def _parse_a_number(self, token: Token) -> exp.Expr:
        if SUFFIXED_NUMBER.fullmatch(token.text):
            return self.expression(TypedLiteral(this=token.text), token)
        literal = exp.Literal.number(token.text)
        literal.meta["written"] = self._text(token, token)
        return self.expression(literal, token)

    def _parse_primary(self) -> exp.Expr | None:
        if self._match_pair(TokenType.DOT, TokenType.NUMBER):  # .5
            number = self._prev
            token = Token(TokenType.NUMBER, f".{number.text}", number.line, number.col, number.start - 1, number.end)
            return self._parse_a_number(token)
        return super()._parse_primary()

    def _parse_field(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._curr.token_type is TokenType.VALUES and self._next.token_type in AFTER_A_NAME:
            self._advance()
            return self.expression(exp.Identifier(this=self._prev.text, quoted=False), self._prev)
        return super()._parse_field(*args, **kwargs)

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        if literal := self._parse_typed_string() or (parse_interval and self._parse_interval()):
            return self._parse_column_ops(literal)
        if fallback_to_identifier:
            return self._parse_id_var()
        this = self._parse_atom() or self._parse_column()
        while this and self._match(TokenType.COLLATE):
            this = self.expression(exp.Collate(this=this, expression=self._parse_id_var()))
        return this

    def _parse_typed_string(self) -> exp.Expr | None:
        """``DATE '1994-01-01'``, ``X'1F'``, …."""
        first = self._curr
        word = first.text.upper() if first.token_type is TokenType.VAR else ""
        if self._next.token_type is not TokenType.STRING or word not in _TYPED_LITERALS:
            return None
        self._advance(2)
        return self.expression(TypedLiteral(this=self._text(first, self._prev)), first)

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
        """``INTERVAL '1' DAY``, ``INTERVAL 1 DAY 2 HOURS``, ``INTERVAL '1-2' YEAR TO MONTH``, ``INTERVAL '1 day'``."""
        if not self._match(TokenType.INTERVAL):
            return None
        index, first = self._index - 1, self._prev
        count = 0
        while self._parse_interval_part():
            count += 1
        if not count:
            self._retreat(index)
            return None
        if self._match_text_seq("TO"):
            self._advance()
        return self.expression(TypedLiteral(this=self._text(first, self._prev)), first)

    def _parse_interval_part(self) -> bool:
        index = self._index
        self._match_set((TokenType.PLUS, TokenType.DASH))
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self._retreat(index)
            return False
        is_string = self._prev.token_type is TokenType.STRING
        first = self._tokens[index - 1].token_type is TokenType.INTERVAL
        if self._curr.token_type is TokenType.VAR and _UNITS.fullmatch(self._curr.text):
            self._advance()
            return True
        if is_string and first:
            return True
        self._retreat(index)
        return False

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        """Read a type as text: no rewrite looks into one."""
        first = self._curr
        word = first.text.upper()
        if check_func or word in _NOT_A_TYPE or not (word[:1].isalpha() or word[:1] == "_"):
            return None
        self._advance()
        self._advance_parameters_of_type(word)
        if self._match(TokenType.COLLATE):
            self._advance()
        self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE") or self._match_text_seq("WITHOUT", "TIME", "ZONE")
        return type_of_text(self._text(first, self._prev))

    def _advance_parameters_of_type(self, word: str) -> None:
        """Go behind what stands after the name of a type: ``(10, 2)``, ``<a: INT>``, ``DAY TO SECOND``."""
        if word == "INTERVAL":
            self._match_texts(_FIELDS)
            if self._match_text_seq("TO"):
                self._advance()
        elif self._curr.token_type is TokenType.LT:
            self._advance_group(TokenType.LT, TokenType.GT)
        elif not self._match(TokenType.NEQ) and self._curr.token_type is TokenType.L_PAREN:
            self._advance_group(TokenType.L_PAREN, TokenType.R_PAREN)

    def _advance_group(self, opening: TokenType, closing: TokenType) -> None:
        depth = 0
        while self._curr:
            depth += (self._curr.token_type is opening) - (self._curr.token_type is closing)
            self._advance()
            if depth == 0:
                return
        self.raise_error("Expected the end of a type")

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        this = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS after CAST")
        first, depth = self._curr, 0
        while self._curr and (depth or self._curr.token_type is not TokenType.R_PAREN):
            depth += (self._curr.token_type is TokenType.L_PAREN) - (self._curr.token_type is TokenType.R_PAREN)
            self._advance()
        if self._prev.token_type is TokenType.ALIAS:
            self.raise_error("Expected a type after AS")
        cast = exp.Cast if strict else exp.TryCast
        return self.expression(cast(this=this, to=type_of_text(self._text(first, self._prev))))
