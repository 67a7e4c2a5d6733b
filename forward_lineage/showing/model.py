"""Rows on their way to somebody who looks at them: values as text, lineage as some ids of each table and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forward_lineage.showing.plain_text import counted
from udafs.lineage_set import LineageSet

Cells = tuple[str | None, ...]
"""Values as Spark writes them; None: NULL."""


@dataclass(frozen=True)
class Origin:
    """The base rows of one table that a row was made of.

    Attributes:
        table: its name.
        count: how many ids; None: not known.
        first: the smallest of them.
        note: why it is not known.

    """

    table: str
    count: int | None
    first: tuple[int, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, table: str, ids: LineageSet, most: int) -> Origin:
        """Return the origin for some ids; only the smallest of them are listed."""
        return cls(table, len(ids), tuple(ids.first(most)))


@dataclass(frozen=True)
class Opened:
    """Rows of a table, or values of LINEAGE ON, by their ids.

    Attributes:
        columns: names of the columns, or the expressions of the clause.
        rows: id → values.
        are_values: whether the ids stand for values.
        note: what is to be said in place of rows, or beside them.

    """

    columns: tuple[str, ...] = ()
    rows: Mapping[int, Cells] = field(default_factory=dict)
    are_values: bool = False
    note: str = ""


@dataclass(frozen=True)
class ShownRow:
    """A row: its values, and what it was made of in each table."""

    cells: Cells
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class ShownRows:
    """The first rows of something.

    Attributes:
        columns: names of the user's columns.
        rows: the rows.
        traced: whether they have lineage.
        total: how many rows there are; None: nobody counted, see `more`.
        more: whether there are more than these.
        opened: table → rows of it.
        title: what stands above.
        notes: what is to be said below.

    """

    columns: tuple[str, ...]
    rows: tuple[ShownRow, ...]
    traced: bool
    total: int | None = None
    more: bool = False
    opened: Mapping[str, Opened] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()

    def said(self, origin: Origin) -> str:
        """Write an origin: ``orders {3, 17, …} 7 rows``; under LINEAGE ON the values, not the ids."""
        if origin.count is None:
            return f"{origin.table}: {origin.note}"
        opened = self.opened.get(origin.table)
        values = opened.rows if opened is not None and opened.are_values else None
        listed = [
            str(each) if values is None else written_value(values.get(each, (str(each),))) for each in origin.first
        ]
        if len(listed) < origin.count:
            listed.append("…")
        return f"{origin.table} {{{', '.join(listed)}}} {counted(origin.count, 'row' if values is None else 'value')}"

    def below(self) -> tuple[str, ...]:
        """Return the text below the rows: that there are more, and the notes."""
        shown = counted(len(self.rows), "row")
        known = f"the first {shown}" + (f" of {self.total:,}" if self.total is not None else "; there are more")
        return (known if self.more else shown, *self.notes)


def written_value(cells: Cells) -> str:
    """Write a value of LINEAGE ON: itself, or several in parentheses."""
    texts = ["NULL" if each is None else each for each in cells]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
