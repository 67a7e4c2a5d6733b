"""The rewritten texts of before: one holds for the same text as long as all answers on the way still hold.

Rewriting depends on the text, on what was said beside it, and on what the names in the text mean. The last is noted,
question by question; so a text that is seen again costs its questions, and no rule runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pyspark.sql.types import StructType

from forward_lineage.frontend import RewrittenStatement, Statement
from forward_lineage.tracing.trace_scope import Narrowed
from rewrites.granules import Granules
from rewrites.tables import Source, Tables
from udafs.errors import LineageError

MOST = 256
"""Statements that are remembered, at most: those that were asked for last."""


Answer = tuple[Literal["find", "qualifier", "is_variable"], tuple[str, ...], object]
"""A method of `Tables`, what it was asked about, and what it said."""


@dataclass(frozen=True)
class Asked:
    """What is said of a statement beside its text, see `Statements.trace`; and whether lineage goes by reference.

    Attributes:
        by_chance: functions that Spark's plan of the text leaves to chance, and tables.
        moves_conditions: whether conditions of correlated subqueries may be asked elsewhere.
        weighs: whether it goes by reference only where copying is expected to cost more.

    """

    semantics: str
    anywhere: bool
    narrowed: Narrowed | None
    in_parts: str | None
    by_reference: bool
    by_chance: frozenset[str] = frozenset()
    granules: tuple[Granules, ...] = ()
    to_store: bool = False
    moves_conditions: bool = True
    weighs: bool = False


@dataclass
class Remembered:
    """A statement that has been rewritten.

    Attributes:
        statement: what was read from its text.
        rewritten: what was made of it.
        answers: each question about a name while it was rewritten.
        columns: those of the rewritten query, and those that the user's text had then; None before it has run.
        is_guarded: whether Spark has been asked of what runs, see `guarding`.

    """

    statement: Statement
    rewritten: RewrittenStatement
    answers: Sequence[Answer]
    columns: tuple[StructType, StructType] | None = None
    is_guarded: bool = False

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

    def find(self, parts: Sequence[str]) -> Source | None:
        """Return what a query calls by this name of one to three parts; None when there is nothing."""
        found = self.known.find(parts)
        self.answers.append(("find", tuple(parts), found))
        return found

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """See `Tables.qualifier`."""
        found = self.known.qualifier(parts)
        self.answers.append(("qualifier", tuple(parts), found))
        return found

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say whether a name that no column has is a variable of the session, or a field of one."""
        found = self.known.is_variable(parts)
        self.answers.append(("is_variable", tuple(parts), found))
        return found

    def names(self) -> Sequence[str]:
        """Return the names of all tables, for messages. Only messages need them."""
        return self.known.names()


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

    def add(self, key: Hashable, remembered: Remembered) -> None:
        """Remember a statement, to be got by that key."""
        self._known[key] = remembered
        if len(self._known) > MOST:
            self._known.popitem(last=False)
