r"""The entries of text that is typed in the shell: statements up to their semicolon, and commands, a line each.

A command begins a line with a backslash where no statement is open. Those that take a statement end as one does:

    \impact part WHERE p_partkey = 55
    \save revenue
    SELECT …;
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from udafs.errors import LineageError

#: Commands with a statement in them.
WITH_SQL = frozenset({"save", "explain", "affected"})


_NAME = re.compile(r"\S+")


@dataclass(frozen=True)
class Entry:
    """Something to be done.

    Attributes:
        command: what stands behind the backslash; None: it is a statement.
        text: what follows it, or the statement, without the semicolon.

    """

    command: str | None
    text: str


def is_complete(text: str) -> bool:
    """Tell whether what was typed can be done, or more lines belong to it."""
    stripped = text.strip()
    if not stripped:
        return True
    if stripped.startswith("\\") and _command(stripped)[0] not in WITH_SQL:
        return True
    return ";" in stripped and _ends(stripped)


def entries(lines: Iterator[str]) -> Iterator[Entry]:
    """Cut lines into entries, each as soon as it is there; what is open at the end is one, too."""
    open_text = ""
    for line in lines:
        open_text = open_text + line if open_text else line.lstrip()
        if is_complete(open_text):
            yield from entries_of(open_text)
            open_text = ""
    yield from entries_of(open_text)


def entries_of(text: str) -> Iterator[Entry]:
    """Yield the entries of a text that is complete: a command, or statements.

    Raises:
        LineageError: a string, quoted name or comment is not closed.

    """
    stripped = text.strip()
    if stripped.startswith("\\"):
        name, rest = _command(stripped)
        yield Entry(name, rest.rstrip().removesuffix(";") if name in WITH_SQL else rest)
    elif stripped:
        from forward_lineage.frontend import split_script  # noqa: PLC0415 - commands do without the front end

        yield from (Entry(None, statement) for statement in split_script(stripped))


def _command(stripped: str) -> tuple[str, str]:
    found = _NAME.match(stripped, 1)
    end = found.end() if found is not None else 1
    return stripped[1:end].lower(), stripped[end:].strip()


def _ends(text: str) -> bool:
    """Whether the last thing in a text, comments apart, is a semicolon that ends a statement."""
    from forward_lineage.frontend.lexing import lex, meaningful  # noqa: PLC0415

    try:
        tokens = list(meaningful(lex(text)))
    except LineageError:  # something is open still
        return False
    return bool(tokens) and tokens[-1].text == ";"
