"""The input of an operator's rule: the sketches' columns, and the means to look at the operators below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from forward_lineage.sketches.safety.algebra import Plan, Subquery
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.state import State
from forward_lineage.sketches.safety.verdicts import RunTimeCheck

ANY_ROWS = "any rows"
"""In place of a column: the sketch may have any rows of the table, whatever their values."""


@dataclass(frozen=True)
class Place:
    """Where an operator stands.

    Attributes:
        kept: the lineage of each of its rows is in that of the result, so all are reproduced: R′ = R.
        outer: for an operator in a subquery the row of the block around it.
        outermost: nothing but the result is above it.
        reached: each row of the result has a row of it in its lineage.
    """

    kept: bool
    outer: State | None = None
    outermost: bool = False
    reached: bool = False


@dataclass
class Context:
    """The facts of the whole proof.

    Attributes:
        sketched: table → the column of its sketch, in lower case, or `ANY_ROWS`.
        facts: what is known of the tables.
        one_witness: the lineage of a group whose aggregates are min and max, or of equal rows, may be one row that
            attains them.
        has_rows: the result has a row; then that is one of the checks.
        checks: the facts to be seen at capture, as far as they were found.
    """

    sketched: Mapping[str, str]
    facts: Facts
    one_witness: bool = False
    has_rows: bool = False
    checks: list[RunTimeCheck] = field(default_factory=list)


class Analyse(Protocol):
    """Looks at an operator and what is below it."""

    def __call__(self, plan: Plan, place: Place) -> State:
        """Return what is known of its rows; UnprovenError where a step is not proven."""
        ...

    def subquery(self, subquery: Subquery, state: State, place: Place) -> State:
        """Return what is known of the rows that a subquery finds for rows of an operator."""
        ...
