"""Markdown pages as a row of blocks: fenced code, hidden setups, tables, and everything else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>.*)$")
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A part of a page.

    Attributes:
        kind: `code` (a fenced block), `setup` (an HTML comment that begins with the word setup), `table` or `prose`.
        info: what stands behind the opening fence: the language, perhaps with a word after it.
        text: the block without its fence or comment marks.
        line: where the text begins in the page, from 1.

    """

    kind: str
    info: str
    text: str
    line: int

    @property
    def language(self) -> str:
        """The first word of the info string."""
        return self.info.split()[0] if self.info.split() else ""

    def cells(self) -> list[list[str]]:
        """Return a table's cells, header first, its rule left out."""
        rows = [line.strip().strip("|").split("|") for line in self.text.splitlines()]
        return [[cell.strip().strip("`") for cell in row] for at, row in enumerate(rows) if at != 1]

    def shows(self, printed: str) -> bool:
        """Tell whether a table or a `text` block is what was printed; a query without ORDER BY promises no order."""
        if self.kind != "table":
            return self.text.split() == printed.split()
        lines = [line for line in printed.splitlines() if line.startswith("|")]  # as `DataFrame.show()` prints rows
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return _sorted(self.cells()) == _sorted(cells)

    def commands(self) -> list[str]:
        """Return the commands of a shell snippet: comments left out, lines that end in a backslash joined."""
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _sorted(cells: list[list[str]]) -> list[list[str]]:
    return [*cells[:1], *sorted(cells[1:])]


def blocks_of(text: str) -> list[Block]:
    """Split a page into its blocks; blank lines outside code are left out.

    Raises:
        ValueError: a fence or a setup that is never closed.

    """
    lines = text.splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = _end(lines, at, fence["ticks"].__eq__)
            found.append(Block("code", fence["info"].strip(), "\n".join(lines[at + 1 : end]), at + 2))
        elif lines[at].startswith("<!-- setup"):
            end = _end(lines, at, "-->".__eq__)
            found.append(Block("setup", "", "\n".join(lines[at + 1 : end]), at + 2))
        elif lines[at].startswith("|"):
            end = at
            while end + 1 < len(lines) and lines[end + 1].startswith("|"):
                end += 1
            found.append(Block("table", "", "\n".join(lines[at : end + 1]), at + 1))
        else:
            end = at
            if lines[at].strip():
                found.append(Block("prose", "", lines[at], at + 1))
        at = end + 1
    return found


def links_of(text: str) -> list[str]:
    """Return the targets of the page's links to files of this repository, without fragments."""
    targets = [match["target"].split("#")[0] for match in _LINK.finditer(text)]
    return [target for target in targets if target and "://" not in target]


def _end(lines: list[str], start: int, closes: Callable[[str], bool]) -> int:
    for at in range(start + 1, len(lines)):
        if closes(lines[at].strip()):
            return at
    raise ValueError(f"line {start + 1} opens a block that is never closed")
