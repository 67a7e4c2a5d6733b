"""One SQL statement as the user wrote it: its text, its tree, and what `LINEAGE ON` asks for.

`LINEAGE ON a, f(b), …` is ours, not Spark's: it may stand at the end of a statement. [Zhang 2007, §4.3, variable
granularity] It is found among tokens, so that the words in a string, a comment or a quoted name are never taken for it,
and SQL that is valid without it keeps its meaning: an alias `lineage` before the ON of a join stays an alias.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlparse import tokens as kinds
from sqlparse.engine.statement_splitter import StatementSplitter

from forward_lineage.frontend.dialect import FaithfulSpark
from forward_lineage.frontend.lexing import (
    Token,
    blank,
    is_blank,
    lex,
    meaningful,
    position_at,
    without_comments,
)
from forward_lineage.frontend.roundtrip import check_printed_as_read
from udafs.errors import LineageError, Position

_EXCERPT = 40
_QUERY_BEGINS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "CREATE", "REPLACE", "INSERT", "("}
_VERBS = {"SELECT", "FROM", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"}
_ENDS_A_RELATION = {"ON", "USING", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SELECT", "FROM", "WINDOW", "QUALIFY"}


@dataclass(frozen=True)
class Statement:
    """One statement.

    Attributes:
        text: the user's SQL without a trailing LINEAGE ON clause, semicolon and comment, otherwise verbatim.
        tree: what it says, in `FaithfulSpark`; an `exp.Command` when it is not a query, CREATE or INSERT.
        lineage_on: the expressions of LINEAGE ON; empty for ``LINEAGE ON ()``, None without the clause.

    Positions of nodes (`position_of`) are those of the text given to `parse`.

    """

    text: str
    tree: exp.Expression
    lineage_on: tuple[exp.Expression, ...] | None


def parse(sql: str) -> Statement:
    """Parse one statement.

    Args:
        sql: Spark SQL; a trailing semicolon and a trailing LINEAGE ON clause are allowed.

    Raises:
        LineageError: nothing but blanks and comments, several statements, malformed SQL (with line and column), or SQL
            that cannot be printed back as it was read.

    """
    tokens = lex(sql)
    words = meaningful(tokens)
    while words and words[-1].text == ";":
        words.pop()
    if not words:
        raise LineageError("there is no SQL here", instead="Give one statement, for example SELECT * FROM sales.")
    for token in words:
        if token.text == ";":
            raise LineageError(
                "several statements where one is expected",
                at=position_at(sql, token.start),
                instead="Give them one by one; split_script() takes a script apart.",
            )
    _refuse_variables(sql, words)
    clause = _lineage_clause(sql, words)
    end = words[clause].start if clause is not None else words[-1].end
    readable = without_comments(sql, tokens)
    text = sql[:end].strip()
    if clause == 0:
        raise LineageError("LINEAGE ON without a query before it", at=position_at(sql, words[0].start))
    tree = _read(sql, readable[:end], words[:clause])
    lineage_on = None if clause is None else _granules(sql, readable[: words[-1].end], words[clause:])
    return Statement(text, tree, lineage_on)


def split_script(sql: str) -> list[str]:
    """Split a script into its statements: without semicolons, and without pieces that are only comments.

    Raises:
        LineageError: a string, quoted name or comment is not closed; a `BEGIN … END` block.

    """
    tokens = lex(sql)
    _refuse_blocks(sql, tokens)
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


def _read(sql: str, readable: str, words: list[Token]) -> exp.Expression:
    verb = _verb(words)
    if verb not in _QUERY_BEGINS or (verb in ("CREATE", "REPLACE") and not _has_a_query(words)):
        return exp.Command(this=verb, expression=exp.Literal.string(readable[words[0].start :].strip()))
    tree = _parse_into(sql, readable, None)
    check_printed_as_read(sql, words, tree)
    if not isinstance(tree, exp.Query | exp.Values | exp.Create | exp.Insert):
        raise LineageError("malformed SQL: this is no statement", at=position_at(sql, words[0].start))
    if isinstance(tree, exp.Insert) and tree.expression is None:
        raise LineageError("malformed SQL: INSERT without a query", at=position_at(sql, words[0].start))
    return tree


def _verb(words: list[Token]) -> str:
    """The word that says what a statement does; behind the WITH clause if there is one."""
    if words[0].word != "WITH":
        return words[0].word or words[0].text
    verbs = (word.word for word in _outside_parentheses(words[1:]) if word.word in _VERBS)
    return next(verbs, "WITH")


def _has_a_query(words: list[Token]) -> bool:
    """Whether a CREATE statement makes a table or view from a query."""
    kinds_of_object = {word.word for word in words[1:6]}
    outside = [word.word or word.text for word in _outside_parentheses(words)]
    query = any(a == "AS" and b in {*_QUERY_BEGINS, "("} for a, b in itertools.pairwise(outside)) or "SELECT" in outside
    return query and bool(kinds_of_object & {"TABLE", "VIEW"})


def _outside_parentheses(words: list[Token]) -> Iterator[Token]:
    """The tokens outside all parentheses, opening parentheses included."""
    depth = 0
    for word in words:
        depth -= word.text == ")"
        if depth == 0:
            yield word
        depth += word.text == "("


def _parse_into(sql: str, readable: str, into: type[exp.Expr] | None) -> exp.Expression:
    dialect = FaithfulSpark()
    try:
        trees = dialect.parse_into(into, readable) if into else dialect.parse(readable)
    except ParseError as error:
        raise _malformed(sql, error) from None
    except (SqlglotError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise LineageError(f"SQL that cannot be read: {what}") from None
    tree = trees[0]
    assert isinstance(tree, exp.Expression)
    return tree


def _malformed(sql: str, error: ParseError) -> LineageError:
    found = error.errors[0] if error.errors else {}
    if not found.get("line"):
        return LineageError(f"malformed SQL: {str(error).splitlines()[0]}")
    highlight = found["highlight"] or ""
    line, column = found["line"], max(1, found["col"] - len(highlight) + 1)
    text = sql.split("\n")[line - 1]
    excerpt = text[max(0, column - 1 - _EXCERPT) : column - 1 + _EXCERPT].strip()
    return LineageError(
        f"malformed SQL near `{highlight}`: {_in_plain_words(found['description'])} (`{excerpt}`)",
        at=Position(line, column),
    )


def _in_plain_words(description: str) -> str:
    if description.startswith("Invalid expression"):
        return "it is not expected here"
    if description.startswith("Required keyword"):
        return "something is missing here"
    if description.startswith("Expected table name"):
        return "a table name is missing behind it"
    return description[:1].lower() + description[1:]


def _lineage_clause(sql: str, words: list[Token]) -> int | None:
    """Index of the token LINEAGE that begins the clause, if there is one."""
    depth = 0
    for index, token in enumerate(words[:-1]):
        depth += (token.text in "([") - (token.text in ")]") if token.kind is kinds.Punctuation else 0
        if depth or token.word != "LINEAGE" or words[index + 1].word != "ON":
            continue
        if index and (words[index - 1].word == "AS" or words[index - 1].text == "."):
            continue
        if not _may_be_an_alias(words[:index]):
            return index
        if any(a.word == "LINEAGE" and b.text == "." for a, b in zip(words[index:], words[index + 1 :], strict=False)):
            continue
        raise LineageError(
            "LINEAGE ON after a join without a condition: LINEAGE could also be the alias of the joined table",
            at=position_at(sql, token.start),
            instead="Write AS LINEAGE if it is the alias; else give the join a condition, or write CROSS JOIN.",
        )
    return None


def _may_be_an_alias(before: list[Token]) -> bool:
    """Whether a word after these tokens may be the alias of a relation that was just joined and may take an ON."""
    depth = 0
    relation: list[str] = []
    for index in range(len(before) - 1, -1, -1):
        token = before[index]
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0 or (depth == 0 and (token.word in _ENDS_A_RELATION or token.text == ",")):
            return False
        if depth == 0 and token.word == "JOIN":
            side = {t.word for t in before[max(0, index - 3) : index]}
            return not side & {"CROSS", "NATURAL"} and _has_no_alias(relation[::-1])
        if depth == 0 or token.text == ")":
            relation.append("(" if token.text == "(" else token.text)
    return False


def _has_no_alias(relation: list[str]) -> bool:
    # name.name, name(…), (…), LATERAL (…): two names side by side would be a relation and its alias.
    names = [text for text in relation if text.upper() not in ("LATERAL", "TABLESAMPLE", "AS")]
    pairs = itertools.pairwise(names)
    return "AS" not in map(str.upper, relation) and not any(a not in ".(" and b not in ".()" for a, b in pairs)


def _granules(sql: str, readable: str, clause: list[Token]) -> tuple[exp.Expression, ...]:
    """The expressions of a clause; `clause` begins with LINEAGE and ON."""
    listed = clause[2:]
    if not listed:
        raise LineageError(
            "LINEAGE ON without an expression",
            at=position_at(sql, clause[0].start),
            instead="Name columns of base tables, or write LINEAGE ON () to trace nothing.",
        )
    if _is_one_group(listed) and listed[1].word not in ("SELECT", "WITH"):
        listed = listed[1:-1]
        if not listed:
            return ()
    return tuple(_granule(sql, readable, item) for item in _items(sql, listed))


def _is_one_group(tokens: list[Token]) -> bool:
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return index == len(tokens) - 1 and index > 0
    return False


def _items(sql: str, listed: list[Token]) -> list[list[Token]]:
    items: list[list[Token]] = [[]]
    depth = 0
    for token in listed:
        depth += (token.text in "([") - (token.text in ")]") if token.kind is kinds.Punctuation else 0
        if token.text == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    if not all(items):
        raise LineageError("LINEAGE ON with an empty place in its list", at=position_at(sql, listed[0].start))
    return items


def _granule(sql: str, readable: str, item: list[Token]) -> exp.Expression:
    start, end = item[0].start, item[-1].end
    try:
        tree = _parse_into(sql, blank(readable[:start]) + readable[start:end], exp.Condition)
    except LineageError as error:
        instead = (
            "LINEAGE ON is the last clause of a statement; each item is an expression over one base table's columns."
        )
        raise LineageError(error.what, at=error.at, instead=instead) from None
    if isinstance(tree, exp.Star | exp.Tuple | exp.Alias) or tree.find(exp.Query):
        raise LineageError(
            f"LINEAGE ON cannot take `{sql[start:end]}`",
            at=position_at(sql, start),
            instead="Each item is an expression over the columns of one base table.",
        )
    return tree


def _refuse_variables(sql: str, words: list[Token]) -> None:
    for dollar, brace in itertools.pairwise(words):
        if dollar.text == "$" and brace.text == "{":
            raise LineageError(
                "a variable (${…}) that Spark would put text in for",
                at=position_at(sql, dollar.start),
                instead="Write the text itself, or use a parameter (:name).",
            )


def _refuse_blocks(sql: str, tokens: list[Token]) -> None:
    previous = ";"
    for token in meaningful(tokens):
        if previous in (";", ":") and token.word == "BEGIN":
            raise LineageError(
                "a BEGIN … END block",
                at=position_at(sql, token.start),
                instead="Give its statements one by one.",
            )
        previous = token.text
