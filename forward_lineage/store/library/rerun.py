"""How a result was saved, noted beside its rows, so that it can be saved again in the same way.

    HOME/results/<name>/data-<random>/rerun.json    arguments of the save, or why its query cannot be run again

Results of earlier releases have none: then it is not known whether their text gives their rows.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forward_lineage.storage.fields import made
from forward_lineage.storage.interface import MissingError
from forward_lineage.storage.sealed import FORMAT, seal, unseal
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import DamagedError

NAME = "rerun.json"
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Rerun:
    """How a result was saved.

    Attributes:
        options: arguments of `ForwardLineage.save` that are not what they are by default, as JSON-able data.
        refused: why the text of the result does not give its rows; None: it does.

    """

    options: dict[str, Any] = field(default_factory=dict)
    refused: str | None = None


def write_rerun(folder: Path, rerun: Rerun) -> None:
    """Note how a result is saved, in its data folder, and bring it to the disk."""
    with (folder / NAME).open("xb") as file:
        file.write(seal(vars(rerun)))
        file.flush()
        os.fsync(file.fileno())


def rerun_of(saved: SavedResult) -> Rerun:
    """Return how a result was saved, or that it is not known.

    Raises:
        DamagedError: the note is damaged.

    """
    place = saved.folder / NAME
    data = b""
    with suppress(OSError, MissingError):
        data = saved.files.read(place, _MOST_BYTES)
    if not data:
        return Rerun(refused="it is not known how it was saved, as an earlier release did, or a session's own code")
    try:
        fields = unseal(data, str(place), FORMAT)
        return made(Rerun, {key: value for key, value in fields.items() if key not in ("format", "checksum")})
    except (ValueError, KeyError, TypeError):
        raise DamagedError(f"{place} is damaged", instead=f"Save {saved.name} again.") from None
