"""The words that the shell completes: commands, tables, results, columns, words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from forward_lineage.cli.interactive.entry_runner import COMMANDS
from forward_lineage.cli.names import Names, names_in
from forward_lineage.storage.homes import Home

_WORDS = """
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT JOIN LEFT RIGHT FULL CROSS SEMI ANTI ON USING AS AND OR NOT IN IS NULL
    BETWEEN LIKE EXISTS CASE WHEN THEN ELSE END WITH UNION INTERSECT EXCEPT ALL DISTINCT CREATE TABLE VIEW TEMPORARY
    INSERT INTO VALUES DATE CAST OVER PARTITION
""".split()  # noqa: SIM905 - a list of words, to be read as one
#: What this system adds.
_OURS = ("LINEAGE ON", "BACKWARD(", "FORWARD(")
_WORD = re.compile(r"\\?[\w.$-]*$")
_TABLE_FOLLOWS = re.compile(r"(?:\b(?:from|join|into)|,|\b(?:backward|forward)\s*\()\s*[\w.]*$", re.IGNORECASE)
_RESULTS = ("backward", "capture", "drop", "ls")
_TABLES = ("refresh", "unregister", "affected")


class ShellCompleter(Completer):
    """Completes what stands before the cursor.

    Args:
        home: whose names are completed; they are looked up when `forget` was called since.

    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._names: Names | None = None

    def forget(self) -> None:
        """Look names up again, the next time."""
        self._names = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may stand at the cursor."""
        text = document.text_before_cursor
        match = _WORD.search(text)
        word = match[0] if match is not None else ""
        for candidate in self.candidates(text, word):
            if candidate.lower().startswith(word.lower()) and candidate != word:
                yield Completion(candidate, start_position=-len(word))

    def candidates(self, text: str, word: str) -> list[str]:
        """Return what may stand behind a text, the likeliest first.

        Args:
            text: up to the cursor.
            word: the last word of it, to be completed.

        """
        before = text[: len(text) - len(word)]
        if word.startswith("\\"):
            return [f"\\{name}" for name in [*COMMANDS, "help", "q"]] if not before.strip() else []
        if before.lstrip().startswith("\\"):
            return self._of_command(before.split())
        names = self._known()
        if _TABLE_FOLLOWS.search(before):
            return [*sorted(names.all), "BACKWARD(", "FORWARD("]
        return [*self._columns(text), *sorted(names.all), *_OURS, *_WORDS] if word else []

    def _of_command(self, words: list[str]) -> list[str]:
        names, command, rest = self._known(), words[0][1:].lower(), words[1:]
        if any(word.upper() == "WHERE" for word in rest):
            return names.of(rest[0]) or []
        if rest and rest[-1] == "--result":
            return sorted(names.results)
        if rest and rest[-1] == "--table":
            return sorted(names.all)
        if rest:
            return ["WHERE", "--rows", "--ids", "--table", "--result", "--json", "--limit"]
        return sorted(names.results if command in _RESULTS else names.tables if command in _TABLES else names.all)

    def _columns(self, text: str) -> list[str]:
        """The columns of the tables that a statement names, wherever it does."""
        names = self._known()
        said = {word.lower() for word in re.findall(r"\w+", text)}
        mine = [columns for name, columns in names.all.items() if name.lower() in said] or list(names.all.values())
        return list(dict.fromkeys(column for columns in mine for column in columns))

    def _known(self) -> Names:
        if self._names is None:
            self._names = names_in(self._home)
        return self._names
