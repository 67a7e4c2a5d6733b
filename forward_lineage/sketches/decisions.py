"""The decisions about queries that were run, their reasons, and how to take them back.   [PBDS, §8]"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pyspark.sql import DataFrame

from forward_lineage.sketches.sketch_store import Capture
from udafs.errors import BadArgumentError

MOST = 10_000
"""Decisions that a session remembers, at most: the last ones."""


class Way(StrEnum):
    """How a query was run."""

    PLAIN = "plain"  # as Spark runs it
    CAPTURE = "capture"  # a sketch was captured first, then used
    USE = "use"  # with a sketch that was there


@dataclass(frozen=True)
class Decision:
    """How one query was run.

    Attributes:
        number: of the decision, from 1, in this session.
        sql: the query.
        way: how it was run.
        why: in a sentence.
        template: a short name for what queries of its kind have in common; None where that was not looked at.
        captured: the sketches that were used, or captured.
        seconds: that deciding took, capturing included.

    """

    number: int
    sql: str
    way: Way
    why: str
    template: str | None
    captured: Capture | None
    seconds: float
    _again: Callable[[Decision], DataFrame] = field(repr=False, compare=False)
    _back: Callable[[Decision], None] = field(repr=False, compare=False)

    @property
    def sketches(self) -> dict[str, str]:
        """By table the column whose ranges were read, and how many of them."""
        if self.captured is None:
            return {}
        return {
            each.partition.table: f"{each.partition.column}: {len(each.fragments):,} of"
            f" {each.partition.fragments:,} ranges"
            for each in self.captured.sketches
        }

    def replay(self) -> DataFrame:
        """Run the query in the same way again, whatever would be decided now.

        Raises:
            LineageError: the sketch is gone, or no longer that of the tables.

        """
        return self._again(self)

    def undo(self) -> None:
        """Take it back: a sketch that was captured is dropped, one that was used is not used by this session again.

        Raises:
            BadArgumentError: the query was run plainly.

        """
        if self.captured is None:
            raise BadArgumentError(
                f"decision {self.number} was to run the query as it is", instead="There is nothing to undo."
            )
        self._back(self)

    def __str__(self) -> str:
        """Say it in a line."""
        tables = "; ".join(f"{table} by {said}" for table, said in self.sketches.items())
        return f"{self.number}. {self.way}: {self.why}" + (f" [{tables}]" if tables else "")


class Decisions:
    """The decisions of a session, the last ones."""

    def __init__(self) -> None:
        self._made: deque[Decision] = deque(maxlen=MOST)
        self._count = 0

    def add(self, make: Callable[[int], Decision]) -> Decision:
        """Number a decision and keep it."""
        self._count += 1
        made = make(self._count)
        self._made.append(made)
        return made

    def all(self) -> Sequence[Decision]:
        """Return them, the first one first."""
        return list(self._made)
