"""Lay SQL out for people to read.

`sqlparse` breaks the lines; subqueries and lists that fit on one line are put back on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlparse
from sqlparse.exceptions import SQLParseError

from forward_lineage.frontend.lexing import Token, is_blank, lex, meaningful
from udafs.errors import LineageError

_WIDTH = 88
_INDENT = 2
_NARROWER = 10


def layout(sql: str, width: int = _WIDTH) -> str:
    """Return the same statement in several lines, indented.

    Args:
        sql: one statement, as `rewrite_sql` returns it.
        width: how many characters a line may have; a longer list, call or subquery is broken into lines.

    Returns:
        the text laid out, token for token the same; the text as it is when that cannot be had.

    """
    try:
        before = meaningful(lex(sql))
        laid_out = _laid_out(sql, width)
        after = meaningful(lex(laid_out))
    except (LineageError, SQLParseError, RecursionError):
        return sql
    # sqlparse knows many dialects' quotes but not all of Spark's.
    same = [token.text for token in before] == [token.text for token in after]
    return laid_out if same else sql


def _laid_out(sql: str, width: int) -> str:
    # sqlparse breaks a list behind the item that reaches the width, not before it: then a narrower one is tried.
    tried = []
    for narrower in range(0, 2 * width // 3, _NARROWER):
        wide = sqlparse.format(sql, reindent=True, indent_width=_INDENT, wrap_after=width - narrower)
        tried.append(_on_one_line_where_it_fits(wide, width))
        if max(map(len, tried[-1].split("\n"))) <= width:
            return tried[-1]
    return min(tried, key=lambda text: max(map(len, text.split("\n"))))


def _on_one_line_where_it_fits(sql: str, width: int) -> str:
    text = ""
    tokens = lex(sql)
    index = 0
    while index < len(tokens):
        end = _end_of_group(tokens, index) if tokens[index].text == "(" else None
        group = _in_one_line(tokens[index:end]) if end else ""
        column = len(text) - text.rfind("\n") - 1
        if end and column + len(group) <= width:
            text, index = text + group, end
        else:
            text, index = text + _without_empty_lines(tokens[index]), index + 1
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _end_of_group(tokens: Sequence[Token], start: int) -> int | None:
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if depth == 0:
            return index + 1
    return None


def _in_one_line(group: Sequence[Token]) -> str:
    text = "".join(" " if is_blank(token) and token.text.isspace() else token.text for token in group)
    return text.replace("( ", "(").replace(" )", ")")


def _without_empty_lines(token: Token) -> str:
    several = token.text.count("\n") > 1 and is_blank(token)
    return "\n" + token.text.rpartition("\n")[2] if several else token.text
