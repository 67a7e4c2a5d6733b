"""Data folders that are being written: a mark that dies with the process that writes."""

from __future__ import annotations

from pathlib import Path

from forward_lineage.storage.locks import Lock, is_held

BUSY = ".saving"
"""A file in the folder, locked by the process that writes it, for as long as it lives."""


class BusyMark:
    """Says of a data folder that a process that lives is writing it.

    Args:
        folder: the data folder.

    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / BUSY
        self._lock = Lock(self._path)

    def remove(self) -> None:
        """Say that the folder is written."""
        self._path.unlink(missing_ok=True)
        self._lock.release()


def is_busy(folder: Path) -> bool:
    """Tell whether a process on this machine that lives is writing a data folder."""
    return is_held(folder / BUSY)
