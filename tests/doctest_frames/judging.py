"""Is a traced DataFrame the same as the DataFrame? One verdict for each."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from pyspark.sql import DataFrame

from forward_lineage import ForwardLineage
from forward_lineage.checking.comparison import compare_bags, first_difference
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.results import Result, collect
from udafs.errors import BadArgumentError, NotTracedError


class Verdict(enum.Enum):
    """What became of a DataFrame."""

    TRACED = "traced"
    CHANCE = "traced, and of other rows at each reading"
    REFUSED = "refused"
    NO_TABLE = "over no table"
    BROKEN = "fails without us, too"
    FAILED = "failed"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Judged:
    """A verdict and why."""

    verdict: Verdict
    why: str = ""

    @property
    def reason(self) -> str:
        """Why, without what is of this DataFrame alone."""
        return re.sub(r"\(.*|: .*|\d+", "", self.why).strip()[:90]


def judged(frame: DataFrame, lineage: ForwardLineage, no_table: str | None) -> Judged:
    """Trace a DataFrame and compare columns, types and rows with its own.

    Args:
        frame: what an example evaluated.
        lineage: of its session.
        no_table: why data of the example became no table, if so.

    """
    try:
        wanted = collect(frame)
    except Exception as error:
        return Judged(Verdict.BROKEN, f"{type(error).__name__}: {error}")
    try:
        found = collect(lineage.trace(frame), traced=True)
    except (NotTracedError, BadArgumentError) as refusal:
        if no_table and "not registered" in refusal.what:
            return Judged(Verdict.NO_TABLE, no_table)
        return Judged(Verdict.REFUSED, refusal.what)
    except Exception as error:
        return Judged(Verdict.FAILED, f"{type(error).__name__}: {error}")
    if other := difference(wanted, found):
        by_chance = any(difference(wanted, collect(frame)) for _ in range(2))
        return Judged(Verdict.CHANCE if by_chance else Verdict.DIFFERENT, other)
    return Judged(Verdict.TRACED) if found.tables else Judged(Verdict.NO_TABLE, "reads no table")


def difference(wanted: Result, found: Result) -> str | None:
    """Say how columns, types or rows differ, if they do."""
    if list(wanted.columns) != list(found.columns):
        return f"columns {wanted.columns} became {found.columns}"
    if compare_bags(wanted.rows, found.rows) is Rows.DIFFERENT:
        return first_difference(wanted.rows, found.rows)
    return None
