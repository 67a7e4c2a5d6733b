"""The rewritten texts of before: one holds for the same text as long as all answers on the way still hold.

Rewriting depends on the text, on what was said beside it, and on what the names in the text mean. The last is noted,
question by question; so a text that is seen again costs its questions, and no rule runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pyspark.sql.types import StructType

from forward_lineage.frontend import RewrittenStatement, Statement
from forward_lineage.tracing.trace_scope import Narrowed
from rewrites.options import Options
from rewrites.tables import Source, Tables
from udafs.errors import LineageError

MOST = 256
"""Statements that are remembered, at most: those that were asked for last."""


Question = Literal["find", "qualifier", "is_variable"]

Answer = tuple[Question, tuple[str, ...], object]
"""A method of `Tables`, what it was asked about, and what it said."""


@dataclass(frozen=True)
class Asked:
    """What is said of a statement beside its text, see `Statements.trace`."""

    options: Options
    anywhere: bool = False
    narrowed: Narrowed | None = None

    def with_options(self, **changes: Any) -> Asked:
        """Return the same with other `Options`, by their names."""
        return replace(self, options=replace(self.options, **changes))


@dataclass
class Remembered:
    """A statement that has been rewritten.

    Attributes:
        statement: what was read from its text.
        rewritten: what was made of it.
        answers: each question about a name while it was rewritten.
        columns: those of the rewritten query, and those that the user's text had then; None before it has run.
        is_guarded: whether Spark has been asked of what runs, see `guarding`.
        kept: the kernel's hold on the analysed result, see `udafs.requests.keep_analysed`, and what its ids meant.

    """

    statement: Statement
    rewritten: RewrittenStatement
    answers: Sequence[Answer]
    columns: tuple[StructType, StructType] | None = None
    is_guarded: bool = False
    kept: tuple[Any, Mapping[str, Any]] | None = None

    def holds(self, names: Tables) -> bool:
        """Say whether every name still means what it meant."""
        try:
            return all(getattr(names, question)(parts) == said for question, parts, said in self.answers)
        except LineageError:
            return False  # rewriting it again says so in its place


@dataclass
class Noted:
    """The meaning of names, each question and its answer noted: `rewrites.tables.Tables` over another one.

    Attributes:
        known: who answers.
        answers: as in `Remembered`.

    """

    known: Tables
    answers: list[Answer] = field(default_factory=list)
    _noted: dict[tuple[Question, tuple[str, ...]], object] = field(default_factory=dict)

    def find(self, parts: Sequence[str]) -> Source | None:
        """Return what a query calls by this name; None when there is nothing."""
        found = self.known.find(parts)
        self._note("find", parts, found)
        return found

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """See `Tables.qualifier`."""
        found = self.known.qualifier(parts)
        self._note("qualifier", parts, found)
        return found

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say whether a name that no column has is a variable of the session, or a field of one."""
        found = self.known.is_variable(parts)
        self._note("is_variable", parts, found)
        return found

    def names(self) -> Sequence[str]:
        """Return the names of all tables, for messages. Only messages need them."""
        return self.known.names()

    def _note(self, question: Question, parts: Sequence[str], found: object) -> None:
        """Note an answer, unless it was given before: it is asked again each time the text is."""
        key = question, tuple(parts)
        if key not in self._noted or self._noted[key] != found:
            self._noted[key] = found
            self.answers.append((*key, found))


class Memory:
    """The statements of a session that were rewritten last, by their text and by all that was said beside it."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Remembered] = OrderedDict()

    def get(self, key: Hashable, names: Callable[[], Tables]) -> Remembered | None:
        """Return a statement that was rewritten before, if that still holds.

        Args:
            key: the one it was added under.
            names: gives what names mean now; asked for a statement that is known.

        """
        found = self._known.get(key)
        if found is None or not found.holds(names()):
            return None
        self._known.move_to_end(key)
        return found

    def tables(self, key: Hashable) -> Collection[str]:
        """Return the tables that a statement read when it was rewritten before; none if it was not."""
        found = self._known.get(key)
        return () if found is None else found.rewritten.tables

    def add(self, key: Hashable, remembered: Remembered) -> None:
        """Remember a statement, to be got by that key."""
        self._known[key] = remembered
        if len(self._known) > MOST:
            self._known.popitem(last=False)
