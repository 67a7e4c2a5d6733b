"""Tables on a terminal: of names and figures, of rows and their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from forward_lineage.cli.plain_text import cell
from forward_lineage.spark.names import LINEAGE_COLUMN

_ONE_LINE = 48
_APART = 2  # columns between two columns
_SOME_WORDS = 16


def plain_table(*columns: str, right: Sequence[str] = (), title: str | None = None) -> Table:
    """Begin a table in the manner of all commands.

    Args:
        columns: their names; the first holds names, which nobody can use in pieces.
        right: which stand at the right.
        title: what stands above.

    """
    table = _bare_table(title)
    for place, column in enumerate(columns):
        side: JustifyMethod = "right" if column in right else "left"
        table.add_column(cell(column), justify=side, overflow="fold", no_wrap=not place)
    return table


def lineage_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    most_ids: int,
    more: bool = False,
    title: str | None = None,
    *,
    unit: str = "rows",
    total: int | None = None,
) -> RenderableType:
    """Lay rows out; lineage, the last column, as row ids by table.

    Args:
        columns: names of the columns.
        rows: their values; in `DL` a struct of arrays of ids.
        most_ids: how many ids of a set to show.
        more: whether there are more rows than these.
        title: what stands above.
        unit: what stands in `DL`: rows, or values.
        total: how many rows there are, if that is known.

    Returns:
        a table; where the terminal is too narrow for it, each row by itself, a line or more for each column.

    """
    traced = bool(columns) and columns[-1] == LINEAGE_COLUMN
    users = len(columns) - traced
    cells = [
        [
            *(cell(show(value)) for value in row[:users]),
            *([lineage_text(row[-1].asDict(), most_ids, unit)] if traced else []),
        ]
        for row in rows
    ]
    numeric = [
        bool(rows) and place < users and all(isinstance(row[place], int | float | Decimal | None) for row in rows)
        for place in range(len(columns))
    ]
    first = f"the first {len(rows)} rows" if len(rows) != 1 else "the first row"
    of_all = "" if total is None else f" of {total:,}"
    caption = f"{first}{of_all}; --limit shows more" if more else None
    return _Rows([cell(column) for column in columns], cells, numeric, traced, title, caption)


@dataclass(frozen=True)
class _Rows:
    """Rows on a terminal: one below the other if they are as wide as it, else each by itself."""

    columns: list[Text]
    cells: list[list[Text]]
    numeric: list[bool]
    traced: bool
    title: str | None
    caption: str | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._table() if self._least_width() <= options.max_width else self._each_by_itself()
        if self.caption is not None:  # below the table: a caption of its own would be no wider than that
            yield Text(self.caption, style="dim italic")

    def _least_width(self) -> int:
        """How wide the table must be, if it is to be read: names and numbers whole, and of text some words a line."""
        widths = [
            max([name.cell_len, *(_width(row[place], self.numeric[place]) for row in self.cells)])
            for place, name in enumerate(self.columns)
        ]
        return sum(widths) + _APART * max(len(widths) - 1, 0)

    def _table(self) -> Table:
        table = _bare_table(self.title)
        for place, name in enumerate(self.columns):
            side: JustifyMethod = "right" if self.numeric[place] else "left"
            table.add_column(name, justify=side, overflow="fold", style=self._style(place))
        for row in self.cells:
            table.add_row(*row)
        return table

    def _each_by_itself(self) -> RenderableType:
        parts: list[RenderableType] = [] if self.title is None else [cell(self.title)]
        for number, row in enumerate(self.cells):
            record = Table.grid(padding=(0, _APART, 0, 0))
            record.add_column(style="bold", no_wrap=True)
            record.add_column(overflow="fold")
            for place, value in enumerate(row):
                record.add_row(self.columns[place], Text.assemble(value, style=self._style(place) or ""))
            parts += [record] if number == len(self.cells) - 1 else [record, ""]
        return Group(*parts)

    def _style(self, place: int) -> str | None:
        return "cyan" if self.traced and place == len(self.columns) - 1 else None


def _width(value: Text, whole: bool) -> int:
    longest = max((cell_len(line) for line in value.plain.splitlines()), default=0)
    return longest if whole else min(longest, _SOME_WORDS)


def lineage_text(lineage: dict[str, list[Any]], most_ids: int, unit: str) -> Text:
    """Write lineage as the ids of each table, and how many there are when not all are shown; short ones in a line."""
    parts = [f"{table} {_ids(ids, most_ids, unit)}" for table, ids in lineage.items()]
    line = "  ".join(parts)
    return cell(line if len(line) <= _ONE_LINE else "\n".join(parts))


def show(value: Any) -> str:
    """Write a value as Spark's shell does."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return "0x" + bytes(value).hex()
    return str(value)


def _ids(ids: Sequence[Any], most: int, unit: str) -> str:
    if not ids:
        return "–"
    shown = ", ".join(_value(each) for each in ids[:most])
    return f"{{{shown}}}" if len(ids) <= most else f"{{{shown}, …}} {len(ids):,} {unit}"


def _value(value: Any) -> str:
    """Write a row id, or a value of LINEAGE ON; of several expressions a tuple."""
    return f"({', '.join(map(show, value))})" if isinstance(value, tuple) else show(value)


def _bare_table(title: str | None = None) -> Table:
    above = None if title is None else cell(title)
    return Table(
        box=None, header_style="bold", title=above, title_justify="left", pad_edge=False, padding=(0, _APART, 0, 0)
    )
