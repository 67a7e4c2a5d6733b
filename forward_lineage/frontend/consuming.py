"""`BACKWARD(result WHERE …, table)`, `FORWARD(table WHERE …, result)` in FROM: where they stand, and what they say.

Queries that consume lineage.   [Smoke §2.1, C(D ∪ L(•))]  The functions are ours, not Spark's, and are found among
tokens, like LINEAGE ON. So they are told from functions, tables and columns of these names, and from the words in a
string. A name of a table that has the rows replaces each of them, *in its place*. The rest is a statement that Spark
reads, in which every line and column is that of the user's text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlparse import tokens as kinds

from forward_lineage.frontend.clauses import in_from
from forward_lineage.frontend.lexing import Token, blank, lex, meaningful, position_at, with_depth, without_comments
from forward_lineage.frontend.lineage_on import find_clause
from udafs.errors import LineageError, NotTracedError, Position, WrongSqlError

BACKWARD, FORWARD = "BACKWARD", "FORWARD"
#: The longest name that can stand in the place of a function: it takes the place of its first word.
LONGEST_NAME = min(map(len, (BACKWARD, FORWARD)))

_MENTIONED = re.compile(rf"\b(?:{BACKWARD}|{FORWARD})\b", re.IGNORECASE)
_QUERY_BEGINS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE"}
_FORMS = {
    BACKWARD: f"{BACKWARD}(result [WHERE condition], table)",
    FORWARD: f"{FORWARD}(table [WHERE condition], result)",
}
# Words behind a relation that are not its alias.
NO_ALIAS = frozenset(
    re.findall(
        r"\w+",
        "ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INSERT INTERSECT JOIN LATERAL LEFT LIMIT MINUS "
        "NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SETMINUS SORT UNION UNPIVOT USING WHERE WINDOW",
    )
)


@dataclass(frozen=True)
class Condition:
    """A condition in a function: which rows it starts from.

    Attributes:
        text: as the user wrote it, comments blanked out.
        at: where it begins.
        marks: which of the statement's `?`, counted from 0, stand in it.

    """

    text: str
    at: Position
    marks: tuple[int, ...] = ()


@dataclass(frozen=True)
class LineageCall:
    """One of the functions in FROM.

    Attributes:
        function: ``"BACKWARD"`` or ``"FORWARD"``.
        source: whose rows are traced: a name, or what another function gives.
        condition: which of them; None: all.
        target: where they are traced to: the parts of a name.
        at: where it stands.

    """

    function: str
    source: tuple[str, ...] | LineageCall
    condition: Condition | None
    target: tuple[str, ...]
    at: Position

    @property
    def name(self) -> tuple[str, ...]:
        """The parts of the name that the innermost function starts from."""
        return self.source.name if isinstance(self.source, LineageCall) else self.source


@dataclass(frozen=True)
class FoundCall:
    """A function and its place in the text.

    Attributes:
        call: what it says.
        start: the offset of its first character.
        end: the offset behind its last one.
        named: the place of its target's own name, by which it is called in the query; None where an alias follows.

    """

    call: LineageCall
    start: int
    end: int
    named: tuple[int, int] | None


def find_calls(sql: str) -> list[FoundCall]:
    """Return the functions in the FROM clauses of a statement, in the order of the text.

    Args:
        sql: the user's text.

    Raises:
        WrongSqlError: one is malformed, or stands where no table can stand.
        NotTracedError: a subquery in a condition, a sample of the rows, LINEAGE ON beside them.

    """
    if not _MENTIONED.search(sql):
        return []
    try:
        tokens = lex(sql)
    except LineageError:
        return []  # said again where the statement is read
    words = meaningful(tokens)
    clause = find_clause(sql, words)
    found = _CallReader(sql, without_comments(tokens), words[:clause]).every()
    if found and clause is not None:
        raise NotTracedError(
            f"LINEAGE ON in a query of {found[0].call.function}(…)",
            at=position_at(sql, words[clause].start),
            instead="Leave the clause out; or save the query without it, and use it in a query of the saved result.",
        )
    return found


def with_names(sql: str, calls: Sequence[FoundCall], names: Sequence[str]) -> str:
    """Put a table's name in the place of each function; all other characters keep their places.

    Args:
        sql: the user's text.
        calls: what was found in it.
        names: a name for each, of `LONGEST_NAME` characters at most.

    """
    text = list(sql)
    for found, name in zip(calls, names, strict=True):
        text[found.start : found.end] = blank(sql[found.start : found.end])
        text[found.start : found.start + len(name)] = name
        if found.named is not None:
            text[slice(*found.named)] = sql[slice(*found.named)]
    return "".join(text)


def refuse_calls(sql: str, instead: str) -> None:
    """Refuse a statement that asks saved results.

    Raises:
        NotTracedError: there is such a function in it.

    """
    for found in find_calls(sql):
        what = f"{found.call.function}(…) asks saved results, and its answer is no text"
        raise NotTracedError(what, at=found.call.at, instead=instead)


@dataclass(frozen=True)
class _CallReader:
    sql: str
    readable: str
    words: list[Token]

    def every(self) -> list[FoundCall]:
        found: list[FoundCall] = []
        places = in_from(self.words)
        for index, token in enumerate(self.words):
            behind = found and token.start < found[-1].end
            end = self._closing(index + 1)
            inside = self.words[index + 2 : end]
            named = index > 0 and self.words[index - 1].text == "."  # db.backward(…)
            if behind or named or not self._opens(index) or not inside or inside[0].word in _QUERY_BEGINS:
                continue  # such as WITH backward (SELECT …)
            call = self._call(index, end) if places[index] else None
            if call is not None:
                found.append(self._placed(call, index, end))
            elif any(word.word == "WHERE" for word, depth in with_depth(inside) if depth == 0):
                raise self._malformed(index, is_item=places[index])
        return found

    def _opens(self, index: int) -> bool:
        following = self.words[index + 1 : index + 2]
        return self.words[index].word in _FORMS and bool(following) and following[0].text == "("

    def _closing(self, opening: int) -> int:
        depth = 0
        for index in range(opening, len(self.words)):
            depth += (self.words[index].text == "(") - (self.words[index].text == ")")
            if depth == 0:
                return index
        return len(self.words)

    def _malformed(self, index: int, *, is_item: bool) -> WrongSqlError:
        function = self.words[index].word
        what = f"malformed {function}(…)" if is_item else f"{function}(… WHERE …) where no table can stand"
        instead = f"Write {_FORMS[function]} as an item of FROM, condition in parentheses if it has commas."
        return WrongSqlError(what, at=position_at(self.sql, self.words[index].start), instead=instead)

    def _call(self, index: int, end: int) -> LineageCall | None:
        """The function that stands between two tokens, None where they say something else."""
        comma = [
            place
            for place, (word, depth) in enumerate(with_depth(self.words[index + 2 : end]), index + 2)
            if word.text == "," and depth == 0
        ]
        if len(comma) != 1 or end == len(self.words):
            return None
        target = name_of(self.words[comma[0] + 1 : end])
        source, condition = self._source(index + 2, comma[0], self.words[index].word)
        if source is None or target is None:
            return None
        return LineageCall(
            self.words[index].word, source, condition, target, position_at(self.sql, self.words[index].start)
        )

    def _source(
        self, first: int, end: int, function: str
    ) -> tuple[tuple[str, ...] | LineageCall | None, Condition | None]:
        """The text before the comma."""
        source: tuple[str, ...] | LineageCall | None
        if self._opens(first):
            behind = min(self._closing(first + 1) + 1, end)
            source = self._call(first, behind - 1)
        else:
            where = (place for place in range(first, end) if self.words[place].word == "WHERE")
            behind = next(where, end)
            source = name_of(self.words[first:behind])
        if source is None or behind == end:
            return source, None
        if self.words[behind].word != "WHERE":
            return None, None
        return source, self._condition(behind, end, function)

    def _condition(self, where: int, end: int, function: str) -> Condition:
        at = position_at(self.sql, self.words[where].start)
        listed = self.words[where + 1 : end]
        if not listed:
            instead = f"Write {_FORMS[function]}."
            raise WrongSqlError(f"WHERE without a condition in {function}(…)", at=at, instead=instead)
        for before, token in itertools.pairwise(self.words[where:end]):
            if token.word == "SELECT" and before.text != ".":
                raise NotTracedError(
                    f"a subquery in the condition of {function}(…)",
                    at=position_at(self.sql, token.start),
                    instead="Compute its value first, and give it as a parameter (:name).",
                )
        marks = [token.start for token in self.words if token.text == "?"]
        within = tuple(i for i, start in enumerate(marks) if listed[0].start <= start < listed[-1].end)
        start = listed[0].start
        return Condition(self.readable[start : listed[-1].end], position_at(self.sql, start), within)

    def _placed(self, call: LineageCall, index: int, end: int) -> FoundCall:
        target = self.words[end - 1]
        named = None if self._has_alias(end, call.function) else (target.start, target.end)
        return FoundCall(call, self.words[index].start, self.words[end].end, named)

    def _has_alias(self, end: int, function: str) -> bool:
        following = self.words[end + 1 : end + 2]
        if not following:
            return False
        token = following[0]
        if token.word == "TABLESAMPLE":
            raise NotTracedError(
                f"a sample of what {function}(…) returns",
                at=position_at(self.sql, token.start),
                instead=f"Save SELECT * FROM {function}(…), and take a sample of the result.",
            )
        return token.kind is kinds.Name.Quoted or bool(token.word and token.word not in NO_ALIAS)


def name_of(words: Sequence[Token]) -> tuple[str, ...] | None:
    """The parts of a name, None where the tokens are something else."""
    parts, dots = words[::2], words[1::2]
    named = all(part.kind in (kinds.Name, kinds.Name.Quoted) for part in parts)
    if not named or len(parts) != len(dots) + 1 or any(dot.text != "." for dot in dots):
        return None
    return tuple(part.name for part in parts)
