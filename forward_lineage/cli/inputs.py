"""What the commands read: SQL from a file or standard input, a catalog from JSON or a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from forward_lineage.catalog import Catalog
from udafs.errors import LineageError

Command = Callable[..., Any]


def sql_argument(command: Command) -> Command:
    """Add the argument FILE, `-` standing for standard input."""
    return click.argument("file", type=click.Path(allow_dash=True))(command)


def catalog_option(command: Command) -> Command:
    """Add `--catalog`."""
    return click.option(
        "--catalog",
        "catalog_path",
        metavar="FILE.json|FOLDER",
        type=click.Path(path_type=Path),
        help="Tables: a JSON file, or a folder of Parquet files, each a table.  [default: the registered tables]",
    )(command)


def home_option(command: Command) -> Command:
    """Add `--home`."""
    return click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of registrations and results.  [default: $FORWARD_LINEAGE_HOME, else ./lineage_home]",
    )(command)


def semantics_option(command: Command) -> Command:
    """Add `--semantics`."""
    return click.option(
        "--semantics",
        type=click.Choice(["data", "control"]),
        default="data",
        show_default=True,
        help="Whether rows that subqueries of predicates looked at count too (control).",
    )(command)


def read_sql(file: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        LineageError: the file cannot be read.

    """
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise LineageError(f"{file} cannot be read: {reason}") from None


def read_catalog(path: Path) -> Catalog:
    """Return the catalog in a JSON file or a folder of Parquet files.

    Raises:
        LineageError: it is neither.

    """
    return Catalog.from_parquet(path) if path.is_dir() else Catalog.from_json(path)
