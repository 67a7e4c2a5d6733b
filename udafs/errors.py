"""Every error this project raises: one root, and a type for each thing that a caller may want to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

MOST_LISTED = 8


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names as a message lists them: the first ones, and how many more there are, so that no list seems whole.

    Args:
        names: in order.
        most: how many are named; one more than that is named, too, rather than counted.

    """
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


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
        what: what was found, as one clause without a full stop, lower case first unless it begins with a name.
        at: where in the user's SQL, when the cause stands in SQL.
        instead: what the user can do, as one sentence or more; the type's own remedy when not given.

    """

    #: What to do about any error of this type, where nothing better can be said.
    remedy: ClassVar[str | None] = None

    def __init__(self, what: str, *, at: Position | None = None, instead: str | None = None) -> None:
        self.what = what
        self.at = at
        self.instead = instead or self.remedy
        place = f" ({at})" if at else ""
        told = f". {self.instead}" if self.instead else ""
        super().__init__(f"{what}{place}{told}")

    def __reduce__(self) -> tuple[object, ...]:
        """Between processes it says what it said: made anew of its message it would say the remedy twice."""
        return _made_again, (type(self), self.args), vars(self)

    def said_at(self, at: Position, what: str | None = None) -> Self:
        """Return the same error at a place that whoever caught it knows, in better words if there are some."""
        return type(self)(what or self.what, at=at, instead=self.instead)


def _made_again(kind: type[LineageError], args: tuple[object, ...]) -> LineageError:
    return kind.__new__(kind, *args)


class NotRegisteredError(LineageError):
    """A table, or a version of its registration, that nobody registered."""


class NotSavedError(LineageError):
    """A saved result, or a version, row or ancestor of one, that is not there."""


class NameTakenError(LineageError):
    """A name that already means something else, or that another session took at the same time."""


class ChangedError(LineageError):
    """A table or a result is not what it was, so that its ids would mean other rows."""


class DamagedError(LineageError):
    """A file or a value that is damaged, cut short or missing; nothing is read from it."""


class CorruptLineageError(DamagedError):
    """Bytes that are not a lineage value of any known encoding."""

    remedy = "Compute the value again: it was cut short or altered after dlunion wrote it."


class SparkError(LineageError):
    """Spark's own message.

    Args:
        condition: the name of Spark's error, e.g. ``TABLE_OR_VIEW_NOT_FOUND``, when Spark named it.

    """

    def __init__(
        self, what: str, *, at: Position | None = None, instead: str | None = None, condition: str | None = None
    ) -> None:
        super().__init__(what, at=at, instead=instead)
        self.condition = condition

    def __reduce__(self) -> tuple[object, ...]:
        """Between processes it says what it said: made anew of its message it would say the remedy twice."""
        return _made_again, (type(self), self.args), vars(self)

    def said_at(self, at: Position, what: str | None = None) -> Self:
        """Return the same error at a place that whoever caught it knows, in better words if there are some."""
        return type(self)(what or self.what, at=at, instead=self.instead, condition=self.condition)


class WrongSqlError(SparkError):
    """SQL that is malformed, or that Spark itself refuses before anything runs."""

    remedy = "Correct the SQL: it fails without lineage, too."


class FailedQueryError(SparkError):
    """SQL that Spark began to run and could not finish: a division by zero, a file that is gone, no memory left."""

    remedy = (
        "Run it without lineage, with spark.sql(…): if it fails there, too, the cause lies in its SQL, its data or "
        "Spark's settings; if not, please report it."
    )


class NotTracedError(LineageError):
    """SQL, a DataFrame or a kind of table that is right but whose lineage is not, or cannot be, computed."""


class BadArgumentError(LineageError):
    """An argument that no call takes, or arguments that contradict each other."""


class SetupError(LineageError):
    """Something around us is missing or cannot be used: Java, a package, a session, a folder that may be written."""


class InternalError(LineageError):
    """An invariant of ours is broken. Nothing wrong was returned."""

    remedy = "This is a bug of forward_lineage: please report it, with the statement."
