"""How the lineage of a statement travels, in words: what is a stage, what each row carries, what is read how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.conditions import is_asked
from rewrites.environment import Choice, Stage, Stages
from rewrites.lineage_functions import is_dlunion
from rewrites.stages import PLACE
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
        by_value: the beginnings of subqueries of its expressions whose sets are copied into its rows.
        choice: why it is a stage; None: nothing was estimated.
        copied: of the result, the places whose sets are copied, as that costs less than a stage.
    """

    name: str | None
    at: Position | None
    carries: tuple[str, ...]
    readings: int = 1
    by_value: tuple[Position | None, ...] = ()
    choice: Choice | None = None
    copied: tuple[Choice, ...] = ()

    def __str__(self) -> str:
        carried = "; ".join(self.carries) or "nothing: no table is traced"
        if self.by_value:
            places = ", ".join(str(at) for at in self.by_value if at is not None)
            carried += "; by value, as a subquery of an expression refers to no stage: its set is copied into each row"
            carried += f" ({places})" if places else ""
        if self.name is None:
            return "\n".join([f"result: each row carries {carried}", *map(_copied, self.copied)])
        place = f" ({self.at})" if self.at is not None else ""
        why = f"; by reference, as {self.choice.why}" if self.choice is not None else ""
        return f"{self.name}{place}: computed once, read {self.readings} times; each row carries {carried}{why}"


def _copied(choice: Choice) -> str:
    place = f" ({choice.at})" if choice.at is not None else ""
    what = "what windows see" if choice.window else "sets of rows that meet others"
    return f"no stage{place}: {what} by value, as {choice.why}"


def explained(
    result: exp.Query, hidden: Mapping[str, Kind], stages: Stages, choices: Sequence[Choice] = ()
) -> tuple[Step, ...]:
    """Return the stages that a rewritten statement has, in the order in which they are computed, then its result.

    Args:
        result: the statement, `DL` its last column.
        hidden: what its rows carried before it was folded into `DL`.
        stages: all that were made; some may have gone with parts that no rule has kept.
        choices: the places where sets are copied in place of a stage.
    """
    named = [table_name(table)[0] for table in result.find_all(exp.Table) if len(table_name(table)) == 1]
    steps = [
        Step(
            stage.name,
            stage.at,
            tuple(_carried(stage, stages)),
            named.count(stage.name),
            tuple(_by_value(stage.query, stages)),
            stage.choice,
        )
        for stage in stages.values()
        if stage.name in named
    ]
    by_value, copied = tuple(_by_value(result, stages)), tuple(dict.fromkeys(each for each in choices if each.by_value))
    return (*steps, Step(None, None, tuple(_phrases(hidden, stages)), by_value=by_value, copied=copied))


def _by_value(query: exp.Query, stages: Stages) -> Iterator[Position | None]:
    """Yield the place of each subquery of an expression whose rows are united for the rows around it, once a place."""
    found: dict[Position | None, None] = {}
    for node in query.walk(prune=lambda part: isinstance(part, exp.CTE) and part.alias in stages):
        if is_dlunion(node):
            select = node.find_ancestor(exp.Select)
            if select is not None and isinstance(select.parent, exp.Subquery) and _is_of_expression(select, query):
                found[select.meta.get(PLACE)] = None
    yield from found


def _is_of_expression(select: exp.Select, root: exp.Query) -> bool:
    around = select.parent.parent if select.parent is not None else None
    return around is not None and is_asked(select, root) and not is_asked(around, root)


def _carried(stage: Stage, stages: Stages) -> Iterator[str]:
    yield from _phrases(stage.hidden, stages)
    if stage.frames:
        frames = "the frame of a window" if len(stage.frames) == 1 else f"the frames of {len(stage.frames)} windows"
        yield f"{frames}, as a stretch of its own rows"


def _phrases(hidden: Mapping[str, Kind], stages: Stages) -> Iterator[str]:
    for key, kind in hidden.items():
        yield f"{(_NUMBERS if key in stages else _CARRIED)[kind]} of {key}"
