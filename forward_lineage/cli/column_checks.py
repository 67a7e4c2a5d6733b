"""Columns that conditions, keys and constraints name are there: said before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from forward_lineage.catalog import Catalog, no_such_column, parquet_tables
from forward_lineage.cli.checks import check_asked_about, check_known
from forward_lineage.cli.inputs import is_catalog_file
from forward_lineage.cli.names import names_in
from forward_lineage.cli.opening import Opening
from forward_lineage.frontend import check_condition
from forward_lineage.frontend.conditions import columns_in, unknown_columns
from forward_lineage.frontend.constraints import Attribute, Constraint, Denial, Dependency, read_constraint
from forward_lineage.parquet_files import parquet_columns, parquet_files
from forward_lineage.row_ids.registration_store import home_folder
from udafs.errors import BadArgumentError, LineageError

_FEW = 32  # files of a folder whose footers are read


def check_condition_over(opening: Opening, table: str, where: str) -> None:
    """See to it that a text is a condition, over columns that the table has.

    Raises:
        WrongSqlError: it is no condition.
        BadArgumentError: it names a column that the table does not have.

    """
    check_condition(where)
    _check_columns(opening, table, where)


def check_foreseen(opening: Opening, foreseen: Mapping[str, Any]) -> None:
    """See to it that what questions are foreseen about is there: tables, and columns in them.

    Args:
        opening: what a session is opened with.
        foreseen: arguments of `ForwardLineage.save`, see `cli/foreseeing.py`.

    Raises:
        LineageError: a table or column is not there, or a condition is none.

    """
    for table in foreseen["tables"] or ():
        check_known(opening, table)
    for table, where in foreseen["where"].items():
        check_known(opening, table)
        check_condition_over(opening, table, where)
    for texts in (foreseen["partition_by"], foreseen["cube"]):
        for table, keys in (texts or {}).items():
            check_known(opening, table)
            for key in keys:
                _check_columns(opening, table, key)


def check_constraints(opening: Opening, table: str, constraints: Sequence[str]) -> None:
    """See to it that texts are constraints, over columns of a table or result that is there.

    Raises:
        LineageError: one is not; the message names it.

    """
    read = [read_constraint(text) for text in constraints]
    check_asked_about(opening, table)
    columns = _known_columns(opening, table)
    if columns is None:
        return
    for attribute in (each for constraint in read for each in _attributes(constraint)):
        for name in unknown_columns(attribute.tree, columns):
            error = no_such_column(table, name, columns)
            raise BadArgumentError(f"{error.what}, in `{attribute.constraint}`", instead=error.instead)


def _attributes(constraint: Constraint) -> Iterator[Attribute]:
    """Parts that stand for values of the table itself; of a denial only what is of no row by name."""
    if isinstance(constraint, Dependency):
        yield from (*constraint.left, *constraint.right)
    elif isinstance(constraint, Denial):
        yield constraint.condition
    else:
        yield from constraint.attributes


def _check_columns(opening: Opening, table: str, text: str) -> None:
    columns = _known_columns(opening, table)
    if columns is not None and (unknown := columns_in(text, columns)):
        raise no_such_column(table, unknown[0], columns)


def _known_columns(opening: Opening, table: str) -> Sequence[str] | None:
    """The columns of a table, as the home, the files or the catalog say them; None: only Spark knows."""
    if opening.is_running:
        return None
    catalog = opening.catalog
    if catalog is None:
        return names_in(home_folder(opening.home)).of(table)
    with suppress(LineageError, OSError):
        if catalog.is_dir():
            return _of_files(parquet_tables(catalog).get(table))
        if not is_catalog_file(catalog):
            found = Catalog.from_json(catalog).base_table([table])
            return None if found is None else found.columns
    return None


def _of_files(place: Path | None) -> Sequence[str] | None:
    files = [] if place is None else parquet_files(place)
    if not 0 < len(files) <= _FEW or any("=" in str(file) for file in files):
        return None  # there may be columns in the names of folders
    return list(dict.fromkeys(name for file in files for name in parquet_columns(file)))
