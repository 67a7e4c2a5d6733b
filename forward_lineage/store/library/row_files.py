"""The Parquet files of a result: brought to the disk when they are written, checked before they are read."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Sequence
from pathlib import Path

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.storage.own_files import check_no_link, open_file
from forward_lineage.store.library.saved_result import SAVE_AGAIN, RowFile, SavedResult

ROW_NUMBER = "CAST(substring(_metadata.file_name, 6, 19) AS BIGINT) + _metadata.row_index"
"""The number of a row, in SQL: files of rows are called by the number of their first row."""


def row_file(folder: Path, path: str, first_row: int, rows: int) -> RowFile:
    """Bring a finished file to the disk and note its size and checksum."""
    size, checksum = checksum_of(folder / path, to_disk=True)
    return RowFile(path, first_row, rows, size, checksum)


def checksum_of(path: Path, *, to_disk: bool = False) -> tuple[int, int]:
    """Return size and CRC-32 of a file, which is read in pieces."""
    size = checksum = 0
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        while piece := file.read(1 << 20):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
        if to_disk:
            os.fsync(file.fileno())
    return size, checksum


def check_row_files(saved: SavedResult) -> None:
    """Check that the files of a result's rows are those that were written.

    Sizes are always compared. A file that was touched after the manifest was written is read through and its checksum
    compared.

    Raises:
        CorruptSegmentError: a file is missing or another one; the message names it.

    """
    check_files(saved, saved.row_files, "rows")


def check_files(saved: SavedResult, files: Sequence[RowFile], folder: str) -> None:
    """Check the files of a folder in a result's data folder, as `check_row_files` does: Spark reads all that are there.

    Args:
        saved: the result.
        files: those that the manifest names; an earlier release may have named none.
        folder: the folder.

    Raises:
        DamagedError: a file is missing or another one, or none, or not in the manifest; the message names it.

    """
    if files:
        _check_no_other(saved, {file.path for file in files}, folder)
    written = saved.manifest_path.stat().st_mtime_ns if saved.manifest_path.exists() else 0
    for file in files:
        path = saved.folder / file.path
        check_no_link(saved.home.parent, f"{saved.home.name}/{saved.data}/{file.path}")
        fault = _fault(path, file, written)
        if fault:
            raise CorruptSegmentError(f"{path} {fault}", instead=SAVE_AGAIN)


def _check_no_other(saved: SavedResult, known: set[str], folder: str) -> None:
    try:
        there = os.listdir(saved.folder / folder)  # noqa: PTH208 - names are all that is asked for
    except OSError:
        return  # whoever misses a file in it says so
    for name in there:
        if not name.startswith((".", "_")) and f"{folder}/{name}" not in known:
            raise CorruptSegmentError(
                f"{saved.folder / folder / name} is not in the manifest, and Spark would read it", instead=SAVE_AGAIN
            )


def _fault(path: Path, file: RowFile, written: int) -> str | None:
    try:
        found = path.stat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISREG(found.st_mode):
        return "is no file"
    if found.st_size != file.size:
        return f"is damaged: it has {found.st_size} bytes, not {file.size}"
    if found.st_mtime_ns > written and checksum_of(path) != (file.size, file.checksum):
        return "is damaged: its checksum is wrong"
    return None
