"""Rules of updating, disabled on purpose: a campaign that passes with one of them proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from forward_lineage.row_ids import kept_hashes, row_changes, row_hash
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.store.updating import inputs, proving
from tests.updates.rules import SPOILED as RULES
from udafs.lineage_set import LineageSet

_NONE = RowChanges(LineageSet(), LineageSet(), LineageSet())


def _only_came(found: Callable[..., RowChanges]) -> Callable[..., RowChanges]:
    def spoiled(*given: Any) -> RowChanges:
        changes = found(*given)
        return RowChanges(LineageSet(), changes.came, LineageSet())

    return spoiled


def _without_gone(found: Callable[..., RowChanges]) -> Callable[..., RowChanges]:
    def spoiled(*given: Any) -> RowChanges:
        changes = found(*given)
        return RowChanges(LineageSet(), changes.came, changes.differs)

    return spoiled


#: By name: what is put in the place of what. Those about SQL are tried by the thousand in `tests.updates.rules`.
SPOILED: dict[str, Callable[[], Any]] = {
    **RULES,
    "columns": lambda: patch.object(inputs, "reads_any", lambda *_: False),
    "lineage": lambda: patch.object(proving.Prover, "_check_lineage", lambda *_: None),
    "probes": lambda: patch.object(proving.Prover, "_check_probes", lambda *_: None),
    "rows that differ": lambda: patch.object(inputs.Inputs, "_changes", _only_came(inputs.Inputs._changes)),
    "rows that went": lambda: patch.object(inputs.Inputs, "_changes", _without_gone(inputs.Inputs._changes)),
    "hash of a row": lambda: patch.object(
        kept_hashes, "row_hash", lambda columns, name: row_hash.row_hash(columns[:-1], name)
    ),
    "files": lambda: patch.object(row_changes, "_of_files", lambda *_: _NONE),
}
