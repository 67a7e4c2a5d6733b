"""One SQL statement as the user wrote it: its text, its tree, and what `LINEAGE ON` asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend.lexing import Token, lex, meaningful, position_at, with_depth, without_comments
from forward_lineage.frontend.lineage_on import find_clause, read_clause
from forward_lineage.frontend.parsing import read_tree
from forward_lineage.frontend.roundtrip import check_printed_as_read
from forward_lineage.frontend.script import refuse_block
from forward_lineage.frontend.with_lineage import ends_with_request
from rewrites.refusals import bugs_reported
from udafs.errors import LineageError, NotTracedError, Position, WrongSqlError

_QUERY_BEGINS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "CREATE", "REPLACE", "INSERT", "("}
_VERBS = {"SELECT", "FROM", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"}


@dataclass(frozen=True)
class Statement:
    """One statement. Nothing changes it: it may be looked at, and rewritten, any number of times.

    Attributes:
        text: the user's SQL without a trailing LINEAGE ON clause, semicolon and comment, otherwise verbatim.
        tree: what it says, in `FaithfulSpark`; an `exp.Command` when it is not a query, CREATE or INSERT.
        lineage_on: the expressions of LINEAGE ON; empty for ``LINEAGE ON ()``, None without the clause.

    Positions of nodes (`position_of`) are those of the text given to `parse`.

    """

    text: str
    tree: exp.Expression
    lineage_on: tuple[exp.Expr, ...] | None

    @property
    def is_query(self) -> bool:
        """Whether it returns rows that can be traced: SELECT, a set operation, VALUES, TABLE."""
        return isinstance(self.tree, exp.Query | exp.Values)

    @property
    def is_command(self) -> bool:
        """Whether it puts the rows of a query somewhere: CREATE TABLE or VIEW … AS, INSERT."""
        return isinstance(self.tree, exp.Create | exp.Insert)

    @property
    def verb(self) -> str:
        """The kind of statement, in capitals: SELECT, UNION, CREATE, INSERT, DELETE, SHOW, …."""
        return (self.tree.name if isinstance(self.tree, exp.Command) else self.tree.key).upper()


def parse(sql: str) -> Statement:
    """Parse one statement.

    Args:
        sql: Spark SQL; a trailing semicolon, a trailing LINEAGE ON clause and WITH LINEAGE are allowed.

    Raises:
        WrongSqlError: nothing but blanks and comments, several statements, or malformed SQL; says where.
        NotTracedError: SQL that cannot be printed back unchanged, or that Spark changes before it reads it.

    """
    tokens = lex(sql)
    words = _one_statement(sql, meaningful(tokens))
    if ends_with_request(words):
        words = words[:-2]
    refuse_variables(sql, words)
    readable = without_comments(tokens)
    clause = find_clause(sql, words)
    said = words[:clause]
    with bugs_reported(lambda: position_at(sql, said[0].start)):
        tree = _read(sql, readable, said)
        lineage_on = None if clause is None else read_clause(sql, readable[: words[-1].end], words[clause:])
    return Statement(sql[: said[-1].end].strip(), tree, lineage_on)


def without_clause(sql: str) -> str:
    """Return a statement that may be wrong without its LINEAGE ON clause, as far as one is found."""
    try:
        words = meaningful(lex(sql))
        clause = find_clause(sql, words)
    except LineageError:
        return sql
    return sql if clause is None else sql[: words[clause].start]


def _one_statement(sql: str, words: list[Token]) -> list[Token]:
    """The tokens of the only statement, without the semicolons behind it."""
    while words and words[-1].text == ";":
        words.pop()
    if not words:
        raise WrongSqlError("there is no SQL here", instead="Give one statement, for example SELECT * FROM sales.")
    refuse_block(sql, words)
    for token in words:
        if token.text == ";":
            raise WrongSqlError(
                "several statements where one is expected",
                at=position_at(sql, token.start),
                instead="Give them one by one; split_script() takes a script apart.",
            )
    return words


def refuse_variables(sql: str, words: list[Token]) -> None:
    """Refuse text whose parts Spark would put values of variables for before it reads it.

    Raises:
        NotTracedError: there is a variable in it.

    """
    for dollar, brace in itertools.pairwise(words):
        if dollar.text == "$" and brace.text == "{":
            raise NotTracedError(
                "a variable (${…}) that Spark would put text in for",
                at=position_at(sql, dollar.start),
                instead="Write the text itself, or use a parameter (:name).",
            )


def _read(sql: str, readable: str, words: list[Token]) -> exp.Expression:
    """The tree of a statement without its LINEAGE ON clause."""
    verb = _verb(words)
    if verb not in _QUERY_BEGINS or (verb in ("CREATE", "REPLACE") and not _has_a_query(words)):
        return exp.Command(this=verb, expression=exp.Literal.string(readable[words[0].start : words[-1].end]))
    tree = read_tree(sql, readable[: words[-1].end])
    check_printed_as_read(sql, words, tree)
    _check_is_statement(tree, position_at(sql, words[0].start))
    return tree


def _check_is_statement(tree: exp.Expr, at: Position) -> None:
    if not isinstance(tree, exp.Query | exp.Values | exp.Create | exp.Insert):
        what = "malformed SQL: this is no statement"
        raise WrongSqlError(what, at=at, instead="Begin with SELECT, WITH, CREATE … AS or INSERT.")
    if isinstance(tree, exp.Insert) and tree.expression is None:
        what = "malformed SQL: INSERT without a query"
        raise WrongSqlError(what, at=at, instead="Write INSERT INTO … SELECT.")


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
    """The tokens outside all parentheses, opening and closing ones included."""
    return (word for word, depth in with_depth(words) if depth == 0)
