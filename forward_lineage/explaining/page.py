"""An answer as a page: one HTML file that needs nothing else. You walk from panel to panel, each below the last.

The page knows nothing of comparisons and missing rows: both are told in panels. What the user wrote goes into the page
as text, never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from forward_lineage.showing.plain_text import plain
from udafs.errors import BadArgumentError, SetupError

ENDING = ".html"


@dataclass(frozen=True)
class Images:
    """An old row and the new one.

    Attributes:
        title: which row.
        heads: of the columns: ``before`` and ``after``; or names, if one state is shown.
        rows: for each column its name, and the values in words; None: there was no row.
        differs: for each column whether its values differ.

    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    differs: Sequence[bool]


@dataclass(frozen=True)
class Code:
    """A text of SQL.

    Attributes:
        title: whose.
        text: up to the marked part.
        marked: the part that is marked.
        rest: what comes after it.

    """

    title: str
    text: str
    marked: str = ""
    rest: str = ""


@dataclass(frozen=True)
class Item:
    """A way down from a panel.

    Attributes:
        label: what it is.
        said: more of it.
        amount: a number, at the right.
        bar: the length of its bar, -1 to 1; negative to the left.
        head: the heading that it stands below.
        stops: whether rows stop here.
        chosen: whether the way is taken when the page is opened.
        panel: where it leads; None: no further.

    """

    label: str
    said: str = ""
    amount: str = ""
    bar: float = 0.0
    head: str = ""
    stops: bool = False
    chosen: bool = False
    panel: Panel | None = None


@dataclass(frozen=True)
class Panel:
    """A place on the way.

    Attributes:
        kind: what it is, in a word or two.
        title: its name.
        figure: a number and the old one, in large letters.
        lines: what is said.
        items: ways down.
        images: rows as they were and are.
        code: SQL.

    """

    kind: str
    title: str
    figure: str = ""
    lines: Sequence[str] = ()
    items: Sequence[Item] = ()
    images: Sequence[Images] = ()
    code: Sequence[Code] = ()


def walk_page(start: Panel) -> str:
    """Return the page that begins with a panel."""
    template = Template(files(__package__).joinpath("static/walk.html").read_text(encoding="utf-8"))
    data = json.dumps(_printable(asdict(start)), ensure_ascii=False).replace("<", "\\u003c")
    return template.substitute(title=escape(plain(start.title)), data=data)


def write_walk(file: Path | str, start: Panel) -> Path:
    """Write the page; return where it is.

    Raises:
        BadArgumentError: the name does not end in ``.html``.
        SetupError: the file cannot be written.

    """
    path = Path(file)
    if path.suffix.lower() != ENDING:
        raise BadArgumentError(f"{path} is not the name of a page", instead=f"End it in {ENDING}.")
    try:
        path.write_text(walk_page(start), encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{path} cannot be written: {error.strerror}", instead="Name a file in a folder that you may write."
        ) from None
    return path


def _printable(data: object) -> object:
    """What does not show, or turns the text around, is written as an escape; SQL keeps its lines."""
    if isinstance(data, str):
        return plain(data, kept="\n\t")
    if isinstance(data, dict):
        return {name: _printable(value) for name, value in data.items()}
    return [_printable(each) for each in data] if isinstance(data, list | tuple) else data
