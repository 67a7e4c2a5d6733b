"""Tables that are read as they were: ``FROM orders VERSION AS OF 3``, found in a text and replaced by names.

Spark also writes it ``FOR VERSION``, ``SYSTEM_VERSION``, ``TIMESTAMP`` and ``SYSTEM_TIME``. A version is a number or a
string, and a time here is a string: any other expression is left, and refused where the table is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlparse import tokens as kinds

from forward_lineage.frontend.consuming import NO_ALIAS, name_of
from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.lexing import Token, lex, meaningful, position_at
from udafs.errors import Position

_VERSIONS, _TIMES = ("VERSION", "SYSTEM_VERSION"), ("TIMESTAMP", "SYSTEM_TIME")
_AS_OF = ("AS", "OF")
_BEFORE = ("FROM", "JOIN")
# Every statement is searched for it, few are read: with a comment inside, it is refused where the table is read.
_MENTIONED = re.compile(rf"\b(?:{'|'.join(_VERSIONS + _TIMES)})\s+AS\s+OF\b", re.IGNORECASE)
_PAIR = 2  # a part of a name, and the dot behind it


@dataclass(frozen=True)
class PastReading:
    """A table that a text reads as it was.

    Attributes:
        name: its parts.
        is_time: whether a time is said, else a version.
        value: the literal, without its quotes.
        at: where it stands.
        start: of the whole in the text.
        end: of the whole.
        has_alias: whether a name for it follows.

    """

    name: tuple[str, ...]
    is_time: bool
    value: str
    at: Position
    start: int
    end: int
    has_alias: bool


def find_past_readings(sql: str) -> list[PastReading]:
    """Return the tables that a statement reads as they were, in order.

    Raises:
        WrongSqlError: a string, quoted name or comment is not closed.

    """
    if not _MENTIONED.search(sql):
        return []
    words = meaningful(lex(sql))
    named_here = _names_of_ctes(words)
    found = (_reading(sql, words, at) for at, word in enumerate(words) if word.word in _VERSIONS + _TIMES)
    return [
        each for each in found if each is not None and not (len(each.name) == 1 and each.name[0].lower() in named_here)
    ]


def _quoted(name: str) -> str:
    return print_sql(exp.to_identifier(name, quoted=True))


def _names_of_ctes(words: Sequence[Token]) -> set[str]:
    """Names that may be those of CTEs, which have no versions: Spark refuses to read them as they were."""
    begins = (at for at in range(1, len(words) - 2) if words[at + 1].word == "AS" and words[at + 2].text == "(")
    names = (name_of(words[at : at + 1]) for at in begins)
    return {name[0].lower() for name in names if name is not None}


def with_tables(sql: str, readings: Sequence[PastReading], names: Sequence[str]) -> str:
    """Return the text with other tables in their places, which are called like those that stood there.

    Args:
        sql: the text.
        readings: what `find_past_readings` found in it.
        names: of the tables, one part each.

    Lines stay lines. Text behind one in its line moves, and so does the column that an error says.

    """
    for each, name in reversed(list(zip(readings, names, strict=True))):
        called = "" if each.has_alias else f" AS {_quoted(each.name[-1])}"
        lines = "\n" * sql.count("\n", each.start, each.end)
        sql = f"{sql[: each.start]}{_quoted(name)}{called}{lines}{sql[each.end :]}"
    return sql


def _reading(sql: str, words: Sequence[Token], at: int) -> PastReading | None:
    if tuple(word.word for word in words[at + 1 : at + 3]) != _AS_OF or len(words) <= at + 3:
        return None
    value, end = words[at + 3], at if words[at - 1].word != "FOR" else at - 1
    is_time = words[at].word in _TIMES
    if value.kind is not kinds.String and (is_time or not value.text.isdecimal()):
        return None
    begin = end - 1
    while begin >= _PAIR and words[begin - 1].text == ".":
        begin -= _PAIR
    name = name_of(words[begin:end]) if begin > 0 else None
    if name is None or not (words[begin - 1].word in _BEFORE or words[begin - 1].text in ",("):
        return None
    following = words[at + 4] if len(words) > at + 4 else None
    has_alias = following is not None and (
        following.kind is kinds.Name.Quoted or bool(following.word and following.word not in NO_ALIAS)
    )
    text = value.text if value.kind is kinds.Number else value.text[1:-1]
    start = words[begin].start
    return PastReading(name, is_time, text, position_at(sql, start), start, value.end, has_alias)
