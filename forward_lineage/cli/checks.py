"""Facts that need no Spark are said before Spark starts: names of results and of tables."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from forward_lineage.cli.opening import Opening
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.spark.paths import is_address
from forward_lineage.storage.homes import folder_of
from forward_lineage.store.asking.ancestors import known_as
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library
from udafs.errors import BadArgumentError, LineageError


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


def check_table(opening: Opening, name: str) -> None:
    """See to it that a table is registered and is what it was then, as far as that can be seen in files.

    Raises:
        NotRegisteredError: it is not.
        ChangedError: it has changed.

    """
    if opening.catalog is None:
        _check_still(registered(Registrations(home_folder(opening.home)), name))


def check_tables_of(opening: Opening, sql: str) -> None:
    """See to it that the registered tables that a statement reads are what they were, as far as files show it.

    Raises:
        ChangedError: one has changed.

    """
    if opening.catalog is not None:
        return
    for manifest in Registrations(home_folder(opening.home)).readable()[0]:
        if manifest.provider is not Provider.RESULT and manifest.name.lower() in _read_by(sql):
            _check_still(manifest)


def _check_still(manifest: Manifest) -> None:
    from forward_lineage.embedded.base_tables import check_unchanged  # noqa: PLC0415 - a list needs none of it
    from forward_lineage.embedded.needs_spark import NeedsSpark  # noqa: PLC0415

    with suppress(NeedsSpark):  # it is Spark that can tell, and does
        check_unchanged(manifest)


@lru_cache(1)
def _read_by(sql: str) -> frozenset[str]:
    """The names of tables that a statement reads, in lower case; none of one that is malformed, as Spark will say."""
    from sqlglot import exp  # noqa: PLC0415 - most commands do without it

    from forward_lineage.frontend import parse  # noqa: PLC0415 - the same

    try:
        tree = parse(sql).tree
    except LineageError:
        return frozenset()
    defined = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    named = (each for each in tree.find_all(exp.Table) if not each.db)
    return frozenset(each.name.lower() for each in named) - defined


def check_result(opening: Opening, name: str) -> None:
    """See to it that there is a saved result of a name.

    Raises:
        NotSavedError: there is none.

    """
    Library(home_folder(opening.home)).saved(name)


def check_asked_about(opening: Opening, table: str) -> None:
    """See to it that there is a table of a name, or that a result was made of one; a catalog may know others.

    Raises:
        NotRegisteredError: there is none.

    """
    if opening.catalog is not None:
        return
    home = home_folder(opening.home)
    library = Library(home)
    if library.find(table) is None and known_as(Pipeline(library, library.every()[0]), table) is None:
        registered(Registrations(home), table)
