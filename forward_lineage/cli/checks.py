"""Facts that need no Spark are said before Spark starts: names of results and of tables."""

from __future__ import annotations

from pathlib import Path

from forward_lineage.cli.opening import Opening
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.spark.paths import is_address
from forward_lineage.storage.homes import folder_of
from forward_lineage.store.asking.ancestors import known_as
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library
from udafs.errors import BadArgumentError


def check_home(home: Path | str | None) -> None:
    """See to it that the home of a command that only reads is there, where one was named.

    Raises:
        BadArgumentError: there is no such folder.

    """
    if home is None or is_address(str(home)):
        return
    folder = folder_of(home_folder(home))
    if not folder.exists():
        raise BadArgumentError(
            f"there is no home {home}", instead="Check --home; the first register or save makes a home."
        )


def check_result(opening: Opening, name: str) -> None:
    """See to it that there is a saved result of a name.

    Raises:
        NotSavedError: there is none.

    """
    Library(home_folder(opening.home)).get(name)


def check_asked_about(opening: Opening, table: str) -> None:
    """See to it that there is a table of a name, or that a result was made of one; a catalog may know others.

    Raises:
        NotRegisteredError: there is none.

    """
    if opening.catalog is not None:
        return
    home = home_folder(opening.home)
    library = Library(home)
    if library.latest(table) is None and known_as(Pipeline(library, library.results()), table) is None:
        registered(Registrations(home), table)
