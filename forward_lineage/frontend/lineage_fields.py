"""ALTER TABLE that adds fields to a column `DL`: the base tables whose rows may go into the table from now on.

ALTER TABLE balances ADD COLUMNS (DL.news BINARY)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from forward_lineage.frontend.lexing import Token, lex, meaningful, position_at
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import NotTracedError

_MENTIONED = re.compile(rf"\bALTER\b.*\b{LINEAGE_COLUMN}\b", re.IGNORECASE | re.DOTALL)
_NAME_AT = 2
_FORM = "Write ALTER TABLE table ADD COLUMNS (DL.base_table BINARY)."
_WORDS_OF_A_FIELD = 4


@dataclass(frozen=True)
class LineageFields:
    """Fields to be added.

    Attributes:
        table: as the user wrote its name.
        parts: of the name, without backticks.
        fields: the base tables.

    """

    table: str
    parts: tuple[str, ...]
    fields: tuple[str, ...]


def read_lineage_fields(sql: str) -> LineageFields | None:
    """Read an ALTER TABLE that adds fields to `DL`; None: the statement is another one.

    Raises:
        NotTracedError: it does something else with `DL`, or adds other columns, too.
        WrongSqlError: a string, quoted name or comment is not closed.

    """
    if not _MENTIONED.search(sql):
        return None
    words = meaningful(lex(sql))
    while words and words[-1].text == ";":
        words.pop()
    if len(words) <= _NAME_AT or [word.word for word in words[:_NAME_AT]] != ["ALTER", "TABLE"]:
        return None
    parts = _name(words)
    behind = words[_NAME_AT + 2 * len(parts) - 1 :]
    if not any(_is_lineage(word, before) for before, word in itertools.pairwise(behind)):
        return None
    fields = _fields(behind)
    if fields is None:
        at = position_at(sql, behind[0].start)
        raise NotTracedError("a change of the column DL that is not read", at=at, instead=_FORM)
    table = sql[words[_NAME_AT].start : words[_NAME_AT + 2 * len(parts) - 2].end]
    return LineageFields(table, parts, fields)


def _name(words: Sequence[Token]) -> tuple[str, ...]:
    """The parts of the table's name."""
    parts, at = [words[_NAME_AT].name], _NAME_AT + 1
    while at + 1 < len(words) and words[at].text == ".":
        parts.append(words[at + 1].name)
        at += 2
    return tuple(parts)


def _is_lineage(word: Token, before: Token) -> bool:
    """Whether it names the column `DL`, and no field of another column."""
    return word.name.upper() == LINEAGE_COLUMN and before.text != "."


def _fields(words: Sequence[Token]) -> tuple[str, ...] | None:
    """Return the fields that ADD COLUMNS adds to `DL`; None: it is another form."""
    if [word.word for word in words[:2]] not in (["ADD", "COLUMN"], ["ADD", "COLUMNS"]):
        return None
    listed = words[2:]
    if listed and (listed[0].text, listed[-1].text) == ("(", ")"):
        listed = listed[1:-1]
    fields: list[str] = []
    for first in range(0, len(listed), _WORDS_OF_A_FIELD + 1):
        item = listed[first : first + _WORDS_OF_A_FIELD + 1]
        if len(item) < _WORDS_OF_A_FIELD or (len(item) > _WORDS_OF_A_FIELD and item[-1].text != ","):
            return None
        lineage, point, field, kind = item[:_WORDS_OF_A_FIELD]
        if lineage.name.upper() != LINEAGE_COLUMN or point.text != "." or kind.text.upper() != "BINARY":
            return None
        fields.append(field.name)
    return tuple(fields) or None
