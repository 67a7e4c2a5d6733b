"""Check local files to register before Spark starts."""

from __future__ import annotations

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
    """Check that some file has the column that is the key; folders may have more columns, those of partitions."""
    if not isinstance(request.key, str) or not all(map(_is_plain, paths)):
        return
    with suppress(OSError, DamagedError):  # Spark says why they cannot be read, or reads them: footers may be encrypted
        files = [file.path for path in paths for file in list_files(local_path(path))]
        if not 0 < len(files) <= _FEW or any("=" in file for file in files):
            return
        columns = list(dict.fromkeys(name for file in files for name in parquet_columns(Path(file))))
        if request.key.lower() not in map(str.lower, columns):
            raise no_such_column(request.name, request.key, columns)
