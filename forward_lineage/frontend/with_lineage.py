"""`… WITH LINEAGE` at the end of a statement: how SQL asks for lineage where nobody calls `lineage.sql`.

Like LINEAGE ON the words are ours, and found among tokens. To `lineage.sql` they say nothing, since it traces anyhow.
Where SQL comes from elsewhere, such as a SQL client, they tell what is to be traced from what is not: `door/`.
"""

from __future__ import annotations

from forward_lineage.frontend.lexing import Token, lex, meaningful
from forward_lineage.frontend.lineage_on import find_clause
from udafs.errors import LineageError

# Behind these Spark waits for a name or an expression, which `with` may be, and `lineage` its alias.
_AWAIT_A_NAME = frozenset(
    [
        "SELECT",
        "DISTINCT",
        "ALL",
        "FROM",
        "JOIN",
        "LATERAL",
        "AS",
        "BY",
        "WHERE",
        "HAVING",
        "QUALIFY",
        "ON",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "BETWEEN",
        "IS",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "LIMIT",
        "OFFSET",
        "INTO",
        "TABLE",
        "VIEW",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "MINUS",
    ]
)
_BRACKETS = (")", "]")


def without_request(sql: str) -> str:
    """Return a statement without WITH LINEAGE at its end; one without it, or that cannot be read, as it is."""
    try:
        words = _statement(sql)
    except LineageError:
        return sql  # said when it is read
    return sql[: words[-3].end] if ends_with_request(words) else sql


def ends_with_request(words: list[Token]) -> bool:
    """Tell whether the last two tokens of a statement are WITH LINEAGE, and nothing else.

    Args:
        words: its tokens, without blanks, comments, and semicolons at its end.

    """
    if len(words) < 3 or [word.word for word in words[-2:]] != ["WITH", "LINEAGE"]:
        return False
    before = words[-3]
    if before.word or before.text[0] in "'\"`0123456789":
        return before.word not in _AWAIT_A_NAME
    return before.text in _BRACKETS


def asks_for_lineage(sql: str) -> bool:
    """Tell whether a statement has WITH LINEAGE at its end, or a clause LINEAGE ON.

    Args:
        sql: any text; one that has no tokens of Spark's, such as an open string, asks for nothing.

    """
    try:
        words = _statement(sql)
    except LineageError:
        return False
    if ends_with_request(words):
        return True
    try:
        return find_clause(sql, words) is not None
    except LineageError:
        return True  # it does, in a way that is refused


def _statement(sql: str) -> list[Token]:
    """The tokens of a statement, without semicolons at its end."""
    words = meaningful(lex(sql))
    while words and words[-1].text == ";":
        words.pop()
    return words
