"""The inputs of commands: SQL from a file or standard input, a catalog from a file or a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from forward_lineage.catalog import Catalog, key_table, parquet_table, parquet_tables
from forward_lineage.parquet_files import parquet_files
from forward_lineage.row_ids.catalog_file import read_catalog_file
from udafs.errors import BadArgumentError, NotTracedError


def read_sql(file: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        BadArgumentError: the file cannot be read.

    """
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadArgumentError(
            f"{file} cannot be read: {reason}", instead="Give a text file with one statement, or - for standard input."
        ) from None


def read_statement(file: str) -> str:
    """Return the text of a file, or of standard input, that holds one statement.

    Raises:
        BadArgumentError: the file cannot be read, or holds no statement or several.
        WrongSqlError: a string, quoted name or comment is not closed.

    """
    from forward_lineage.frontend import split_script  # noqa: PLC0415 - some commands do without the front end

    text = read_sql(file)
    found = len(split_script(text))
    if not found:
        what = f"there is no SQL {'here' if file == '-' else f'in {file}'}"
        raise BadArgumentError(what, instead="Give one statement, for example SELECT * FROM sales.")
    if found > 1:
        name, script = ("standard input", "script.sql") if file == "-" else (file, file)
        instead = f"Give one statement; forward-lineage shell < {script} runs them all."
        raise BadArgumentError(f"{name} holds {found} statements", instead=instead)
    return text


def read_catalog(path: Path) -> Catalog:
    """Return the catalog in a JSON file, a catalog file or a folder of Parquet files, without Spark.

    Raises:
        LineageError: it is none of these; or it has a table that needs more facts than its file has.

    """
    if path.is_dir():
        return Catalog.from_parquet(path)
    return _as_written(path) if is_catalog_file(path) else Catalog.from_json(path)


def names_in_catalog(path: Path) -> list[str]:
    """Return the names of the tables in such a catalog, whatever facts of them it has.

    Raises:
        LineageError: it cannot be read.

    """
    if path.is_dir():
        return list(parquet_tables(path))
    if is_catalog_file(path):
        return [entry.name for entry in read_catalog_file(path)]
    return [table.name for table in Catalog.from_json(path)]


def is_catalog_file(path: Path) -> bool:
    """Tell whether a path is that of a catalog file, see `row_ids/catalog_file.py`, and not of JSON."""
    return path.suffix.lower() == ".toml"


def _as_written(file: Path) -> Catalog:
    """The tables of a catalog file: of Parquet files, with ids by position or by a column."""
    catalog = Catalog()
    for entry in read_catalog_file(file):
        said, path = entry.arguments, entry.arguments.get("path")
        key = said.get("key")
        if not isinstance(path, str) or said.keys() - {"path", "key"} or not isinstance(key, str | None):
            raise NotTracedError(
                f"the entry {entry.name} of {file} needs Spark to be read: its ids are not known yet",
                instead=f"Register it, and leave --catalog out: forward-lineage register --catalog {file}.",
            )
        place = Path(path)
        files = parquet_files(place) if place.exists() else [place]
        table = parquet_table(entry.name, place, files)
        catalog.add(table if key is None else key_table(entry.name, table.columns, key, relation=table.relation))
    return catalog
