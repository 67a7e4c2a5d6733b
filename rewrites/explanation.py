"""How the lineage of a statement travels, in words: what is a stage, what each row carries, what is read how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.environment import Stage, Stages
from rewrites.terms import Kind
from udafs.errors import Position

_CARRIED = {Kind.ID: "one id", Kind.FEW: "a few ids", Kind.SET: "a set of ids"}
_NUMBERS = {Kind.ID: "one row", Kind.FEW: "a few rows", Kind.SET: "a set of rows"}


@dataclass(frozen=True)
class Step:
    """A part of a statement whose rows carry lineage.

    Attributes:
        name: of the stage; None for the result.
        at: where the user's text of it begins.
        carries: what each row carries, a phrase for each base table or stage.
        readings: how often it is read.
    """

    name: str | None
    at: Position | None
    carries: tuple[str, ...]
    readings: int = 1

    def __str__(self) -> str:
        carried = "; ".join(self.carries) or "nothing: no table is traced"
        if self.name is None:
            return f"result: each row carries {carried}"
        place = f" ({self.at})" if self.at is not None else ""
        return f"{self.name}{place}: computed once, read {self.readings} times; each row carries {carried}"


def explained(result: exp.Query, hidden: Mapping[str, Kind], stages: Stages) -> tuple[Step, ...]:
    """Return the stages that a rewritten statement has, in the order in which they are computed, then its result.

    Args:
        result: the statement, `DL` its last column.
        hidden: what its rows carried before it was folded into `DL`.
        stages: all that were made; some may have gone with parts that no rule has kept.
    """
    named = [table_name(table)[0] for table in result.find_all(exp.Table) if len(table_name(table)) == 1]
    steps = [
        Step(stage.name, stage.at, tuple(_carried(stage, stages)), named.count(stage.name))
        for stage in stages.values()
        if stage.name in named
    ]
    return (*steps, Step(None, None, tuple(_phrases(hidden, stages))))


def _carried(stage: Stage, stages: Stages) -> Iterator[str]:
    yield from _phrases(stage.hidden, stages)
    if stage.frames:
        frames = "the frame of a window" if len(stage.frames) == 1 else f"the frames of {len(stage.frames)} windows"
        yield f"{frames}, as a stretch of its own rows"


def _phrases(hidden: Mapping[str, Kind], stages: Stages) -> Iterator[str]:
    for key, kind in hidden.items():
        yield f"{(_NUMBERS if key in stages else _CARRIED)[kind]} of {key}"
