"""Facts that need no Spark are said before Spark starts: names of results and of tables."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from forward_lineage.cli.inputs import names_in_catalog
from forward_lineage.cli.opening import Opening
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.name_lookup import not_registered, registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.spark.paths import is_address
from forward_lineage.storage.homes import folder_of
from forward_lineage.store.asking.ancestors import known_as
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.library import Library
from udafs.errors import BadArgumentError, LineageError, NameTakenError, WrongSqlError

if TYPE_CHECKING:
    from sqlglot import exp

_QUERY = re.compile(r"\s*(?:select|with|from|values|\()\b", re.IGNORECASE)
_ASKS_FOR_LINEAGE = re.compile(r"\b(?:backward|forward)\s*\(", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(\w+)", re.DOTALL)
_FIRST_WORDS, _CLOSE = ("SELECT", "WITH", "VALUES"), 0.75  # no other statement begins like one of these
_GIVE_A_CATALOG = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS")


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
    else:
        check_known(opening, name)


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


def check_statement(opening: Opening, sql: str) -> None:
    """See to it that a statement can be right, as far as that is seen without Spark.

    Raises:
        WrongSqlError: it is malformed.
        NotRegisteredError: it is a query of a table that is nowhere.
        ChangedError: a table that it reads has changed.

    """
    if not opening.is_running:  # else Spark is asked, which knows its own views, and says more
        tree = _query_in(sql)
        if tree is not None and _knows_ours_alone():
            _check_known(opening, tree)
    check_tables_of(opening, sql)


def _query_in(sql: str) -> exp.Expr | None:
    """The tree of a query; None of another statement, and of one that asks for saved lineage: only a session reads it.

    Raises:
        WrongSqlError: it is malformed, or begins like nothing that Spark knows.

    """
    from sqlglot import exp  # noqa: PLC0415 - most commands do without it

    from forward_lineage.frontend import parse  # noqa: PLC0415 - the same

    if _ASKS_FOR_LINEAGE.search(sql):
        return None
    word = found[1] if (found := _FIRST_WORD.match(sql)) else ""
    meant = get_close_matches(word.upper(), _FIRST_WORDS, 1, _CLOSE)
    if meant and word.upper() != meant[0]:
        raise WrongSqlError(f"no statement begins with {word}", instead=f"Did you mean {meant[0]}?")
    try:
        tree = parse(sql).tree
    except LineageError:
        if _QUERY.match(sql):
            raise
        return None
    return tree if isinstance(tree, exp.Query) else None


def _knows_ours_alone() -> bool:
    """Tell whether a new session would know no tables but ours: nothing is set that could give it a catalog."""
    if any(name in os.environ for name in _GIVE_A_CATALOG):
        return False
    spec = find_spec("pyspark")
    homes = (spec.submodule_search_locations if spec is not None else None) or ()
    return not any((Path(home) / "conf").exists() for home in homes)


def _check_known(opening: Opening, tree: exp.Expr) -> None:
    from sqlglot import exp  # noqa: PLC0415

    known, results = _known_names(opening)
    names = {each.lower() for each in (*known, *results)}
    names |= {each.alias.lower() for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not table.db and table.name.lower() not in names:
            raise not_registered(table.name, known, table)


def _known_names(opening: Opening) -> tuple[list[str], list[str]]:
    """The names of tables, those of the home and of the catalog, and of saved results."""
    home = home_folder(opening.home)
    in_catalog = [] if opening.catalog is None else names_in_catalog(opening.catalog)
    return [*(each.name for each in Registrations(home).readable()[0]), *in_catalog], Library(home).names()


def check_known(opening: Opening, name: str) -> None:
    """See to it that a table or result is in the catalog or the home, unless a session may know more.

    Raises:
        NotRegisteredError: it is nowhere.

    """
    if opening.is_running or not name.isidentifier() or not _knows_ours_alone():
        return
    tables, results = _known_names(opening)
    if name.lower() not in {each.rpartition(".")[2].strip("`").lower() for each in (*tables, *results)}:
        raise not_registered(name, tables)


def check_free(opening: Opening, name: str) -> None:
    """See to it that no registered table has the name of a result that is to be saved.

    Raises:
        NameTakenError: one has.

    """
    for manifest in Registrations(home_folder(opening.home)).readable()[0]:
        if manifest.name.lower() == name.lower() and manifest.provider is not Provider.RESULT:
            raise NameTakenError(f"{name} is a registered table", instead="Save the result under another name.")


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
    """See to it that there is a table of a name, or that a result was made of one.

    Raises:
        NotRegisteredError: there is none.

    """
    if opening.catalog is not None:
        check_known(opening, table)
        return
    home = home_folder(opening.home)
    library = Library(home)
    if library.find(table) is None and known_as(Pipeline(library, library.every()[0]), table) is None:
        registered(Registrations(home), table)
