"""Sums and counts of groups that a result does not select, kept beside its rows: averages are told by them.

    HOME/results/<name>/data-<random>/sums.json    by the number of each row, sum(n), count(n), … of its group

An update that adds rows to groups writes it, so that the next one can go on from there. Results that were saved in
another way have none: then the sums are asked for once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from forward_lineage.storage.sealed import FORMAT, seal, unseal
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import LineageError

NAME = "sums.json"
MOST_GROUPS = 20_000
"""Whose sums are kept: they are read as a whole."""
_MOST_BYTES = 1 << 24

Hidden = dict[int, tuple[Any, ...]]
"""By the number of a row, its hidden columns: whole numbers, decimals or None."""


def write_sums(folder: Path, hidden: Sequence[str], sums: Hidden, rows: int) -> None:
    """Keep hidden columns of all rows of a result in its data folder, and bring them to the disk; of very many none.

    Args:
        folder: the data folder.
        hidden: what each column is, as SQL.
        sums: by the number of each row.
        rows: how many there are.

    """
    if not hidden or len(sums) != rows or rows > MOST_GROUPS:
        return
    values = [[str(each) if isinstance(each, Decimal) else each for each in row] for row in sums.values()]
    with (folder / NAME).open("xb") as file:
        file.write(seal({"columns": list(hidden), "rows": list(sums), "sums": values}))
        file.flush()
        os.fsync(file.fileno())


def are_kept(saved: SavedResult) -> bool:
    """Tell whether hidden columns are kept beside the rows of a result, without reading them."""
    return (saved.folder / NAME).exists()


def sums_of(saved: SavedResult, hidden: Sequence[str]) -> Hidden | None:
    """Return the hidden columns of all rows of a result; None: they are not kept, or cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, ArithmeticError, LineageError):
        place = saved.folder / NAME
        fields = unseal(saved.files.read(place, _MOST_BYTES), str(place), FORMAT)
        if fields["columns"] == list(hidden) and set(fields["rows"]) == set(saved.numbers()):
            return {
                number: tuple(Decimal(each) if isinstance(each, str) else each for each in row)
                for number, row in zip(fields["rows"], fields["sums"], strict=True)
            }
    return None
