"""The outcome of a statement, as plain data that goes through a pipe and into JSON."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """One of these for every statement, under each semantics."""

    REWRITTEN = "rewritten"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_DETERMINISTIC = "not deterministic"
    WRONG = "wrong anyway"
    SET_UP = "set-up"
    PASSED_OVER = "passed over"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    TOO_LARGE = "too large"
    DIED = "died"
    UNREADABLE = "unreadable"


class Rows(StrEnum):
    """How the user's columns compare with those of plain Spark."""

    EQUAL = "equal"
    TOLERANCE = "equal within the tolerance of floating sums"
    UNDETERMINED = "equal as far as they are determined"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a statement under one semantics.

    Attributes:
        outcome: its class.
        why: one line, for everything but equal rows.
        reason: `why` without names and numbers, to group by.
        rows: how the rows compare, if they were compared.
        tables: the base tables that were traced.
        result_rows: how many rows plain Spark gives.

    """

    outcome: Outcome
    why: str = ""
    reason: str = ""
    rows: Rows | None = None
    tables: tuple[str, ...] = ()
    result_rows: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it without what is empty."""
        return {key: value for key, value in asdict(self).items() if value not in ("", None, ())}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Verdict:
        """Read back what `to_json` wrote."""
        rows = data.get("rows")
        return cls(
            Outcome(data["outcome"]),
            data.get("why", ""),
            data.get("reason", ""),
            None if rows is None else Rows(rows),
            tuple(data.get("tables", ())),
            data.get("result_rows"),
        )


@dataclass
class Law:
    """How often a law was tried on a statement, and what came of it.

    Attributes:
        held: how often it held.
        failed: what failed, one line each.
        not_tried: why it was not tried → how often.

    """

    held: int = 0
    failed: list[str] = field(default_factory=list)
    not_tried: dict[str, int] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        """Count one that was not tried."""
        self.not_tried[why] = self.not_tried.get(why, 0) + 1

    def add(self, other: Law) -> None:
        """Count another's, too."""
        self.held += other.held
        self.failed += other.failed
        for why, count in other.not_tried.items():
            self.not_tried[why] = self.not_tried.get(why, 0) + count


@dataclass
class Laws:
    """The laws of one statement.

    Attributes:
        witness: base tables cut down to a row's lineage give the row back.
        necessity: a lineage row that is dropped loses the result row, any other does not.
        minimality: |lineage| / |smallest witness found| of sampled rows.
        frames: what is done next with the frame gives what it gives of the same rows.

    """

    witness: Law = field(default_factory=Law)
    necessity: Law = field(default_factory=Law)
    minimality: list[float] = field(default_factory=list)
    frames: Law = field(default_factory=Law)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Laws:
        """Read back what `to_json` wrote."""
        witness, necessity, frames = (Law(**data[name]) for name in ("witness", "necessity", "frames"))
        return cls(witness, necessity, list(data["minimality"]), frames)


_NAMED = re.compile(r"`(?:[^`]|``)*`|'[^']*'|\"[^\"]*\"")
_NUMBER = re.compile(r"\d+")


def grouped(why: str) -> str:
    """Return the class of a reason: without the names and numbers of the case, cut where its details begin."""
    text = _NUMBER.sub("N", _NAMED.sub("…", why))
    head, colon, _ = text.partition(": ")
    return head if colon and len(head) > 15 else text[:120]
