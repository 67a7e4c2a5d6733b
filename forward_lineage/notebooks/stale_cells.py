"""Cells that are out of date, as text and as HTML for a cell's output: why, and which to run again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
        return [(title, kind, why) for key, title in self.titles.items() for kind, why in self._found(key)]

    def marks(self) -> dict[str, dict[str, str]]:
        """Return the highlights as a front end shows them: key of a cell → ``kind``, and what is ``said`` of it."""
        found = {key: list(self._found(key)) for key in self.titles}
        return {
            key: {"kind": each[0][0].rpartition(" ")[2], "said": "; ".join(f"{kind}: {why}" for kind, why in each)}
            for key, each in found.items()
            if each
        }

    def _found(self, key: str) -> Iterator[tuple[str, str]]:
        if key in self.rows:
            known = any(each.is_known for each in self.rows[key])
            why = "; ".join(each.text for each in self.rows[key])
            yield "stale" if known else "perhaps stale", f"rows that it read: {why}"
        stale, fresh = self.highlights.stale, self.highlights.fresh
        if key in stale:
            names = self._names(stale[key])
            yield "stale", f"it uses {names}, made of what has changed since" if names else "ipyflow says so"
        elif key in fresh and key not in self.rows:
            names = self._names(fresh[key])
            yield "fresh", f"{names} changed after it ran" if names else "ipyflow says so"
        if key in self.highlights.refreshers:
            yield "refresher", "sets stale names anew"

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


@dataclass(frozen=True)
class Marks:
    """The marks of a notebook's cells, as ``labextension/static/marks.js`` asks for them."""

    of_cells: Mapping[str, Mapping[str, str]]

    def _repr_json_(self) -> dict[str, Any]:
        return {key: dict(each) for key, each in self.of_cells.items()}


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
