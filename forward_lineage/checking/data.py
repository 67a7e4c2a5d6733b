"""The tables of `--data`: every Parquet, CSV, ORC or JSON file or folder in it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.spark.names import glob_literal
from forward_lineage.spark.own_parquet import write_parquet
from udafs.errors import BadArgumentError

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".orc": "orc", ".json": "json", ".jsonl": "json"}
_OPTIONS = {"csv": {"header": "true", "inferSchema": "true"}}
_GIVE = "Give a folder of Parquet, CSV, ORC or JSON files, or folders of them, each a table."
_LAKES = ("_delta_log", ".hoodie", "metadata")


def tables_in(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder: name in lower case → file or folder.

    Raises:
        BadArgumentError: there is no such folder, or it is empty. Or it has a name twice, or a table of a format that
            files alone do not make.

    """
    if not folder.is_dir():
        raise BadArgumentError(f"there is no folder {folder}", instead=_GIVE)
    tables: dict[str, Path] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")) or _format_of(entry) is None:
            continue
        name = (entry.stem if entry.suffix.lower() in _FORMATS else entry.name).lower()
        if name in tables:
            what = f"{tables[name].name} and {entry.name} are both called {name}"
            raise BadArgumentError(what, instead="Take one of them out of the folder.")
        tables[name] = entry.resolve()
    if not tables:
        raise BadArgumentError(f"no table in {folder}", instead=_GIVE)
    return tables


def as_parquet(spark: SparkSession, path: Path, scratch: Path) -> Path:
    """Return the Parquet file or folder of a table: its own, or a copy of what is in another format."""
    kind = _format_of(path)
    if kind in ("parquet", None):
        return path
    copy = scratch / "data" / path.name
    if not copy.exists():
        rows = spark.read.format(str(kind)).options(**_OPTIONS.get(str(kind), {})).load(glob_literal(path))
        write_parquet(rows, copy)
    return copy


def _format_of(entry: Path) -> str | None:
    if entry.is_file():
        return _FORMATS.get(entry.suffix.lower())
    if any((entry / lake).exists() for lake in _LAKES):
        what = f"{entry} is a table of a lake, not a folder of files"
        raise BadArgumentError(what, instead="Take it out, or write its rows as Parquet files first.")
    inside = (each for each in sorted(entry.rglob("*")) if each.is_file() and not each.name.startswith((".", "_")))
    return next((_FORMATS[each.suffix.lower()] for each in inside if each.suffix.lower() in _FORMATS), None)
