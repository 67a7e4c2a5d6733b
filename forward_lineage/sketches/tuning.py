"""When a sketch is captured, when one is used: decided anew for each query, by what it is expected to save.

The paper captures after a number of runs that could have used a sketch [Niu 2022, §8]. Here that number follows from
known facts. Capturing costs about as much as the query, a part of later runs is saved, and as many are expected to come
as have been. So it is captured when the runs so far would have saved its cost. At worst, when none comes after that, it
costs twice the need. Small tables are read whole: looking at the query would cost more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from forward_lineage.frontend import Statement
from forward_lineage.sketches.sketch_store import Capture, KeptSketches
from forward_lineage.sketches.sketched_query import AskedQuery
from forward_lineage.storage.derived import beyond_budget
from udafs.errors import BadArgumentError

HOPED_FOR = 0.7
"""The part of the bytes that a sketch of a query of which nothing is known is taken to save."""
LEAST_GAIN = 0.2
"""A sketch that saves less of the bytes is not used: testing rows costs something, too; but see `is_worth_it`."""
_FEW_ROWS, _LONG = 0.15, 1500  # the part of the rows; milliseconds of capturing
_COST = 1.3  # of capturing, in runs of the query; with a subquery in a predicate
_COST_OF_SUBQUERIES = 2.0


class Mode(StrEnum):
    """When sketches are captured."""

    ADAPTIVE = "adaptive"  # when the runs so far would have paid for it
    EAGER = "eager"  # at the first run
    OFF = "off"  # never, nor used


@dataclass(frozen=True)
class Tuning:
    """How a session captures and uses sketches.

    Attributes:
        mode: when.
        budget: bytes on disk, of all sketches under the home; those that are worth least give way.
        seconds: that this session may spend on capturing, in all; None: any.
        least: bytes; queries over tables that are smaller, all together, run plainly.

    """

    mode: Mode = Mode.OFF
    budget: int = 64 << 20
    seconds: float | None = None
    least: int = 64 << 20

    @classmethod
    def of(cls, mode: str, budget: int, seconds: float | None, least: int) -> Tuning:
        """Check what was asked for.

        Raises:
            BadArgumentError: no such mode, or a number below 0.

        """
        modes = [each.value for each in Mode]
        if mode not in modes:
            raise BadArgumentError(f"unknown mode {mode!r}", instead=f"Use one of {', '.join(modes)}.")
        if min(budget, least, seconds or 0) < 0:
            raise BadArgumentError("a budget below 0", instead="Give bytes and seconds from 0.")
        return cls(Mode(mode), budget, seconds, least)


def pays(statement: Statement, runs: int, captured: Sequence[Capture]) -> bool:
    """Say whether as many runs as there have been would have saved what capturing costs.

    Args:
        statement: of one of the runs.
        runs: how many there have been without a sketch, this one included.
        captured: what was captured of queries of the same kind before.

    """
    gains = [each.gain for each in captured]
    expected = sum(gains) / len(gains) if gains else HOPED_FOR
    return runs * expected >= _cost(statement)


def is_worth_it(captured: Capture, query: AskedQuery) -> bool:
    """Say whether a query is faster with sketches than without.

    It is where bytes are saved. If the rows of a sketch lie in every page none are. But if few rows are left, joins and
    groups have hardly anything to do, which counts once a query takes much longer than its plan.
    """
    return captured.gain >= LEAST_GAIN or (captured.milliseconds >= _LONG and rows_left(captured, query) <= _FEW_ROWS)


def rows_left(captured: Capture, query: AskedQuery) -> float:
    """Return the part of the rows that pass the test of sketches, about, tables weighted by their bytes."""
    part = {each.partition.table: len(each.fragments) / each.partition.fragments for each in captured.sketches}
    return sum(table.size * part.get(table.name, 1.0) for table in query.tables) / max(query.size, 1)


def _cost(statement: Statement) -> float:
    conditions = statement.tree.find_all(exp.Where, exp.Having, exp.Join)
    nested = any(condition.find(exp.Subquery, exp.Exists, exp.Select) for condition in conditions)
    return _COST_OF_SUBQUERIES if nested else _COST


def too_many(kept: KeptSketches, budget: int, uses: Counter[str]) -> Iterable[Capture]:
    """Yield what has to go so that the rest fits a budget: first what saved least for its bytes.

    Args:
        kept: all sketches.
        budget: bytes.
        uses: by name of a capture, how often this session used it.

    """
    sized = ((each, kept.size(each)) for each in kept.all())
    return beyond_budget(sized, budget, lambda each: (1 + uses[each.name]) * each.gain)
