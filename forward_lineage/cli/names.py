"""The names in a home, for completion in our shell and in those of the system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.storage.homes import Home
from forward_lineage.store.library.library import Library
from udafs.errors import LineageError


@dataclass(frozen=True)
class Names:
    """The names in a home.

    Attributes:
        tables: columns by table.
        results: columns by saved result.

    """

    tables: dict[str, list[str]]
    results: dict[str, list[str]]

    def of(self, word: str) -> list[str] | None:
        """Return the columns of a table or result that is called so."""
        return next((columns for name, columns in self.all.items() if name.lower() == word.lower()), None)

    @property
    def all(self) -> dict[str, list[str]]:
        """Both."""
        return self.tables | self.results


def names_in(home: Home) -> Names:
    """Return what is registered and saved; nothing of a home that cannot be read."""
    try:
        manifests, _ = Registrations(home).readable()
        results = Library(home).results()
    except (LineageError, OSError):
        return Names({}, {})
    tables = {
        manifest.name: [name for name, _ in manifest.columns]
        for manifest in manifests
        if manifest.provider is not Provider.RESULT
    }
    return Names(tables, {saved.name: [name for name, _ in saved.columns] for saved in results})


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(kind: str) -> Complete:
    """Return what completes an argument of a command.

    Args:
        kind: what it names: ``"tables"``, ``"results"`` or ``"all"``.

    """

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = getattr(names_in(home_folder(context.params.get("home"))), kind)
        return [CompletionItem(name) for name in sorted(found) if name.lower().startswith(incomplete.lower())]

    return complete
