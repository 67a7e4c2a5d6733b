"""Names and values on a terminal: as text, whatever is in them.

A value may hold codes that a terminal obeys: move the cursor, change colours, set the title, answer as if typed. It may
hold characters that make text look like another: right-to-left marks, characters without width. None of it is ours to
send: it is shown as it would be written in a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click
from rich.text import Text

from forward_lineage.showing.plain_text import plain as written_out

UNCHECKED = "Nobody checks that ids are unique there, or notices a change."

_KEPT = "\n\t"


def plain(text: str) -> str:
    r"""Return text with everything that a terminal would obey written out, e.g. ``\x1b``; line ends and tabs stay."""
    return written_out(text, kept=_KEPT)


def in_one_line(text: str) -> str:
    """Return `plain` text in one line."""
    return plain(" ".join(text.split()))


def cell(text: str) -> Text:
    """Return text for a table of rich, which would read markup in a string."""
    return Text(plain(text))


def print_objects(objects: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON objects."""
    for each in objects:
        click.echo(json_line(json.dumps(each, ensure_ascii=False)))


def json_line(line: str) -> str:
    r"""Return JSON that means the same, with what a terminal would obey as ``\uXXXX``; only strings can hold such."""
    if line.isascii():
        return line
    return "".join(each if each == plain(each) else json.dumps(each)[1:-1] for each in line)
