"""Cells that are out of date, as text and as HTML for a cell's output: why, and which to run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forward_lineage.cells.highlights import Highlights
from forward_lineage.showing.html import facts_html, table_html

_COLUMNS = ("cell", "is", "why")


@dataclass(frozen=True)
class Why:
    """The fate of rows that a cell read.

    Attributes:
        text: which rows, or why that is not known.
        is_known: whether they are known to be others.

    """

    text: str
    is_known: bool


@dataclass(frozen=True)
class Status:
    """The cells of a notebook that are out of date.

    Attributes:
        titles: of the cells, by key.
        highlights: which cells are stale, fresh and refreshers.
        rows: what became of rows that cells read, by key; cells whose rows are what they were are not here.
        missed: what could not be looked at, and why.

    """

    titles: Mapping[str, str]
    highlights: Highlights
    rows: Mapping[str, Sequence[Why]]
    missed: Mapping[str, str]

    @property
    def stale(self) -> tuple[str, ...]:
        """Titles of the cells whose outputs are not to be trusted: they use stale names, or read rows that changed."""
        keys = [key for key in self.titles if key in self.highlights.stale or key in self.rows]
        return tuple(self.titles[key] for key in keys)

    @property
    def rerun(self) -> tuple[str, ...]:
        """Titles of the cells to run again, in this order."""
        return tuple(self.titles[key] for key in self.highlights.rerun if key in self.titles)

    def lines(self) -> list[tuple[str, str, str]]:
        """Return a line for each cell with a highlight: its title, which highlight, and why."""
        found = []
        for key, title in self.titles.items():
            if key in self.rows:
                known = any(each.is_known for each in self.rows[key])
                why = "; ".join(each.text for each in self.rows[key])
                found.append((title, "stale" if known else "perhaps stale", f"rows that it read: {why}"))
            if names := self._names(self.highlights.stale.get(key, ())):
                found.append((title, "stale", f"it uses {names}, made of what has changed since"))
            elif key not in self.rows and (names := self._names(self.highlights.fresh.get(key, ()))):
                found.append((title, "fresh", f"{names} changed after it ran"))
            if key in self.highlights.refreshers:
                found.append((title, "refresher", "sets stale names anew"))
        return found

    @staticmethod
    def _names(names: Collection[str]) -> str:
        return ", ".join(sorted(name for name in names if not name.startswith("@")))

    def __repr__(self) -> str:
        lines = [f"{title}: {kind}: {why}" for title, kind, why in self.lines()]
        again = [f"Run again: {', then '.join(self.rerun)}"] if self.rerun else []
        missed = [f"{what} was not looked at: {why}" for what, why in self.missed.items()]
        return "\n".join([*lines, *again, *missed]) or "No cell is out of date."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._html(), "text/plain": repr(self)}

    def _html(self) -> str:
        facts = [("run again", ", then ".join(self.rerun))] if self.rerun else []
        facts += [(f"{what} was not looked at", why) for what, why in self.missed.items()]
        lines = self.lines()
        title = "Cells that are out of date" if lines else "No cell is out of date"
        return facts_html(title, facts, [table_html(_COLUMNS, lines)] if lines else [])


def told_before(stale: Collection[str], first: Sequence[str]) -> dict[str, str]:
    """Return the warning above the output of a cell that uses stale names.

    Args:
        stale: the names.
        first: titles of the cells to run before.

    """
    names = ", ".join(sorted(stale))
    said = f"This cell uses {names}, made of what has changed since."
    again = ", then ".join(first)
    text = f"{said} Run first: {again}" if first else said
    return {"text/plain": text, "text/html": facts_html(said, [("run first", again)] if first else [])}
