"""Files that a version takes over from the one before, and that it may still follow it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from forward_lineage.storage.own_files import check_no_link
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import check_newest


def share_files(saved: SavedResult, paths: Iterable[str], folder: Path) -> None:
    """Let files of a version be files of another, too: files never change once they are published.

    Args:
        saved: the version before.
        paths: in its data folder.
        folder: the data folder of the other.

    """
    shared: list[tuple[Path, Path]] = []
    for path in dict.fromkeys(paths):
        check_no_link(saved.home.parent, f"{saved.home.name}/{saved.data}/{path}")
        shared.append((saved.folder / path, folder / path))
    saved.files.share(shared)


def still_newest(draft: SavedResult, version: int, newest: int) -> SavedResult:
    """Return a draft if it follows the newest version.

    Raises:
        NameTakenError: another session has saved the result meanwhile.

    """
    if newest:  # else nobody has looked yet
        check_newest(draft.name, version, newest)
    return draft
