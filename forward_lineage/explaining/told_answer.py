"""An answer that is told in lines of text, and given to programs as JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forward_lineage.explaining.page import Panel, write_walk
from forward_lineage.showing.plain_text import plain


class ToldAnswer(ABC):
    """An answer that people and programs read."""

    @abstractmethod
    def as_data(self) -> dict[str, Any]:
        """Return the answer as JSON-able data."""

    @abstractmethod
    def _lines(self) -> Iterator[str]:
        """Yield the answer as people see it."""

    @abstractmethod
    def _walk(self) -> Panel:
        """Return where the page of the answer begins."""

    def save(self, file: Path | str) -> Path:
        """Write the answer as a page, one HTML file that needs nothing else; return where it is.

        Args:
            file: its name; it ends in ``.html``.

        Raises:
            BadArgumentError: it does not.
            SetupError: the file cannot be written.

        """
        return write_walk(file, self._walk())

    def as_json(self) -> str:
        """Return the answer as one line of JSON."""
        return json.dumps(self.as_data(), ensure_ascii=False, default=str)

    def __str__(self) -> str:
        return "\n".join(plain(line) for line in self._lines())

    def __repr__(self) -> str:
        return str(self)

    def show(self) -> None:
        """Print the answer."""
        print(self)


def value_text(value: Any) -> str:
    """Return a value as people see it."""
    return "NULL" if value is None else str(value)


def values_text(values: Mapping[str, Any]) -> str:
    """Return values by name as people see them: ``city = Oslo, amount = 40``."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())
