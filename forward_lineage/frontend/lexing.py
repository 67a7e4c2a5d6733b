"""The tokens of Spark SQL, cut by `sqlparse`'s lexer with Spark's lexical rules.

All code that looks at SQL before it is a tree looks at these tokens. It splits scripts, finds a trailing `LINEAGE ON`,
and compares the text that was read with the printed one. The rules are those of Spark's `SqlBaseLexer.g4`. Comments
nest, a hint is no comment, `''` and a backslash both escape, names may begin with a digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from sqlparse import tokens as kinds
from sqlparse.lexer import Lexer

from udafs.errors import BadArgumentError, Position, WrongSqlError

HINT_START, HINT_END = "/*+", "*/"
_TEXTS = 16  # whose tokens are kept: those of a statement, as the user wrote it, as it was changed, as it is printed

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:l|s|y|bd|d|f)?(?!\w)"
_RULES = [
    (r"\s+", kinds.Whitespace),
    (r"--(?:\\\n|[^\r\n])*", kinds.Comment.Single),
    (r"/\*\+", kinds.Comment.Multiline.Hint),
    (r"/\*", kinds.Comment.Multiline),  # its end is looked for by `_comment_end`: comments nest
    (r"r'[^']*'" + r'|r"[^"]*"', kinds.String),
    (r"'(?:[^'\\]|\\.|'')*'", kinds.String),
    (r'"(?:[^"\\]|\\.|"")*"', kinds.String),
    (r"`(?:[^`]|``)*`", kinds.Name.Quoted),
    (_NUMBER, kinds.Number),
    (r"\w+", kinds.Name),
    (r"[;,()\[\]{}.]", kinds.Punctuation),
    (r"<=>|<>|!=|==|<=|>=|!<|!>|\|\||\|>|->|=>|::|<<|\*/|[^\s\w'\"`]", kinds.Operator),
]
_COMMENT_BOUNDARY = re.compile(r"/\*(?!\+)|\*/")
# what an unclosed piece begins with → what it is, and what ends it
_UNCLOSED = {
    "'": ("a string", "'"),
    '"': ("a string", '"'),
    "`": ("a quoted name", "`"),
    "/*": ("a comment", HINT_END),
}


def unquoted(text: str) -> str:
    """Return what a part of a name means: without its backticks, if it has any."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


class Token(NamedTuple):
    """A piece of SQL text.

    Attributes:
        kind: one of sqlparse's token types.
        text: as the user wrote it.
        start: offset in the text.

    """

    kind: kinds._TokenType
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The text of an unquoted word in upper case; for everything else the empty string."""
        return self.text.upper() if self.kind is kinds.Name else ""

    @property
    def name(self) -> str:
        """The name that a word or a quoted name stands for, without backticks."""
        return unquoted(self.text)


class SparkLexer(Lexer):
    """sqlparse's lexer with Spark's rules in place of the built-in ones."""

    def __init__(self) -> None:
        # One expression for all rules, where sqlparse tries them one by one: three times as fast.
        self._match = re.compile("|".join(f"({rule})" for rule, _ in _RULES), re.IGNORECASE | re.DOTALL).match
        self._kinds = [kind for _, kind in _RULES]

    def get_tokens(self, text: str, encoding: str | None = None) -> Iterator[tuple[kinds._TokenType, str]]:
        """Yield (type, text) pairs that join to `text`. sqlparse's own loop ends a comment at the first `*/`."""
        position = 0
        while position < len(text):
            found = self._match(text, position)
            kind = self._kinds[found.lastindex - 1] if found and found.lastindex else kinds.Error
            end = found.end() if found else position + 1
            if kind is kinds.Comment.Multiline:
                end = _comment_end(text, position)
            yield kind, text[position:end]
            position = end


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for boundary in _COMMENT_BOUNDARY.finditer(text, start):
        depth += 1 if boundary.group() == "/*" else -1
        if depth == 0:
            return boundary.end()
    return len(text)


@cache
def _lexer() -> SparkLexer:
    return SparkLexer()


def lex(sql: str) -> tuple[Token, ...]:
    """Cut SQL into tokens: whitespace and comments included, so that their texts join to `sql`.

    Several look at a statement before it is a tree, each for its own words. They ask for the tokens of the same text,
    which are made once.

    Raises:
        WrongSqlError: a string, quoted name or comment is not closed.

    """
    refuse_no_text(sql)
    return _tokens(sql)


@lru_cache(maxsize=_TEXTS)
def _tokens(sql: str) -> tuple[Token, ...]:
    tokens, start = [], 0
    for kind, text in _lexer().get_tokens(sql):
        if kind is kinds.Error:
            raise _not_closed(sql, start, text)
        if kind is kinds.Comment.Multiline and _comment_is_open(text):
            raise _not_closed(sql, start, "/*")
        tokens.append(Token(kind, text, start))
        start += len(text)
    return tuple(tokens)


def refuse_no_text(sql: str) -> None:
    """Refuse what cannot be handed to Spark as text.

    Raises:
        WrongSqlError: half of a surrogate pair.
        BadArgumentError: it is no text at all.

    """
    _refuse_others(sql)
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        at = position_at(sql, error.start)
        raise WrongSqlError("half of a character, which no text holds", at=at, instead="Correct the text.") from None


def _refuse_others(sql: object) -> None:
    if not isinstance(sql, str):
        raise BadArgumentError(
            f"{type(sql).__name__} is given, where the text of a statement is due",
            instead='Rows of a DataFrame are traced once it is a table: lineage.register("name", source=frame), then '
            'lineage.sql("SELECT … FROM name").',
        )


def _not_closed(sql: str, start: int, opening: str) -> WrongSqlError:
    what, ending = _UNCLOSED[opening]
    return WrongSqlError(
        f"malformed SQL: {what} that begins here is not closed",
        at=position_at(sql, start),
        instead=f"Put {ending} behind it.",
    )


def _comment_is_open(comment: str) -> bool:
    return sum(1 if b.group() == "/*" else -1 for b in _COMMENT_BOUNDARY.finditer(comment)) > 0


def is_blank(token: Token) -> bool:
    """Whitespace or a comment; a hint is neither."""
    return token.kind in (kinds.Whitespace, kinds.Comment.Single, kinds.Comment.Multiline)


def meaningful(tokens: Iterable[Token]) -> list[Token]:
    """The tokens that are neither whitespace nor comments."""
    return [token for token in tokens if not is_blank(token)]


def with_depth(tokens: Iterable[Token]) -> Iterator[tuple[Token, int]]:
    """Each token with the number of brackets around it; a bracket itself stands outside what it encloses."""
    depth = 0
    for token in tokens:
        depth -= token.text in (")", "]")
        yield token, depth
        depth += token.text in ("(", "[")


def without_comments(tokens: Iterable[Token]) -> str:
    """The text of tokens with comments blanked out; everything else keeps its line and column."""
    return "".join(blank(token.text) if is_blank(token) else token.text for token in tokens)


def blank(text: str) -> str:
    """Spaces of the same length, line breaks kept."""
    return "".join(c if c in "\r\n" else " " for c in text)


def position_at(sql: str, offset: int) -> Position:
    """Line and column of an offset, both from 1."""
    return Position(sql.count("\n", 0, offset) + 1, offset - sql.rfind("\n", 0, offset))
