"""UPDATE, DELETE and MERGE as the user wrote them: which columns get which values, and where that stands in the text.

They are read token by token, and edited in place: all that is not lineage stays the user's own text.

    MERGE INTO t USING s ON t.k = s.k
      WHEN MATCHED THEN UPDATE SET v = s.v             →  … SET v = s.v, DL = <of t and s>
      WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)    →  … INSERT (k, DL) VALUES (s.k, <of s>)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlparse import tokens as kinds

from forward_lineage.frontend.lexing import Token, blank, lex, meaningful, position_at, unquoted
from forward_lineage.frontend.parsing import read_tree
from rewrites.qualifiers import parts_of
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import LineageError, NotTracedError, Position

VERBS = ("MERGE", "UPDATE", "DELETE")
UNNAMED = "__dl_source"
"""What the source of a MERGE is called that has no name."""
_MENTIONED = re.compile(rf"\b(?:{'|'.join(VERBS)})\b", re.IGNORECASE)
_NAMES = (kinds.Name, kinds.Name.Quoted)
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_STAR_QUERY = "SELECT * FROM "
_BEHIND_A_TARGET = ("USING", "SET", "WHERE", "ON")
_WITH_UNITS = ("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATEDIFF", "DATE_ADD", "DATE_DIFF")
_ARGUMENTS_WITH_UNIT = 3
_ANOTHER_FORM = (
    "Write MERGE INTO table AS t USING source AS s ON … WHEN MATCHED THEN UPDATE SET … WHEN NOT MATCHED THEN INSERT …."
)


@dataclass(frozen=True)
class Name:
    """A name of one or more parts.

    Attributes:
        parts: as they are meant, without backticks.
        text: as the user wrote it.
        last: its last part, as the user wrote it.

    """

    parts: tuple[str, ...]
    text: str
    last: str


@dataclass(frozen=True)
class Value:
    """A value that a column gets.

    Attributes:
        column: the parts of its name.
        text: the expression; None: DEFAULT.
        names: those in it that are columns.

    """

    column: tuple[str, ...]
    text: str | None
    names: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Action:
    """What a MERGE does with some rows, or an UPDATE.

    Attributes:
        verb: ``"UPDATE"`` or ``"INSERT"``; DELETE is none that lineage knows of.
        matched: whether there is a row of the source beside one of the target.
        values: what is assigned; () for a star.
        star: where the star stands; None: values are written out.
        ends: where one more column goes, of INSERT, and where one more value does.

    """

    verb: str
    matched: bool
    values: tuple[Value, ...]
    star: tuple[int, int] | None
    ends: tuple[int, ...]


@dataclass(frozen=True)
class RowChange:
    """An UPDATE, a DELETE or a MERGE.

    Attributes:
        sql: the user's text.
        verb: which of them.
        target: the table.
        target_alias: another name that the statement gives it, as written.
        source: of MERGE, where its source stands, with the name for it; None: there is none.
        source_called: what columns of the source are qualified with, as written.
        source_name: the name of a source that is a table without an alias.
        prefix: the end of a WITH in front; 0: there is none.
        actions: those that give values to rows.
        at: where it begins.

    """

    sql: str
    verb: str
    target: Name
    target_alias: str | None
    source: tuple[int, int] | None
    source_called: str | None
    source_name: Name | None
    prefix: int
    actions: tuple[Action, ...]
    at: Position

    @property
    def target_called(self) -> str:
        """The qualifier of the target's columns, as written."""
        return self.target_alias or self.target.last

    def source_query(self) -> str:
        """The query of the source's rows; what stands in it has the line and the column that it has in the text."""
        assert self.source is not None
        start, end = self.source
        between = blank(self.sql[self.prefix : start - len(_STAR_QUERY)])
        return f"{self.sql[: self.prefix]}{between}{_STAR_QUERY}{self.sql[start:end]}"

    def replaces_row(self, action: Action, columns: Sequence[str]) -> bool:
        """Say whether an action gives all columns values that name none of the target's columns.

        Args:
            action: an UPDATE.
            columns: of the target but `DL`, in lower case.

        """
        if action.star is not None:
            return True
        assigned = {each for value in action.values if (each := self._whole_column(value)) is not None}
        return assigned >= set(columns) and not any(self.reads_target(value, columns) for value in action.values)

    def _whole_column(self, value: Value) -> str | None:
        """The column that is assigned, in lower case; None where it may be a field of one."""
        *before, last = (part.lower() for part in value.column)
        return last if not before or before[-1] == unquoted(self.target_called).lower() else None

    def reads_target(self, value: Value, columns: Sequence[str]) -> bool:
        """Say whether a value names a column of the target, whose columns are given in lower case."""
        return any(self._is_of_target(name, columns) for name in value.names)

    def _is_of_target(self, name: tuple[str, ...], columns: Sequence[str]) -> bool:
        first = name[0].lower()
        if len(name) > 1:
            called = unquoted(self.target_called).lower()
            if self.source_called is not None and first == unquoted(self.source_called).lower():
                return False
            if first == called or (self.target_alias is None and called in [each.lower() for each in name[:-1]]):
                return True
        return first in columns


def evolving(what: str, at: Position) -> NotTracedError:
    """Return the error for a MERGE that may add columns to its target."""
    return NotTracedError(
        f"{what}, which may bring columns that the table does not have yet",
        at=at,
        instead="Add them with ALTER TABLE … ADD COLUMNS, then run MERGE INTO without it.",
    )


def changes_rows(sql: str) -> bool:
    """Say whether a statement may be an UPDATE, a DELETE or a MERGE: quickly, every statement is asked."""
    return _MENTIONED.search(sql) is not None


def read_row_change(sql: str) -> RowChange | None:
    """Read an UPDATE, a DELETE or a MERGE; None: the statement is another one.

    Raises:
        WrongSqlError: a string, quoted name or comment is not closed.
        NotTracedError: a form of it that is not read here.

    """
    words = meaningful(lex(sql))
    while words and words[-1].text == ";":
        words.pop()
    begin = _verb_at(words)
    if begin is None:
        return None
    return _Reader(sql, words, begin).change()


def check_called_apart(change: RowChange) -> None:
    """Check that the alias of a source is not what the target is called: lineage needs the columns `DL` of both.

    Raises:
        NotTracedError: it is.

    """
    if change.source is None or change.source_called is None:
        return
    if unquoted(change.source_called).lower() == unquoted(change.target_called).lower():
        what = f"{change.source_called} is what both the target and the source are called"
        at = position_at(change.sql, change.source[0])
        raise NotTracedError(what, at=at, instead="Give the source another alias.")


def with_named_source(change: RowChange, of_target: Sequence[str], of_source: Sequence[str]) -> RowChange:
    """Return a MERGE in which one name is enough for each column of the source, if the source has no alias.

        MERGE INTO d.t USING e.s ON d.t.k = e.s.k    →  MERGE INTO d.t USING e.s AS s ON d.t.k = s.k
        MERGE INTO d.t USING e.t ON d.t.k = e.t.k    →  … USING e.t AS __dl_source ON d.t.k = __dl_source.k

    Traced, the source is a subquery, which has an alias and no database.

    Args:
        change: what was read.
        of_target: what columns of the target can be qualified with, catalog and database first, without backticks.
        of_source: the same of the source.

    Raises:
        NotTracedError: a name may mean a column of either.

    """
    if change.source_name is None or change.source is None:
        return change
    behind, is_shared = change.source[1], _lower(of_target[-1:]) == _lower(of_source[-1:])
    called = UNNAMED if is_shared else change.source_name.last
    edits = []
    for chain in _chains([word for word in meaningful(lex(change.sql)) if word.start >= behind]):
        depth, other = _qualified(chain, of_source), _qualified(chain, of_target)
        if depth and depth == other:
            written = change.sql[chain[0].start : chain[-1].end]
            what = f"{written} may be a column of {change.target.text} or of {change.source_name.text}"
            raise NotTracedError(what, at=position_at(change.sql, chain[0].start), instead="Give the tables aliases.")
        if depth > max(other, 1):
            edits.append((chain[0].start, chain[depth - 1].end, called))
    if not edits and not is_shared:
        return change
    again = read_row_change(_with_edits(change.sql, [*edits, (behind, behind, f" AS {called}")]))
    assert again is not None, "the same statement"
    return again


def _qualified(chain: Sequence[Token], qualifier: Sequence[str]) -> int:
    """Return how many parts of a name qualify a column of a table; Spark takes the table for which these are most."""
    names = [word.name for word in chain]
    depths = range(min(len(chain) - 1, len(qualifier)), 0, -1)
    return next((depth for depth in depths if _lower(names[:depth]) == _lower(qualifier[-depth:])), 0)


def _lower(parts: Sequence[str]) -> list[str]:
    return [part.lower() for part in parts]


def _chains(words: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the parts of each name of several parts; not those of functions, and no fields of what is not a name."""
    at = 0
    while at < len(words):
        begin = at
        while at + 2 < len(words) and words[at].kind in _NAMES and words[at + 1].text == ".":
            at += 2
        at += 1
        is_call = at < len(words) and words[at].text == "("
        if at - begin > 1 and not is_call and words[begin - 1].text != ".":
            yield words[begin:at:2]


def _with_edits(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """Return the text with others in the places of some stretches of it."""
    for start, end, new in sorted(edits, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text


def edited(change: RowChange, source: str | None, lineage: Sequence[str | None], columns: Sequence[str]) -> str:
    """Return the text that also writes lineage.

    Args:
        change: what was read.
        source: the query of the source's rows with their lineage; None: the source stays.
        lineage: for each action, the expression of the row's lineage; None: it stays.
        columns: all of the target but `DL`, quoted, for stars.

    """
    edits: list[tuple[int, int, str]] = []
    if source is not None and change.source is not None:
        edits.append((*change.source, f"({source}) AS {change.source_called}"))
        edits.append((0, change.prefix, blank(change.sql[: change.prefix])))
    for action, value in zip(change.actions, lineage, strict=True):
        if value is None:
            continue
        if action.star is not None:
            edits.append((*action.star, _spelled_out(change, action, value, columns)))
        elif action.verb == "INSERT":
            edits += [(action.ends[0],) * 2 + (f", {LINEAGE_COLUMN}",), (action.ends[1],) * 2 + (f", {value}",)]
        else:
            edits.append((action.ends[0], action.ends[0], f", {LINEAGE_COLUMN} = {value}"))
    return _with_edits(change.sql, edits)


def _spelled_out(change: RowChange, action: Action, value: str, columns: Sequence[str]) -> str:
    taken = [f"{change.source_called}.{column}" for column in columns]
    if action.verb == "INSERT":
        return f"({', '.join(columns)}, {LINEAGE_COLUMN}) VALUES ({', '.join(taken)}, {value})"
    pairs = zip([*columns, LINEAGE_COLUMN], [*taken, value], strict=True)
    return ", ".join(f"{column} = {each}" for column, each in pairs)


def _verb_at(words: Sequence[Token]) -> int | None:
    if not words:
        return None
    if words[0].word in VERBS:
        return 0
    if words[0].word != "WITH":
        return None
    depth = 0
    for at, word in enumerate(words):
        depth += (word.text == "(") - (word.text == ")")
        if depth == 0 and word.word in VERBS and words[at - 1].text == ")":
            return at
        if depth == 0 and word.word in ("SELECT", "INSERT", "FROM") and words[at - 1].text == ")":
            return None
    return None


class _Reader:
    """Reads one statement from left to right."""

    def __init__(self, sql: str, words: Sequence[Token], begin: int) -> None:
        self.sql, self.words, self.begin, self.at = sql, words, begin, begin

    def change(self) -> RowChange:
        verb, prefix = self._take().word, self._peek_start(self.begin) if self.begin else 0
        if verb == "MERGE" and self._word() == "WITH":
            raise evolving("MERGE WITH SCHEMA EVOLUTION", position_at(self.sql, self.words[self.begin].start))
        for word in {"MERGE": ("INTO",), "DELETE": ("FROM",), "UPDATE": ()}[verb]:
            self._expect(word)
        target = self._name()
        alias = self._alias()
        source: tuple[int, int] | None = None
        called: str | None = None
        table: Name | None = None
        actions: list[Action] = []
        if verb == "MERGE":
            self._expect("USING")
            source, called, table = self._source()
            self._expect("ON")
            self._skip_to("WHEN")
            while self.at < len(self.words):
                action = self._clause()
                actions += [action] if action is not None else []
        elif verb == "UPDATE":
            self._expect("SET")
            values, end = self._assignments()
            actions.append(Action("UPDATE", False, values, None, (end,)))
        start = position_at(self.sql, self.words[self.begin].start)
        return RowChange(self.sql, verb, target, alias, source, called, table, prefix, tuple(actions), start)

    # ------------------------------------------------------------ tokens

    def _peek_start(self, at: int) -> int:
        return self.words[at].start if at < len(self.words) else len(self.sql)

    def _word(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.words[at].word or self.words[at].text if at < len(self.words) else ""

    def _take(self) -> Token:
        if self.at >= len(self.words):
            raise self._not_read()
        self.at += 1
        return self.words[self.at - 1]

    def _expect(self, *words: str) -> None:
        for word in words:
            if self._word() != word:
                raise self._not_read()
            self.at += 1

    def _not_read(self) -> LineageError:
        verb = self.words[self.begin].word
        at = position_at(self.sql, self._peek_start(self.at))
        what = f"a form of {verb} that is not traced: {self._word() or 'its end'} is not expected here"
        return NotTracedError(what, at=at, instead=_ANOTHER_FORM)

    def _closing(self) -> int:
        """The place of the bracket that closes the one that is next."""
        depth = 0
        for at in range(self.at, len(self.words)):
            depth += (self.words[at].text in "([") - (self.words[at].text in ")]")
            if depth == 0:
                return at
        raise self._not_read()

    def _skip_to(self, *ends: str) -> int:
        """Go to the next of some words that stands for itself; return the end of what was passed over."""
        cases = 0
        while self.at < len(self.words):
            word = "" if self.words[self.at - 1].text == "." else self._word()
            if word in ends and not cases:
                break
            if word in ("(", "["):
                self.at = self._closing()
            cases += (word == "CASE") - (word == "END" and cases > 0)
            self.at += 1
        return self.words[self.at - 1].end

    # ------------------------------------------------------------ parts

    def _name(self) -> Name:
        start, parts = self._peek_start(self.at), [self._part()]
        while self._word() == ".":
            self.at += 1
            parts.append(self._part())
        last = self.words[self.at - 1]
        return Name(tuple(parts), self.sql[start : last.end], last.text)

    def _part(self) -> str:
        token = self._take()
        if token.kind not in _NAMES:
            self.at -= 1
            raise self._not_read()
        return token.name

    def _alias(self) -> str | None:
        if self._word() == "AS":
            self.at += 1
        elif self._word() in (*_BEHIND_A_TARGET, "", "("):
            return None
        self._part()
        return self.words[self.at - 1].text

    def _source(self) -> tuple[tuple[int, int], str, Name | None]:
        start, table = self._peek_start(self.at), None
        if self._word() == "(":
            self.at = self._closing() + 1
        else:
            table = self._name()
            if self._word() == "(":
                raise self._not_read()
        alias = self._alias()
        named = UNNAMED if table is None else table.last
        return (start, self.words[self.at - 1].end), alias or named, table if alias is None else None

    def _clause(self) -> Action | None:
        self._expect("WHEN")
        of_source, matched = True, self._word() == "MATCHED"
        if not matched:
            self._expect("NOT")
        self._expect("MATCHED")
        if self._word() == "BY":
            self.at += 1
            of_source = self._word() == "TARGET"
            self._expect("TARGET" if of_source else "SOURCE")
        self._skip_to("THEN")
        self._expect("THEN")
        verb = self._take().word
        if verb == "DELETE":
            if self._word() not in ("WHEN", ""):
                raise self._not_read()
            return None
        if verb == "INSERT" and not matched and of_source:
            return self._insert()
        if verb == "UPDATE" and (matched or not of_source):
            return self._update(matched=matched)
        self.at -= 1
        raise self._not_read()

    def _update(self, *, matched: bool) -> Action:
        self._expect("SET")
        if self._word() == "*":
            star = self._take()
            return Action("UPDATE", matched, (), (star.start, star.end), ())
        values, end = self._assignments()
        return Action("UPDATE", matched, values, None, (end,))

    def _insert(self) -> Action:
        if self._word() == "*":
            star = self._take()
            return Action("INSERT", False, (), (star.start, star.end), ())
        if self._word() != "(":
            raise self._not_read()
        columns = [tuple(self._chain(part)) for part in self._listed()]
        ends = [self.words[self.at - 1].start]
        self._expect("VALUES")
        values = self._listed()
        ends.append(self.words[self.at - 1].start)
        if len(columns) != len(values):
            raise self._not_read()
        pairs = zip(columns, values, strict=True)
        return Action("INSERT", False, tuple(self._value(column, value) for column, value in pairs), None, tuple(ends))

    def _listed(self) -> list[Sequence[Token]]:
        """The items of a list in brackets, which is passed over."""
        end = self._closing()
        inside = self.words[self.at + 1 : end]
        self.at = end + 1
        return _split(inside)

    def _assignments(self) -> tuple[tuple[Value, ...], int]:
        begin = self.at
        end = self._skip_to("WHEN", "WHERE")
        values = []
        for part in _split(self.words[begin : self.at]):
            equals = next((at for at, word in enumerate(part) if word.text == "="), None)
            if equals is None:
                raise self._not_read()
            values.append(self._value(self._chain(part[:equals]), part[equals + 1 :]))
        return tuple(values), end

    def _chain(self, part: Sequence[Token]) -> tuple[str, ...]:
        if not part or any(word.text != "." for word in part[1::2]) or len(part) % 2 == 0:
            raise self._not_read()
        return tuple(word.name for word in part[::2])

    def _value(self, column: tuple[str, ...], part: Sequence[Token]) -> Value:
        if not part:
            raise self._not_read()
        for before, word in itertools.pairwise(part):
            if before.text == "(" and word.word in _QUERIES:
                raise NotTracedError(
                    f"a subquery in a value of {self.words[self.begin].word}",
                    at=position_at(self.sql, word.start),
                    instead="Write it in the source of a MERGE: its rows then count with the row that they change.",
                )
        text = self.sql[part[0].start : part[-1].end]
        if text.upper() == "DEFAULT":
            return Value(column, None, ())
        try:
            return Value(column, text, tuple(_columns_in(text)))
        except LineageError as error:  # a place in it would be taken for one in the statement
            what = f"a value that is not understood: {error.what}"
            at = position_at(self.sql, part[0].start)
            raise NotTracedError(what, at=at, instead="Write it in another way.") from None


def _split(words: Sequence[Token]) -> list[Sequence[Token]]:
    """The parts between commas that stand outside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in ("(", "[")) - (word.text in (")", "]"))
        if word.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [*parts]


def _columns_in(text: str) -> Iterator[tuple[str, ...]]:
    """The names in an expression that are columns: no types, no units of time, no variables of a lambda."""
    tree = read_tree(text, text)
    units = {id(call.expressions[0]) for call in tree.find_all(exp.Anonymous) if _begins_with_unit(call)}
    for column in tree.find_all(exp.Column):
        if id(column) not in units:
            yield tuple(part.name for part in parts_of(column))


def _begins_with_unit(call: exp.Anonymous) -> bool:
    return call.name.upper() in _WITH_UNITS and len(call.expressions) == _ARGUMENTS_WITH_UNIT
