"""Parquet files and folders of them as tables, named after them: what a catalog takes of a folder. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from udafs.errors import BadArgumentError, DamagedError

_FOLDER = "Give a folder that holds Parquet files, or folders of them, each a table."
_FILE = "Give a Parquet file that is whole, or a folder that holds one."
#: What a home has in it, each a folder of numbered manifests for every name.
_ROOMS = ("tables", "results")


def parquet_tables(folder: Path) -> dict[str, Path]:
    """Return the Parquet files in a folder, and its subfolders that hold some, by table name.

    Raises:
        BadArgumentError: there is no such folder, or it holds no Parquet file.

    """
    if not folder.is_dir():
        raise BadArgumentError(f"there is no folder {folder}", instead=_FOLDER)
    tables = {
        entry.name.removesuffix(".parquet"): entry
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith((".", "_"))
        and (entry.is_dir() or entry.suffix == ".parquet")
        and parquet_files(entry)
    }
    if not tables:
        raise BadArgumentError(f"no Parquet file in {folder}", instead=_FOLDER)
    return tables


def parquet_columns(file: Path) -> tuple[str, ...]:
    """Read the columns from a Parquet footer.

    Raises:
        DamagedError: the file is missing or is not Parquet.

    """
    import pyarrow as arrow  # noqa: PLC0415 - a catalog from JSON should not wait for it
    from pyarrow import parquet  # noqa: PLC0415

    try:
        return tuple(parquet.read_schema(file).names)
    except FileNotFoundError:
        raise DamagedError(f"there is no file {file}", instead=_FILE) from None
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).split(".")[0]
        raise DamagedError(f"{file} cannot be read as Parquet: {reason}", instead=_FILE) from None


def parquet_files(entry: Path) -> list[Path]:
    """Return the Parquet files in a folder however deep, or a file itself; none of a home of ours, which has copies."""
    if entry.is_file():
        return [entry]
    return sorted(_below(entry))


def _below(folder: Path) -> Iterator[Path]:
    if _is_home(folder):
        return
    for entry in folder.iterdir():
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.suffix == ".parquet" and entry.is_file():
            yield entry


def _is_home(folder: Path) -> bool:
    """Whether registrations or saved results are kept in a folder."""
    return any(
        manifest.stem.isdecimal()
        for room in _ROOMS
        if (folder / room).is_dir()
        for manifest in (folder / room).glob("*/*.json")
    )
