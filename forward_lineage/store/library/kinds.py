"""The kinds of saved things: a class for each, found by what its manifest says.

A kind says which files hold the thing, and what its manifest has beside what all have. Versions, lineage, crash safety
and questions are the same for all: they know `Saved`. A new kind is a class of its own and an entry here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forward_lineage.storage.mirror import Files
from forward_lineage.store.library.saved import KINDED, Saved
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel
from forward_lineage.store.library.saved_result import BATCHED, SavedResult

KINDS: dict[str, type[Saved]] = {each.kind: each for each in (SavedResult, SavedArray, SavedModel)}
"""The class of each kind, by the name that stands in manifests."""
LATEST = BATCHED


def saved_of(data: dict[str, Any], home: Path, files: Files) -> Saved:
    """Make a version of a saved thing of the fields of its manifest, in this release or an earlier one.

    Args:
        data: the fields, and the format they are of. Formats before `KINDED` are of rows, and name no kind.
        home: the folder of the thing.
        files: in it.

    Raises:
        ValueError: they cannot be a manifest's; so may be a KeyError, TypeError or AttributeError.

    """
    if data["format"] < KINDED:
        return SavedResult.from_data(data, home, files)
    kind = data["kind"]
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}")
    return KINDS[kind].from_data({key: value for key, value in data.items() if key != "kind"}, home, files)
