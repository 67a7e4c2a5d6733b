"""From text to a tree: sqlglot's complaints become ours, in plain words and with a place."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from forward_lineage.frontend.dialect import FaithfulSpark
from udafs.errors import LineageError, NotTracedError, Position, WrongSqlError

_EXCERPT = 40
_CORRECT_IT = "Correct it; if Spark accepts it all the same, write this part in another way."


def read_tree(sql: str, readable: str, into: type[exp.Expr] | None = None) -> exp.Expression:
    """Parse a statement, or a part of one.

    Args:
        sql: the user's text, for excerpts.
        readable: what is parsed: comments blanked out, and every character in the place it has in `sql`.
        into: what it must be; None: a statement.

    Raises:
        WrongSqlError: it is malformed; says where.
        NotTracedError: it is beyond sqlglot.

    """
    dialect = FaithfulSpark()
    try:
        trees = dialect.parse_into(into, readable) if into else dialect.parse(readable)
    except ParseError as error:
        raise _malformed(sql, error) from None
    except RecursionError:
        what = "SQL that cannot be read: it is nested too deeply"
        raise NotTracedError(what, instead="Nest it less, for example with a WITH clause.") from None
    except SqlglotError as error:
        raise NotTracedError(f"SQL that cannot be read: {error}", instead="Write it in another way.") from None
    tree = trees[0]
    assert isinstance(tree, exp.Expression)
    return tree


def read_fragment(fragment: str) -> exp.Expr:
    """Parse SQL that a catalog or a view brings along.

    Returns:
        a tree of the caller's own; the text is parsed once, since the same few come with every use of a table.

    Raises:
        NotTracedError: it cannot be read.

    """
    return _fragment(fragment).copy()


@lru_cache(maxsize=1024)
def _fragment(fragment: str) -> exp.Expr:
    try:
        return read_tree(fragment, fragment)
    except LineageError as error:  # a place in it would be taken for one in the user's SQL
        what = f"the catalog's or a view's SQL is not understood: {error.what}"
        raise NotTracedError(what, instead="Write that part of it in another way.") from None


def _malformed(sql: str, error: ParseError) -> WrongSqlError:
    found = error.errors[0] if error.errors else {}
    if not found.get("line"):
        return WrongSqlError(f"malformed SQL: {str(error).splitlines()[0]}", instead=_CORRECT_IT)
    highlight = found["highlight"] or ""
    at = Position(found["line"], max(1, found["col"] - len(highlight) + 1))
    what = f"malformed SQL near `{highlight}`: {_in_plain_words(found['description'])} (`{_excerpt(sql, at)}`)"
    return WrongSqlError(what, at=at, instead=_CORRECT_IT)


def _excerpt(sql: str, at: Position) -> str:
    text = sql.split("\n")[at.line - 1]
    return text[max(0, at.column - 1 - _EXCERPT) : at.column - 1 + _EXCERPT].strip()


def _in_plain_words(description: str) -> str:
    if description.startswith("Invalid expression"):
        return "it is not expected here"
    if description.startswith("Required keyword"):
        return "something is missing here"
    if description.startswith("Expected table name"):
        return "a table name is missing behind it"
    return description[:1].lower() + description[1:]
