"""The verdict on a set of attributes: safe, with the facts to be seen when the sketch is captured; or why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from rewrites.refusals import position_of


@dataclass(frozen=True)
class RunTimeCheck:
    """A fact that must be seen on all rows when a sketch is captured, else it must not be used.

    Attributes:
        kind: ``"no tie"``: the statement's rows number `row` and `row + 1` in its order, had it no LIMIT and OFFSET,
            differ in a key of its ORDER BY (or there are at most `row` rows). Without ORDER BY: there are at most
            `row` rows.
            ``"rows"``: the statement returns at least `row` rows.
        row: that number of rows.
    """

    kind: str
    row: int


@dataclass(frozen=True)
class Proof:
    """Whether something is proven.

    Attributes:
        safe: it is: whatever sketch over these attributes is used, the answer is that of all rows, if `checks` hold.
        why: in a sentence; where it is not, which step could not be proven, and where in the SQL.
        checks: what must be seen at capture.
    """

    safe: bool
    why: str
    checks: tuple[RunTimeCheck, ...] = ()

    def __bool__(self) -> bool:
        return self.safe


class UnprovenError(Exception):
    """A step that could not be proven, or a construct that is not read; it never leaves this package.

    Attributes:
        why: what it is.
        node: where it stands.
    """

    def __init__(self, why: str, node: exp.Expr | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.node = node

    def __str__(self) -> str:
        place = None if self.node is None else position_of(self.node)
        return self.why if place is None else f"{self.why} (line {place.line}, column {place.column})"


def unproven(why: str, node: exp.Expr | None = None) -> NoReturn:
    """Give up: what is not proven is not safe."""
    raise UnprovenError(why, node)
