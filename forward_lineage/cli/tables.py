"""Tables on a terminal: of names and figures, of rows and their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from forward_lineage.cli.plain_text import cell
from forward_lineage.spark.names import LINEAGE_COLUMN

_ONE_LINE = 48


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
    columns: Sequence[str], rows: Sequence[Sequence[Any]], most_ids: int, more: bool = False, title: str | None = None
) -> Table:
    """Lay rows out; lineage, the last column, as row ids by table.

    Args:
        columns: names of the columns.
        rows: their values; in `DL` a struct of arrays of ids.
        most_ids: how many ids of a set to show.
        more: whether there are more rows than these.
        title: what stands above.

    """
    table = _bare_table(title)
    traced = bool(columns) and columns[-1] == LINEAGE_COLUMN
    users = columns[:-1] if traced else columns
    for place, column in enumerate(users):
        numeric = bool(rows) and all(isinstance(row[place], int | float | Decimal | None) for row in rows)
        table.add_column(cell(column), justify="right" if numeric else "left", overflow="fold")
    if traced:
        table.add_column(columns[-1], style="cyan", overflow="fold")
    for row in rows:
        lineage = [lineage_text(row[-1].asDict(), most_ids)] if traced else []
        table.add_row(*(cell(show(value)) for value in row[: len(users)]), *lineage)
    if more:
        table.caption = f"the first {len(rows)} rows; --limit shows more"
        table.caption_justify = "left"
    return table


def lineage_text(lineage: dict[str, list[int]], most_ids: int) -> Text:
    """Write lineage as the ids of each table, and how many there are when not all are shown; short ones in a line."""
    parts = [f"{table} {_ids(ids, most_ids)}" for table, ids in lineage.items()]
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


def _ids(ids: Sequence[int], most: int) -> str:
    if not ids:
        return "–"
    shown = ", ".join(map(str, ids[:most]))
    return f"{{{shown}}}" if len(ids) <= most else f"{{{shown}, …}} {len(ids):,} rows"


def _bare_table(title: str | None = None) -> Table:
    above = None if title is None else cell(title)
    return Table(box=None, header_style="bold", title=above, title_justify="left", pad_edge=False, padding=(0, 2, 0, 0))
