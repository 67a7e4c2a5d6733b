"""The way of missing rows as panels: a step below the other, and for each its part of the query, marked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from forward_lineage.explaining.missing_rows import MissingRows, PassedStep, written
from forward_lineage.explaining.page import Code, Images, Item, Panel
from forward_lineage.explaining.told_answer import value_text
from udafs.errors import Position

_TOKEN = re.compile(r"\w+|[^\w\s]")


def missing_panel(found: MissingRows, texts: Mapping[str, str]) -> Panel:
    """Return where the walk begins.

    Args:
        found: the answer.
        texts: of queries, by the name of the result or view.

    """
    last = found.kept_out_by
    items = [_step_item(step, texts, step is last) for step in found.steps]
    notes = (f"Note: {note}" for note in found.notes)
    title = f"{found.asked} in {found.result}, version {found.version}"
    return Panel("the way of the rows", title, "", [found.verdict, *notes], items)


def _step_item(step: PassedStep, texts: Mapping[str, str], is_last: bool) -> Item:
    amount = f"{step.arrived:,} → {step.survived:,}"
    values = [
        Images("a row that does not get past", ["value"], [(name, value_text(each)) for name, each in row.items()], ())
        for row in step.values
    ]
    figure = f"{step.arrived:,} arrived, {step.survived:,} got past"
    lines = [step.why] if step.why else []
    panel = Panel("step", written(step), figure, lines, images=values, code=[_code(step, texts)])
    stops = step.survived == 0
    return Item(written(step), step.why, amount, head=step.query, stops=stops, chosen=is_last, panel=panel)


def _code(step: PassedStep, texts: Mapping[str, str]) -> Code:
    """The text that the step stands in; that of a CTE is the query around it."""
    named = texts.get(step.query)
    for text in texts.values() if named is None else [named]:
        found = None if step.at is None else marked(text, step.at, step.text)
        if found is not None:
            start, end = found
            return Code(step.place, text[:start], text[start:end], text[end:])
    return Code(step.place, "", step.text)


def marked(text: str, at: Position, part: str) -> tuple[int, int] | None:
    """Return where a part of a text begins and ends; None if it does not stand there.

    Args:
        text: SQL.
        at: a place in the part.
        part: its text, perhaps with other spaces and letters, or with words in front that stand elsewhere.

    """
    lines = text.split("\n")
    if at.line > len(lines):
        return None
    offset = sum(len(line) + 1 for line in lines[: at.line - 1]) + at.column - 1
    tokens = _TOKEN.findall(part.replace("`", ""))
    for found in _pattern(tokens).finditer(text) if tokens else ():
        if found.start() <= offset < found.end():
            return found.span()
    for first in range(1, len(tokens)):
        rest = _pattern(tokens[first:]).match(text, offset)
        if rest is not None:
            return rest.span()
    return None


def _pattern(tokens: list[str]) -> re.Pattern[str]:
    return re.compile("`?" + r"\s*`?".join(f"{re.escape(each)}`?" for each in tokens), re.IGNORECASE)
