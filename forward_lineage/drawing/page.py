"""The pipeline as a page: one HTML file that needs nothing else, with results and rows to click.

The picture's facts are in words, too; text of the user's goes into the page as text, never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Template

from forward_lineage.drawing.canvas import Point, printable
from forward_lineage.drawing.pipeline import Sheet, Step, box_size, sheet_of
from udafs.errors import SetupError

_BAR, _LINE, _PAD, _LONGEST = 5.0, 14.0, 11.0, 32
#: What the sheet leaves for a title and a legend, which the page has in words; how much larger than points a page is.
_TITLE, _LEGEND, _SCALE = 44.0, 42.0, 1.5
#: How far it is made smaller where there is little room; then it is scrolled.
_LEAST_SCALE = 1.15


@dataclass(frozen=True)
class MadeOf:
    """The rows of one table that a row was made of.

    Attributes:
        of: the step's name.
        ids: the first ids or row numbers.
        count: how many there are.

    """

    of: str
    ids: list[int]
    count: int


@dataclass(frozen=True)
class Row:
    """A row that is shown: its id, its values in words, what it was made of, and whether suspected rows touch it."""

    id: int
    cells: list[str]
    made: list[MadeOf]
    touched: bool = False


@dataclass(frozen=True)
class Shown:
    """The details of a step that are shown when it is clicked.

    Attributes:
        columns: names, that of the ids first.
        numbers: for each column but the first, whether it has numbers.
        rows: some rows, those that are touched first.
        more: what is not shown, in words.
        sql: the query of a result.
        note: why rows are not shown, in words.
        saved: when a result was saved, and what has changed since, in words.

    """

    columns: Sequence[str] = ()
    numbers: Sequence[bool] = ()
    rows: Sequence[Row] = ()
    more: str = ""
    sql: str = ""
    note: str = ""
    saved: str = ""


def pipeline_page(steps: Sequence[Step], shown: Mapping[str, Shown], title: str) -> str:
    """Return the page.

    Args:
        steps: as for `draw_pipeline`.
        shown: for each step, by name.
        title: what stands above.

    """
    sheet = sheet_of(steps, "")
    data = [
        {
            "name": printable(step.name),
            "base": step.base,
            "lines": step.lines(),
            **asdict(shown.get(step.name, Shown())),
        }
        for step in steps
    ]
    template = Template(files(__package__).joinpath("static/pipeline.html").read_text(encoding="utf-8"))
    touched = "Orange is what the suspected rows touch; the bar is the share of its rows. " if sheet.asked else ""
    stale = "Dashed is stale: an input has changed since it was saved. " if any(step.stale for step in steps) else ""
    return template.substitute(
        title=escape(printable(title)),
        legend=escape(touched + stale),
        picture=_picture(sheet),
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def write_page(file: Path, page: str) -> None:
    """Write a page.

    Raises:
        SetupError: the file cannot be written.

    """
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{file} cannot be written: {error.strerror}", instead="Name a file in a folder that you may write."
        ) from None


def _picture(sheet: Sheet) -> str:
    width, height = sheet.canvas.width, sheet.canvas.height - _TITLE - _LEGEND
    parts = [_edge(sheet, source, target) for source, target in sheet.graph.edges]
    parts += [_box(sheet, step) for step in sheet.steps.values()]
    size = (
        f'width="{width * _SCALE:.0f}" height="{height * _SCALE:.0f}" viewBox="0 {_TITLE:.0f} {width:.0f} {height:.0f}"'
    )
    return f'<svg {size} style="min-width:{width * _LEAST_SCALE:.0f}px" role="group">{"".join(parts)}</svg>'


def _edge(sheet: Sheet, source: str, target: str) -> str:
    touched = " touched" if sheet.steps[source].touched and sheet.steps[target].touched else ""
    points = [_down(sheet, point) for point in sheet.points(source, target)]
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (x + to_x) / 2
        path.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
    x, y = points[-1]
    head = f'<path class="head{touched}" d="M{x:.1f} {y - 4:.1f}L{x + 8:.1f} {y:.1f}L{x:.1f} {y + 4:.1f}Z"/>'
    return f'<path class="edge{touched}" d="{"".join(path)}"/>{head}'


def _box(sheet: Sheet, step: Step) -> str:
    width, height = box_size(step)
    left, top = _down(sheet, sheet.corner(step.name))
    kinds = (("base", step.base), ("touched", bool(step.touched)), ("stale", step.stale))
    classes = " ".join(["step", *(name for name, is_so in kinds if is_so)])
    name = printable(step.name)
    said = escape(f"{name}: {', '.join(step.lines())}", quote=True)
    parts = [f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5"/>']
    parts.append(
        _text(left + _PAD, top + _PAD + 9, name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…", "name")
    )
    for place, line in enumerate(step.lines(), 1):
        parts.append(_text(left + _PAD, top + _PAD + 9 + _LINE * place, line, "line"))
    if step.touched and step.rows:
        inner, y = width - 2 * _PAD, top + height - _PAD - _BAR + 2
        filled = max(2.0, inner * min(1.0, step.touched / step.rows))
        parts.append(f'<rect class="bar" x="{left + _PAD:.1f}" y="{y:.1f}" width="{inner:.1f}" height="{_BAR}"/>')
        parts.append(f'<rect class="share" x="{left + _PAD:.1f}" y="{y:.1f}" width="{filled:.1f}" height="{_BAR}"/>')
    attributes = f'class="{classes}" role="button" tabindex="0" aria-label="{said}"'
    return f'<g {attributes} data-name="{escape(name, quote=True)}">{"".join(parts)}</g>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _down(sheet: Sheet, point: Point) -> Point:
    """A point of the sheet, where y grows upwards, as a browser has it."""
    return point[0], sheet.canvas.height - point[1]
