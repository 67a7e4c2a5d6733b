"""The law for frames: what is done next with a traced frame gives what it gives of the same rows and lineage.

The frame is written down once, rows and lineage. Each continuation is then run twice: on the frame, and on what was
written; both must agree, in lineage, too, where it is still there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from shutil import rmtree

from pyspark.sql import DataFrame

from forward_lineage.checking.comparison import compare_bags, first_difference
from forward_lineage.checking.continuations import (
    LINEAGE,
    Steps,
    is_lineage,
    lineages,
    named,
    numbered,
    some_steps,
    surroundings,
    users,
)
from forward_lineage.checking.outcomes import Law, Rows
from forward_lineage.checking.results import Result, collect, failure_of
from udafs.lineage_set import LineageSet

_OUT_OF_TIME = "the time for the statement was over"

_RowInBytes = tuple[str, tuple[bytes, ...]]  # a row's values, and its set in each table


@dataclass
class Continued:
    """The continuations of one query's frames.

    Attributes:
        count: how many for each frame.
        seed: what they depend on.
        deadline: when to stop, on the clock of `time.monotonic`.
        scratch: a folder; what is written there goes.
        tell: called before each run.
        law: what came of it.
        chosen: the steps to try, in place of drawn ones.

    """

    count: int
    seed: str
    deadline: float
    scratch: Path
    tell: Callable[[str], None]
    law: Law = field(default_factory=Law)
    chosen: Sequence[Steps] | None = None

    def try_on(self, made: Callable[[], DataFrame], semantics: str) -> None:
        """Continue a frame in some ways.

        Args:
            made: gives the traced frame, a new one for each continuation.
            semantics: for the message.

        """
        frame = made()
        if len(set(frame.columns)) < len(frame.columns):
            self.try_on(lambda: numbered(made()), semantics)
            return
        if frame.columns[-1:] != [LINEAGE[0]] or any(name in LINEAGE for name in frame.columns[:-1]):
            self.law.skip("a column of the user's is called as lineage is")
            return
        try:
            written = self._written(frame)
        except Exception as error:  # whatever Parquet does not have
            self.law.skip(f"its rows cannot be written down: {failure_of(error).condition or 'an error'}")
            return
        dice = Random(f"{self.seed} {semantics}")
        drawn = (some_steps(dice) for _ in range(self.count))
        for steps in drawn if self.chosen is None else self.chosen:
            if time.monotonic() > self.deadline:
                self.law.skip(_OUT_OF_TIME)
                return
            self.tell("frames")
            self._try(made, written, steps, semantics)
        rmtree(self.scratch / "frame", ignore_errors=True)

    def _written(self, frame: DataFrame) -> DataFrame:
        """A frame's rows and lineage in a file, under the frame's own names."""
        folder = str(self.scratch / "frame")
        rmtree(folder, ignore_errors=True)
        numbers = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        sets = frame.schema.fields[-1].dataType
        known = numbers if len(sets) else numbers.drop(numbers.columns[-1])  # type: ignore[arg-type]
        known.write.parquet(folder)
        written = frame.sparkSession.read.schema(known.schema).parquet(folder)
        return written.toDF(*frame.columns[: len(known.columns)])

    def _try(self, made: Callable[[], DataFrame], written: DataFrame, steps: Steps, semantics: str) -> None:
        with surroundings() as around:
            try:
                wanted = _collected(steps.applied(written, around))
            except Exception as error:  # what cannot be done with such columns
                self.law.skip(f"what is done next cannot be done: {failure_of(error).condition or 'an error'}")
                return
            try:
                found = _collected(steps.applied(made(), around))
            except Exception as error:  # what is raised is the question
                self.law.failed.append(f"{semantics}, {steps}: {failure_of(error).why}")
                return
        said = _difference(wanted, found)
        if said is None:
            self.law.held += 1
        else:
            self.law.failed.append(f"{semantics}, {steps}: {said}")


def _collected(frame: DataFrame) -> Result:
    """The user's rows, and of each the lineage that is there."""
    kept = [name for name in lineages(frame) if is_lineage(frame.schema[name].dataType)]
    mine = [named(name) for name in users(frame)]
    return collect(frame.select(*mine, *map(named, kept[:1])), traced=bool(kept))


def _difference(wanted: Result, found: Result) -> str | None:
    if compare_bags(wanted.rows, found.rows) is Rows.DIFFERENT:
        return first_difference(wanted.rows, found.rows).replace("plain Spark gives", "the same rows give")
    if wanted.tables and found.tables and not _same_lineage(wanted, found):
        return "other lineage than the same rows have"
    return None


def _same_lineage(wanted: Result, found: Result) -> bool:
    """Whether the rows, floating numbers aside, have the same sets. Sets are read only where their bytes differ."""
    here, there = _in_bytes(wanted), _in_bytes(found)
    if here == there:
        return True
    read = cache(lambda one: tuple(LineageSet.from_bytes(one)) if one else ())
    return _as_ids(here - there, read) == _as_ids(there - here, read)


def _in_bytes(result: Result) -> Counter[_RowInBytes]:
    pairs = zip(result.rows, result.lineage, strict=True)
    return Counter((row.exact, tuple(bytes(each or b"") for each in sets)) for row, sets in pairs)


def _as_ids(
    rows: Counter[_RowInBytes], read: Callable[[bytes], tuple[int, ...]]
) -> Counter[tuple[str, tuple[tuple[int, ...], ...]]]:
    found: Counter[tuple[str, tuple[tuple[int, ...], ...]]] = Counter()
    for (values, sets), times in rows.items():
        found[values, tuple(map(read, sets))] += times
    return found
