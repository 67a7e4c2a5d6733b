"""Check local files to register before Spark starts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from forward_lineage.catalog import no_such_column
from forward_lineage.parquet_files import parquet_columns
from forward_lineage.row_ids.data_files import list_files
from forward_lineage.row_ids.file_locations import as_list
from forward_lineage.row_ids.other_formats import refuse_other_formats
from forward_lineage.row_ids.registration_request import Request
from forward_lineage.spark.names import glob_literal
from forward_lineage.spark.paths import is_local, local_path
from udafs.errors import BadArgumentError, DamagedError

_PARQUET = (b"PAR1", b"PARE")
_FEW = 32  # files whose footers are read before Spark starts, which reads them again
_LONG = 1_000_000  # bytes of a first line
_HARMLESS = {"inferschema", "dateformat", "timestampformat", "samplingratio"}  # to the names of columns


def check_files(request: Request) -> None:
    """Check what can be known of files on this machine; whatever is doubtful is left to Spark.

    Raises:
        BadArgumentError: there is nothing, a file of another format, or no column that is called as the key.

    """
    paths = [] if request.path is None else [str(path) for path in as_list(request.path)]
    for path in paths:
        if _is_plain(path) and not local_path(path).exists():
            raise BadArgumentError(f"there is no {path}", instead="Name a file, or a folder of files.")
    if request.file_format.lower() == "parquet":
        refuse_other_formats(request.name, paths)
        for path in paths:
            _check_parquet(path)
    _check_key(request, paths)


def _is_plain(path: str) -> bool:
    """Whether a path is on this machine and no pattern."""
    return is_local(path) and glob_literal(path) == path


def _check_parquet(path: str) -> None:
    """Check that a file, if it is one, begins as Parquet files do: in clear text, or with an encrypted footer."""
    file = local_path(path) if is_local(path) else None
    if file is None or not file.is_file():
        return
    with suppress(OSError), file.open("rb") as opened:  # Spark says why it cannot be read
        if opened.read(4) not in _PARQUET:
            raise BadArgumentError(
                f"{path} is no Parquet file", instead="Name its format, as in --format csv --option header=true."
            )


def _check_key(request: Request, paths: list[str]) -> None:
    """Check that some file has each column of the key; folders may have more columns, those of partitions."""
    keys = [request.key] if isinstance(request.key, str) else list(request.key or ())
    if not keys or not all(map(_is_plain, paths)):
        return
    with suppress(
        OSError, ValueError, csv.Error, DamagedError
    ):  # Spark says why, or reads them: footers may be encrypted
        files = [Path(file.path) for path in paths for file in list_files(local_path(path))]
        if not 0 < len(files) <= _FEW or any("=" in str(file) for file in files):
            return
        columns = list(dict.fromkeys(_columns_of(files, request)))
        missing = [key for key in keys if key.lower() not in map(str.lower, columns)]
        if columns and missing:
            raise _no_such_key(request.name, missing[0], columns)


def _columns_of(files: Sequence[Path], request: Request) -> Iterable[str]:
    """The columns of files; none where only Spark can tell."""
    if request.file_format.lower() == "parquet":
        return (name for file in files for name in parquet_columns(file))
    said = {name.lower(): str(value).lower() for name, value in request.options.items()}
    if request.file_format.lower() != "csv" or said.pop("header", "") != "true" or said.keys() - _HARMLESS:
        return ()
    return (name for file in files for name in _heading(file))


def _heading(file: Path) -> list[str]:
    """The first line of a CSV file that Spark and Python read alike.

    Raises:
        ValueError: they may not.

    """
    with file.open("rb") as opened:
        first = opened.readline(_LONG)
    if not first.strip() or not first.endswith(b"\n") or b"\\" in first or first.startswith(b"\xef\xbb\xbf"):
        raise ValueError
    names = next(csv.reader([first.decode("utf-8")], strict=True))
    if any(not name or name != name.strip() for name in names) or len({*map(str.lower, names)}) < len(names):
        raise ValueError  # Spark gives these other names
    return names


def _no_such_key(table: str, key: str, columns: Sequence[str]) -> BadArgumentError:
    error = no_such_column(table, key, columns)
    parts = [part.strip() for part in key.split(",")]
    if len(parts) == 1:
        return error
    options = " ".join(f"--key {part}" for part in parts)
    return BadArgumentError(error.what, instead=f"Give each column of a key by itself: {options}.")
