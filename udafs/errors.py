"""The one root of every error this project raises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """A place in the user's SQL text; both numbers start at 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class LineageError(Exception):
    """Something was refused or found broken; the message says what, where, and what to do instead.

    Args:
        what: what was found, as one clause without a full stop.
        at: where in the user's SQL, when the cause stands in SQL.
        instead: what the user can do, as one sentence.

    """

    def __init__(self, what: str, *, at: Position | None = None, instead: str | None = None) -> None:
        self.what = what
        self.at = at
        self.instead = instead
        place = f" ({at})" if at else ""
        remedy = f". {instead}" if instead else ""
        super().__init__(f"{what}{place}{remedy}")


class CorruptLineageError(LineageError):
    """Bytes that are not a lineage value of any known encoding."""
