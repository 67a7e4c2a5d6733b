"""The Parquet files of a result: brought to the disk when they are written, checked before they are read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.store.library.saved_result import SAVE_AGAIN, RowFile, SavedResult


def row_file(folder: Path, path: str, first_row: int, rows: int) -> RowFile:
    """Bring a finished file to the disk and note its size and checksum."""
    size, checksum = checksum_of(folder / path, to_disk=True)
    return RowFile(path, first_row, rows, size, checksum)


def checksum_of(path: Path, *, to_disk: bool = False) -> tuple[int, int]:
    """Return size and CRC-32 of a file, which is read in pieces."""
    size = checksum = 0
    with path.open("rb") as file:
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
    check_files(saved, saved.row_files)


def check_files(saved: SavedResult, files: Iterable[RowFile]) -> None:
    """Check some files in a result's data folder, as `check_row_files` does.

    Raises:
        CorruptSegmentError: a file is missing or another one; the message names it.

    """
    written = saved.manifest_path.stat().st_mtime_ns if saved.manifest_path.exists() else 0
    for file in files:
        path = saved.folder / file.path
        fault = _fault(path, file, written)
        if fault:
            raise CorruptSegmentError(f"{path} {fault}", instead=SAVE_AGAIN)


def _fault(path: Path, file: RowFile, written: int) -> str | None:
    try:
        found = path.stat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if found.st_size != file.size:
        return f"is damaged: it has {found.st_size} bytes, not {file.size}"
    if found.st_mtime_ns > written and checksum_of(path) != (file.size, file.checksum):
        return "is damaged: its checksum is wrong"
    return None
