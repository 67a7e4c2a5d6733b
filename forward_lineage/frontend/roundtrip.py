"""The guard that needs no Spark: a tree must print back the words the user wrote.

Spark takes the meaning of SQL from its tokens. So compare the tokens of the printed tree with those of the user's text.
If they are equal, but for words without meaning, the tree says what the user said. Otherwise something was dropped,
moved or translated on the way, and the statement is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from forward_lineage.frontend.dialect import print_verbatim
from forward_lineage.frontend.lexing import Token, lex, meaningful, position_at
from forward_lineage.frontend.reading import KEYWORDS
from udafs.errors import NotTracedError, WrongSqlError

# Two spellings of one token in Spark's own lexer or grammar.
_SAME = {
    "!=": "<>",
    "==": "=",
    "!": "NOT",
    "MINUS": "EXCEPT",
    "SETMINUS": "EXCEPT",
    "REGEXP": "RLIKE",
    "SOME": "ANY",
    "TEMP": "TEMPORARY",
}
_SET_OPERATIONS = {"UNION", "EXCEPT", "INTERSECT"}
# After these words a name is not an alias, so an AS that sqlglot puts in between would change the meaning.
_NO_ALIAS_AFTER = {
    "ALL",
    "CASE",
    "DISTINCT",
    "FROM",
    "JOIN",
    "LATERAL",
    "MAP",
    "NOT",
    "REDUCE",
    "SELECT",
    "STREAM",
    "TABLE",
}
# Words that are printed in capitals, besides the parser's keywords. Every other word must keep its case: it is a name.
_CAPITALS = """
    AFTER AGGREGATE BOTH BUCKET BY CAST CURRENT DROP EXCLUDE EXTEND FIRST FOLLOWING GROUP IF IGNORE INCLUDE LAST
    LEADING LEVEL LOCATION MAX NAME NULLS OF OPTIONS OUT PLACING PRECEDING RECURSION REPEATABLE RESPECT SETS SORT
    SYSTEM_TIME SYSTEM_VERSION TBLPROPERTIES TIMESTAMP TRAILING TRY_CAST UNBOUNDED UNKNOWN VERSION WITHIN
"""
_KEYWORDS = KEYWORDS | set(_CAPITALS.split())
_EXCERPT = 30


class _Word(NamedTuple):
    text: str
    spelling: str
    start: int
    after_as: bool


def check_printed_as_read(sql: str, words: list[Token], tree: exp.Expr) -> None:
    """Refuse a tree that does not print the tokens it was read from.

    Args:
        sql: the user's text.
        words: its tokens, without blanks and comments; those the tree was made of.
        tree: the tree, as parsed.

    Raises:
        NotTracedError: at the first token that differs.

    """
    printed_sql = print_verbatim(tree)
    wrote, printed = _normal(words), _words_of(printed_sql)
    place = _first_difference(wrote, printed)
    if place is not None:
        start = wrote[place].start if place < len(wrote) else len(sql)
        printed_start = printed[place].start if place < len(printed) else len(printed_sql)
        raise _not_understood(sql, start, printed_sql, printed_start)


def _words_of(printed_sql: str) -> list[_Word]:
    try:
        return _normal(meaningful(lex(printed_sql)))
    except WrongSqlError:
        return []


def _first_difference(wrote: list[_Word], printed: list[_Word]) -> int | None:
    for index, (ours, theirs) in enumerate(zip(wrote, printed, strict=False)):
        invented_alias = theirs.after_as and not ours.after_as and index and wrote[index - 1].text in _NO_ALIAS_AFTER
        if not _same(ours, theirs) or invented_alias:
            return index
    return min(len(wrote), len(printed)) if len(wrote) != len(printed) else None


def _same(ours: _Word, theirs: _Word) -> bool:
    if ours.text != theirs.text:
        return False
    return ours.spelling == theirs.spelling or theirs.text in _KEYWORDS or not ours.spelling[0].isalpha()


def _normal(words: list[Token]) -> list[_Word]:
    texts = [_SAME.get(token.word or token.text, token.word or token.text) for token in words] + ["", "", ""]
    normal: list[_Word] = []
    after_as = False
    for index, token in enumerate(words):
        before, text, following = normal[-1].text if normal else "", texts[index], texts[index + 1]
        if text == "AS" and following not in ("", ",", ")") and _ends_something(before):
            after_as = True
        elif not _says_nothing(before, text, following, texts[index + 2]):
            normal.append(_Word(text, token.text, token.start, after_as))
            after_as = False
    return normal


def _says_nothing(before: str, text: str, following: str, next_but_one: str) -> bool:
    """Words that may be left out: the default quantifiers, INTO TABLE, FOR VERSION AS OF."""
    if text == "DISTINCT":
        return before in _SET_OPERATIONS
    if text == "ALL":
        return (before == "(" and following not in ",)") or (
            before == "SELECT" and following not in ("", ",", "FROM", ".")
        )
    if text == "TABLE":
        return before in ("INTO", "OVERWRITE")
    if text == "FOR":
        return following in ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME") and next_but_one == "AS"
    return False


def _ends_something(word: str) -> bool:
    """Whether an expression or a relation may end with this token, so that AS behind it introduces an alias."""
    last = word[-1:]
    return (last.isalnum() and word not in _NO_ALIAS_AFTER) or last in {"_", ")", "]", "'", '"', "`", "*"}


def _not_understood(sql: str, start: int, printed: str, printed_start: int) -> NotTracedError:
    wrote = sql[start : start + _EXCERPT].partition("\n")[0].strip() or "the end"
    read = printed[printed_start : printed_start + _EXCERPT].strip() or "the end"
    return NotTracedError(
        f"SQL that is not understood from `{wrote}` on (it reads as `{read}`)",
        at=position_at(sql, min(start, max(len(sql) - 1, 0))),
        instead="Write this part in another way.",
    )
