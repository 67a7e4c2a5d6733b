"""Rows as a grid of text, as Spark's `show` draws it."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.showing.model import ShownRow, ShownRows
from forward_lineage.showing.plain_text import plain, shortened


def as_text(shown: ShownRows, width: int) -> str:
    """Draw rows.

    Args:
        shown: the rows.
        width: of a value at most, in characters; lineage is never cut.

    """
    header = [shortened(each, width) for each in shown.columns] + ([LINEAGE_COLUMN] if shown.traced else [])
    lines = [header, *(_line(shown, row, width) for row in shown.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    rule = "".join(f"+{'-' * each}" for each in widths) + "+"
    drawn = ["".join(f"|{set_cell_size(*each)}" for each in zip(line, widths, strict=True)) + "|" for line in lines]
    above = [plain(shown.title)] if shown.title else []
    return "\n".join([*above, rule, drawn[0], rule, *drawn[1:], rule, *map(plain, shown.below())])


def _line(shown: ShownRows, row: ShownRow, width: int) -> list[str]:
    cells = [shortened("NULL" if each is None else each, width) for each in row.cells]
    return cells + ([plain("; ".join(map(shown.said, row.origins)))] if shown.traced else [])
