"""A script of several statements, cut into its statements."""

from __future__ import annotations

from typing import Any

from sqlparse.engine.statement_splitter import StatementSplitter

from forward_lineage.frontend.lexing import Token, is_blank, lex, meaningful, position_at
from udafs.errors import NotTracedError

_ONE_BY_ONE = "Run it with spark.sql(…); or give the queries in it one by one, their variables as parameters: args=."


def split_script(sql: str) -> list[str]:
    """Split a script into its statements, for `ForwardLineage.sql` to take one by one.

    Args:
        sql: statements with semicolons between them; one in a string, a quoted name or a comment separates nothing.

    Returns:
        the statements in their order, without semicolons and without comments around them; none of blanks and
        comments alone.

    Raises:
        WrongSqlError: a string, quoted name or comment is not closed.
        NotTracedError: a ``BEGIN … END`` block.

    """
    tokens = lex(sql)
    refuse_block(sql, meaningful(tokens))
    # sqlparse's splitter follows keywords of other databases (CREATE … BEGIN, GO); here every word is a mere name.
    splitter: Any = StatementSplitter
    pieces = splitter().process((token.kind, token.text) for token in tokens)
    statements, start = [], 0
    for piece in pieces:
        end = start + len(str(piece))
        words = [t for t in tokens if start <= t.start < end and not is_blank(t) and t.text != ";"]
        if words:
            statements.append(sql[words[0].start : words[-1].end])
        start = end
    return statements


def refuse_block(sql: str, words: list[Token]) -> None:
    """Refuse a statement that has statements in it.

    Raises:
        NotTracedError: a ``BEGIN … END`` block.

    """
    previous = ";"
    for token in words:
        if previous in (";", ":") and token.word == "BEGIN":
            at = position_at(sql, token.start)
            raise NotTracedError("a BEGIN … END block", at=at, instead=_ONE_BY_ONE)
        previous = token.text
