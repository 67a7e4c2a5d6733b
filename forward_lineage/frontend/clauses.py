"""Where in a statement tables stand: which tokens begin an item of a FROM clause.

Only as much grammar as is needed for that: the clauses of a query, and parentheses around joined items. Also the FROM
that is none (`EXTRACT(DAY FROM x)`, `a IS DISTINCT FROM b`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forward_lineage.frontend.lexing import Token

# Words that end a FROM clause: behind them a comma begins no further item.
_OTHER_CLAUSES = frozenset(
    re.findall(
        r"\w+",
        "CLUSTER DISTRIBUTE EXCEPT GROUP HAVING INTERSECT LIMIT MINUS OFFSET ORDER QUALIFY SELECT SET SETMINUS SORT "
        "UNION VALUES WHERE WINDOW WITH",
    )
)


@dataclass
class _Level:
    """The facts that are known within one pair of parentheses.

    Attributes:
        has_select: whether a query's SELECT was seen, so that FROM is its clause.
        in_from: whether a comma separates items of FROM.
        begins: whether the next token begins an item.
        first: whether nothing was seen yet.

    """

    has_select: bool = False
    in_from: bool = False
    begins: bool = False
    first: bool = True


def in_from(words: Sequence[Token]) -> list[bool]:
    """Say of each token of a statement whether it begins an item of FROM."""
    levels = [_Level()]
    found: list[bool] = []
    before = ["", ""]
    for token in words:
        level = levels[-1]
        begins, level.begins = level.begins, False
        found.append(begins)
        if token.text in ("(", "["):
            levels.append(_Level(in_from=begins, begins=begins and token.text == "("))
        elif token.text in (")", "]"):
            levels = levels[:-1] or [_Level()]
        elif token.text == ",":
            level.begins = level.in_from
        elif before[-1] != ".":
            _at_word(level, token.word, before, outermost=len(levels) == 1)
        level.first = False
        before = [before[-1], token.word or token.text]
    return found


def _at_word(level: _Level, word: str, before: Sequence[str], *, outermost: bool) -> None:
    if word == "FROM":
        compares = before[1] == "DISTINCT" and before[0] in ("IS", "NOT")
        if not compares and (level.has_select or level.first or outermost):
            level.begins = level.in_from = True
    elif word == "JOIN":
        level.begins = level.in_from
    elif word in _OTHER_CLAUSES:
        level.in_from = False
        level.has_select = level.has_select or word == "SELECT"
