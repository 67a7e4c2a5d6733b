"""Constraints of a table, as people write them: dependencies, keys, inclusions, denials.

    zip -> city, state                       rows with one zip have one city, and one state
    key(npi, enrollment)                     no two rows have both in common
    ccn in hospitals(ccn)                    each value is there in another table
    not (graduation > 2024)                  no row is so
    not (t.npi = u.npi and t.sex <> u.sex)   no two rows are so

Attributes are expressions over the columns of the table, in Spark SQL; `substr(zip, 1, 5) AS zip5` gives one a name.
Every node knows its place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from sqlglot import exp
from sqlparse import tokens as kinds

from forward_lineage.frontend.lexing import Token, blank, lex, meaningful, position_at, with_depth, without_comments
from forward_lineage.frontend.lineage_on import is_one_group, items_of
from forward_lineage.frontend.parsing import read_tree
from forward_lineage.frontend.statement import refuse_variables
from rewrites.refusals import bugs_reported, position_of, refuse
from rewrites.spark_functions import AGGREGATES, GENERATORS, NONDETERMINISTIC, WINDOW_ONLY
from udafs.errors import LineageError, WrongSqlError

FORMS = "Write `a, b -> c`, `key(a, b)`, `a in other(b)` or `not (condition)`."
_MOST_ROWS = 2
_NO_ATTRIBUTES = {
    **dict.fromkeys(AGGREGATES | WINDOW_ONLY, "of several rows"),
    **dict.fromkeys(GENERATORS, "that makes several rows"),
    **dict.fromkeys(NONDETERMINISTIC, "whose value is left to chance"),
}


@dataclass(frozen=True, eq=False)
class Attribute:
    """Something that each row has: a column, or an expression over columns.

    Attributes:
        name: what answers call it.
        text: its text, on one line.
        tree: what it says.
        constraint: what it stands in.

    """

    name: str
    text: str
    tree: exp.Expr
    constraint: str


@dataclass(frozen=True)
class Dependency:
    """Rows that agree on the left agree on each attribute on the right."""

    text: str
    left: tuple[Attribute, ...]
    right: tuple[Attribute, ...]


@dataclass(frozen=True)
class Key:
    """No two rows agree on all attributes."""

    text: str
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True)
class Inclusion:
    """Values of some attributes that rows of another table must have in theirs."""

    text: str
    attributes: tuple[Attribute, ...]
    table: str
    others: tuple[Attribute, ...]


@dataclass(frozen=True)
class Denial:
    """No row, or no two rows, are so.

    Attributes:
        text: its text.
        condition: what must not be.
        rows: what qualifies the columns of one row, of two rows, in the order of the text; () where nothing does.

    """

    text: str
    condition: Attribute
    rows: tuple[str, ...]


Constraint = Dependency | Key | Inclusion | Denial


def read_constraint(text: str) -> Constraint:
    """Read one.

    Raises:
        WrongSqlError: it is none of them; says where.
        NotTracedError: an attribute is not one value of each row.

    """
    tokens = lex(text)
    words = meaningful(tokens)
    reader = _ConstraintReader(text, without_comments(tokens))
    if not words:
        raise WrongSqlError("there is no constraint here", instead=FORMS)
    refuse_variables(text, words)
    with errors_of(reader.said), bugs_reported(lambda: position_at(text, words[0].start)):
        return reader.read(words)


@contextmanager
def errors_of(constraint: str) -> Iterator[None]:
    """Say of errors with a place in which constraint it is: several are given at once."""
    try:
        yield
    except LineageError as error:
        if error.at is None:
            raise
        raise error.said_at(error.at, f"{error.what}, in `{constraint}`") from None


@dataclass(frozen=True)
class _ConstraintReader:
    text: str
    readable: str

    @cached_property
    def said(self) -> str:
        return " ".join(self.readable.split())

    def read(self, words: list[Token]) -> Constraint:
        said = self.said
        outside = [token for token, depth in with_depth(words) if depth == 0]
        if arrows := [token for token in outside if token.text == "->"]:
            if len(arrows) > 1:
                self._refuse(arrows[1], "a second -> in a dependency", "Give each dependency by itself.")
            place = words.index(arrows[0])
            left, right = words[:place], words[place + 1 :]
            return Dependency(said, self._listed(left, arrows[0], "left"), self._listed(right, arrows[0], "right"))
        if words[0].word == "KEY" and is_one_group(words[1:]):
            return Key(said, self._listed(words[1:], words[0], "key"))
        if words[0].word == "NOT":
            return self._denial(said, words)
        if inner := [token for token in outside if token.word == "IN"]:
            return self._inclusion(said, words, words.index(inner[0]))
        return self._refuse(words[0], "this is no dependency, key, inclusion or denial", FORMS)

    def _inclusion(self, said: str, words: list[Token], place: int) -> Inclusion:
        behind = words[place + 1 :]
        opening = next((i for i, token in enumerate(behind) if token.text == "("), len(behind))
        name, listed = behind[:opening], behind[opening:]
        if not name or not is_one_group(listed):
            self._refuse(words[place], "IN without a table and its columns", "Write `a, b in other(c, d)`.")
        left = self._listed(words[:place], words[place], "left")
        right = self._listed(listed, words[place], "right")
        if len(left) != len(right):
            what = f"{len(left)} in {len(right)} attributes"
            self._refuse(words[place], what, "Name as many of the other table.")
        return Inclusion(said, left, self.readable[name[0].start : name[-1].end], right)

    def _denial(self, said: str, words: list[Token]) -> Denial:
        if len(words) == 1:
            self._refuse(words[0], "NOT without a condition", FORMS)
        condition = self._attribute(words[1:], alias=False)
        columns = sorted(condition.tree.find_all(exp.Column), key=_place)
        named: dict[str, str] = {}
        for each in columns:
            named.setdefault(row_of(each).lower(), row_of(each))
        rows = list(named.values())
        if not columns:
            refuse(condition.tree, "a condition without columns", "Say what no row may be.", WrongSqlError)
        if len(rows) > 1 and "" in rows:
            alone = next(each for each in columns if not row_of(each))
            some = next(name for name in rows if name)
            refuse(alone, f"a column of no row, {alone.name}", f"Say of which: {some}.{alone.name}.", WrongSqlError)
        if len(rows) > _MOST_ROWS:
            third = next(each for each in columns if row_of(each).lower() == rows[_MOST_ROWS].lower())
            refuse(third, "a denial of three rows", "Deny two of them.")
        return Denial(said, condition, tuple(name for name in rows if name))

    def _listed(self, tokens: list[Token], at: Token, called: str) -> tuple[Attribute, ...]:
        if is_one_group(tokens):
            tokens = tokens[1:-1]
        if not tokens:
            self._refuse(at, f"nothing on the {called} side" if called != "key" else "a key of nothing", FORMS)
        found = tuple(self._attribute(item) for item in items_of(self.text, tokens, "a constraint"))
        for each in found:
            if each.tree.find(exp.Column) is None:
                refuse(each.tree, f"{each.text}, which is the same in every row", "Name columns.", WrongSqlError)
        return found

    def _attribute(self, item: list[Token], *, alias: bool = True) -> Attribute:
        name = None
        if alias and len(item) > 2 and item[-2].word == "AS" and item[-1].kind in (kinds.Name, kinds.Name.Quoted):
            name = item[-1].name
            item = item[:-2]
        start, end = item[0].start, item[-1].end
        tree = read_tree(self.text, blank(self.readable[:start]) + self.readable[start:end], exp.Condition)
        self._check(tree, item[0])
        text = " ".join(self.readable[start:end].split())
        plain = tree.name if isinstance(tree, exp.Column) else None
        return Attribute(name or plain or text, text, tree, self.said)

    def _check(self, tree: exp.Expr, first: Token) -> None:
        """One value of each row, the same at every reading."""
        if isinstance(tree, exp.Star | exp.Tuple | exp.Alias) or tree.find(exp.Star, exp.Placeholder, exp.Parameter):
            self._refuse(first, "this is no expression over columns", "Name columns, or write an expression over some.")
        for node in tree.walk():
            if isinstance(node, exp.Query | exp.Exists | exp.Window):
                called = "a window" if isinstance(node, exp.Window) else "a subquery"
                refuse(node, f"{called} in a constraint", "Save the query that has it as a column, and check that.")
            if isinstance(node, exp.Anonymous) and (why := _NO_ATTRIBUTES.get(node.name.lower())):
                refuse(node, f"a function {why} in a constraint, {node.name}", "Use functions of one row.")

    def _refuse(self, token: Token, what: str, instead: str) -> NoReturn:
        raise WrongSqlError(what, at=position_at(self.text, token.start), instead=instead)


def _place(node: exp.Expr) -> tuple[int, int]:
    at = position_of(node)
    return (at.line, at.column) if at is not None else (0, 0)


def row_of(column: exp.Column) -> str:
    """Return what a column is qualified with first; the empty string: nothing."""
    return column.parts[0].name if len(column.parts) > 1 else ""


def slug(text: str, most: int = 60) -> str:
    """Return a constraint as a name of letters, digits and _, e.g. ``zip_city_state``."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()[:most].strip("_") or "constraint"


def names_apart(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return names of columns, with underscores behind those that are taken already, in whatever case."""
    found: list[str] = []
    for name in names:
        apart = name
        while apart.lower() in {other.lower() for other in (*taken, *found)}:
            apart += "_"
        found.append(apart)
    return found
