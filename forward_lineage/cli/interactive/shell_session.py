"""The session of a shell: opened when something needs Spark, and kept until the shell ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from forward_lineage.cli.inputs import is_catalog_file
from forward_lineage.cli.opening import Opening

if TYPE_CHECKING:
    from forward_lineage.session import ForwardLineage


class KeptSession(Opening):
    """An opening whose session is opened once; every command of the shell has it as its own.

    Args:
        opening: what it is opened with.

    """

    def __init__(self, opening: Opening) -> None:
        self.home = opening.home
        self.catalog = opening.catalog
        self._first = opening
        self._open: ForwardLineage | None = None
        self._ends = ExitStack()

    @property
    def started(self) -> ForwardLineage | None:
        """The session, if something has needed it."""
        return self._open

    @contextmanager
    def session(self, command: str) -> Iterator[ForwardLineage]:
        """Give the session to a command; it stays open."""
        if self._open is None:
            self._open = self._ends.enter_context(self._first.session("shell"))
            if self.catalog is not None and (self.catalog.is_dir() or is_catalog_file(self.catalog)):
                self.catalog = None  # its tables are registered now
        yield self._open

    @contextmanager
    def session_to_look(self, command: str) -> Iterator[ForwardLineage]:
        """Give the session to a command that saves nothing."""
        with self.session(command) as lineage:
            yield lineage

    def close(self) -> None:
        """End the session, if it was opened."""
        self._ends.close()
