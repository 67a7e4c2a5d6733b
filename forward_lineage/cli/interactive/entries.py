r"""The entries of text that is typed in the shell: statements up to their semicolon, and commands, a line each.

A command begins a line with a backslash where no statement is open. Those that take a statement end as one does; with
none they are about the last one that ran:

    \impact part WHERE p_partkey = 55
    \save revenue
    SELECT …;
    \explain;

Behind a statement that nobody has ended, a command ends the wait: the statement is refused, and the command is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from udafs.errors import LineageError

#: Commands with a statement in them.
WITH_SQL = frozenset({"save", "explain", "affected"})


_NAME = re.compile(r"\S+")
_LINE_OF_A_COMMAND = re.compile(r"^[ \t]*\\[A-Za-z?]", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """Something to be done.

    Attributes:
        command: what stands behind the backslash; None: it is a statement.
        text: what follows it, or the statement, without the semicolon.
        line: where it begins, counted from 1 in what was read.

    """

    command: str | None
    text: str
    line: int = field(default=1, compare=False)


#: The command of an entry that is a statement which a command cut off.
UNFINISHED = ""


def is_complete(text: str) -> bool:
    """Tell whether what was typed can be done, or more lines belong to it."""
    stripped = text.strip()
    if not stripped or _cut_off(text) is not None:
        return True
    if stripped.startswith("\\") and _command(stripped)[0] not in WITH_SQL:
        return True
    return ";" in stripped and _ends(stripped)


def entries(lines: Iterator[str]) -> Iterator[Entry]:
    """Cut lines into entries, each as soon as it is there; what is open at the end is one, too."""
    open_text, first = "", 1
    for number, line in enumerate(lines, start=1):
        if not open_text:
            first = number
        open_text = open_text + line if open_text else line.lstrip()
        if is_complete(open_text):
            yield from entries_of(open_text, first)
            open_text = ""
    yield from entries_of(open_text, first)


def entries_of(text: str, line: int = 1) -> Iterator[Entry]:
    """Yield the entries of a text that is complete: a command, or statements.

    Args:
        text: what was typed.
        line: the number of its first line.

    Raises:
        LineageError: a string, quoted name or comment is not closed.

    """
    cut = _cut_off(text)
    if cut is not None:
        yield Entry(UNFINISHED, text[:cut].strip(), line)
        text, line = text[cut:], line + text.count("\n", 0, cut)
    stripped = text.strip()
    if stripped.startswith("\\"):
        name, rest = _command(stripped)
        yield Entry(name, rest.rstrip().removesuffix(";") if name in WITH_SQL else rest, line)
    elif stripped:
        from forward_lineage.frontend import split_script  # noqa: PLC0415 - commands do without the front end

        begin = text.index(stripped)
        for statement in split_script(stripped):
            begin = text.index(statement, begin)
            yield Entry(None, statement, line + text.count("\n", 0, begin))
            begin += len(statement)


def _cut_off(text: str) -> int | None:
    """Where a command begins a line behind a statement that is open; None: none does."""
    if text.lstrip().startswith("\\") and _command(text.strip())[0] not in WITH_SQL:
        return None
    for found in _LINE_OF_A_COMMAND.finditer(text):
        if text[: found.start()].strip() and not _inside_quotes(text[: found.start()]):
            return found.start()
    return None


def _inside_quotes(text: str) -> bool:
    from forward_lineage.frontend.lexing import lex  # noqa: PLC0415

    try:
        lex(text)
    except LineageError:
        return True
    return False


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
