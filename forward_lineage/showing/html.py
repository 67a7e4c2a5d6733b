"""Rows and facts as HTML for a notebook's cell.

Every name and value is written as text: what is in the data can neither run nor look like something of ours. Nothing
is fetched, no script is used: a row is opened by the browser itself (<details>).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.showing.model import Opened, Origin, ShownRow, ShownRows
from forward_lineage.showing.plain_text import counted, shortened

_LONGEST = 120  # characters of a value
_COLUMNS = 30

#: Colours are those of whoever shows the cell; lines are made of the text's. JupyterLab aligns tables to the right.
_STYLE = """<style>
.forward-lineage { font-size: 13px; line-height: 1.45; overflow-x: auto; }
.forward-lineage table { border-collapse: collapse; margin: 2px 0 4px; border: 0; }
.forward-lineage th, .forward-lineage td { padding: 2px 12px 2px 0; text-align: left !important; vertical-align: top;
  border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 16%, transparent); background: transparent; }
.forward-lineage thead th { border-bottom: 1px solid currentColor; white-space: nowrap; }
.forward-lineage td.number { text-align: right !important; font-variant-numeric: tabular-nums; }
.forward-lineage table tr:nth-child(n), .forward-lineage table tr:nth-child(n):hover { background: transparent; }
.forward-lineage summary { cursor: pointer; display: list-item; list-style: disclosure-closed inside; }
.forward-lineage details[open] > summary { list-style-type: disclosure-open; }
.forward-lineage summary:hover { text-decoration: underline; }
.forward-lineage details table { margin: 2px 0 8px 16px; font-size: 12px; }
.forward-lineage .title { font-weight: 600; }
.forward-lineage .note, .forward-lineage .null { opacity: 0.72; }
</style>"""


def rows_html(shown: ShownRows) -> str:
    """Return rows as a table; lineage can be opened where there are rows of the table, or values, to show."""
    columns = shown.columns[:_COLUMNS]
    left_out = len(shown.columns) - len(columns)
    numeric = [_is_numeric(shown.rows, place) for place in range(len(columns))]
    heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in columns)
    heads += f'<th scope="col">and {counted(left_out, "more column")}</th>' if left_out else ""
    heads += f'<th scope="col">{LINEAGE_COLUMN}</th>' if shown.traced else ""
    body = "".join(f"<tr>{_row(shown, row, numeric, bool(left_out))}</tr>" for row in shown.rows)
    title = _line(shown.title, "title") if shown.title else ""
    notes = "".join(_line(each, "note") for each in shown.below())
    return _box(f"{title}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{notes}")


def facts_html(title: str, facts: Iterable[tuple[str, str]], tables: Iterable[str] = ()) -> str:
    """Return what is known of something: a title, facts with their names, tables made by `table_html`."""
    rows = "".join(f'<tr><th scope="row">{_text(name)}</th><td>{_text(fact)}</td></tr>' for name, fact in facts)
    return _box(f"{_line(title, 'title')}<table><tbody>{rows}</tbody></table>{''.join(tables)}")


def table_html(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    """Return a plain table."""
    heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _box(inner: str) -> str:
    return f'{_STYLE}<div class="forward-lineage">{inner}</div>'


def _row(shown: ShownRows, row: ShownRow, numeric: Sequence[bool], cut: bool) -> str:
    cells = "".join(_cell(each, number) for each, number in zip(row.cells, numeric, strict=False))
    cells += "<td>…</td>" if cut else ""
    return cells + (f"<td>{''.join(_origin(shown, each) for each in row.origins)}</td>" if shown.traced else "")


def _origin(shown: ShownRows, origin: Origin) -> str:
    said = escape(shown.said(origin))
    opened = shown.opened.get(origin.table)
    if opened is None or not origin.count:
        return f"<div>{said}</div>"
    return f"<details><summary>{said}</summary>{_opened(origin, opened)}</details>"


def _opened(origin: Origin, opened: Opened) -> str:
    note = _line(opened.note, "note") if opened.note else ""
    there = [(each, opened.rows[each]) for each in origin.first if each in opened.rows]
    if not there:
        return note
    columns = opened.columns[:_COLUMNS]
    cut = len(opened.columns) - len(columns)
    rows = [(() if opened.are_values else (str(each),)) + cells[: len(columns)] for each, cells in there]
    heads = (() if opened.are_values else ("row_id",)) + columns
    what = "value" if opened.are_values else "row"
    left = (
        f"and {counted((origin.count or 0) - len(there), f'more {what}')}" if (origin.count or 0) > len(there) else ""
    )
    more = [each for each in (left, f"and {counted(cut, 'more column')}" if cut else "") if each]
    return table_html(heads, rows) + "".join(_line(each, "note") for each in more) + note


def _cell(value: str | None, number: bool = False) -> str:
    if value is None:
        return '<td class="null">NULL</td>'
    kind = ' class="number"' if number else ""
    return f"<td{kind}>{_text(value)}</td>"


def _line(text: str, kind: str) -> str:
    return f'<div class="{kind}">{escape(text)}</div>'


def _text(value: str) -> str:
    return escape(shortened(value, _LONGEST))


def _is_numeric(rows: Sequence[ShownRow], place: int) -> bool:
    values = [row.cells[place] for row in rows if row.cells[place] is not None]
    return bool(values) and all(_is_number(str(each)) for each in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
